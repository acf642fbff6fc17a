"""Two classes in the plane: one coordinate is taken for time and the other for space, with a map of probabilities.

The points are those of the banana set, if it is in the folder that SSEP_DATA names, and otherwise made up: two
crescents. A fifth of them is held out. The field is carried by fifteen inducing lines, so that work grows with the
number of points only. Prints scores of the points held out and writes the map to build/banana.png.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Matern52

jax.config.update("jax_enable_x64", True)


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two coordinates and labels 0 or 1."""
    try:
        return ssep.datasets.banana()
    except FileNotFoundError:
        print("no banana set: these points are made up")
        return simulate()


def arcs(angle: np.ndarray) -> np.ndarray:
    """The middles of the two crescents at some angles between 0 and pi, shape (2, angles, 2)."""
    over = np.stack([1.5 * np.cos(angle) - 0.7, 1.8 * np.sin(angle) - 0.8], -1)
    return np.stack([over, -over])


def simulate(count: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points scattered around two arcs, with a standard deviation of 0.4."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, count)
    middle = arcs(rng.uniform(0, np.pi, count))[label, np.arange(count)]
    return *(middle + 0.4 * rng.normal(size=(count, 2))).T, label.astype(float)


def main(output: pathlib.Path = pathlib.Path("build/banana.png"), num_steps: int = 60) -> None:
    """Learn with four fifths of the points, score the others, draw the map."""
    x1, x2, label = load()
    held_out = np.random.default_rng(1).permutation(len(x1)) % 5 == 0
    train = ssep.Data.from_records(x1[~held_out], x2[~held_out], label[~held_out])
    lines = np.linspace(-3, 3, 15)
    prior = ssep.SpatioTemporalPrior(Matern52(variance=1.0, lengthscale=1.0), Matern52(1.0, 1.0), lines)

    def trainable(prior: ssep.SpatioTemporalPrior, lik: ssep.Likelihood):
        """The lines stay; of two variances whose product counts, one is enough."""
        return [prior.terms[0].temporal, prior.terms[0].spatial.lengthscale]

    fit = ssep.fit(
        prior,
        ssep.likelihoods.Bernoulli(),
        ssep.CVI(),
        train,
        num_steps=num_steps,
        trainable=trainable,
        objective=ssep.FreeEnergy(),
        schedule=ssep.Interleave(frozen=True),
    )
    term = fit.prior.terms[0]
    lengthscales = f"{term.temporal.lengthscale:.2f} and {term.spatial.lengthscale:.2f}"
    print(f"variance {term.temporal.variance:.1f}, lengthscales {lengthscales}")

    # One place per point: predictions come in the order of the points.
    chance = ssep.predict(fit, x1[held_out], r_new=x2[held_out][:, None, None])
    truth = label[held_out]
    score = -np.mean(chance.log_prob(truth[:, None]))
    wrong = np.mean((chance.y_mean[:, 0] > 0.5) != truth)
    print(f"{truth.size} points held out: NLPD {score:.3f} ({np.log(2):.3f} by chance), {wrong:.0%} on the wrong side")

    side = np.linspace(-3, 3, 100)
    mapped = np.asarray(ssep.predict(fit, side, r_new=side).y_mean).T
    figure, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
    image = ax.pcolormesh(side, side, mapped, cmap="coolwarm", vmin=0, vmax=1, shading="gouraud")
    ax.contour(side, side, mapped, [0.1, 0.5, 0.9], colors="black", linewidths=[0.7, 2, 0.7])
    for value, colour in [(0, "tab:blue"), (1, "tab:red")]:
        for chosen, marker, edge, name in [(~held_out, "o", "white", ""), (held_out, "s", "black", ", held out")]:
            style = {"color": colour, "markersize": 4, "markeredgecolor": edge, "markeredgewidth": 0.6}
            shown = chosen & (label == value)
            ax.plot(x1[shown], x2[shown], marker, label=f"class {value}{name}", **style)
    ax.set(xlabel="first coordinate, as time", ylabel="second coordinate, as space", aspect="equal")
    ax.legend(fontsize="small", loc="upper left")
    figure.colorbar(image, label="probability of class 1")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
