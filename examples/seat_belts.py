"""Did the seat belt law save drivers? Monthly counts with a trend, a season and an intervention.

Car drivers killed or seriously injured on British roads, 1969 to 1984 (Harvey and Durbin, 1986). Wearing a seat belt
became compulsory at the end of January 1983. Counts vary more than a Poisson distribution allows: `NegativeBinomial`.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import LocalLinearTrend, Regression, SeasonalDummies, Table

jax.config.update("jax_enable_x64", True)
_, y = ssep.datasets.drivers()
t = np.arange(len(y)) / 12  # in years since January 1969
ahead = np.arange(len(y) + 24) / 12
law = Table(ahead, ahead > 168.5 / 12)  # from February 1983 on

kernel = (
    LocalLinearTrend(level=0.01, slope=1e-5, initial=(1.0, 0.01))
    + SeasonalDummies(variance=0.02, seasons=12, width=1 / 12)
    + Regression(law, 1.0)
)
prior, data = ssep.SDEPrior(kernel, mean=np.log(y.mean())), ssep.Data(t, y)
rule, energy = ssep.CVI(), ssep.FreeEnergy()
likelihoods = {"Poisson": ssep.likelihoods.Poisson(), "negative binomial": ssep.likelihoods.NegativeBinomial(100.0)}
fits = {name: ssep.fit(prior, lik, rule, data, objective=energy, num_steps=100) for name, lik in likelihoods.items()}
for name, fit in fits.items():
    held_out = -np.mean(ssep.leave_one_out(fit).pointwise)
    print(f"{name}: energy {fit.solution.energy:.1f}, leave-one-out score {held_out:.3f} per month")

fit = fits["negative binomial"]
trend, season, effect = ssep.components(fit, ahead).terms
mean, deviation = float(effect.mean[-1]), float(np.sqrt(effect.var[-1]))
change = [100 * np.expm1(mean + z * deviation) for z in (-1.645, 0, 1.645)]
print(f"the law changed the number of casualties by {change[1]:.0f} % (90 %: {change[0]:.0f} to {change[2]:.0f} %)")

prediction = ssep.predict(fit, ahead)
low, high = prediction.quantile([0.05, 0.95])
years = 1969 + ahead
figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), sharex=True, layout="constrained")
axes[0].fill_between(years, low, high, step="mid", alpha=0.25, label="90 % interval")
axes[0].plot(years, prediction.y_mean, linewidth=1, label="expected")
axes[0].plot(years[: len(y)], y, "k.", markersize=4, label="observed")
axes[0].set(ylabel="drivers in a month", title="Drivers killed or seriously injured, and a forecast of two years")
level = trend.mean + np.log(y.mean())
band = 1.645 * np.sqrt(trend.var)
axes[1].fill_between(years, np.exp(level - band), np.exp(level + band), alpha=0.25)
axes[1].plot(years, np.exp(level), label="trend alone")
axes[1].plot(years, np.exp(level + effect.mean), label="trend and law")
axes[1].set(ylabel="drivers in a month", xlabel="year", title="Without the season")
for ax in axes:
    ax.axvline(1969 + 169 / 12, color="0.4", linestyle=":", linewidth=1, label="seat belt law")
    ax.legend(fontsize="small")
output = pathlib.Path("build/seat_belts.png")
output.parent.mkdir(exist_ok=True)
figure.savefig(output, dpi=110)
