"""Kernels, likelihoods and rules as text: what is read, what is written, and what errors say."""

import inspect
import operator

import equinox as eqx
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import ssep
from ssep import cubature, links, rules
from ssep.expressions import (
    ExpressionError,
    format_kernel,
    format_likelihood,
    format_rule,
    parse_kernel,
    parse_likelihood,
    parse_rule,
)
from ssep.kernels import (
    CARMA,
    ChangingVariance,
    Constant,
    Cosine,
    Linear,
    LocalLinearTrend,
    Matern12,
    Matern32,
    Matern52,
    Modulated,
    Periodic,
    Product,
    QuasiPeriodic,
    SeasonalDummies,
    SquaredExponential,
    Sum,
    Wiener,
)


def same(one, other):
    return type(one) is type(other) and bool(eqx.tree_equal(one, other))


KERNELS = {
    "matern52 + periodic(period=7)*matern32(variance=2, lengthscale=30)": (
        Matern52() + Periodic(period=7.0) * Matern32(2.0, 30.0)
    ),
    "(matern12 + Matern32(2)) * Matern_52": (Matern12() + Matern32(2.0)) * Matern52(),
    "matern12 + matern32 * matern52": Matern12() + Matern32() * Matern52(),
    "2*pi*matern12(1e-3, .5)": 2 * np.pi * Matern12(1e-3, 0.5),
    "cosine(frequency = 2*pi / 7 - 1/2)": Cosine(frequency=2 * np.pi / 7 - 1 / 2),
    "SQUAREDEXPONENTIAL(1, 2, order=4)": SquaredExponential(1.0, 2.0, 4),
    "squared_exponential(1, 2.0, 4) + 3": SquaredExponential(1.0, 2.0, 4) + 3,
    "wiener(start=-3, initial=0.5,)": Wiener(start=-3.0, initial=0.5),
    "carma(1, [1, 2], [.5])": CARMA(1.0, (1.0, 2.0), (0.5,)),
    "local_linear_trend(initial=[1, 2])": LocalLinearTrend(initial=(1.0, 2.0)),
    "changing_variance(matern32 + white, [1, 2e1], scales=3)": ChangingVariance(
        Matern32() + ssep.kernels.White(), [1.0, 20.0], 3.0
    ),
    " \n matern32 \t": Matern32(),
}


@pytest.mark.parametrize("text", KERNELS)
def test_text_is_the_kernel_that_python_would_make(text):
    assert same(parse_kernel(text), KERNELS[text])


def test_missing_arguments_take_the_callers_defaults_then_the_classes():
    defaults = {"lengthscale": 10.0, "variance": 4.0}
    assert same(parse_kernel("matern52", defaults=defaults), Matern52(4.0, 10.0))
    assert same(parse_kernel("matern52(lengthscale=3)", defaults=defaults), Matern52(4.0, 3.0))
    assert same(parse_kernel("matern52"), Matern52(1.0, 1.0))
    # The lengthscale of a pattern is not a time, and a product has one variance.
    mixed = parse_kernel("2 * periodic(period=7) * matern32 + matern12", defaults=defaults)
    assert same(mixed, 2 * Periodic(4.0, 1.0, 7.0) * Matern32(1.0, 10.0) + Matern12(4.0, 10.0))
    assert same(parse_kernel("quasi_periodic(period=7)", defaults=defaults), QuasiPeriodic(variance=4.0, period=7.0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("poisson", ssep.likelihoods.Poisson()),
        ("Poisson(softplus)", ssep.likelihoods.Poisson(links.softplus)),
        ("bernoulli(link=probit)", ssep.likelihoods.Bernoulli(links.probit)),
        ("student_t(df=4, scale=1)", ssep.likelihoods.StudentT(4.0, 1.0)),
        ("studentT(3)", ssep.likelihoods.StudentT(3.0)),
        ("heteroscedastic_gaussian", ssep.likelihoods.HeteroscedasticGaussian()),
        ("ordinal([-1, 0, 1])", ssep.likelihoods.Ordinal([-1.0, 0.0, 1.0])),
        ("zero_inflated(poisson, 0.1)", ssep.likelihoods.ZeroInflated(ssep.likelihoods.Poisson(), 0.1)),
    ],
)
def test_text_is_the_likelihood(text, expected):
    assert same(parse_likelihood(text), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ep", ssep.PowerEP()),
        ("EP(alpha=1, cubature=gauss_hermite(20))", ssep.PowerEP(1, ssep.GaussHermite(20))),
        ("power_ep(alpha=0.5)", ssep.PowerEP(0.5)),
        ("extended_ep", ssep.ExtendedEP()),
        ("stat_lin_ep(alpha=1, cubature=Unscented5)", ssep.StatLinEP(1, ssep.Unscented5())),
        ("cvi", ssep.CVI()),
        ("vi(adaptive(9))", ssep.CVI(ssep.Adaptive(9))),
    ],
)
def test_text_is_the_rule(text, expected):
    assert same(parse_rule(text), expected)


def final(module, base):
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value)
    ]


NEED = {
    "Sum": "sum([white])",
    "Product": "product([white])",
    "ChangingVariance": "changing_variance(white, [1])",
    "Ordinal": "ordinal([0, 1])",
    "Categorical": "categorical(3)",
    "ZeroInflated": "zero_inflated(poisson)",
    "Outputs": "outputs(poisson, [[1]])",
    "RegressionNetwork": "regression_network(1, 2, 1)",
}
FUNCTIONS = {"Modulated", "Regression", "FromNumPyro"}


@pytest.mark.parametrize(
    ("parse", "write", "cls"),
    [
        (parse, write, cls)
        for parse, write, classes in [
            (parse_kernel, format_kernel, final(ssep.kernels, ssep.Kernel)),
            (parse_likelihood, format_likelihood, final(ssep.likelihoods, ssep.Likelihood)),
            (parse_rule, format_rule, final(rules, ssep.Rule)),
        ]
        for cls in classes
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_class_without_functions_has_a_name_in_any_case(parse, write, cls):
    name = cls.__name__
    if name in FUNCTIONS:
        with pytest.raises(ExpressionError, match="does not know this name"):
            parse(name)
        return
    made = parse(NEED.get(name, name))
    assert type(made) is cls
    text = write(made)
    assert text == text.lower()
    assert same(parse(text), made)
    assert same(parse(text.upper().replace("_", "")), made)


@pytest.mark.parametrize("cls", final(cubature, ssep.Cubature), ids=lambda cls: cls.__name__)
def test_every_cubature_has_a_name(cls):
    rule = ssep.CVI(cls())
    assert same(parse_rule(format_rule(rule)), rule)


# Recipes, a class and its arguments, because shape checks of constructors draw random numbers of their own. Numbers are
# any doubles that are positive where they must be, and not so large that products overflow.
positive = st.floats(1e-100, 1e100)


def recipe(cls, *arguments):
    return st.tuples(st.just(cls), *arguments)


trees = st.recursive(
    st.one_of(
        recipe(Matern32, positive, positive),
        recipe(Periodic, positive, positive, positive, st.integers(0, 9)),
        recipe(SquaredExponential, positive, positive, st.integers(2, 10)),
        recipe(Constant, positive),
        recipe(CARMA, positive, st.lists(positive, min_size=2, max_size=3), st.lists(positive, max_size=1)),
        recipe(Linear, positive, st.floats(-1e100, 1e100)),
        recipe(SeasonalDummies, positive, st.integers(2, 9), positive, st.floats(-1e9, 1e9)),
    ),
    lambda inner: st.one_of(
        recipe(operator.add, inner, inner),
        recipe(operator.mul, inner, inner),
        # What operators would flatten, constructors may nest.
        recipe(lambda *parts: Sum(parts), inner),
        recipe(lambda *parts: Sum(parts), inner, inner, inner),
        recipe(lambda *factors: Product(factors), inner),
        recipe(lambda *factors: Product(factors), inner, inner),
        recipe(ChangingVariance, inner, st.just([1.0, 2.5]), positive),
    ),
    max_leaves=6,
)


def cook(tree):
    cls, *arguments = tree
    return cls(*[cook(each) if isinstance(each, tuple) else each for each in arguments])


@settings(max_examples=100)
@given(trees)
def test_a_kernel_survives_being_written_and_read(tree):
    kernel = cook(tree)
    assert same(parse_kernel(format_kernel(kernel)), kernel)
    # Defaults are for what is left out, and nothing is.
    assert same(parse_kernel(format_kernel(kernel), defaults={"variance": 3.0, "lengthscale": 5.0}), kernel)


def test_long_sums_are_read():
    assert len(parse_kernel(" + ".join(["white"] * 1100)).parts) == 1100


@settings(max_examples=200)
@given(st.text(alphabet="matern52perio_()[]+*-/=,. 1e\n\t$é", max_size=30))
def test_any_text_gives_a_kernel_or_an_expression_error_at_a_place_in_it(text):
    try:
        found = parse_kernel(text)
    except ExpressionError as error:
        found = error
    assert isinstance(found, ssep.Kernel) or (found.text == text and 0 <= found.position <= len(text))


@given(st.sampled_from([np.float32, np.float64]), st.floats(2**-7, 128, width=32))
def test_numbers_have_the_digits_of_their_own_precision(dtype, value):
    text = format_kernel(Constant(dtype(value)))
    digits = text.removeprefix("constant(variance=").removesuffix(")")
    assert dtype(digits) == dtype(value)
    assert len(digits) <= len(repr(float(value)))


ERRORS = [
    (parse_kernel, "matern53 + white", 0, ["matern53", "Did you mean `matern52`?"]),
    (parse_kernel, "white + periodik(1)", 8, ["`periodic`"]),
    (parse_kernel, "zzz", 0, ["`matern52`", "`wiener`", "does not know"]),
    (parse_kernel, "matern52(lenghtscale=3)", 9, ["`lengthscale`"]),
    (parse_kernel, "matern52(1, variance=2)", 12, ["once", "`variance`"]),
    (parse_kernel, "matern52(variance=1, 2)", 21, ["without a name first", "matern52(variance, lengthscale)"]),
    (parse_kernel, "matern52(1, 2, 3)", 15, ["2 arguments at most"]),
    (parse_kernel, "matern52(1, -2)", 12, ["positive and finite", "-2"]),
    (parse_kernel, "matern52(variance=matern32)", 9, ["numbers", "`matern32`"]),
    (parse_kernel, "carma(1, [matern32])", 9, ["numbers", "`matern32`"]),
    (parse_kernel, "matern52 +", 10, ["a name or a number", "the end"]),
    (parse_kernel, "", 0, ["the end"]),
    (parse_kernel, "(matern52", 9, ["`)`"]),
    (parse_kernel, "matern52)", 8, ["the end, or one of `+` and `*`"]),
    (parse_kernel, "matern52 matern32", 9, ["`+`", "`matern32`"]),
    (parse_kernel, "white(1 2)", 8, ["`,` or `)`"]),
    (parse_kernel, "carma(1, [1 2])", 12, ["`,` or `]`"]),
    (parse_kernel, "white(variance=1/0)", 16, ["division by zero"]),
    (parse_kernel, "white - white", 6, ["kernel `-` kernel"]),
    (parse_kernel, "2 / white", 2, ["number `/` kernel"]),
    (parse_kernel, "wiener * matern32", 7, ["variance grows with time"]),
    (parse_kernel, "2 ** 3", 3, ["`*`"]),
    (parse_kernel, "white; import os", 5, ["`;`"]),
    (parse_kernel, "__import__('os')", 11, ["`'`"]),
    (parse_kernel, "white.__class__", 5, ["`.`"]),
    (parse_kernel, "pi(1)", 0, ["does not know"]),
    (parse_kernel, "2 * 3", 0, ["must be a kernel"]),
    (parse_kernel, "changing_variance(white)", 0, ["changing_variance(changes=...)"]),
    (parse_kernel, "(" * 60, 20, ["at most 20"]),
    (parse_kernel, "white(" * 60, 125, ["at most 20"]),
    (parse_kernel, "white\n + grey", 9, ["`grey`"]),
    (parse_likelihood, "probit", 0, ["must be a likelihood", "`probit`"]),
    (parse_likelihood, "bernoulli(link=probitt)", 15, ["`probit`"]),
    (parse_likelihood, "bernoulli(link=exp)", 10, ["probabilities", "ssep.links.probit"]),
    (parse_likelihood, "ordinal", 0, ["ordinal(thresholds=...)"]),
    (parse_likelihood, "gaussian + gaussian", 9, ["Gaussian `+` Gaussian"]),
    (parse_rule, "ep(alpha=2)", 3, ["(0, 1]"]),
    (parse_rule, "ep(alpha=gauss_hermite(3))", 3, ["numbers"]),
    (parse_rule, "gauss_hermite(3)", 0, ["must be a rule", "`power_ep`"]),
]


@pytest.mark.parametrize(("parse", "text", "position", "words"), ERRORS, ids=[case[1][:30] for case in ERRORS])
def test_errors_show_the_place_and_say_what_was_expected(parse, text, position, words):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.text, error.position) == (text, position)
    message, _, shown, caret = str(error).split("\n")
    assert message.startswith(f"`{parse.__name__}(text)` ")
    for word in words:
        assert word in message
    before = text[:position].split("\n")[-1]
    assert shown.removeprefix("    ") in text.split("\n")
    assert caret == " " * (4 + len(before)) + "^"


def test_what_has_no_text_is_refused():
    with pytest.raises(ValueError, match=r"`format_kernel\(kernel\)` must be made of numbers"):
        format_kernel(Matern32() + Modulated(Matern32(), lambda t: t))
    with pytest.raises(ValueError, match="finite"):
        format_kernel(Wiener(start=-float("inf")))
