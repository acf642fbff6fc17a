"""The bundled data are what they say."""

import numpy as np

import ssep


def test_coal_has_the_published_disasters():
    dates = ssep.datasets.coal_dates()
    assert len(dates) == 191
    assert (np.diff(dates) >= 0).all()
    assert (int(dates[0]), int(dates[-1])) == (1851, 1962)


def test_coal_bins_count_each_disaster_once():
    for bins in (50, 333):
        t, y = ssep.datasets.coal(bins)
        assert t.shape == y.shape == (bins,)
        assert y.sum() == 191
        np.testing.assert_allclose(np.diff(t), (t[-1] - t[0]) / (bins - 1))
    assert np.bincount(ssep.datasets.coal()[1]).tolist() == np.bincount(reference_counts()).tolist()


def reference_counts():
    """Counts by the nearest of 333 equally spaced times."""
    dates = ssep.datasets.coal_dates()
    times = np.linspace(dates[0], dates[-1], 333)
    return np.bincount(np.abs(dates[:, None] - times).argmin(1), minlength=333)
