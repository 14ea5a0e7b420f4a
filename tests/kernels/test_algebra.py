"""Kernels are values: printed as typed, compared, held, bounded, replaced, never changed."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from support.for_each import for_each

from posterity.kernels import (
    RBF,
    Columns,
    Constant,
    Function,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    White,
)

X = np.random.default_rng(0).normal(size=(8, 2))


@for_each(
    ("kernel", "text"),
    [
        (RBF(0.5), "RBF(0.5)"),
        (RBF(), "RBF()"),
        (RBF(ard=True), "RBF(ard=True)"),
        (RBF([1.0, 2.0], ard=True), "RBF([1.0, 2.0])"),
        (RBF(np.float32(0.5)), "RBF(0.5)"),
        (RBF(1 / 3), "RBF(0.3333333333333333)"),
        (Matern(1.0, smoothness=0.5), "Matern(1.0, smoothness=0.5)"),
        (Polynomial(3), "Polynomial(3)"),
        (Polynomial(offset=2), "Polynomial(offset=2.0)"),
        (2.0 * RBF(0.5) + White(0.1), "2.0 * RBF(0.5) + White(0.1)"),
        (2 * (RBF(0.5) + White(0.1)), "2.0 * (RBF(0.5) + White(0.1))"),
        (RBF(0.5) * 2.0, "2.0 * RBF(0.5)"),
        (2.0 * RBF(0.5) * Linear(1.0), "2.0 * RBF(0.5) * Linear(1.0)"),
        (2.0 * (RBF(0.5) * Linear(1.0)), "2.0 * (RBF(0.5) * Linear(1.0))"),
        (3.0 * (2.0 * RBF(0.5)), "3.0 * (2.0 * RBF(0.5))"),
        (RBF(0.5) * (2.0 * Linear(1.0)), "RBF(0.5) * (2.0 * Linear(1.0))"),
        (RBF(0.5) * (RBF(0.5) * Linear(1.0)), "RBF(0.5) * (RBF(0.5) * Linear(1.0))"),
        ((RBF(0.5) + 1.0) * RBF(0.5), "(RBF(0.5) + 1.0) * RBF(0.5)"),
        (RBF(0.5) + (White(1.0) + 2.0), "RBF(0.5) + (White(1.0) + 2.0)"),
        (3.0 + RBF(0.5), "3.0 + RBF(0.5)"),
        (RBF(0.5) + 3.0 + 2.0, "RBF(0.5) + 3.0 + 2.0"),
        (Constant(3.0) + Constant(2.0), "Constant(3.0) + 2.0"),
        (Constant(3.0) + (Constant(2.0) + 1.0), "3.0 + (Constant(2.0) + 1.0)"),
        (Constant(3.0).fixed() + RBF(0.5), "Constant(3.0).fixed() + RBF(0.5)"),
        (RBF(0.5) + Constant(), "RBF(0.5) + Constant()"),
        (Constant(2.0) * RBF(0.5), "Constant(2.0) * RBF(0.5)"),
        (Scaled(RBF(0.5)), "Scaled(RBF(0.5))"),
        (RBF(0.5).fixed(), "RBF(0.5).fixed()"),
        (RationalQuadratic(1.0, shape=2.0).fixed("shape"),) * 1
        + ("RationalQuadratic(1.0, shape=2.0).fixed('shape')",),
        ((2.0 * RBF(0.5)).fixed("variance"), "Scaled(RBF(0.5), variance=2.0).fixed('variance')"),
        (
            (2.0 * Linear(0.5)).with_params(kernel=Linear(0.5)).fixed("variance"),
            "(2.0 * Linear(0.5)).fixed()",
        ),
        (
            Scaled(Linear(0.5), 2.0, held=("variance",), limits=(("variance", 0.1, 3.0),)),
            "Scaled(Linear(0.5), variance=2.0, held=('variance',), "
            "limits=(('variance', 0.1, 3.0),))",
        ),
        (
            RBF(0.5).fixed().bounded(length_scale=(0.1, 1)),
            "RBF(0.5).fixed().bounded(length_scale=(0.1, 1.0))",
        ),
        (Columns(RBF(1.0), "age"), "Columns(RBF(1.0), columns='age')"),
        (Columns(RBF(1.0), ["age", -1]), "Columns(RBF(1.0), columns=['age', -1])"),
    ],
)
def test_prints_as_typed_and_types_as_printed(kernel, text):
    assert repr(kernel) == text
    assert eval(text) == kernel
    assert hash(eval(text)) == hash(kernel)


def test_str_is_short_and_repr_is_exact():
    kernel = RBF([1 / 3, 2e-7]) + Scaled(White(1 / 7), 1 / 9)
    assert str(kernel) == "RBF([0.333, 2e-07]) + 0.111 * White(0.143)"
    assert eval(repr(kernel)) == kernel


def test_a_function_prints_by_its_name():
    assert repr(Function(np.minimum)) == "Function(minimum)"
    assert repr(2.0 * Function(max)) == "2.0 * Function(max)"


def test_equality_is_of_class_structure_and_numbers():
    assert RBF(0.5) == RBF(0.5)
    assert RBF([0.5, 0.5]) == RBF((0.5, 0.5)) == RBF(np.array([0.5, 0.5]))
    assert RBF(0.5) != RBF([0.5, 0.5])
    assert RBF(0.5) != Matern(0.5)
    assert RBF(0.5) + White(1.0) != White(1.0) + RBF(0.5)
    assert RBF(0.5) != RBF(0.5).fixed()
    assert RBF(0.5) * 2.0 == 2.0 * RBF(0.5) == Scaled(RBF(0.5), 2.0)
    assert np.float64(2.0) * RBF(0.5) == RBF(0.5) * np.int64(2) == Scaled(RBF(0.5), 2.0)
    assert np.float64(2.0) + RBF(0.5) == Constant(2.0) + RBF(0.5)


def test_a_kernel_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        RBF(0.5).length_scale = 2.0


@for_each(
    "wrong",
    [
        lambda: RBF(1.0) + "a",
        lambda: "a" * RBF(1.0),
        lambda: RBF(1.0) * None,
        lambda: RBF(1.0) + True,
        lambda: RBF(1.0) + np.ones(3),
        lambda: np.ones(3) * RBF(1.0),
        lambda: RBF(1.0) - RBF(1.0),
        lambda: RBF(1.0) / 2.0,
        lambda: -RBF(1.0),
        lambda: RBF(1.0) * 2j,
    ],
)
def test_arithmetic_refuses_what_is_no_kernel(wrong):
    with pytest.raises(TypeError):
        wrong()


@for_each(
    ("wrong", "match"),
    [
        (lambda: RBF(0.0), r"RBF\.length_scale=0\.0 must be finite and greater than zero"),
        (lambda: RBF([1.0, -1.0]), r"RBF\.length_scale=\[1\.0, -1\.0\] must be finite"),
        (lambda: RBF(np.nan), r"RBF\.length_scale=nan"),
        (lambda: RBF(np.inf), r"RBF\.length_scale=inf"),
        (lambda: RBF("long"), r"RBF\.length_scale='long' must be a number, or one number a"),
        (lambda: RBF([]), r"RBF\.length_scale=\[\]"),
        (lambda: RBF([[1.0]]), r"RBF\.length_scale=\[\[1\.0\]\]"),
        (lambda: Constant([1.0, 2.0]), r"Constant\.variance=\[1\.0, 2\.0\] must be one number"),
        (lambda: Periodic([1.0]), r"Periodic\.period=\[1\.0\] must be one number"),
        (lambda: -2.0 * RBF(1.0), r"Scaled\.variance=-2\.0 must be finite and greater"),
        (lambda: RBF(1.0) + 0.0, r"Constant\.variance=0\.0 must be finite and greater"),
        (lambda: Matern(1.0, smoothness=2.0), r"Matern\.smoothness=2\.0 must be 0\.5, 1\.5"),
        (lambda: Polynomial(0), r"Polynomial\.degree=0 must be a whole number"),
        (lambda: Polynomial(2.0), r"Polynomial\.degree=2\.0"),
        (lambda: Polynomial(True), r"Polynomial\.degree=True"),
        (lambda: Function(3.0), r"function=3\.0 must be a function k\(X, Z\)"),
        (lambda: RBF([1.0, 2.0, 3.0])(X), r"has 3 numbers, but the rows have 2 columns"),
        (lambda: RBF([1.0, 2.0, 3.0]).start(X), r"has 3 numbers, but the rows have 2 columns"),
        (lambda: Linear([1.0, 2.0, 3.0]).start(X), r"has 3 numbers, but the rows have 2"),
        (lambda: RBF(1.0).fixed("width"), r"RBF\(1\) has no parameter 'width'; it has \['length"),
        (lambda: (RBF(1.0) + 1.0).fixed("right__length_scale"), r"no parameter 'right__length_s"),
        (lambda: RBF(1.0).bounded(width=(1.0, 2.0)), r"no parameter 'width'"),
        (lambda: RBF(1.0).bounded(length_scale=(2.0, 1.0)), r"0 < lower <= upper"),
        (lambda: RBF(1.0).with_params(width=2.0), r"has no parameter 'width'"),
        (lambda: RBF(1.0).with_params(held=("length_scale",)), r"has no parameter 'held'"),
        (lambda: RBF(1.0).with_params(length_scale__x=2.0), r"'length_scale' of RBF\(1\) has no"),
        (lambda: RBF(1.0).with_theta(np.zeros(2)), r"RBF\(1\) has 1 free parameters; 2 were given"),
        (lambda: (RBF(1.0) + 1.0).with_theta(np.zeros(1)), r"has 2 free parameters; 1 were given"),
        (lambda: RBF(1.0).with_theta(np.zeros((1, 1))), r"an array of shape \(1, 1\) were given"),
    ],
)
def test_what_is_wrong_is_named(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()


def expression():
    return 2.0 * RBF([0.5, 3.0]) + Linear(0.7) * Periodic(1.5, length_scale=0.9)


def test_theta_is_the_logarithm_of_what_names_say():
    kernel = expression()
    assert kernel.names == [
        "left__variance",
        "left__kernel__length_scale[0]",
        "left__kernel__length_scale[1]",
        "right__left__variance",
        "right__right__period",
        "right__right__length_scale",
    ]
    np.testing.assert_allclose(np.exp(kernel.theta), [2.0, 0.5, 3.0, 0.7, 1.5, 0.9])


def test_at_replaces_theta_and_nothing_else():
    theta = np.linspace(-1.0, 1.0, 6)
    kernel = expression().with_theta(theta)
    np.testing.assert_allclose(kernel.theta, theta, rtol=1e-15, atol=1e-15)
    assert kernel.names == expression().names
    assert expression().with_theta(expression().theta).names == expression().names
    held = expression().fixed("length_scale").with_theta(np.zeros(3))
    assert held.left.kernel.length_scale == (0.5, 3.0)
    assert held.right.left.variance == 1.0


def test_fixed_by_name_holds_all_of_that_name_and_by_path_only_one():
    kernel = RBF(1.0) + (RBF(2.0) + RBF(3.0))
    assert kernel.fixed("length_scale").names == []
    assert kernel.fixed("left__length_scale").names == [
        "right__left__length_scale",
        "right__right__length_scale",
    ]
    assert kernel.fixed("right__left__length_scale").names == [
        "left__length_scale",
        "right__right__length_scale",
    ]


def test_fixed_adds_to_what_is_held():
    kernel = RationalQuadratic(1.0, shape=2.0)
    assert kernel.fixed("shape").fixed("length_scale") == kernel.fixed()
    assert kernel.fixed("shape").fixed("shape") == kernel.fixed("shape")


def test_bounds_by_path_win_over_bounds_by_name():
    kernel = RBF(1.0) + RBF(1.0)
    bounds = kernel.bounded(length_scale=(0.5, 2.0), left__length_scale=(0.9, 1.1)).search_start(X)[
        1
    ]
    np.testing.assert_allclose(np.exp(bounds), [[0.9, 1.1], [0.5, 2.0]])
    only = kernel.bounded(left__length_scale=(0.9, 1.1))
    assert only.left.limits
    assert not only.right.limits
    again = only.bounded(length_scale=(0.1, 10.0))
    assert again.left.limits == again.right.limits == (("length_scale", 0.1, 10.0),)


def test_a_start_lies_between_its_bounds():
    for kernel in (RBF(), RBF(5.0), RBF(ard=True), RBF([5.0, 0.01])):
        started, bounds = kernel.bounded(length_scale=(0.1, 0.2)).search_start(X)
        np.testing.assert_allclose(np.exp(bounds), [[0.1, 0.2]] * len(started.theta))
        assert np.all((started.theta >= bounds[:, 0]) & (started.theta <= bounds[:, 1]))
    held = RBF(5.0).bounded(length_scale=(0.1, 0.2)).fixed().start(X)
    assert held.length_scale == 5.0


def test_a_given_start_is_kept_and_well_inside_the_default_bounds():
    started, bounds = (1e-9 * RBF(1e9)).search_start(X)
    np.testing.assert_allclose(np.exp(started.theta), [1e-9, 1e9])
    assert np.all(bounds[:, 0] < started.theta - 4.0)
    assert np.all(bounds[:, 1] > started.theta + 4.0)


def test_unset_parameters_start_from_the_data_and_are_one_until_then():
    assert RBF().names == ["length_scale"]
    np.testing.assert_array_equal(RBF()(X), RBF(1.0)(X))
    wide = RBF().start(100.0 * X).length_scale
    assert wide == pytest.approx(100.0 * RBF().start(X).length_scale)
    assert len(RBF(ard=True).start(X).length_scale) == 2
    assert Scaled(RBF()).start(X, variance=7.0).variance == 7.0
    assert Constant().start(X, variance=7.0).variance == 7.0
    assert White().start(X, variance=7.0).variance == 7.0


@for_each("kernel", [Linear(), Linear(ard=True), Polynomial(1)])
def test_a_linear_start_has_about_the_variance_of_the_function(kernel):
    units = np.array([1e3, 1e-2])
    started = kernel.start(X * units, variance=7.0)
    typical = started.diag(X * units).mean()
    if isinstance(kernel, Linear):
        assert typical == pytest.approx(7.0)
    else:
        assert started.offset == pytest.approx(typical / 2.0)


def test_params_go_by_nested_names():
    kernel = RBF(0.5) + White(0.1)
    assert kernel.get_params() == {
        "left": RBF(0.5),
        "right": White(0.1),
        "left__length_scale": 0.5,
        "left__ard": False,
        "right__variance": 0.1,
    }
    assert set(kernel.get_params(deep=False)) == {"left", "right"}
    changed = kernel.with_params(left__length_scale=[2.0, 3.0], right=White(1.0))
    assert changed == RBF([2.0, 3.0]) + White(1.0)
    assert kernel.with_params(left=Matern(1.0), left__smoothness=0.5).left.smoothness == 0.5
    assert kernel.fixed().with_params(left__length_scale=2.0).names == []


def test_scikit_learn_clones_estimators_that_hold_one():
    class Estimator(BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

    estimator = Estimator(kernel=RBF(0.5) + White(0.1))
    assert clone(estimator).kernel == estimator.kernel
    assert estimator.get_params()["kernel__left__length_scale"] == 0.5


def test_names_are_bound_through_every_part_of_an_expression():
    kernel = 2.0 * Columns(RBF(1.0), "b") + Columns(Linear(1.0), ["c", "a"]) * White(0.1)
    bound = kernel.bind_columns(["a", "b", "c"])
    assert bound.left.kernel.positions == (1,)
    assert bound.right.left.positions == (2, 0)
    assert repr(bound) == repr(kernel)
    assert bound == kernel
    assert bound.get_params() == kernel.get_params()
    assert isinstance(bound, Sum)
    assert isinstance(bound.right, Product)


def test_the_sum_of_a_list_is_the_sum_of_its_kernels():
    parts = [RBF(0.5), Linear(2.0), White(0.1)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]


@for_each(
    ("kernel", "text"),
    [
        ((2.0 * RBF(0.5)).fixed(), "(2.0 * RBF(0.5)).fixed()"),
        ((RBF(0.5) + White(0.1)).fixed(), "(RBF(0.5) + White(0.1)).fixed()"),
        (Columns(RBF(0.5), 0).fixed(), "Columns(RBF(0.5), columns=0).fixed()"),
        (RBF(0.5).fixed() + White(0.1), "RBF(0.5).fixed() + White(0.1)"),
    ],
    ids=str,
)
def test_what_is_held_as_a_whole_says_so_once(kernel, text):
    assert repr(kernel) == text
    assert eval(text) == kernel
