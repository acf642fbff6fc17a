"""What somebody does, hour by hour, as a categorical series with a daily rhythm.

The diary is made up: four weeks of hourly labels, some of them missing, drawn from probabilities that follow the clock.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Matern32, Periodic

jax.config.update("jax_enable_x64", True)
NAMES = ["asleep", "at work", "at leisure"]
rng = np.random.default_rng(5)
t = np.arange(28 * 24) / 24  # in days
hour = 24 * (t % 1)
scores = np.stack([3 * np.cos(2 * np.pi * (hour - 3) / 24), 3 * np.cos(2 * np.pi * (hour - 12) / 24) - 0.5, 0 * t], 1)
truth = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
label = np.array([rng.choice(3, p=p) for p in truth], float)
held_out = rng.uniform(size=t.size) < 0.2
data = ssep.Data(t, np.where(held_out, np.nan, label))

rhythm = Periodic(2.0, 1.0, 1.0, order=2) * Matern32(1.0, 30.0)
prior = ssep.SDEPrior((rhythm, rhythm, rhythm))
lik = ssep.likelihoods.Categorical(3)
solution = ssep.infer(prior, lik, ssep.CVI(ssep.GaussHermite(8)), data)
ahead = np.arange(28 * 24, 30 * 24) / 24
everywhere = np.concatenate([t, ahead])
prediction = ssep.predict(solution, everywhere)
probability = np.stack([np.exp(prediction.log_prob(np.full(everywhere.size, k))) for k in range(3)], 1)

hidden = label[held_out].astype(int)
score = -np.mean(np.log(probability[: t.size][held_out, hidden]))
best = -np.mean(np.log(truth[held_out, hidden]))
print(f"NLPD of {held_out.sum()} hidden hours: {score:.3f}")
print(f"with the true probabilities: {best:.3f}; by chance: {np.log(3):.3f}")
print(f"largest sum of probabilities off one: {np.abs(probability.sum(1) - 1).max():.1e}")

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
shown = everywhere >= 24
ax.stackplot(everywhere[shown], probability[shown].T, labels=NAMES, alpha=0.7)
for k in range(3):
    seen = (t >= 24) & (label == k) & ~held_out
    ax.plot(t[seen], np.full(seen.sum(), 1.03 + 0.03 * k), "|", color=f"C{k}")
ax.axvline(28, color="k", linewidth=0.8)
ax.set(xlabel="days; forecast from day 28 on", ylabel="probability", ylim=(0, 1.12))
ax.legend(loc="lower left")
output = pathlib.Path("build/activities.png")
output.parent.mkdir(exist_ok=True)
figure.savefig(output, dpi=110)
