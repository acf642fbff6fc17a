"""What is saved comes back bit for bit; anything else is refused."""

import json
import zipfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ssep
from ssep.kernels import Cosine, Matern32, Matern52
from tests.test_sweep import build


class Slope(eqx.Module):
    """A mean function that can be saved."""

    value: jax.Array

    def __call__(self, t):
        return self.value * t


@pytest.fixture(scope="module")
def solution():
    _, lik, data, problem, _ = build(71, "poisson")
    prior = ssep.SDEPrior(1.5 * Matern52(0.9, 1.1) + Matern32(0.1, 0.2) * Cosine(1.0, 2.0), mean=0.1)
    y = np.where(problem.mask, problem.y, np.nan)
    return ssep.infer(prior, lik, ssep.PowerEP(0.5), ssep.Data(data.t, y, aux=np.ones(9)))


def test_a_solution_comes_back_bit_for_bit(solution, tmp_path):
    ssep.save(tmp_path / "a.ssep", solution)
    back = ssep.load(tmp_path / "a.ssep")
    assert jax.tree.structure(back) == jax.tree.structure(solution)
    for got, wanted in zip(jax.tree.leaves(back), jax.tree.leaves(solution), strict=True):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(got, wanted)
    assert bool(back.result == ssep.RESULTS.converged)
    assert [path.name for path in tmp_path.iterdir()] == ["a.ssep"]
    before, after = (ssep.predict(s, [1.0, 7.0], aux=np.ones(2)) for s in (solution, back))
    np.testing.assert_array_equal(before.f_mean, after.f_mean)


@pytest.mark.parametrize("result", ["converged", "max_sweeps_reached", "improper_cavity", "non_finite"])
def test_every_result_comes_back(solution, tmp_path, result):
    changed = eqx.tree_at(lambda s: s.result, solution, getattr(ssep.RESULTS, result))
    ssep.save(tmp_path / "a.ssep", changed)
    back = ssep.load(tmp_path / "a.ssep").result
    assert bool(back == getattr(ssep.RESULTS, result))
    assert ssep.RESULTS[back] == ssep.RESULTS[getattr(ssep.RESULTS, result)]


def test_a_fit_and_a_streamed_solution_come_back(solution, tmp_path):
    fit = ssep.Fit(
        ssep.update(solution, ssep.Data([8.0], [2.0], aux=np.ones(1))),
        jnp.array([2.0, 1.0]),
        (solution.prior, solution.likelihood),
    )
    ssep.save(tmp_path / "fit.ssep", fit)
    back = ssep.load(tmp_path / "fit.ssep")
    assert isinstance(back, ssep.Fit)
    assert eqx.tree_equal(back, fit)


def test_classes_of_ones_own_are_named_on_loading(solution, tmp_path):
    prior = ssep.SDEPrior(Matern32(1.0, 1.0), mean=Slope(jnp.asarray(0.2)))
    changed = eqx.tree_at(lambda s: s.prior, solution, prior)
    ssep.save(tmp_path / "a.ssep", changed)
    with pytest.raises(ValueError, match=r"must know every class in the file; got tests.test_storage:Slope"):
        ssep.load(tmp_path / "a.ssep")
    assert eqx.tree_equal(ssep.load(tmp_path / "a.ssep", classes=(Slope,)), changed)


def test_a_plain_function_cannot_be_saved_and_the_old_file_stays(solution, tmp_path):
    ssep.save(tmp_path / "a.ssep", solution)
    before = (tmp_path / "a.ssep").read_bytes()
    changed = eqx.tree_at(lambda s: s.prior, solution, ssep.SDEPrior(Matern32(1.0, 1.0), mean=lambda t: t))
    with pytest.raises(ValueError, match=r"as an `eqx\.Module`"):
        ssep.save(tmp_path / "a.ssep", changed)
    assert (tmp_path / "a.ssep").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.ssep"]


def test_what_could_not_be_loaded_is_not_saved_and_files_are_readable(solution, tmp_path):
    import collections
    import os
    import stat

    pair = collections.namedtuple("pair", ["a"])
    named = eqx.tree_at(lambda s: s.data.aux, solution, pair(jnp.ones(9)))
    with pytest.raises(ValueError, match="a named tuple as a dict"):
        ssep.save(tmp_path / "a.ssep", named)
    ssep.save(tmp_path / "a.ssep", solution)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.ssep").stat().st_mode) == 0o666 & ~mask


def rewrite(path, change):
    """The same file with another header."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])
    change(header)
    entries["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=99), "reads files of version 1; got version 99"),
        (lambda header: header.update(format="other"), "needs a file that `ssep.save` wrote"),
        (lambda header: header["tree"].update({"class": "os:system"}), "must know every class"),
        (lambda header: header["tree"].update({"class": "ssep.storage:os"}), "must know every class"),
        (lambda header: header["tree"]["fields"].pop("energy"), "needs the fields"),
    ],
)
def test_foreign_headers_are_refused(solution, tmp_path, change, message):
    ssep.save(tmp_path / "a.ssep", solution)
    rewrite(tmp_path / "a.ssep", change)
    with pytest.raises(ValueError, match=message):
        ssep.load(tmp_path / "a.ssep")


@pytest.mark.parametrize("content", [b"", b"hello", None])
def test_other_and_truncated_files_are_refused(solution, tmp_path, content):
    path = tmp_path / "a.ssep"
    ssep.save(path, solution)
    path.write_bytes(path.read_bytes()[:-200] if content is None else content)
    with pytest.raises(ValueError, match=r"`load\(path\)` needs a file that `ssep.save` wrote"):
        ssep.load(path)
    np.savez(tmp_path / "b.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"`load\(path\)` needs a file that `ssep.save` wrote"):
        ssep.load(tmp_path / "b.npz")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ssep.load(tmp_path / "nothing.ssep")
