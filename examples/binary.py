"""A long binary series: ten thousand labels at irregular times.

The labels are those of the Binary task of [W20]: the sign of a wave that fades into noise. Learns the kernel with a
tenth of the labels held out, prints scores of those, and writes the probabilities where the wave is strong and where it
has faded to build/binary.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

import ssep

jax.config.update("jax_enable_x64", True)


def probability(t: np.ndarray) -> np.ndarray:
    """The true probability of a one."""
    s = t / 100
    return stats.norm.cdf(12 * np.sin(4 * np.pi * s) / (0.25 * np.pi * s + 1) / 0.1)


def main(output: pathlib.Path = pathlib.Path("build/binary.png"), num_steps: int = 80) -> None:
    """Learn, score, plot."""
    t, y = ssep.datasets.binary()
    held_out = np.random.default_rng(0).uniform(size=t.size) < 0.1
    prior = ssep.SDEPrior(ssep.kernels.Matern72(variance=1.0, lengthscale=25.0))
    train, test = ssep.Data(t, y, mask=~held_out), ssep.Data(t, y, mask=held_out)
    lik, rule = ssep.likelihoods.Bernoulli(), ssep.PowerEP(alpha=0.5)
    fit = ssep.fit(prior, lik, rule, train, objective=ssep.PowerEPEnergy(), num_steps=num_steps)
    kernel = fit.prior.kernels[0]
    print(f"variance {kernel.variance:.1f}, lengthscale {kernel.lengthscale:.1f}")
    score = float(ssep.nlpd(fit, test))
    p = probability(t[held_out])
    best = -np.mean(stats.bernoulli.logpmf(y[held_out], p))
    print(f"NLPD of {held_out.sum()} held-out labels: {score:.3f}")
    print(f"with the true probabilities: {best:.3f}; by chance: {np.log(2):.3f}")

    figure, axes = plt.subplots(2, 1, figsize=(9, 5.5), layout="constrained", sharey=True)
    for ax, begin in zip(axes, [0, 6700], strict=True):
        at = np.linspace(begin, begin + 300, 601)
        shown = (t >= begin) & (t <= begin + 300) & ~held_out
        ax.plot(at, ssep.predict(fit, at).y_mean, label="estimate")
        ax.plot(at, probability(at), "k--", linewidth=0.8, label="truth")
        ax.plot(t[shown], 1.08 * y[shown] - 0.04, "k|", markersize=5, alpha=0.5, label="labels")
        ax.set(ylabel="probability of a one")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    axes[1].set(xlabel="time")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
