"""From a CSV file to a forecast: van drivers killed on British roads each month (Harvey and Durbin, 1986)."""

import pathlib

import jax
import numpy as np

import ssep
from ssep.kernels import Matern32, Periodic

jax.config.update("jax_enable_x64", True)
table = pathlib.Path(__file__).parent / "van_drivers.csv"
y = np.loadtxt(table, delimiter=",", skiprows=1, usecols=1)
t = 1969 + np.arange(len(y)) / 12  # in years; the last two are held out
train, test = ssep.Data(t[:-24], y[:-24]), ssep.Data(t[-24:], y[-24:])

trend, season = Matern32(variance=0.1, lengthscale=5.0), Periodic(variance=0.1, lengthscale=1.0, period=1.0, order=3)
prior = ssep.SDEPrior(trend + season, mean=np.log(y[:-24].mean()))
fit = ssep.fit(prior, ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), train, num_steps=100)
print(f"energy {fit.solution.energy:.2f}, NLPD of the last two years {ssep.nlpd(fit, test):.3f}")

ax = ssep.plotting.predictive(fit, t, held_out=test, coverage=0.9)
ax.set(xlabel="year", ylabel="van drivers killed in a month")
output = pathlib.Path("build/forecast.png")
output.parent.mkdir(exist_ok=True)
ax.figure.savefig(output, dpi=150)
