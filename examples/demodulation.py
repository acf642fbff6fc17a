"""Demodulation: a voice as a sum of subbands, each a fast oscillation times a slow envelope, both unknown.

`AmplitudeDemodulation` has six latents: three subbands around 220, 440 and 660 Hz, and three envelopes. The sound is a
word, if there is a recording in the folder that SSEP_DATA names, and otherwise drawn from the model. Three gaps are cut
out of it; prints how well they are filled, and writes the parts, with envelopes in 90 % bands, to
build/demodulation.png.
"""

import pathlib

import jax
import numpy as np
from matplotlib import pyplot as plt

import ssep
from ssep.kernels import Cosine, Matern12, Matern52

jax.config.update("jax_enable_x64", True)
HERTZ = (220, 440, 660)
EVERY, RATE = 8, 5.5125  # every so many samples of the recording are one: so many per millisecond
VARIANCE = 2.0  # of a subband


def load(length: float) -> tuple[np.ndarray, np.ndarray]:
    """Times in milliseconds and the sound, as loud as the model expects."""
    count = round(length * RATE)
    try:
        t, y = ssep.datasets.speech()
    except FileNotFoundError:
        print("no recording: this voice is made up")
        return ssep.datasets.synthetic_voice(num_samples=count, sample_rate=1000 * RATE)
    begin = np.searchsorted(t, 250.0)
    t, y = (values[begin : begin + EVERY * count].reshape(count, EVERY).mean(1) for values in (t, y))
    return t - t[0], 2 * y / y.std()


def main(output: pathlib.Path = pathlib.Path("build/demodulation.png"), length: float = 160.0) -> None:
    """Infer with gaps, score them, plot."""
    t, y = load(length)
    gap = np.any([np.abs(t - middle) < 2 for middle in (40, 75, 110)], axis=0)
    subbands = [Matern12(VARIANCE, 75.0) * Cosine(1.0, 2 * np.pi * hertz / 1000) for hertz in HERTZ]
    prior = ssep.SDEPrior((*subbands, *[Matern52(1.0, 10.0)] * 3))
    lik = ssep.likelihoods.AmplitudeDemodulation(variance=0.3)
    rule = ssep.PowerEP(alpha=0.5, cubature=ssep.GaussHermite(5))  # in three dimensions: subbands integrate exactly
    solution = ssep.infer(prior, lik, rule, ssep.Data(t, y, mask=~gap))
    prediction = ssep.predict(solution, t)
    score = -np.mean(prediction.log_prob(y)[gap])
    baseline = np.mean(np.log(2 * np.pi * y.var()) + y[gap] ** 2 / y.var()) / 2
    explained = 1 - np.var(y[gap] - prediction.y_mean[gap]) / np.var(y[gap])
    print(f"{t.size} samples, {solution.num_sweeps} sweeps")
    print(f"{gap.sum()} samples in gaps: NLPD {score:.3f}, of a normal distribution {baseline:.3f}")
    print(f"{explained:.0%} of their variance is explained")

    figure, axes = plt.subplots(4, 1, figsize=(9, 8), sharex=True, layout="constrained")
    low, high = prediction.quantile([0.05, 0.95])
    axes[0].fill_between(t, low, high, alpha=0.25, label="90 % interval")
    axes[0].plot(t, prediction.y_mean, linewidth=1, label="expected")
    axes[0].plot(t[~gap], y[~gap], "k.", markersize=2, label="sound")
    axes[0].plot(t[gap], y[gap], ".", color="C3", markersize=3, label="cut out")
    axes[0].set(title="The sound, with gaps filled", ylabel="pressure")
    mean, deviation = np.asarray(prediction.f_mean), np.sqrt(prediction.f_var)
    amplitude = np.sqrt(2 * VARIANCE)  # of an oscillation with that variance
    for i, (ax, hertz) in enumerate(zip(axes[1:], HERTZ, strict=True)):
        least, envelope, most = (np.logaddexp(0, mean[:, 3 + i] + z * deviation[:, 3 + i]) for z in (-1.645, 0, 1.645))
        ax.plot(t, mean[:, i] * envelope, linewidth=1, color="C0", label="subband" if i == 0 else None)
        for sign in (-amplitude, amplitude):
            ax.plot(t, sign * envelope, color="C1", label="envelope" if i == 0 and sign > 0 else None)
            ax.fill_between(t, sign * least, sign * most, color="C1", alpha=0.2, linewidth=0)
        ax.set(title=f"{hertz} Hz", ylabel="pressure")
    figure.legend(loc="outside upper center", ncols=6, fontsize="small")
    axes[3].set(xlabel="milliseconds")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main()
