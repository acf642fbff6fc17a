"""Airline accidents day by day: a log-Gaussian Cox process with a trend, a yearly and a weekly pattern.

The dates of 1210 accidents of commercial aircraft, 1919 to 2017, make 35,959 daily counts, most of them zero. They are
read from the folder that SSEP_DATA names; without them, accidents of the same structure are made up. Prints how much
evidence there is for each pattern, and writes the components to build/airline.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Cosine, Matern32, Matern52, SeasonalDummies

jax.config.update("jax_enable_x64", True)
YEAR = 365.25
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def load() -> tuple[np.datetime64, np.ndarray]:
    """The first day, and the number of accidents on each day from then on."""
    try:
        return ssep.datasets.airline_dates().min(), ssep.datasets.airline()[1]
    except FileNotFoundError:
        print("no file of accidents: these are made up")
        return np.datetime64("1950-01-02"), simulate()


def simulate(years: int = 40) -> np.ndarray:
    """Counts from a Monday on: more in winter, fewer on Saturdays and Sundays, most in the middle of the years."""
    day = np.arange(round(years * YEAR))
    pattern = 0.5 * np.cos(2 * np.pi * day / YEAR) - 0.7 * (day % 7 >= 5) - 8 * (day / day.size - 0.5) ** 2
    return np.random.default_rng(0).poisson(0.1 * np.exp(pattern))


def effect(term) -> np.ndarray:
    """The 5 %, 50 % and 95 % quantiles of exp(term)."""
    return np.exp(term.mean + np.array([[-1.645], [0], [1.645]]) * np.sqrt(term.var))


def main(output: pathlib.Path = pathlib.Path("build/airline.png")) -> None:
    """Infer with one term, with two and with three, compare their evidence, plot the components."""
    first, counts = load()
    data = ssep.Data(np.arange(len(counts)), counts)
    print(f"{counts.sum()} accidents in {len(counts)} days from {first}")
    trend = Matern52(2.0, 20 * YEAR)
    yearly = (Cosine(0.05, 2 * np.pi / YEAR) + Cosine(0.05, 4 * np.pi / YEAR)) * Matern32(1.0, 40 * YEAR)
    weekly = SeasonalDummies(0.05, seasons=7)
    lik, rule, objective = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), ssep.PowerEPEnergy()
    energies = []
    for name, kernel in [("trend", trend), ("year", trend + yearly), ("week", trend + yearly + weekly)]:
        prior = ssep.SDEPrior(kernel, mean=np.log(counts.mean()))
        solution = ssep.infer(prior, lik, rule, data, objective=objective)
        energies.append(float(solution.energy))
        print(f"with the {name}: energy {energies[-1]:.1f} after {solution.num_sweeps} sweeps")
    print(f"log evidence for the year {energies[0] - energies[1]:+.1f}, for the week {energies[1] - energies[2]:+.1f}")

    months = np.arange(0, len(counts), 30.0)
    last_year = np.arange(len(counts) - 364, len(counts))
    date = first + last_year.astype("timedelta64[D]")
    weekday = (date.astype(int) + 3) % 7  # the first day of 1970 was a Thursday
    low, middle, high = YEAR * counts.mean() * effect(ssep.components(solution, months)[0])
    _, year, week = ssep.components(solution, last_year)
    least, times, most = effect(week)[:, np.argsort(weekday, kind="stable")[::52]]
    print(f"on Saturdays there are {times[5]:.2f} times as many as usual (90 %: {least[5]:.2f} to {most[5]:.2f})")

    figure, axes = plt.subplot_mosaic("TT;YW", figsize=(9, 6.5), layout="constrained")
    start = 1970 + int(first.astype("datetime64[D]").astype(int)) / YEAR
    whole = len(counts) // 365
    per_year = counts[: 365 * whole].reshape(whole, 365).sum(1)
    axes["T"].plot(start + 0.5 + np.arange(whole), per_year, "k.", markersize=4, label="accidents in 365 days")
    axes["T"].fill_between(start + months / YEAR, low, high, alpha=0.25, label="90 % band")
    axes["T"].plot(start + months / YEAR, middle, label="trend alone")
    axes["T"].set(ylabel="accidents per year", xlabel="year", title="Trend")
    axes["T"].legend()
    by_month = np.argsort(date - date.astype("datetime64[Y]"), kind="stable")
    low, middle, high = effect(year)[:, by_month]
    x = np.linspace(0, 12, len(date))
    axes["Y"].fill_between(x, low, high, alpha=0.25)
    axes["Y"].plot(x, middle)
    axes["Y"].set(xticks=np.arange(12) + 0.5, xticklabels=list("JFMAMJJASOND"), ylabel="times the trend")
    axes["Y"].set(title="Yearly pattern, in the last year")
    axes["W"].errorbar(range(7), times, [times - least, most - times], fmt="o", capsize=3)
    axes["W"].set(xticks=range(7), xticklabels=WEEKDAYS, title="Weekly pattern")
    for name in "YW":
        axes[name].axhline(1, color="0.5", linewidth=0.8)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
