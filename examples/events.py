"""From dates to an intensity: coal mining disasters as a log-Gaussian Cox process, with ten years of records lost.

The dates of 1900 to 1909 are kept from the model, which knows only that nothing could be seen then. Prints the
intensity by decade and how it does on the years it was not shown, and writes build/events.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep

jax.config.update("jax_enable_x64", True)
dates = ssep.datasets.coal_dates()
lost = (dates >= 1900) & (dates < 1910)
events = ssep.Events(dates[~lost], windows=[(1851, 1900), (1910, 1963)])

prior = ssep.SDEPrior(ssep.kernels.Matern52(variance=1.0, lengthscale=20.0), mean=np.log(events.mean_intensity))
fit = ssep.fit(
    prior,
    ssep.likelihoods.Poisson(),
    ssep.PowerEP(alpha=0.5),
    events.binned(),
    objective=ssep.PowerEPEnergy(),
    num_steps=60,
)
kernel = fit.prior.kernels[0]
print(f"lengthscale {kernel.lengthscale:.1f} years, variance {kernel.variance:.2f} of the log intensity\n")

t = np.linspace(1851, 1963, 449)
intensity = ssep.intensity(fit, t)
low, high = intensity.quantile([0.05, 0.95])
print(" decade   seen   disasters per year (90 % band)")
for start in range(1850, 1960, 10):
    middle = np.argmin(np.abs(t - start - 5))
    seen = np.sum((events.t >= start) & (events.t < start + 10))
    band = f"{intensity.mean[middle]:.2f} ({low[middle]:.2f} to {high[middle]:.2f})"
    print(f"  {start}s {seen:6d}   {band}" + ("   records lost" if start == 1900 else ""))

# Replicates of all 112 years: events that the model expects, also where none could be seen.
years = np.arange(1851, 1964)
replicates = ssep.simulate_events(jax.random.key(0), fit, [(1851, 1963)], num_samples=1000)
counts = np.stack([np.histogram(new.t, years)[0] for new in replicates])
least, most = np.quantile(counts, [0.05, 0.95], axis=0, method="inverted_cdf")
truth = np.histogram(dates, years)[0]
inside = (truth >= least) & (truth <= most)
unseen = (years[:-1] >= 1900) & (years[:-1] < 1910)
expected = np.mean((counts >= least) & (counts <= most))  # above 90 %, because counts are whole numbers
print(
    f"\nintervals of 90 % or more ({expected:.0%}) hold {inside[unseen].mean():.0%} of the years whose records are lost"
)
print(f"and {inside[~unseen].mean():.0%} of the others")

figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), sharex=True, layout="constrained")
for ax in axes:
    ax.axvspan(1900, 1910, color="0.92", zorder=0)
axes[0].text(1905, 4.55, "records\nlost", ha="center", va="top", fontsize="small", color="0.35")
blocks = np.append(np.arange(1851, 1901, 7), np.arange(1910, 1964, 53 / 8))
rate = np.histogram(events.t, blocks)[0] / np.diff(blocks)
axes[0].stairs(
    np.where(blocks[:-1] == 1900, np.nan, rate), blocks, color="0.6", label="disasters seen, in blocks of about 7 years"
)
axes[0].fill_between(t, low, high, alpha=0.25, label="90 % band")
axes[0].plot(t, intensity.mean, label="posterior mean")
axes[0].plot(events.t, np.full(events.t.shape, -0.2), "k|", markersize=6, alpha=0.6, label="events")
axes[0].set(ylabel="intensity (per year)", title="The intensity of coal mining disasters", ylim=(-0.45, 4.75))
axes[0].legend(fontsize="small")
middles = years[:-1] + 0.5
axes[1].bar(
    middles, most - least + 0.6, bottom=least - 0.3, width=1.0, alpha=0.25, label="90 % or more of the replicates"
)
axes[1].plot(middles[~unseen], truth[~unseen], "k.", markersize=5, label="counts")
axes[1].plot(middles[unseen], truth[unseen], "o", color="C3", markersize=5, label="counts that were lost")
axes[1].set(ylabel="disasters in a year", xlabel="year", title="Counts of single years against simulated events")
axes[1].legend(fontsize="small")
output = pathlib.Path("build/events.png")
output.parent.mkdir(exist_ok=True)
figure.savefig(output, dpi=110)
