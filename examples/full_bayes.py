"""Uncertain hyperparameters: NUTS over variance and lengthscale with BlackJAX and with NumPyro.

The energy is minus the log likelihood of the hyperparameters with the latent function integrated out, and has
gradients; a sampler needs no more. Both samplers see the same posterior, and a grid shows what they should find. The
data are the coal mining disasters, year by year. Needs `pip install "ssep[plot,blackjax,numpyro]"`; writes
build/full_bayes.png.
"""

import pathlib
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import ndtri
from matplotlib import pyplot as plt
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

import ssep

jax.config.update("jax_enable_x64", True)
T, COUNTS = ssep.datasets.coal(num_bins=112)
DATA = ssep.Data(T, COUNTS, aux=np.full(len(T), T[1] - T[0]))
LIKELIHOOD, RULE, OBJECTIVE = ssep.likelihoods.Poisson(), ssep.PowerEP(alpha=0.5), ssep.PowerEPEnergy()
# Normal priors of log variance and log lengthscale, with these means and a standard deviation of one.
CENTRE = np.log([1.0, 20.0])
CHAINS = 4
YEARS = np.linspace(1851, 1980, 130)


def model(free: jax.Array) -> ssep.SDEPrior:
    """The prior of the log rate, from the logarithms of variance and lengthscale."""
    variance, lengthscale = jnp.exp(free)
    return ssep.SDEPrior(ssep.kernels.Matern52(variance, lengthscale), mean=np.log(COUNTS.mean() / (T[1] - T[0])))


def energy(free: jax.Array) -> jax.Array:
    """What `infer(...).energy` is, with the same gradient for half the work.

    The energy of power EP is stationary in the sites once they have converged: their own derivative is not needed.
    """
    # Ten sweeps are enough, but for proposals so far off that they will be rejected whatever their energy is.
    found = ssep.infer(model(jax.lax.stop_gradient(free)), LIKELIHOOD, RULE, DATA, max_sweeps=20, throw=False)
    return ssep.sweep(model(free), LIKELIHOOD, found.sites, RULE, DATA, objective=OBJECTIVE)[2]


def log_density(free: jax.Array) -> jax.Array:
    """Of the two logarithms, up to a constant."""
    return -energy(free) - jnp.sum((free - CENTRE) ** 2) / 2


def with_blackjax(key: jax.Array, num_warmup: int, num_samples: int) -> np.ndarray:
    """Draws of shape (chains, samples, 2)."""
    warmup: Any = blackjax.window_adaptation(blackjax.nuts, log_density)

    def chain(key: jax.Array) -> jax.Array:
        start_key, warm_key, key = jax.random.split(key, 3)
        start = CENTRE + jax.random.normal(start_key, (2,))
        (state, parameters), _ = warmup.run(warm_key, start, num_warmup)
        kernel: Any = blackjax.nuts(log_density, **parameters)

        def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(key, num_samples))[1]

    return np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(key, CHAINS)))


def with_numpyro(key: jax.Array, num_warmup: int, num_samples: int) -> np.ndarray:
    """Draws of shape (chains, samples, 2)."""

    def program() -> None:
        free = numpyro.sample("free", dist.Normal(CENTRE, 1.0).to_event(1))
        numpyro.factor("evidence", -energy(jnp.asarray(free)))

    options = {"num_chains": CHAINS, "chain_method": "vectorized", "progress_bar": False}
    sampler = MCMC(NUTS(program), num_warmup=num_warmup, num_samples=num_samples, **options)
    sampler.run(key)
    return np.asarray(sampler.get_samples(group_by_chain=True)["free"])


@jax.jit
@jax.vmap
def log_rate(free: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Means and standard deviations over the years, for each row of hyperparameters."""
    prediction = ssep.predict(ssep.infer(model(free), LIKELIHOOD, RULE, DATA), YEARS)
    return prediction.f_mean[:, 0], jnp.sqrt(prediction.f_var[:, 0])


def band(free: np.ndarray) -> np.ndarray:
    """5 % and 95 % quantiles of the rate: of a mixture, with a hundred equally likely values for each row."""
    mean, deviation = log_rate(free)
    values = mean + deviation * np.asarray(ndtri((np.arange(100) + 0.5) / 100))[:, None, None]
    return np.exp(np.quantile(values, [0.05, 0.95], axis=(0, 1)))


def main(
    output: pathlib.Path = pathlib.Path("build/full_bayes.png"), num_warmup: int = 200, num_samples: int = 300
) -> None:
    """Sample twice, compare with a grid, plot."""
    samplers = {"BlackJAX": with_blackjax, "NumPyro": with_numpyro}
    draws = {name: run(jax.random.key(i), num_warmup, num_samples) for i, (name, run) in enumerate(samplers.items())}
    axes = CENTRE[:, None] + np.linspace([-3.5, -2.5], [3.5, 2.5], 41).T
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    surface = np.asarray(jax.jit(jax.vmap(log_density))(grid))
    weights = np.exp(surface - surface.max())
    for k, parameter in enumerate(["log variance", "log lengthscale"]):
        mean = np.average(grid[:, k], weights=weights)
        spread = np.sqrt(np.average((grid[:, k] - mean) ** 2, weights=weights))
        print(f"{parameter}\n    grid: mean {mean:.3f}, sd {spread:.3f}")
        for name, chains in draws.items():
            each = chains[..., k]
            size = float(effective_sample_size(each))
            print(
                f"{name:>8}: mean {each.mean():.3f}, sd {each.std():.3f}, error of the mean "
                f"{each.std() / np.sqrt(size):.3f}, r-hat {split_gelman_rubin(each):.3f}, effective draws {size:.0f}"
            )
    best = grid[[surface.argmax()]]
    every = np.concatenate([chains.reshape(-1, 2) for chains in draws.values()])
    averaged, alone = band(every[:: len(every) // 100]), band(best)
    wider = np.mean(np.diff(np.log(averaged), axis=0) / np.diff(np.log(alone), axis=0))
    print(f"90 % bands of the log rate are {100 * (wider - 1):.0f} % wider than at the best hyperparameters alone")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    lines = {"levels": [-8, -6, -4, -2, -0.5], "colors": "0.6", "linewidths": 0.8, "linestyles": "-"}
    left.contour(*np.exp(axes[::-1]), (surface - surface.max()).reshape(41, 41), **lines)
    for (name, chains), marker in zip(draws.items(), ["o", "x"], strict=True):
        left.plot(*np.exp(chains.reshape(-1, 2)[::3, ::-1].T), marker, markersize=3, alpha=0.6, label=name)
    left.plot(*np.exp(best[0, ::-1]), "k*", markersize=12, label="best")
    left.set(xscale="log", yscale="log", xlim=(4, 150), ylim=(0.05, 10))
    left.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
    left.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    left.minorticks_off()
    left.set(xlabel="lengthscale (years)", ylabel="variance of the log rate", title="Draws, and log density by a grid")
    left.legend(loc="upper left")
    right.fill_between(YEARS, *averaged, alpha=0.3, label="averaged over the draws")
    right.plot(YEARS, alone.T, "k--", linewidth=1, label=["at the best alone", None])
    right.set(xlabel="year", ylabel="disasters per year", title="90 % bands of the rate", ylim=(0, 6))
    right.legend()
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
