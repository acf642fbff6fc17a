"""Air quality at irregular stations: a field with noise that changes in space and time, from long-format records.

Twenty-two stations report every hour for five days, with outages. Away from the stations nobody knows the truth, so
three of them are held out, and the intervals predicted there are checked against what they measured. Prints the
coverage and writes maps to build/stations.png. Run with `python examples/stations.py`.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib import pyplot as plt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

import ssep
from ssep.kernels import Matern32, Matern52

jax.config.update("jax_enable_x64", True)
HELD_OUT = 3


def simulate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Stations (km), and records (hours, station, log concentration): a daily wave, a plume, noisier in the east."""
    stations = rng.uniform(0, 40, (22, 2))
    hours, station = np.repeat(np.arange(120.0), 22), np.tile(np.arange(22), 120)
    x, y = stations[station].T
    plume = 2 * np.exp(-((x - hours / 3) ** 2 + (y - 22) ** 2) / 150)
    level = 2.5 + 0.6 * np.sin(2 * np.pi * (hours - 8) / 24) + plume + 0.02 * y
    noise = 0.1 + 0.5 * (x / 40) * (0.5 + 0.5 * np.sin(2 * np.pi * (hours - 10) / 24))
    values = level + noise * rng.normal(size=hours.shape)
    # One reading in ten is lost, and three stations are silent for a day.
    kept = rng.uniform(size=hours.shape) > 0.1
    kept &= ~(np.isin(station, [4, 9, 15]) & (hours > 40) & (hours < 64))
    return stations, hours[kept], station[kept], values[kept]


def main(output: pathlib.Path = pathlib.Path("build/stations.png"), num_steps: int = 60) -> None:
    """Fit without the held-out stations, check the intervals there, draw maps."""
    stations, hours, station, values = simulate(np.random.default_rng(1))
    test = station >= len(stations) - HELD_OUT
    data = ssep.Data.from_records(hours[~test], stations[station[~test]], values[~test], fixed_places=True)
    print(f"{data.y.shape[1]} stations, {data.y.shape[0]} hours, {int(data.mask.sum())} readings")

    # Two latents: the level, and through softplus(f2 - 1/2) the standard deviation of the noise. A coarser grid of
    # inducing places is enough for the second.
    prior = ssep.SpatioTemporalPrior(
        (Matern32(variance=1.0, lengthscale=10.0), Matern32(variance=1.0, lengthscale=20.0)),
        (Matern52(variance=1.0, lengthscale=15.0), Matern52(variance=1.0, lengthscale=20.0)),
        (grid(0, 40, 4), grid(0, 40, 3)),
        mean=(3.0, -1.0),
    )

    def trainable(prior, lik):
        """Inducing places stay; of two variances whose product counts, one is enough."""
        return [[term.temporal, term.spatial.lengthscale, term.mean] for term in prior.terms]

    fit = ssep.fit(
        prior,
        ssep.likelihoods.HeteroscedasticGaussian(),
        ssep.CVI(),
        data,
        optimiser=optax.adam(0.1),
        num_steps=num_steps,
        schedule=ssep.Interleave(frozen=True),
        trainable=trainable,
        objective=ssep.FreeEnergy(),
    )
    for name, term in zip(("level", "noise"), fit.prior.terms, strict=True):
        print(f"{name}: {term.temporal.lengthscale:.1f} hours, {term.spatial.lengthscale:.1f} km, mean {term.mean:.2f}")

    # One place per record: predictions come in the order of the records.
    at = ssep.predict(fit, hours[test], r_new=stations[station[test]][:, None])
    low, high = at.quantile(jnp.array([0.05, 0.95]))[..., 0]
    inside = (values[test] >= low) & (values[test] <= high)
    nlpd = -float(jnp.mean(at.log_prob(values[test][:, None])))
    print(f"90 % intervals at {HELD_OUT} held-out stations hold {100 * inside.mean():.1f} % of {test.sum()} readings")
    print(f"negative log predictive density there: {nlpd:.3f}")

    draw(fit, stations, output)
    print(f"Maps written to {output}")


def grid(low: float, high: float, count: int) -> np.ndarray:
    """A square grid of places."""
    return np.stack(np.meshgrid(*[np.linspace(low, high, count)] * 2), -1).reshape(-1, 2)


def draw(fit: ssep.Fit, stations: np.ndarray, output: pathlib.Path) -> None:
    """The level and the noise at three times."""
    side, times = 40, np.array([30.0, 62.0, 94.0])
    places = grid(0, 40, side)
    east, north = places.T.reshape(2, side, side)
    maps = ssep.predict(fit, times, r_new=places)
    level = np.asarray(maps.f_mean[..., 0])
    noise = np.asarray(jax.nn.softplus(maps.f_mean[..., 1] - 0.5))
    figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex=True, sharey=True)
    for row, values, label in [(0, level, "log concentration"), (1, noise, "standard deviation of a reading")]:
        scale = Normalize(values.min(), values.max())
        for ax, time, value in zip(axes[row], times, values, strict=True):
            ax.pcolormesh(east, north, value.reshape(side, side), norm=scale)
            ax.plot(*stations[:-HELD_OUT].T, "o", color="white", markeredgecolor="black", markersize=4)
            ax.plot(*stations[-HELD_OUT:].T, "^", color="tab:red", markeredgecolor="black", markersize=7)
            ax.set(title=f"hour {time:.0f}" if row == 0 else "", aspect="equal")
        figure.colorbar(ScalarMappable(scale), ax=axes[row], label=label)
    figure.supxlabel("km east (circles: stations; triangles: held out)")
    figure.supylabel("km north")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=120)


if __name__ == "__main__":
    main()
