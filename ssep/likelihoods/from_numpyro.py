"""Any distribution of NumPyro as a likelihood."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from ssep.checks import is_concrete, require
from ssep.likelihoods.arguments import Latent
from ssep.likelihoods.base import Likelihood
from ssep.likelihoods.numpyro_family import (
    CALL,
    EXAMPLES,
    as_constant,
    check_family,
    check_names,
    check_single,
    differ,
    example_of,
    family_named,
    known_now,
    library,
    make,
    name_of,
    whole_numbers,
)
from ssep.likelihoods.support import require_all
from ssep.types import Aux, Latents, Scalar


class FromNumPyro(Likelihood):
    """y from a distribution of NumPyro, whose parameters depend on the latents.

    With `import numpyro.distributions as dist`, `FromNumPyro(dist.Gumbel, {"loc": Latent(0), "scale": 0.5})`; with two
    latents, `FromNumPyro(dist.Gamma, {"concentration": Latent(0, exp), "rate": Latent(1, exp)})`.

    An observation that is impossible given the latents has a log probability of -1e154 (-1e19 in single precision), not
    -inf, so that derivatives stay finite.

    Args:
        distribution: A class in `numpyro.distributions`, or a function that returns a distribution.
        arguments: For each of its parameters one of: a `Latent`, with a link if it needs one; a number, which is
            learned within the set that NumPyro has for it, unless it is a whole number or a bound of the support; or a
            function of (f, aux), the latents and the extras of an observation. What has a default may be left out.
        num_latents: How many latents there are, if functions see more of them than the `Latent` arguments name.
    """

    distribution: str | Callable[..., Any] = eqx.field(static=True)
    """The name of a distribution of NumPyro, or what makes one."""
    arguments: dict[str, Callable[..., Any]]
    _num_latents: int = eqx.field(static=True)
    _discrete: bool = eqx.field(static=True)
    _possible: float = eqx.field(static=True)
    _whole: tuple[str, ...] = eqx.field(static=True)
    """The parameters that are whole numbers, while extras are floats."""

    def __init__(self, distribution: Callable[..., Any], arguments: Mapping[str, Any], num_latents: int | None = None):
        check_family(distribution)
        mapping = isinstance(arguments, Mapping)
        remedy = "For example `{'loc': Latent(0), 'scale': 1.0}`."
        require(mapping, f"{CALL}(arguments)", "must be a dictionary from names to values", repr(arguments), remedy)
        check_names(distribution, arguments)
        name = getattr(distribution, "__name__", "")
        self.distribution = name if getattr(library(), name, None) is distribution else distribution
        self._num_latents = _count(arguments, num_latents)
        with known_now(arguments):
            example = example_of(distribution, arguments)
            check_single(distribution, len(example.event_shape))
            remedy = "Give its class a `support`, for example `constraints.real`."
            require(example.support is not None, f"{CALL}(distribution)", "must have a support", "none", remedy)
            shape = example.batch_shape
            requirement, remedy = "must be one number each", "Call `jax.vmap` for several likelihoods."
            require(shape == (), f"{CALL}(arguments)", requirement, f"values of shape {shape}", remedy)
            self.arguments = {
                name: value if callable(value) else as_constant(distribution, arguments, name)
                for name, value in arguments.items()
            }
            self._whole = whole_numbers(example, arguments)
            self._discrete = bool(example.support.is_discrete)
            possible = example.support.feasible_like(jnp.zeros(()))
            self._possible = float(possible) if is_concrete(possible) else 1.0

    @property
    def num_latents(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those that the arguments name, or that were given."""
        return self._num_latents

    @property
    def discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the support is one of integers."""
        return self._discrete

    def given(self, f: Latents, aux: Aux) -> Any:
        """NumPyro's distribution of an observation given the latents."""
        values = {name: argument(f, aux) for name, argument in self.arguments.items()}
        return make(self._family, values | {name: jnp.asarray(values[name]).astype(int) for name in self._whole})

    def log_prob(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The log density (or mass) of y given the latents."""
        given = self.given(f, aux)
        possible, feasible = self._judge(given, y)
        # What is impossible must not be asked for: its derivatives would be NaN, also where they are not taken.
        value = self._log_prob(given, jnp.where(possible, y, feasible))
        return jnp.where(possible, value, -(float(jnp.finfo(y.dtype).max) ** 0.5))

    def conditional_moments(self, f: Latents, aux: Aux) -> tuple[Scalar, Scalar]:
        """E[y|f] and Var[y|f]."""
        given = self.given(f, aux)
        return jnp.asarray(given.mean, f.dtype), jnp.asarray(given.variance, f.dtype)

    def sample(self, key: PRNGKeyArray, f: Latents, aux: Aux) -> Scalar:
        """Draw one y given the latents."""
        return jnp.asarray(self.given(f, aux).sample(key)).astype(f.dtype)

    def cdf(self, y: Scalar, f: Latents, aux: Aux) -> Scalar:
        """The probability of an observation up to y given the latents."""
        given = self.given(f, aux)
        low, high = (
            jnp.asarray(getattr(given.support, name, default), y.dtype)
            for name, default in (("lower_bound", -jnp.inf), ("upper_bound", jnp.inf))
        )
        inside = jnp.clip(jnp.floor(y) if self.discrete else y, low, high)
        try:
            value = jnp.asarray(given.cdf(inside), y.dtype)
        except NotImplementedError as error:
            raise ValueError(
                f"`{CALL}({self._name})` needs a `cdf` in NumPyro for quantiles of the observations; got a "
                "distribution without it. Take quantiles of `ssep.sample(...).y`."
            ) from error
        return jnp.where(y < low, 0, jnp.where(y >= high, 1, value))

    def check_observations(self, y: np.ndarray, aux: Aux) -> None:
        """Values are in the support, and have a finite density, unless that depends on the latents."""
        if not is_concrete(self, aux):
            return
        extras = jax.tree.map(lambda extra: extra.reshape(y.size, *extra.shape[y.ndim :]), aux)
        with known_now():
            values = jnp.asarray(y).ravel()
            # The latents are not known here; of some that are unusual a parameter may be impossible itself.
            seen = [jax.vmap(lambda y, extra, f=f: self._look(y, f, extra))(values, extras) for f in (0.0, 1.0, -1.0)]
        if any(differ(seen[0][1], each[1]) for each in seen):
            return
        valid = np.any([np.asarray(possible) for possible, _ in seen], 0)
        with known_now():
            first = jax.tree.map(lambda extra: extra[np.argmin(valid)], extras)
            support = self.given(jnp.zeros(self._num_latents), first).support
        requirement = f"needs a finite density of y under NumPyro's `{self._name}`, whose support is {support}"
        require_all(self, y, valid.reshape(y.shape), requirement, "Mark missing values as NaN.")

    def check_moments(self) -> None:
        """NumPyro has a mean and a variance that are finite."""
        with known_now(self):
            got = [_moments(self._family, self.arguments, level) for level in EXAMPLES]
        requirement = "needs a finite mean and variance in NumPyro for the linearised rules, `y_mean` and `y_var`"
        missing = next((each for each in got if each is not None), "")
        require(None in got, f"{CALL}({self._name})", requirement, missing, "Use `PowerEP` or `CVI`, and quantiles.")

    def stand_in(self, aux: Aux) -> tuple[float, Aux]:
        """A value in the support."""
        return self._possible, jax.tree.map(lambda extra: 1.0, aux)

    @property
    def _family(self) -> Callable[..., Any]:
        return family_named(self.distribution) if isinstance(self.distribution, str) else self.distribution

    @property
    def _name(self) -> str:
        return name_of(self._family)

    def _log_prob(self, given: Any, y: Scalar) -> Scalar:
        return jnp.asarray(given.log_prob(y.astype(int) if self.discrete else y), y.dtype)

    def _judge(self, given: Any, y: Scalar) -> tuple[Bool[Array, ""], Scalar]:
        """Whether y is possible, and a value that is: a support may include ends where the density is infinite."""
        feasible = jnp.asarray(given.support.feasible_like(y), y.dtype)
        possible = jnp.asarray(given.support(y))
        return possible & jnp.isfinite(self._log_prob(given, jnp.where(possible, y, feasible))), feasible

    def _look(self, y: Scalar, level: float, aux: Aux) -> tuple[Bool[Array, ""], list[Array]]:
        """Whether y is possible with all latents at a level, and the bounds of the support there."""
        given = self.given(jnp.full(self._num_latents, level, y.dtype), aux)
        return self._judge(given, y)[0], [jnp.asarray(bound) for bound in jax.tree.leaves(given.support)]


def _count(arguments: Mapping[str, Any], num_latents: int | None) -> int:
    """The number of latents, all of which something depends on."""
    named = {argument.index for argument in arguments.values() if isinstance(argument, Latent)}
    functions = any(callable(argument) and not isinstance(argument, Latent) for argument in arguments.values())
    remedy = "Give at least one as a `Latent`."
    require(named or functions, f"{CALL}(arguments)", "must depend on a latent", "constants", remedy)
    count = max(named, default=0) + 1
    if num_latents is not None:
        enough = isinstance(num_latents, int | np.integer) and num_latents >= count
        require(enough, f"{CALL}(num_latents)", f"must be an integer of at least {count}", num_latents, "Leave it out.")
        count = int(num_latents)
    unused = sorted(set(range(count)) - named)
    requirement = f"must use all of {count} latents"
    require(functions or not unused, f"{CALL}(arguments)", requirement, f"none with {unused}", "Number them from 0.")
    return count


def _moments(family: Callable[..., Any], arguments: Mapping[str, Any], level: Any) -> str | None:
    """What is wrong with the moments, if anything."""
    try:
        example = example_of(family, arguments, level)
        moments = example.mean, example.variance
    except (NotImplementedError, ValueError):
        return "a distribution without them"
    if isinstance(example.support, type(library().constraints.circular)):
        return "an angle"
    finite = not is_concrete(moments) or all(bool(np.all(np.isfinite(np.asarray(moment)))) for moment in moments)
    return None if finite else f"{np.asarray(moments[0])} and {np.asarray(moments[1])}"
