"""Distributions of NumPyro as likelihoods: equal to the library's own, safe, and clear about what is wrong."""

import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, stats

import ssep
from ssep import links
from ssep.likelihoods import FromNumPyro, Gaussian, Latent, Outputs
from ssep.marginals import Marginals
from tests.test_storage import rewrite

own = ssep.likelihoods
EXP = Latent(0, links.exp)
# name: (the library's likelihood, the same from NumPyro, values of y, extras)
TWINS = {
    "gamma": (
        own.Gamma(2.3),
        FromNumPyro(dist.Gamma, {"concentration": 2.3, "rate": lambda f, aux: 2.3 * jnp.exp(-f[0])}),
        [0.2, 1.0, 3.0],
        None,
    ),
    "negative-binomial": (
        own.NegativeBinomial(1.7),
        FromNumPyro(dist.NegativeBinomial2, {"mean": EXP, "concentration": 1.7}),
        [0, 2, 5],
        None,
    ),
    "student": (
        own.StudentT(4.0, 0.6),
        FromNumPyro(dist.StudentT, {"df": 4.0, "loc": Latent(), "scale": 0.6}),
        [-1.0, 0.2, 2.0],
        None,
    ),
    "poisson": (
        own.Poisson(),
        FromNumPyro(dist.Poisson, {"rate": lambda f, exposure: exposure * jnp.exp(f[0])}),
        [0, 1, 4],
        1.5,
    ),
    "bernoulli": (own.Bernoulli(), FromNumPyro(dist.Bernoulli, {"logits": Latent()}), [0, 1], None),
    "probit": (
        own.Bernoulli(links.probit),
        FromNumPyro(dist.Bernoulli, {"probs": Latent(0, links.probit)}),
        [0, 1],
        None,
    ),
    "beta": (
        own.Beta(5.0),
        FromNumPyro(dist.BetaProportion, {"mean": Latent(0, links.logistic), "concentration": 5.0}),
        [0.1, 0.5, 0.9],
        None,
    ),
    "binomial": (
        own.Binomial(),
        FromNumPyro(dist.Binomial, {"logits": Latent(), "total_count": lambda f, trials: trials}),
        [0, 3, 6],
        6.0,
    ),
    "ordinal": (
        own.Ordinal([-1.0, 0.5]),
        FromNumPyro(dist.OrderedLogistic, {"predictor": Latent(), "cutpoints": [-1.0, 0.5]}),
        [0, 1, 2],
        None,
    ),
    "von-mises": (
        own.VonMises(2.0),
        FromNumPyro(dist.VonMises, {"loc": Latent(), "concentration": 2.0}),
        [-3.0, 0.1],
        None,
    ),
}
RULES = {
    "PowerEP(0.5)": ssep.PowerEP(0.5),
    "PowerEP(1)": ssep.PowerEP(1.0, ssep.GaussHermite(40)),
    "ExtendedEP": ssep.ExtendedEP(0.5),
    "StatLinEP": ssep.StatLinEP(0.5),
    "CVI": ssep.CVI(),
}
PRIOR = ssep.SDEPrior(ssep.kernels.Matern32(0.6, 1.5))


def same(got, wanted, tolerance=1e-8):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance), got, wanted)


@eqx.filter_jit
def ask(lik, rules, y, aux):
    """Sites and energies of one observation, for all rules."""
    marginal = Marginals(jnp.array([0.3]), jnp.array([[0.25]]))

    def one(rule, y):
        site = rule.update(lik, y, aux, marginal, rule.alpha)
        power = rule.log_expected_power(lik, y, aux, marginal, 0.7)
        return site, power, rule.expected_log(lik, y, aux, marginal)

    return [jax.vmap(lambda y, rule=rule: one(rule, y))(y) for rule in rules]


@pytest.mark.parametrize("name", TWINS)
def test_sites_and_energies_are_those_of_the_librarys_own(name):
    lik, twin, values, aux = TWINS[name]
    rules = list(RULES.values())
    if name in ("ordinal", "von-mises"):
        for rule in (ssep.ExtendedEP(), ssep.StatLinEP()):
            with pytest.raises(ValueError, match=r"needs a finite mean and variance in NumPyro"):
                rule.check_likelihood(twin)
        rules = [ssep.PowerEP(0.5), ssep.CVI()]
    y, extra = jnp.asarray(values, float), None if aux is None else jnp.asarray(aux)
    assert twin.discrete == lik.discrete
    same(ask(twin, rules, y, extra), ask(lik, rules, y, extra))


@pytest.mark.parametrize("name", ["gamma", "negative-binomial", "student", "poisson"])
def test_distribution_functions_are_those_of_the_librarys_own(name):
    lik, twin, _, aux = TWINS[name]
    extra = None if aux is None else jnp.asarray(aux)
    # Outside the support, between integers, and inside.
    y = jnp.array([-0.5, 0.3, 2.0])
    found = [jax.vmap(lambda y, each=each: each.cdf(y, jnp.array([0.4]), extra))(y) for each in (twin, lik)]
    same(*found)


def test_extras_that_stand_for_whole_numbers_are_whole():
    arguments = {"concentration1": EXP, "concentration0": 1.5, "total_count": lambda f, trials: trials}
    lik, f = FromNumPyro(dist.BetaBinomial, arguments), jnp.array([0.4])
    draws = jax.vmap(lambda key: lik.sample(key, f, jnp.asarray(9.0)))(jax.random.split(jax.random.key(0), 4000))
    given = stats.betabinom(9, np.exp(0.4), 1.5)
    assert float(draws.mean()) == pytest.approx(given.mean(), abs=5 * given.std() / 4000**0.5)
    assert draws.dtype == f.dtype


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_posteriors_are_those_of_the_librarys_own(rule):
    lik, twin, values, _ = TWINS["gamma"]
    data = ssep.Data(np.arange(6.0), [*values, np.nan, values[1], values[2]])
    sites = None, None
    for _ in range(2):
        found = [ssep.sweep(PRIOR, each, old, rule, data) for each, old in zip((lik, twin), sites, strict=True)]
        same(found[1], found[0])
        sites = tuple(each[1] for each in found)


TRUNCATED = {"loc": Latent(), "scale": 0.8, "low": -0.5, "high": 2.0}
COUNT, LINE = None, (-np.inf, np.inf)
# name: (distribution, its arguments, where y lies)
OTHERS = {
    "truncated": (dist.TruncatedNormal, TRUNCATED, (-0.5, 2.0)),
    "kumaraswamy": (dist.Kumaraswamy, {"concentration1": EXP, "concentration0": 2.0}, (0.0, 1.0)),
    "logistic": (dist.Logistic, {"loc": Latent(0), "scale": Latent(1, links.softplus)}, LINE),
    "geometric": (dist.Geometric, {"logits": Latent()}, COUNT),
    "beta-binomial": (dist.BetaBinomial, {"concentration1": EXP, "concentration0": 1.5, "total_count": 9}, COUNT),
}


def other(name):
    return FromNumPyro(*OTHERS[name][:2])


@pytest.mark.parametrize("name", OTHERS)
def test_densities_normalise_and_have_the_moments_and_the_distribution_function(name):
    lik, ends = other(name), OTHERS[name][2]
    f = jnp.array([0.4, -0.2])[: lik.num_latents]
    mean, variance = lik.conditional_moments(f, None)

    @jax.jit
    def density(y):
        return jnp.exp(jax.vmap(lambda each: lik.log_prob(each, f, None))(y))

    if ends is None:
        y = np.arange(200.0)
        weights = np.asarray(density(jnp.asarray(y)))
        moments = [weights.sum(), weights @ y, weights @ (y - float(mean)) ** 2]
    else:
        at = lambda y: float(density(jnp.array([y]))[0])  # noqa: E731
        functions = [lambda y: at(y), lambda y: y * at(y), lambda y: (y - float(mean)) ** 2 * at(y)]
        moments = [integrate.quad(function, *ends, limit=200)[0] for function in functions]
    if name in ("truncated", "logistic"):
        below = integrate.quad(at, ends[0], 0.3, limit=200)[0]
        assert float(lik.cdf(jnp.asarray(0.3), f, None)) == pytest.approx(below, abs=1e-7)
    if name == "truncated":
        assert float(lik.cdf(jnp.asarray(ends[0] - 0.1), f, None)) == 0
        assert float(lik.cdf(jnp.asarray(ends[1] + 0.1), f, None)) == 1
    np.testing.assert_allclose(moments, [1, float(mean), float(variance)], rtol=1e-6)


@eqx.filter_jit
@eqx.filter_value_and_grad
def energy_of(model, rule, data):
    return ssep.sweep(*model, None, rule, data)[2]


@pytest.mark.parametrize("name", ["gamma", "beta"])
def test_impossible_observations_leave_derivatives_finite(name):
    """Data fill what is missing with something possible; here it is not: zero is at the end of both supports."""
    lik = TWINS[name][1]
    y, mask = np.array([0.3, 0.6, 0.0, 0.9]), np.array([True, True, False, True])
    data = eqx.tree_at(lambda data: data.y, ssep.Data(np.arange(4.0), y, mask=mask), jnp.asarray(y))
    elsewhere = eqx.tree_at(lambda data: data.y, data, data.y.at[2].set(0.5))
    for rule in (ssep.PowerEP(0.5), ssep.CVI()):
        found = energy_of((PRIOR, lik), rule, data)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
        same(energy_of((PRIOR, lik), rule, elsewhere), found, 1e-12)
    # Far less likely than anything, with derivatives zero.
    for value in (-1.0, 0.0):
        outside, slope = jax.value_and_grad(lambda f, y=value: lik.log_prob(jnp.asarray(y), f, None))(jnp.ones(1))
        assert np.isfinite(outside)
        assert outside < -1e100
        assert slope == 0


def test_a_support_that_depends_on_the_latents_is_left_to_the_density():
    lik = FromNumPyro(dist.Uniform, {"low": 0.0, "high": EXP})
    lik.check_observations(np.array([0.5, 50.0]), None)
    f = jnp.array([1.0])
    assert float(lik.log_prob(jnp.asarray(2.0), f, None)) == pytest.approx(-1.0)
    assert lik.log_prob(jnp.asarray(3.0), f, None) < -1e100


def test_constants_are_learned_within_their_sets_and_bounds_are_not():
    t, rng = np.arange(40.0), np.random.default_rng(0)
    y = rng.gamma(4.0, np.exp(np.sin(t / 5)) / 4.0)
    arguments = {"concentration": 1.0, "rate": lambda f, aux: jnp.exp(-f[0])}
    twin = FromNumPyro(dist.Gamma, arguments)
    fitted = ssep.fit(PRIOR, twin, ssep.CVI(), ssep.Data(t, y), num_steps=15)
    assert float(fitted.likelihood.arguments["concentration"].value) > 1.5
    inflated = FromNumPyro(dist.ZeroInflatedPoisson, {"gate": 0.2, "rate": EXP})
    above = FromNumPyro(dist.TruncatedNormal, {"loc": Latent(), "scale": 0.8, "low": -0.5})
    kinds = (above, inflated, TWINS["ordinal"][1], other("beta-binomial"))
    names = [{name: type(value).__name__ for name, value in lik.arguments.items()} for lik in kinds]
    assert names[0] == {"loc": "Latent", "scale": "PositiveConstant", "low": "FixedConstant"}
    assert names[1]["gate"] == "ProbabilityConstant"
    assert names[2]["cutpoints"] == "IncreasingConstant"
    assert names[3]["total_count"] == "FixedConstant"
    # Numbers that are held fixed are no arrays, so that `fit` leaves them alone.
    assert len(jax.tree.leaves(eqx.filter(kinds[0], eqx.is_array))) == 1


def test_transformations_go_through():
    data = ssep.Data(np.arange(3.0), [0.2, 1.0, 3.0])

    def energy(concentration):
        lik = FromNumPyro(dist.Gamma, {"concentration": concentration, "rate": EXP})
        return ssep.sweep(PRIOR, lik, None, ssep.PowerEP(0.5), data)[2]

    grid = jnp.array([0.5, 1.0, 2.0])
    batched, one = jax.jit(jax.vmap(jax.value_and_grad(energy)))(grid), jax.jit(energy)(2.0)
    same(batched[0][2], one, 1e-10)
    ends = [float(jax.jit(energy)(1.0 + step)) for step in (1e-5, -1e-5)]
    assert float(batched[1][1]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_predictions_are_those_of_the_librarys_own(tmp_path):
    lik, twin, values, _ = TWINS["negative-binomial"]
    data = ssep.Data(np.arange(3.0), values)
    solutions = [ssep.infer(PRIOR, each, ssep.PowerEP(0.5), data) for each in (lik, twin)]
    ssep.save(tmp_path / "a.ssep", solutions[1])
    solutions.append(ssep.load(tmp_path / "a.ssep"))
    assert eqx.tree_equal(solutions[1], solutions[2])
    wanted, *found = [ssep.predict(each, np.array([1.5, 4.0])) for each in solutions]
    for prediction in found:
        same(prediction.y_mean, wanted.y_mean)
        same(prediction.y_var, wanted.y_var)
        same(prediction.log_prob([1.0, 3.0]), wanted.log_prob([1.0, 3.0]))
        np.testing.assert_array_equal(prediction.quantile([0.2, 0.9]), wanted.quantile([0.2, 0.9]))
    paths = ssep.sample(jax.random.key(0), solutions[1], np.array([4.0]), num_samples=2000)
    assert float(paths.y.mean()) == pytest.approx(float(wanted.y_mean[1]), abs=5 * float(wanted.y_var[1] / 2000) ** 0.5)
    # A file names a distribution of NumPyro, and nothing else.
    for name in ("constraints", "os.system", "Distribution.__init__"):
        rewrite(tmp_path / "a.ssep", lambda header, name=name: _rename(header["tree"], name))
        with pytest.raises(ValueError, match="needs a distribution that NumPyro has"):
            ssep.predict(ssep.load(tmp_path / "a.ssep"), [1.0]).y_mean.block_until_ready()
    plain = eqx.tree_at(lambda s: s.likelihood, solutions[1], TWINS["gamma"][1])
    with pytest.raises(ValueError, match=r"`save\(value\)` can store numbers, arrays and modules; got <function"):
        ssep.save(tmp_path / "b.ssep", plain)
    made = eqx.tree_at(lambda s: s.likelihood, solutions[1], FromNumPyro(lambda m: dist.Normal(m), {"m": Latent()}))
    with pytest.raises(ValueError, match=r"`save\(value\)` can store numbers, arrays and modules; got <function"):
        ssep.save(tmp_path / "b.ssep", made)


def _rename(tree, name):
    tree["fields"]["likelihood"]["fields"]["distribution"] = {"value": name}


def test_it_can_be_one_of_several_outputs():
    y = np.array([[-1.0, 0.4], [0.5, 0.9]])
    data, weights = ssep.Data([0.0, 1.0], y, aux=Outputs.columns(y)), [[1.0], [-0.5]]
    models = [Outputs((Gaussian(0.3), lik), weights) for lik in TWINS["beta"][:2]]
    found = [energy_of((PRIOR, lik), ssep.PowerEP(0.5), data) for lik in models]
    for pick in (lambda each: each[0], lambda each: each[1][0], lambda each: each[1][1].weights):
        same(pick(found[1]), pick(found[0]))
    with pytest.raises(ValueError, match=r"`BetaProportion`, whose support is .*; got 1.5 at position \(1, 1\)"):
        models[1].check_observations(np.array([[-1.0, 0.4], [0.5, 1.5]]), np.asarray(data.aux))


def run(lik, y, aux=None, rule=ssep.PowerEP()):
    return ssep.sweep(PRIOR, lik, None, rule, ssep.Data(np.arange(float(len(y))), y, aux=aux))


def made(distribution, num_latents=None, **arguments):
    return FromNumPyro(distribution, arguments, num_latents)


GAMMAS, LABELS = dist.Gamma, ssep.Data([0.0, 1.0], [0.0, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: made(GAMMAS, shape=1.0), "must be among `concentration`, `rate` of `Gamma`; got `shape`"),
        (lambda: made(GAMMAS, rate=EXP), "without a default; got none for `concentration`"),
        (lambda: made(GAMMAS, concentration=1.0), "must depend on a latent; got constants"),
        (lambda: made(GAMMAS, concentration=1.0, rate=Latent(1)), r"must use all of 2 latents; got none with \[0\]"),
        (lambda: made(GAMMAS, concentration=-1.0, rate=EXP), r"FromNumPyro\(concentration\)` must be positive"),
        (lambda: made(GAMMAS, concentration=[1.0, 2.0], rate=EXP), r"must be one number each; got .* \(2,\)"),
        (lambda: made(GAMMAS, concentration=links.exp), r"must not be a link alone.*`Latent\(0, ssep.links.exp"),
        (lambda: made(GAMMAS, 0, concentration=1.0, rate=EXP), "must be an integer of at least 1; got 0"),
        (lambda: made(dist.Gamma(1.0), rate=EXP), "must be a distribution class of NumPyro, or a function"),
        (lambda: made(dict, rate=EXP), "must be a distribution class of NumPyro, or a function"),
        (lambda: made(dist.Bernoulli, logits=Latent(), probs=0.5), "that `Bernoulli` takes together"),
        (lambda: made(dist.MultivariateNormal, loc=Latent()), "must be of one number; got `MultivariateNormal`"),
        (lambda: made(dist.Dirichlet, concentration=EXP), "must be of one number; got `Dirichlet`"),
        (
            lambda: made(dist.BetaBinomial, concentration1=EXP, concentration0=1.0, total_count=-1),
            r"FromNumPyro\(total_count\)` must satisfy NumPyro's IntegerNonnegative.*; got -1",
        ),
        (lambda: Latent(-1), r"`Latent\(index\)` must be a non-negative integer; got -1"),
        (
            lambda: run(made(GAMMAS, concentration=1.0, rate=EXP), [1.0, 0.0]),
            "finite density of y under NumPyro's `Gamma`, whose support is Positive.*; got 0.0 at position 1",
        ),
        (lambda: run(TWINS["beta"][1], [0.5, 1.0]), "`BetaProportion`.*; got 1.0 at position 1"),
        (lambda: run(TWINS["binomial"][1], [1.0, 4.0], [2.0, 3.0]), "upper_bound=3.; got 4.0 at position 1"),
        (
            lambda: jax.jit(lambda t: ssep.sweep(PRIOR, TWINS["bernoulli"][1], None, ssep.PowerEP(), LABELS)[2])(0.0),
            "Boolean.*; got 2.0 at position 1",
        ),
        (
            lambda: run(made(dist.Cauchy, loc=Latent()), [0.0, 1.0], rule=ssep.StatLinEP()),
            r"`FromNumPyro\(Cauchy\)` needs a finite mean and variance.*; got nan and nan. Use `PowerEP` or `CVI`",
        ),
        (
            lambda: run(made(dist.StudentT, df=2.0, loc=Latent()), [0.0, 1.0], rule=ssep.ExtendedEP()),
            r"`FromNumPyro\(StudentT\)` needs a finite mean and variance.*; got 0.5 and inf",
        ),
        (
            lambda: other("geometric").cdf(jnp.asarray(1.0), jnp.zeros(1), None),
            r"`FromNumPyro\(Geometric\)` needs a `cdf` in NumPyro for quantiles.*Take quantiles of `ssep.sample",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numpyro_is_optional(monkeypatch):
    code = "import ssep, sys; ssep.likelihoods.FromNumPyro; assert 'numpyro' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    for name in [name for name in sys.modules if name.split(".")[0] == "numpyro"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"`FromNumPyro` needs NumPyro; run `pip install ssep\[numpyro\]`"):
        FromNumPyro(stats.gamma, {"a": EXP})
