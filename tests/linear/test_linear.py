"""Least squares: every digit, in every regime."""

import numpy as np
from support.for_each import for_each

from posterity import LinearRegression
from posterity.designs import Statistics
from posterity.inference.conjugate.linear import (
    FlatFit,
    LinearProblem,
    reduce_statistics,
    refine_least_squares,
)


def data(n, m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * rng.uniform(0.5, 2.0, m) + 10.0 * rng.normal(size=m)
    return X, X @ rng.normal(size=m) + rng.normal(size=n), rng.uniform(0.5, 2.0, n)


@for_each("fit_intercept", [True, False])
@for_each("weighted", [True, False])
def test_one_step_of_refinement_gives_back_lost_digits(fit_intercept, weighted):
    """Start from a decomposition that is wrong in its ninth digit; the step must repair it."""
    X, y, weight = data(400, 6)
    root = np.sqrt(weight) if weighted else None
    statistics = Statistics.from_rows(
        X, y[:, None], sample_weight=weight if weighted else None, shift=fit_intercept
    )
    problem = reduce_statistics(statistics, fit_intercept=fit_intercept, standardize=True)
    spoilt = FlatFit(
        LinearProblem(**{**vars(problem), "T": problem.T * (1.0 + 1e-9)}), fit_intercept
    )
    exact_coef, exact_offset = refine_least_squares(
        X, None, y[:, None], root_weight=root, has_offset=fit_intercept
    )
    assert np.abs(spoilt.coef / exact_coef - 1.0).max() > 1e-10
    coef, offset = spoilt.refine_on_rows(X, y[:, None], root_weight=root)
    np.testing.assert_allclose(coef, exact_coef, rtol=1e-13)
    np.testing.assert_allclose(offset, exact_offset, rtol=1e-11, atol=1e-12)


@for_each("shape", [(2000, 50), (100, 50)])
@for_each("fit_intercept", [True, False])
def test_large_and_small_problems_have_thirteen_digits(shape, fit_intercept):
    X, y, weight = data(*shape)
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    exact, offset = refine_least_squares(
        X, None, y[:, None], root_weight=np.sqrt(weight), has_offset=fit_intercept
    )
    np.testing.assert_allclose(model.coef_, exact[:, 0], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(model.intercept_, offset[0], rtol=1e-12, atol=1e-13)


def test_dependent_columns_share_the_weight_and_are_counted_once():
    X, y, _ = data(50, 2)
    model = LinearRegression().fit(np.hstack([X, X[:, :1]]), y)
    assert model.rank_ == 2
    once = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[[0, 2]], once.coef_[0] / 2.0, rtol=1e-9)
    np.testing.assert_allclose(model.coef_[1], once.coef_[1], rtol=1e-9)


@for_each("spare", [1, 2, 3])
def test_few_spare_rows_are_honest_and_never_nan(spare):
    """One spare row leaves a Cauchy: no standard deviation is large enough, quantiles exist."""
    X, y, _ = data(4 + spare, 3)
    model = LinearRegression().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, model.predict(X))
    assert np.isinf(std).all() == (spare <= 2)
    lower, upper = model.predict_interval(X)
    assert np.isfinite(upper - lower).all()
