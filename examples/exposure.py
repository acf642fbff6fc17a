"""Counts with an exposure: infections in a hospital that grows, and a forecast for the beds that are planned.

The counts are made up: infections of each month, at a rate per 1000 patient days that drifts and has a season. Patient
days are known, also those of the coming year, in which a new wing opens. They go to the likelihood as `aux`, so that
what is learned and forecast is the rate. Prints scores of the last year, which is held out, and writes
build/exposure.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Matern32, Periodic

jax.config.update("jax_enable_x64", True)
AHEAD = 12


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times in years, thousands of patient days, the true rate per thousand, and counts."""
    rng = np.random.default_rng(0)
    t = np.arange(8 * 12) / 12
    days = (6 + 0.3 * t + 4 * (t >= 3)) * np.where(t >= 7, 1.8, 1.0) + 0.3 * rng.normal(size=t.size)
    rate = np.exp(1.2 + 0.35 * np.cos(2 * np.pi * t) - 0.3 * np.tanh((t - 4) / 2))
    return t, days, rate, rng.poisson(days * rate).astype(float)


def main(output: pathlib.Path = pathlib.Path("build/exposure.png"), num_steps: int = 80) -> None:
    """Fit with and without the exposure, score the last year, plot."""
    t, days, rate, y = simulate()
    kernel = Matern32(variance=0.3, lengthscale=3.0) + Periodic(variance=0.1, lengthscale=1.5, period=1.0, order=2)
    fits = {}
    for name, exposure in [("with exposure", days), ("without", np.ones_like(days))]:
        train = ssep.Data(t[:-AHEAD], y[:-AHEAD], aux=exposure[:-AHEAD])
        test = ssep.Data(t[-AHEAD:], y[-AHEAD:], aux=exposure[-AHEAD:])
        prior = ssep.SDEPrior(kernel, mean=np.log(y[:-AHEAD].sum() / exposure[:-AHEAD].sum()))
        fit = ssep.fit(prior, ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), train, num_steps=num_steps)
        fits[name] = fit, test
        print(f"{name}: NLPD of the last year {ssep.nlpd(fit, test):.3f}")

    fit, test = fits["with exposure"]
    forecast = ssep.predict(fit, t, aux=days)
    low, high = forecast.quantile([0.05, 0.95])
    # The rate is exp(f): its quantiles are those of f.
    mean, deviation = forecast.f_mean[:, 0], np.sqrt(forecast.f_var[:, 0])
    least, most = np.exp(mean - 1.645 * deviation), np.exp(mean + 1.645 * deviation)
    rates, counts = (rate > least) & (rate < most), (y >= low) & (y <= high)
    print(
        f"of {AHEAD} months ahead, 90 % intervals hold {rates[-AHEAD:].sum()} rates and {counts[-AHEAD:].sum()} counts"
    )

    figure, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained", height_ratios=(2, 2, 1))
    ssep.plotting.predictive(fit, t, aux=days, held_out=test, coverage=0.9, ax=axes[0])
    ignored = ssep.predict(fits["without"][0], t, aux=np.ones_like(t)).y_mean
    axes[0].plot(t, ignored, "k:", linewidth=1, label="mean, exposure ignored")
    axes[0].set(ylabel="infections in a month", xlabel="")
    axes[0].legend(ncols=2, fontsize="small", loc="upper left")
    axes[1].fill_between(t, least, most, alpha=0.25, label="90 % band")
    axes[1].plot(t, np.exp(mean), label="median")
    axes[1].plot(t, rate, "k--", linewidth=1, label="truth")
    axes[1].set(ylabel="infections per 1000 patient days", ylim=(0, None))
    axes[1].legend(ncols=3, fontsize="small", loc="lower left")
    axes[2].step(t, days, where="mid", color="0.4")
    axes[2].set(ylabel="1000 patient days", xlabel="years", ylim=(0, None))
    for ax in axes:
        ax.axvline(7 - 1 / 24, color="0.4", linewidth=0.8)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
