"""Small time series that were published long ago."""

import numpy as np

from ssep.datasets.files import bundled


def motorcycle() -> tuple[np.ndarray, np.ndarray]:
    """Times in milliseconds after an impact, and the acceleration of the head in g, each of shape (133,).

    Measurements in simulated motorcycle accidents, to test helmets; some times are repeated, and the noise changes its
    size. Silverman, "Some aspects of the spline smoothing approach to non-parametric regression curve fitting", Journal
    of the Royal Statistical Society B 47, 1985; the table `mcycle` of the R package MASS.
    """
    t, acceleration = bundled("motorcycle.csv")
    return t, acceleration


def drivers() -> tuple[np.ndarray, np.ndarray]:
    """Times in years and the number of car drivers killed or seriously injured in Great Britain, each of shape (192,).

    Months from January 1969 to December 1984; month k is at 1969 + k / 12. Seat belts became compulsory at the end of
    January 1983. Harvey and Durbin, "The effects of seat belt legislation on British road casualties", Journal of the
    Royal Statistical Society A 149, 1986; the table `Seatbelts` of R.
    """
    counts = bundled("drivers.csv")
    return 1969 + np.arange(len(counts)) / 12, counts


def nile() -> tuple[np.ndarray, np.ndarray]:
    """Years from 1871 to 1970 and the annual flow of the Nile at Aswan in units of 10^8 m^3, each of shape (100,).

    The flow falls around 1898. Cobb, "The problem of the Nile: conditional solution to a changepoint problem",
    Biometrika 65, 1978; the table `Nile` of R.
    """
    years, flow = bundled("nile.csv")
    return years, flow


def phones() -> tuple[np.ndarray, np.ndarray]:
    """Years from 1950 to 1973 and international telephone calls from Belgium, in tens of millions, each of shape (24,).

    From 1964 to 1969, and in part in the years next to them, another quantity was recorded: minutes instead of calls.
    These years are outliers, which a robust likelihood such as `StudentT` sees through. Rousseeuw and Leroy, "Robust
    Regression and Outlier Detection", 1987, table 2 of page 26; the table `telef` of the R package robustbase.
    """
    years, calls = bundled("phones.csv")
    return years, calls
