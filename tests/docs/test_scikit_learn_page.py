"""What the page for scikit-learn's users says exists, and its numbers agree."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as their_kernels
from sklearn import kernel_ridge, linear_model
from sklearn.utils import all_estimators
from support.for_each import for_each

import posterity
from posterity import kernels, likelihoods

PAGE = (Path(__file__).parents[2] / "docs" / "scikit_learn.md").read_text("utf-8")
ARROW = re.compile(r"`(\w+)` → `(\w+)`")
SETTING = re.compile(r"`(\w+)=[^`]*`")
THEIRS = dict(all_estimators())
N = 120


def rows_below(first):
    """The cells of every row of the tables whose first column is called so."""
    for table in re.findall(rf"^\| {first} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.M):
        for line in table.splitlines():
            yield [cell.strip() for cell in line.strip("|").split("|")]


def names(cell):
    return re.findall(r"`([\w.]+)`", cell)


def parameters(thing):
    return set(inspect.signature(thing).parameters)


ESTIMATORS = list(rows_below("scikit-learn"))
KERNELS = list(rows_below("`sklearn.gaussian_process.kernels`"))
CASES = [
    (
        [THEIRS.get(name) for name in names(left)],
        [attrgetter(n)(posterity) for n in names(right)],
        how,
    )
    for left, right, how in ESTIMATORS
] + [
    (
        [getattr(their_kernels, n, None) for n in names(left)],
        [getattr(kernels, names(right)[0])],
        how,
    )
    for left, right, how in KERNELS
]
LABELS = [row[0] + row[1] for row in ESTIMATORS + KERNELS]


def test_the_tables_are_found():
    assert len(ESTIMATORS) > 35
    assert len(KERNELS) == 8


@for_each(("theirs", "ours", "how"), CASES, ids=LABELS)
def test_a_row_names_what_exists(theirs, ours, how):
    assert theirs
    assert None not in theirs
    for old, new in ARROW.findall(how):
        assert all(old in parameters(one) for one in theirs)
        assert all(new in parameters(one) for one in ours)
    for setting in SETTING.findall(how) if ours else ():
        assert any(setting in parameters(one) for one in (*theirs, *ours))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] + 1.0), rng


@for_each(
    ("theirs", "ours"),
    [
        (their_kernels.ConstantKernel(2.0), kernels.Constant(2.0)),
        (their_kernels.WhiteKernel(2.0), kernels.White(2.0)),
        (their_kernels.RBF(0.7), kernels.RBF(0.7)),
        (their_kernels.Matern(0.7, nu=2.5), kernels.Matern(0.7, smoothness=2.5)),
        (their_kernels.RationalQuadratic(0.7, 2.0), kernels.RationalQuadratic(0.7, shape=2.0)),
        (their_kernels.ExpSineSquared(0.7, 2.0), kernels.Periodic(2.0, 0.7)),
        (their_kernels.DotProduct(1.5), kernels.Constant(2.25) + kernels.Linear(1.0)),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_kernels_agree(theirs, ours):
    x, z = np.linspace(-1.0, 2.0, 7)[:, None], np.array([[0.3], [5.0]])
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours(x, z), theirs(x, z), rtol=1e-12, atol=1e-14)


def test_alpha_of_counts_is_a_prior_variance(rows):
    X, mean, rng = rows
    counts = rng.poisson(mean)
    theirs = linear_model.PoissonRegressor(alpha=0.05, tol=1e-10, max_iter=1000).fit(X, counts)
    ours = posterity.GeneralizedLinearRegression(
        likelihoods.Poisson(), prior_variance=1.0 / (N * 0.05), standardize=False
    ).fit(X, counts)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0.02, atol=2e-3)


def test_alpha_of_amounts_is_a_prior_variance(rows):
    X, mean, rng = rows
    amounts = rng.gamma(3.0, mean / 3.0)
    theirs = linear_model.GammaRegressor(alpha=0.05, tol=1e-10, max_iter=1000).fit(X, amounts)
    ours = posterity.GammaRegression(
        shape=3.0, prior_variance=1.0 / (3.0 * N * 0.05), standardize=False
    ).fit(X, amounts)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0.02, atol=2e-3)


def test_alpha_of_a_median_is_half_a_penalty(rows):
    X, mean, _ = rows
    theirs = linear_model.QuantileRegressor(quantile=0.5, alpha=0.05).fit(X, mean)
    ours = posterity.LqRegression(2.0 * N * 0.05, loss_power=1.0, standardize=False).fit(X, mean)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


def test_gamma_is_a_length_scale(rows):
    X, mean, _ = rows
    theirs = kernel_ridge.KernelRidge(0.5, kernel="rbf", gamma=0.1).fit(X, mean)
    kernel = kernels.RBF(1.0 / np.sqrt(2.0 * 0.1))
    ours = posterity.KernelRidgeRegression(kernel, alpha=0.5, fit_intercept=False).fit(X, mean)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)
