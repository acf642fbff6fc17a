"""British coal mining disasters."""

import numpy as np

from ssep.datasets.files import bundled


def coal_dates() -> np.ndarray:
    """Dates, in decimal years, of 191 explosions in British coal mines with ten or more deaths, 1851 to 1962.

    Jarrett, "A note on the intervals between coal-mining disasters", Biometrika 66, 1979; the table `coal` of the R
    package boot.
    """
    return bundled("coal.csv")


def coal(num_bins: int = 333) -> tuple[np.ndarray, np.ndarray]:
    """The disasters as counts in equal bins: the bins' times in years and the counts, each of shape (num_bins,).

    The first and the last bin are centred on the first and the last disaster, as in the experiments of [W20].
    """
    dates = coal_dates()
    times = np.linspace(dates[0], dates[-1], num_bins)
    edges = np.concatenate([[-np.inf], (times[1:] + times[:-1]) / 2, [np.inf]])
    return times, np.histogram(dates, edges)[0]
