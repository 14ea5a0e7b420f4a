"""Each kernel against its definition, written out for one pair of rows."""

import math

import mpmath
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import pairwise
from support.for_each import for_each

from posterity import kernels

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
P, Q = rng.gamma(1.0, size=(7, 3)), rng.gamma(1.0, size=(5, 3))
P[2, 1] = Q[3, 1] = Q[0, 0] = 0.0
A, B = rng.integers(0, 3, (7, 3)).astype(float), rng.integers(0, 3, (5, 3)).astype(float)
LENGTHS = [0.5, 1.0, 2.0]


def by_pairs(k, X, Z):
    return np.array([[k(x, z) for z in Z] for x in X])


def scaled(x, z):
    return math.sqrt(sum((a - b) ** 2 / l**2 for a, b, l in zip(x, z, LENGTHS, strict=True)))


def chi_squared(x, z):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def harmonic(x, z):
    return sum(2 * a * b / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def categories(x, z):
    return math.exp(-sum((a != b) / l for a, b, l in zip(x, z, LENGTHS, strict=True)))


def periodic(x, z):
    waves = (math.sin(math.pi * (a - b) / 1.3) ** 2 for a, b in zip(x, z, strict=True))
    return math.exp(-2.0 * sum(waves) / 0.8**2)


def name(value):
    """Of a kernel, the same in every process; the place in the table for everything else."""
    is_kernel = isinstance(value, kernels.Kernel) and "function" not in str(value)
    return str(value) if is_kernel else ""


@for_each(
    ("kernel", "definition", "rows"),
    [
        (kernels.Constant(0.3), lambda x, z: 0.3, (X, Z)),
        (kernels.White(0.3), lambda x, z: 0.0, (X, Z)),
        (kernels.RBF(LENGTHS), lambda x, z: math.exp(-(scaled(x, z) ** 2) / 2), (X, Z)),
        (
            kernels.Matern(LENGTHS, smoothness=0.5),
            lambda x, z: math.exp(-scaled(x, z)),
            (X, Z),
        ),
        (kernels.Linear(0.3), lambda x, z: 0.3 * float(x @ z), (X, Z)),
        (kernels.Linear(LENGTHS), lambda x, z: float(x @ (LENGTHS * z)), (X, Z)),
        (kernels.Polynomial(3, offset=0.4), lambda x, z: (float(x @ z) + 0.4) ** 3, (X, Z)),
        (kernels.Periodic(1.3, length_scale=0.8), periodic, (X, Z)),
        (kernels.ChiSquared(0.7), lambda x, z: math.exp(-0.7 * chi_squared(x, z)), (P, Q)),
        (kernels.AdditiveChiSquared(), harmonic, (P, Q)),
        (kernels.Categorical(LENGTHS), categories, (A, B)),
        (
            kernels.Categorical(0.8),
            lambda x, z: math.exp(-sum(x != z) / 0.8),
            (A, B),
        ),
        (
            kernels.Columns(kernels.Linear(1.0), [2, -3]),
            lambda x, z: float(x[2] * z[2] + x[0] * z[0]),
            (X, Z),
        ),
        (kernels.Function(lambda X, Z: X[:, [0]] + Z[:, 1]), lambda x, z: x[0] + z[1], (X, Z)),
        (
            2.0 * kernels.Linear(1.0) * kernels.Linear(1.0) + 3.0,
            lambda x, z: 2.0 * float(x @ z) ** 2 + 3.0,
            (X, Z),
        ),
    ],
    ids=name,
)
def test_is_its_definition_for_each_pair_of_rows(kernel, definition, rows):
    np.testing.assert_allclose(kernel(*rows), by_pairs(definition, *rows), rtol=1e-12, atol=1e-14)


@for_each(
    ("kernel", "peer"),
    [
        (kernels.RBF(0.7), sk.RBF(0.7)),
        (kernels.RBF(LENGTHS), sk.RBF(LENGTHS)),
        (kernels.Matern(0.7, smoothness=0.5), sk.Matern(0.7, nu=0.5)),
        (kernels.Matern(LENGTHS, smoothness=1.5), sk.Matern(LENGTHS, nu=1.5)),
        (kernels.Matern(0.7), sk.Matern(0.7, nu=2.5)),
        (kernels.RationalQuadratic(0.7, shape=0.4), sk.RationalQuadratic(0.7, alpha=0.4)),
        (kernels.White(0.3), sk.WhiteKernel(0.3)),
        (2.0 * kernels.RBF(0.7) + kernels.White(0.1), 2.0 * sk.RBF(0.7) + sk.WhiteKernel(0.1)),
    ],
    ids=name,
)
def test_is_scikit_learns_kernel_of_the_same_name(kernel, peer):
    np.testing.assert_allclose(kernel(X), peer(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X, Z), peer(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), peer.diag(X), rtol=1e-12)


def test_one_column_is_periodic_as_scikit_learn_has_it():
    x = X[:, :1]
    peer = sk.ExpSineSquared(length_scale=0.8, periodicity=1.3)
    np.testing.assert_allclose(kernels.Periodic(1.3, length_scale=0.8)(x), peer(x), rtol=1e-12)


def test_cosine_is_that_of_scikit_learn_where_rows_have_a_direction():
    np.testing.assert_allclose(kernels.Cosine()(X, Z), pairwise.cosine_similarity(X, Z), rtol=1e-13)
    np.testing.assert_allclose(kernels.ChiSquared(0.7)(P, Q), pairwise.chi2_kernel(P, Q, 0.7))


def test_rows_of_zeros_are_alike_and_unlike_the_rest():
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    K = kernels.Cosine()(rows, rows.copy())
    np.testing.assert_allclose(K, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], rtol=1e-15)
    gradient = kernels.Cosine().pullback_inputs(rows, rows, np.ones((3, 3)))
    np.testing.assert_array_equal(gradient[[0, 2]], 0.0)


@for_each("unit", [1e-200, 1e200])
def test_angles_do_not_depend_on_the_unit(unit):
    np.testing.assert_allclose(kernels.Cosine()(unit * X, Z), kernels.Cosine()(X, Z), rtol=1e-13)


def test_more_columns_than_are_subtracted_one_by_one_give_the_same_numbers():
    many = rng.normal(size=(6, 40)) + 100.0
    expected = by_pairs(lambda x, z: math.exp(-sum((x - z) ** 2) / 50.0), many, many[:4])
    np.testing.assert_allclose(kernels.RBF(5.0)(many, many[:4]), expected, rtol=1e-9)
    np.testing.assert_array_equal(np.diagonal(kernels.RBF(5.0)(many)), 1.0)


def test_rows_far_from_zero_keep_their_phase():
    x, z, period = 123456789.25, 0.5, 1.1
    with mpmath.workdps(50):
        angle = mpmath.pi * (mpmath.mpf(x) - mpmath.mpf(z)) / mpmath.mpf(period)
        expected = float(mpmath.exp(-2 * mpmath.sin(angle) ** 2))
    found = kernels.Periodic(period, length_scale=1.0)(np.array([[x]]), np.array([[z]]))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_period_gradient_does_not_depend_on_where_zero_is():
    kernel, G = kernels.Periodic(1.3, length_scale=0.8), rng.normal(size=(7, 7))
    period = 1.3 * 2**20
    near = kernel.pullback(X, None, G)
    np.testing.assert_allclose(kernel.pullback(X + period, None, G), near, rtol=1e-7)


def test_white_depends_on_z_being_absent_and_on_nothing_else():
    kernel = kernels.White(0.3)
    np.testing.assert_array_equal(kernel(X), 0.3 * np.eye(7))
    np.testing.assert_array_equal(kernel(X, X), np.zeros((7, 7)))
    np.testing.assert_array_equal(kernel(["a", "b"]), 0.3 * np.eye(2))
    assert kernel.pullback(X, None, np.ones((7, 7))) == pytest.approx(2.1)
    assert kernel.pullback(X, X, np.ones((7, 7))) == 0.0
    inside = 2.0 * (kernel + kernels.RBF(1.0)) * kernels.Columns(kernel, 0)
    np.testing.assert_allclose(inside(X), 2.0 * 1.3 * 0.3 * np.eye(7))
    np.testing.assert_array_equal(inside(X, X), 0.0)
    np.testing.assert_allclose(inside.diag(X), 2.0 * 1.3 * 0.3)


@for_each("kernel", [kernels.ChiSquared(1.0), kernels.AdditiveChiSquared()])
def test_histograms_below_zero_are_named(kernel):
    bad = np.array([[1.0, 2.0], [0.0, -0.25]])
    for call in (kernel, kernel.diag, kernel.tangent, kernel.start):
        if call == kernel.start and not kernel.theta.size:
            continue
        with pytest.raises(ValueError, match=r"X is -0\.25 in row 1, column 1; \w+ compares hist"):
            call(bad)
    with pytest.raises(ValueError, match=r"Z is -0\.25 in row 1, column 1"):
        kernel(abs(bad), bad)


def test_any_number_of_categories_is_positive_semi_definite():
    for n in (2, 3, 30):
        K = kernels.Categorical(5.0)(np.arange(n, dtype=float)[:, None])
        assert np.linalg.eigvalsh(K)[0] == pytest.approx(1.0 - math.exp(-0.2))


def test_categories_have_no_order_and_no_slope():
    codes = A.copy()
    codes[A == 1.0] = 17.0
    kernel = kernels.Categorical(0.8)
    np.testing.assert_array_equal(kernel(codes), kernel(A))
    np.testing.assert_array_equal(kernel.pullback_inputs(A, B, np.ones((7, 5))), np.zeros((7, 3)))


@for_each(
    ("kernel", "rows"),
    [
        (kernels.RBF(), 100.0 * X),
        (kernels.RBF(ard=True), X * LENGTHS),
        (kernels.ChiSquared(), 100.0 * P),
        (kernels.Categorical(), A),
        (kernels.Categorical(ard=True), A),
    ],
)
def test_at_the_start_typical_rows_are_correlated_by_about_a_third(kernel, rows):
    K = kernel.start(rows)(rows)
    assert 0.2 < np.exp(np.mean(np.log(K[np.triu_indices(7, 1)]))) < 0.5


def test_at_the_start_several_periods_are_seen():
    started, bounds = kernels.Periodic().search_start(np.linspace(0.0, 10.0, 51)[:, None])
    assert 1.0 < started.period < 5.0
    assert np.exp(bounds[0, 0]) < 1.0 < 20.0 < np.exp(bounds[0, 1])
    assert kernels.Periodic().start(X).length_scale == pytest.approx(math.sqrt(3.0))
    constant = kernels.Periodic().start(np.ones((4, 2)))
    assert constant.period == 0.25
