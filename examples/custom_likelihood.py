"""A likelihood of your own: counts that many people round to the next multiple of five.

Asked how many cigarettes they smoked in a day, some count and some say ten. The likelihood knows both: a share of the
answers is rounded, and which share is learned with the kernel. The answers are made up. Prints the learned share and
leave-one-out scores against a Poisson likelihood that knows nothing of rounding, and writes
build/custom_likelihood.png.
"""

import pathlib
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import poisson
from matplotlib import pyplot as plt

import ssep
from ssep.constraints import PROBABILITY

jax.config.update("jax_enable_x64", True)
ROUNDED = 0.6


class RoundedPoisson(ssep.Likelihood):
    """A Poisson count with rate exp(f), of which a share is given to the nearest multiple of five."""

    num_latents: ClassVar[int | None] = 1
    discrete: ClassVar[bool] = True
    share: jax.Array = eqx.field(default_factory=lambda: jnp.asarray(0.5), metadata=PROBABILITY)

    def log_prob(self, y, f, aux):
        """All that `PowerEP` and `CVI` need."""
        rate = jnp.exp(f[0])
        exact = jnp.log1p(-self.share) + poisson.logpmf(y, rate)
        near = jnp.log(self.share) + jax.nn.logsumexp(poisson.logpmf(y + jnp.arange(-2.0, 3.0), rate))
        return jnp.logaddexp(exact, jnp.where(y % 5 == 0, near, -jnp.inf))

    def sample(self, key, f, aux):
        """For replicates of the data."""
        count_key, share_key = jax.random.split(key)
        count = jax.random.poisson(count_key, jnp.exp(f[0])).astype(f.dtype)
        rounded = 5 * jnp.round(count / 5)
        return jnp.where(jax.random.bernoulli(share_key, self.share), rounded, count)


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Days, answers and the true mean."""
    rng = np.random.default_rng(1)
    t = np.arange(300.0)
    mean = np.exp(2.3 + 0.5 * np.sin(t / 30) - 0.3 * t / 300)
    count = rng.poisson(mean)
    return t, np.where(rng.uniform(size=t.size) < ROUNDED, 5 * np.round(count / 5), count), mean


def main(output: pathlib.Path = pathlib.Path("build/custom_likelihood.png"), num_steps: int = 60) -> None:
    """Fit both, compare scores and replicates, plot."""
    t, y, mean = simulate()
    prior = ssep.SDEPrior(ssep.kernels.Matern52(variance=0.3, lengthscale=40.0), mean=np.log(y.mean()))
    likelihoods = {"rounded Poisson": RoundedPoisson(), "Poisson": ssep.likelihoods.Poisson()}
    fits, replicates = {}, {}
    for name, lik in likelihoods.items():
        fit = fits[name] = ssep.fit(prior, lik, ssep.PowerEP(alpha=0.5), ssep.Data(t, y), num_steps=num_steps)
        replicates[name] = np.asarray(ssep.sample(jax.random.key(0), fit, t, num_samples=200).y)
        fives = np.mean(replicates[name] % 5 == 0)
        score = -np.mean(ssep.leave_one_out(fit).pointwise)
        print(f"{name}: leave-one-out score {score:.3f}; expects {fives:.0%} multiples of five")
    print(f"the answers have {np.mean(y % 5 == 0):.0%}")
    print(f"share of rounded answers: learned {fits['rounded Poisson'].likelihood.share:.2f}, true {ROUNDED}")

    figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), layout="constrained")
    prediction = ssep.predict(fits["rounded Poisson"], t)
    middle, deviation = prediction.f_mean[:, 0], np.sqrt(prediction.f_var[:, 0])
    axes[0].fill_between(t, *np.exp(middle + np.array([[-1.645], [1.645]]) * deviation), alpha=0.25, label="90 % band")
    axes[0].plot(t, np.exp(middle), label="median of the mean")
    axes[0].plot(t, mean, "k--", linewidth=1, label="true mean")
    axes[0].plot(t, y, "k.", markersize=4, label="answers")
    axes[0].set(xlabel="day", ylabel="cigarettes")
    axes[0].legend(ncols=4, fontsize="small", loc="upper right")
    values = np.arange(0, 31)
    axes[1].bar(values, [np.sum(y == value) for value in values], color="0.8", label="answers")
    for (name, drawn), marker in zip(replicates.items(), ["o", "x"], strict=True):
        axes[1].plot(
            values, [np.mean(np.sum(drawn == value, 1)) for value in values], marker, label=f"expected: {name}"
        )
    axes[1].set(xlabel="cigarettes", ylabel="days")
    axes[1].legend(fontsize="small")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
