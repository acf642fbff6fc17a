"""Posterior draws as ArviZ wants them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ssep.checks import require
from ssep.sampling import sample
from ssep.solution import Fit, Solution, as_solution


def to_arviz(key: PRNGKeyArray, solution: Solution | Fit, *, num_samples: int = 1000, times: Any = None) -> Any:
    """Joint posterior draws at the data's own times, as the `DataTree` that ArviZ works with.

    Its groups are `posterior`, with the latents `f`; `posterior_predictive`, with new observations `y`, if the
    likelihood can draw them; `observed_data`; and `log_likelihood`, the log density of each observation given each draw
    of its latents. The last three leave out what is missing: along `time`, or, where there are several observations
    per time and some are missing, along `observation`, which has the coordinates `time` and `column`.

    Args:
        key: A JAX random key.
        solution: What `infer` or `fit` returned.
        num_samples: The number of draws. They are independent, and make one chain.
        times: What to call the times of the data, in their order: dates, for example. By default their numbers.
    """
    try:
        from arviz_base import dict_to_dataset
        from xarray import DataTree
    except ImportError as error:
        raise ImportError('`tables.to_arviz` needs arviz-base: `pip install "ssep[arviz]"`.') from error
    solved = as_solution("to_arviz", solution)
    data = solved.data
    names = np.asarray(data.t if times is None else times)
    remedy = "Give one per step of the data, in their order."
    require(names.shape == data.t.shape, "to_arviz(times)", f"must have shape {data.t.shape}", names.shape, remedy)
    f, y = _drawn(key, solved, num_samples)
    seen, by_column = np.asarray(data.mask), data.per_step is not None
    grid = ["time", "column"] if by_column else ["time"]
    coords = {"time": names, "column": np.arange(seen.shape[-1]), "latent": np.arange(f.shape[-1])}

    def group(name: str, values: Any, dims: list[str], own: dict[str, Any], is_drawn: bool = True) -> Any:
        batch = {name: np.asarray(values)[None] if is_drawn else np.asarray(values)}
        kept = {key: own[key] for key in dims}
        return dict_to_dataset(batch, dims={name: dims}, coords=kept, sample_dims=None if is_drawn else [])

    def of_observations(values: Any, is_drawn: bool = True) -> Any:
        if seen.all():
            return group("y", values, grid, coords, is_drawn)
        kept = np.asarray(values)[..., seen]
        if not by_column:
            return group("y", kept, grid, {"time": names[seen]}, is_drawn)
        step, column = np.nonzero(seen)
        made = group("y", kept, ["observation"], {"observation": np.arange(len(step))}, is_drawn)
        return made.assign_coords(time=("observation", names[step]), column=("observation", column))

    groups = {
        "posterior": group("f", f, [*grid, "latent"], coords),
        "observed_data": of_observations(data.y, is_drawn=False),
        "log_likelihood": of_observations(_log_likelihood(solved, f)),
    }
    return DataTree.from_dict(groups if y is None else {**groups, "posterior_predictive": of_observations(y)})


def _drawn(
    key: PRNGKeyArray, solved: Solution, count: int
) -> tuple[Float[Array, "sample *obs latent"], Float[Array, "sample *obs"] | None]:
    """Draws of the latents of every observation, and of new observations."""
    data = solved.data
    shape, t, r, aux = data.y.shape, data.t, data.r, data.aux
    if r is None and data.per_step is not None:
        # Equal times see equal latents.
        t = jnp.repeat(t, data.per_step)
        aux = jax.tree.map(lambda extra: extra.reshape(-1, *extra.shape[2:]), aux)
    if r is not None and data.per_step is None:
        r, aux = r[:, None], jax.tree.map(lambda extra: extra[:, None], aux)
    paths = sample(key, solved, t, count, r_new=r, aux=aux)
    f = paths.f.reshape(count, *shape, paths.f.shape[-1])
    return f, None if paths.y is None else paths.y.reshape(count, *shape)


@eqx.filter_jit
def _log_likelihood(solved: Solution, f: Float[Array, "sample *obs latent"]) -> Float[Array, "sample *obs"]:
    def log_density(y, aux, drawn):
        return jax.vmap(lambda latents: jnp.reshape(solved.likelihood.log_prob(y, latents, aux), ()))(drawn)

    return jnp.moveaxis(solved.data.observations.map(log_density, jnp.moveaxis(f, 0, -2)), -1, 0)
