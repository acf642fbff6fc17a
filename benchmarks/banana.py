"""Banana: two classes in the plane, the first coordinate as time and the second as space, with 15 inducing lines.

    python benchmarks/banana.py

prints the negative log predictive density over the ten folds for every rule and the time of inference on 5300 points,
and writes the figure of docs/results/spacetime.md.
"""

import time

import numpy as np
import optax
from matplotlib import pyplot as plt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from tasks import FOLDER, IMAGES, banana

import ssep
from ssep.kernels import Matern52
from ssep.likelihoods import Bernoulli

LINES = np.linspace(-3, 3, 15)
# The rule, the energy that it learns from, and the paper's mean and standard deviation over folds.
METHODS = {
    "ExtendedEP(1)": (ssep.ExtendedEP(1.0), ssep.FilterEnergy(), "0.228 ± 0.07"),
    "StatLinEP(1)": (ssep.StatLinEP(1.0), ssep.FilterEnergy(), "0.217 ± 0.08"),
    "PowerEP(1)": (ssep.PowerEP(1.0), ssep.PowerEPEnergy(), "0.217 ± 0.08"),
    "CVI": (ssep.CVI(), ssep.FreeEnergy(), "0.217 ± 0.08"),
}


def load() -> tuple[np.ndarray, np.ndarray]:
    """Rows (x1, x2, label) in order of x1, and where each row of the file went."""
    values = np.stack(ssep.datasets.banana(FOLDER), 1)
    order = np.argsort(values[:, 0], kind="stable")
    return values[order], np.argsort(order)


def start(conditional_variance: bool) -> ssep.SpatioTemporalPrior:
    """Where the paper starts."""
    return ssep.SpatioTemporalPrior(
        Matern52(1.0, 1.0), Matern52(1.0, 1.0), LINES, conditional_variance=conditional_variance
    )


def learn(prior: ssep.SpatioTemporalPrior, rule: ssep.Rule, objective: ssep.Energy, data: ssep.Data, num_steps: int):
    """Adam on the variance and the two lengthscales; the lines stay where they are."""

    def trainable(prior: ssep.SpatioTemporalPrior, lik: ssep.Likelihood):
        term = prior.terms[0]
        return [term.temporal.variance, term.temporal.lengthscale, term.spatial.lengthscale]

    return ssep.fit(
        prior,
        Bernoulli(),
        rule,
        data,
        optimiser=optax.adam(0.2),
        num_steps=num_steps,
        # Energies that are stationary in the sites need no derivative through a sweep; that of the filter does.
        schedule=ssep.Interleave(frozen=not isinstance(objective, ssep.FilterEnergy)),
        trainable=trainable,
        objective=objective,
    )


def validate(rule: ssep.Rule, objective: ssep.Energy, conditional_variance: bool) -> np.ndarray:
    """The negative log predictive density of each fold; later folds start from the hyperparameters of the first."""
    rows, place = load()
    folds = np.loadtxt(FOLDER / "banana_folds.csv", delimiter=",").astype(int)
    prior, scores = start(conditional_variance), []
    for i, fold in enumerate(folds):
        seen = np.ones(len(rows), bool)
        seen[place[fold]] = False
        train = ssep.Data(rows[:, 0], rows[:, 2], r=rows[:, 1], mask=seen)
        fit = learn(prior, rule, objective, train, 100 if i == 0 else 25)
        prior = fit.prior if i == 0 else prior
        test = rows[~seen]
        scores.append(float(ssep.nlpd(fit, ssep.Data(test[:, 0], test[:, 2], r=test[:, 1]))))
    return np.array(scores)


def draw() -> None:
    """Probabilities and the boundary for one pass of the extended Kalman filter, ExtendedEP and CVI."""
    rows, _ = load()
    data = ssep.Data(rows[:, 0], rows[:, 2], r=rows[:, 1])
    prior = learn(start(True), ssep.CVI(), ssep.FreeEnergy(), data, 100).prior
    x, y = np.linspace(-2.8, 2.8, 90), np.linspace(-2.8, 2.8, 90)
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained", sharex=True, sharey=True)
    for ax, (title, rule, sweeps) in zip(
        axes,
        [
            ("extended Kalman filter, one pass", ssep.ExtendedEP(1.0), 0),
            ("ExtendedEP(1), converged", ssep.ExtendedEP(1.0), 500),
            ("CVI, converged", ssep.CVI(), 500),
        ],
        strict=True,
    ):
        solution = ssep.infer(prior, Bernoulli(), rule, data, max_sweeps=sweeps, throw=sweeps > 0)
        chance = np.asarray(ssep.predict(solution, x, r_new=y).y_mean).T
        ax.pcolormesh(x, y, chance, cmap="coolwarm", vmin=0, vmax=1, shading="gouraud")
        ax.hlines(LINES[np.abs(LINES) < 2.8], -2.8, 2.8, color="black", linewidth=0.4, alpha=0.5)
        ax.contour(x, y, chance, [0.5], colors="black", linewidths=2)
        for label, colour in [(0, "tab:blue"), (1, "tab:red")]:
            ax.plot(
                *rows[rows[:, 2] == label, :2].T,
                "o",
                color=colour,
                markersize=4,
                markeredgecolor="white",
                markeredgewidth=0.5,
            )
        ax.set(title=title, xlabel="x1 (time)")
    axes[0].set(ylabel="x2 (space)")
    figure.colorbar(ScalarMappable(Normalize(0, 1), "coolwarm"), ax=axes, label="probability of class 1")
    figure.savefig(IMAGES / "banana.png", dpi=110)


def main() -> None:
    """The figure, the table and the large set."""
    draw()
    task = banana(large=True)
    for label in ("compiling included", "compiled"):
        begun = time.perf_counter()
        solution = ssep.infer(task.prior, task.likelihood, ssep.CVI(), task.data)
        seconds = time.perf_counter() - begun
        print(f"CVI on {len(task.data.t)} points: {solution.num_sweeps} sweeps, {seconds:.1f} s ({label})")
    print("| rule | NLPD | without the conditional variance | [W20] |")
    print("| --- | --- | --- | --- |")
    for name, (rule, objective, paper) in METHODS.items():
        both = [validate(rule, objective, conditional) for conditional in (True, False)]
        cells = [f"{scores.mean():.3f} ± {scores.std():.2f}" for scores in both]
        print(f"| {name} | {cells[0]} | {cells[1]} | {paper} |", flush=True)


if __name__ == "__main__":
    main()
