"""Draw the gallery: paths of every kernel, shapes of every likelihood, and the page that shows them.

`make gallery` writes docs/images/gallery-*.png and docs/concepts/gallery.md; a test sees that nothing is left out.
"""

import inspect
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

import ssep
from ssep import kernels as k
from ssep import likelihoods as lik

jax.config.update("jax_enable_x64", True)
DOCS = pathlib.Path(__file__).parents[1]
T = np.linspace(0.01, 10, 400)
RAMP = k.Table([0.0, 3.0, 5.0, 11.0], [0.0, 0.0, 2.0, -1.0])
KERNELS = {
    "Matern12": k.Matern12(1.0, 1.5),
    "Matern32": k.Matern32(1.0, 1.5),
    "Matern52": k.Matern52(1.0, 1.5),
    "Matern72": k.Matern72(1.0, 1.5),
    "HalfInteger": k.HalfInteger(1.0, 1.5, derivatives=6),
    "SquaredExponential": k.SquaredExponential(1.0, 1.0),
    "RationalQuadratic": k.RationalQuadratic(1.0, 1.0, mixture=0.5),
    "DampedOscillator": k.DampedOscillator(1.0, 4.0, quality=8.0),
    "Celerite": k.Celerite(1.0, 0.4, 3.0, balance=-0.5),
    "CARMA": k.CARMA(1.0, (9.0, 0.5, 2.0), (4.0,)),
    "Subband": k.Subband(1.0, 5.0, 3.0, smoothness=1),
    "Cosine": k.Cosine(1.0, 3.0),
    "Periodic": k.Periodic(1.0, 1.0, 3.0),
    "QuasiPeriodic": k.QuasiPeriodic(1.0, 1.0, 2.0, decay=5.0),
    "White": k.White(1.0),
    "Constant": k.Constant(1.0),
    "Wiener": k.Wiener(0.5),
    "IntegratedWiener": k.IntegratedWiener(0.1),
    "LocalLinearTrend": k.LocalLinearTrend(0.1, 0.02, (1.0, 0.1)),
    "Linear": k.Linear(0.1, centre=5.0),
    "Polynomial": k.Polynomial(0.05, 0.3, degree=3, centre=5.0),
    "Regression": k.Regression(RAMP, 1.0),
    "SeasonalDummies": k.SeasonalDummies(1.0, seasons=4, width=0.5),
    "ChangingVariance": k.ChangingVariance(k.Matern32(0.3, 0.4), (4.0, 7.0), (4.0, 0.5)),
    "Modulated": k.Modulated(k.Matern12(1.0, 0.3), lambda t: jnp.exp(-((t - 5) ** 2) / 4)),
    "Sum": k.Matern52(1.0, 4.0) + k.Periodic(0.3, 1.0, 1.0),
    "Product": k.Matern52(1.0, 2.0) * k.Periodic(1.0, 0.7, 1.0),
}
REAL, POSITIVE, UNIT = np.linspace(-4, 4, 400), np.linspace(0.01, 5, 400), np.linspace(0.005, 0.995, 400)
COUNTS, LABELS, ONE = np.arange(16.0), np.arange(4.0), ([-1.0], [0.0], [1.0])
# A likelihood, values of y, latents to show, and extras.
LIKELIHOODS = {
    "Gaussian": (lik.Gaussian(0.3), REAL, ONE, None),
    "StudentT": (lik.StudentT(2.0, 0.5), REAL, ONE, None),
    "Laplace": (lik.Laplace(0.5), REAL, ONE, None),
    "HeteroscedasticGaussian": (lik.HeteroscedasticGaussian(), REAL, ([0.0, -1.0], [0.0, 0.5], [0.0, 2.0]), None),
    "HeteroscedasticStudentT": (lik.HeteroscedasticStudentT(2.0), REAL, ([0.0, -1.0], [0.0, 0.5], [0.0, 2.0]), None),
    "AmplitudeDemodulation": (lik.AmplitudeDemodulation(0.2), REAL, ([1.0, -2.0], [1.0, 0.5], [1.0, 2.0]), None),
    "CensoredGaussian": (lik.CensoredGaussian(0.3), REAL, ONE, 1.0),
    "IntervalGaussian": (lik.IntervalGaussian(0.3), REAL, ONE, 4.01),
    "Poisson": (lik.Poisson(), COUNTS, ([0.0], [1.0], [2.0]), None),
    "NegativeBinomial": (lik.NegativeBinomial(2.0), COUNTS, ([0.0], [1.0], [2.0]), None),
    "ZeroInflated": (lik.ZeroInflated(lik.Poisson(), 0.3), COUNTS, ([0.0], [1.0], [2.0]), None),
    "Binomial": (lik.Binomial(), COUNTS[:13], ONE, 12.0),
    "Bernoulli": (lik.Bernoulli(), np.arange(2.0), ONE, None),
    "Ordinal": (lik.Ordinal([-1.0, 0.0, 1.0]), LABELS, ONE, None),
    "Categorical": (lik.Categorical(4), LABELS, ([0.0, 0, 0, 0], [0.0, 1, 0, 2], [2.0, 0, 0, 0]), None),
    "Gamma": (lik.Gamma(3.0), POSITIVE, ONE, None),
    "Exponential": (lik.Exponential(), POSITIVE, ONE, None),
    "Weibull": (lik.Weibull(2.0), POSITIVE, ONE, None),
    "LogNormal": (lik.LogNormal(0.3), POSITIVE, ONE, None),
    "Beta": (lik.Beta(8.0), UNIT, ONE, None),
    "VonMises": (lik.VonMises(3.0), np.linspace(-np.pi, np.pi, 400), ONE, None),
    "RegressionNetwork": (lik.RegressionNetwork(0.2, 2, 1), REAL, ([1.0, 0, -1.5], [1.0, 0, 0.5], [1.0, 0, 2]), 1.0),
    "FromNumPyro": (
        lik.FromNumPyro(dist.Gumbel, {"loc": lik.Latent(0), "scale": 0.4}),
        REAL,
        ONE,
        None,
    ),
    "Outputs": (
        lik.Outputs(lik.Gaussian(0.2), [[1.0, 0.0], [1.0, 1.0]]),
        REAL,
        ([-2.0, 0.0], [0.0, 1.0], [1.0, 1.0]),
        1.0,
    ),
}


def panels(count: int):
    """A grid of small axes, and none too many."""
    columns = 4
    rows = -(-count // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(11, 1.9 * rows), layout="constrained")
    for ax in grid.ravel()[count:]:
        ax.remove()
    return figure, grid.ravel()[:count]


def draw_kernels() -> None:
    """Three paths from each prior."""
    figure, axes = panels(len(KERNELS))
    for number, (ax, (name, kernel)) in enumerate(zip(axes, KERNELS.items(), strict=True)):
        paths = ssep.sample(jax.random.key(number), ssep.SDEPrior(kernel), T, 3).f[..., 0]
        style = {"marker": ".", "markersize": 2, "linestyle": ""} if name == "White" else {"linewidth": 0.9}
        ax.plot(T, paths.T, **style)
        ax.set_title(name, fontsize="small")
        ax.tick_params(labelsize="x-small")
    figure.savefig(DOCS / "images" / "gallery-kernels.png", dpi=100)


def draw_likelihoods() -> None:
    """The density or mass of y, as far as it is defined, at three values of the latents."""
    figure, axes = panels(len(LIKELIHOODS))
    for ax, (name, (likelihood, values, latents, aux)) in zip(axes, LIKELIHOODS.items(), strict=True):
        extra = None if aux is None else jnp.asarray(aux)
        for f in latents:
            log_prob = jax.vmap(likelihood.log_prob, (0, None, None))(jnp.asarray(values), jnp.asarray(f), extra)
            style = "o-" if likelihood.discrete else "-"
            label = f"f = {', '.join(f'{value:g}' for value in f)}"
            ax.plot(values, np.exp(log_prob), style, markersize=2.5, linewidth=0.9, label=label)
        ax.set_title(name, fontsize="small")
        ax.set_ylim(0)
        if likelihood.discrete:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.tick_params(labelsize="x-small")
        ax.legend(fontsize=5.5, frameon=False, handlelength=1)
    figure.savefig(DOCS / "images" / "gallery-likelihoods.png", dpi=100)


def rows(module, names) -> str:
    """A table of names and the first lines of their documentation."""
    lines = ["| name | what it is |", "| --- | --- |"]
    for name in names:
        first = inspect.getdoc(getattr(module, name)).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        lines.append(f"| `{name}` | {first.replace('*', chr(92) + '*').replace('_', chr(92) + '_')} |")
    return "\n".join(lines)


def write_page() -> None:
    """The page, from the lists above and the documentation of the classes."""
    (DOCS / "concepts" / "gallery.md").write_text(
        "# Gallery\n\nThis page is made by `make gallery` from the lists in `docs/_build_hooks/gallery.py`.\n\n"
        "## Kernels\n\nThree draws from the prior with each kernel, over ten units of time.\n\n"
        "![Draws from every kernel](../images/gallery-kernels.png)\n\n"
        f"{rows(k, KERNELS)}\n\n"
        "## Likelihoods\n\nThe density, or mass, of an observation at three values of its latents; of readings that "
        "are censored or known up to an interval, the probability.\n\n"
        "![Shapes of every likelihood](../images/gallery-likelihoods.png)\n\n"
        f"{rows(lik, LIKELIHOODS)}\n"
    )


if __name__ == "__main__":
    draw_kernels()
    draw_likelihoods()
    write_page()
