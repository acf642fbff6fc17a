"""Data that are made up, the same for the same seed."""

import numpy as np

from ssep.checks import require


def binary(size: int = 10_000, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times and labels 0 or 1: the sign of a slowing, noisy wave at irregular times, the Binary task of [W20].

    At s uniform on (0, 70) the label is one where 12 sin(4 pi s) / (0.25 pi s + 1) plus noise of standard deviation 0.1
    is positive; times are t = 100 s.

    Args:
        size: The number of labels.
        seed: For the times and the noise.
    """
    _check_count("datasets.binary(size)", size)
    rng = np.random.default_rng(seed)
    s = np.sort(rng.uniform(0, 70, size))
    wave = 12 * np.sin(4 * np.pi * s) / (0.25 * np.pi * s + 1) + rng.normal(0, 0.1, size)
    return 100 * s, (wave > 0).astype(float)


def synthetic_voice(
    seed: int = 0, *, num_samples: int = 22_050, sample_rate: float = 44_100.0
) -> tuple[np.ndarray, np.ndarray]:
    """Times in milliseconds, and a sound that stands in for speech: the model of the Audio task of [W20].

    Three subbands around 220, 440 and 660 Hz, whose phases drift within 75 ms, each times the softplus of an envelope
    that changes within 10 ms, and noise of variance 0.3. The subbands have variance 2 and the envelopes 1, so that the
    sound is as loud as the recording in [W20].

    Args:
        seed: For everything.
        num_samples: The number of samples; half a second unless given.
        sample_rate: In samples per second.
    """
    _check_count("datasets.synthetic_voice(num_samples)", num_samples)
    remedy = "44100 is that of compact discs."
    require(sample_rate > 0, "datasets.synthetic_voice(sample_rate)", "must be positive", sample_rate, remedy)
    rng = np.random.default_rng(seed)
    step = 1000 / sample_rate
    y = rng.normal(0, np.sqrt(0.3), num_samples)
    for hertz in (220, 440, 660):
        lag = step * np.arange(10 * 75 / step)
        subband = _moving_average(rng, num_samples, np.exp((-1 / 75 + 2j * np.pi * hertz / 1000) * lag))
        # The response whose autocorrelation is the Matern-5/2 covariance with a lengthscale of 10 ms.
        lag = step * np.arange(10 * 10 / step)
        envelope = _moving_average(rng, num_samples, lag**2 * np.exp(-np.sqrt(5) / 10 * lag))
        y += np.sqrt(2) * subband * np.logaddexp(0, envelope)
    return step * np.arange(num_samples), y


def _moving_average(rng: np.random.Generator, count: int, response: np.ndarray) -> np.ndarray:
    """White noise smoothed to a stationary process of variance one: the real part of a complex one."""
    size = count + len(response) - 1
    noise = rng.normal(size=size) + 1j * rng.normal(size=size)
    smooth = np.fft.ifft(np.fft.fft(noise) * np.fft.fft(response, size)) / np.linalg.norm(response)
    # Before that the convolution wraps around.
    return smooth.real[len(response) - 1 :]


def _check_count(call: str, count: int) -> None:
    require(isinstance(count, int) and count > 0, call, "must be a positive integer", count, "Give a number of points.")
