"""Streaming: a forecast for the next day, every day, without ever going back over old data.

Orders of a shop, counted every hour for five weeks, are made up; in the third week they jump. `update` takes in one day
after the other: its work depends on the new day and on how much of the last days is refreshed, not on all that came
before, and it compiles once. Prints how the forecasts did, each made before its day, against the averages of the same
hour on all days before, and writes build/streaming.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

import ssep
from ssep.kernels import Matern12, Matern32, Periodic

jax.config.update("jax_enable_x64", True)
HOURS, FIRST, DAYS = 24, 14, 35


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times in days, counts, and their true mean."""
    rng = np.random.default_rng(0)
    t = np.arange(DAYS * HOURS) / HOURS
    level = 2.2 + 0.15 * np.sin(2 * np.pi * t / 9) + 0.6 * (t > 20.5)
    mean = np.exp(level + 0.9 * np.sin(2 * np.pi * (t - 0.4)) + 0.3 * np.cos(4 * np.pi * t))
    return t, rng.poisson(mean).astype(float), mean


def main(output: pathlib.Path = pathlib.Path("build/streaming.png")) -> None:
    """Begin with two weeks, then forecast and update day by day."""
    t, y, mean = simulate()
    day = t.astype(int)
    level = Matern32(variance=0.1, lengthscale=3.0)
    rhythm = Periodic(variance=1.0, lengthscale=1.0, period=1.0, order=3) * Matern12(variance=1.0, lengthscale=100.0)
    past = day < FIRST
    prior = ssep.SDEPrior(level + rhythm, mean=np.log(y[past].mean()))
    rule = ssep.PowerEP(alpha=0.5)
    solution = ssep.infer(prior, ssep.likelihoods.Poisson(), rule, ssep.Data(t[past], y[past]))

    expected, intervals, scores, averages = [], [], [], []
    for today in range(FIRST, DAYS):
        now = day == today
        forecast = ssep.predict(solution, t[now])
        expected.append(forecast.y_mean)
        intervals.append(forecast.quantile([0.05, 0.95]))
        scores.append(forecast.log_prob(y[now]))
        averages.append(y[day < today].reshape(-1, HOURS).mean(0))
        solution = ssep.update(solution, ssep.Data(t[now], y[now]), refresh=2 * HOURS)
    expected, (low, high) = np.concatenate(expected), np.concatenate(intervals, axis=1)

    ahead = ~past
    inside = (y[ahead] >= low) & (y[ahead] <= high)
    baseline = stats.poisson.logpmf(y[ahead], np.ravel(averages))
    print(f"{ahead.sum()} counts, each forecast before its day: {inside.mean():.0%} are in 90 % intervals")
    print(f"NLPD {-np.mean(scores):.3f}; of averages {-np.mean(baseline):.3f}")
    whole = ssep.infer(prior, solution.likelihood, rule, ssep.Data(t, y))
    tomorrow = DAYS + np.arange(HOURS) / HOURS
    streamed, batch = (ssep.predict(each, tomorrow).f_mean[:, 0] for each in (solution, whole))
    deviation = np.sqrt(ssep.predict(whole, tomorrow).f_var[:, 0])
    gap = np.abs((streamed - batch) / deviation).max()
    print(f"a window of {len(solution.data.t)} hours against all {len(t)}: forecasts of the next day differ by")
    print(f"{gap:.0e} standard deviations at most")

    figure, axes = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
    for ax, (begin, end) in zip(axes, [(FIRST, DAYS), (19, 24)], strict=True):
        shown = (t[ahead] >= begin) & (t[ahead] <= end)
        x = t[ahead][shown]
        ax.fill_between(x, low[shown], high[shown], step="mid", alpha=0.25, label="90 % interval, a day ahead")
        ax.plot(x, expected[shown], linewidth=1, label="expected, a day ahead")
        ax.plot(x, y[ahead][shown], "k.", markersize=3, label="counts")
        ax.plot(x, mean[ahead][shown], "k--", linewidth=0.8, label="true mean")
        ax.set(ylabel="orders in an hour", xlim=(begin, end), xticks=range(begin, end + 1, max(1, (end - begin) // 7)))
    for boundary in range(19, 25):
        axes[1].axvline(boundary, color="0.7", linewidth=0.8)
    axes[1].set(xlabel="days; a forecast is made at each line")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
