"""Every regressor keeps scikit-learn's contract and the library's own."""

import copy
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from regression_cases import CASES, FAST, IDS, data, data_for, fit_once
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from support.estimator_checks import every_check_once
from support.for_each import for_each

import posterity
from posterity import distributions, kernels, likelihoods, models
from posterity.trees.estimators import forest_model


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_every_public_regressor_is_in_the_table():
    public = {getattr(posterity, name) for name in posterity.__all__}
    regressors = {c for c in subclasses(models.Regressor) if c in public}
    assert regressors == {type(case) for case in CASES}


# One check fits 15 rows by 30 columns, exactly. The shape of a gamma distribution then ends at its
# largest value, 8e8, times which rounding is 1e-7: an average over shapes shows it, at the check's
# tolerance. Below, integer weights are repetition for the average as well.
CHECKED = [
    case.set_params(hyperparameters="maximise")
    if isinstance(case := clone(given), posterity.GammaRegression)
    else given
    for given in CASES
]


@every_check_once(CHECKED, FAST)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The inducing points leave")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_everything_derives_from_the_distribution(model):
    X, y = data_for(model)
    fitted = fit_once(model)
    dist = fitted.predict_dist(X)
    assert isinstance(dist, distributions.Distribution)
    np.testing.assert_allclose(fitted.predict(X), dist.mean(), rtol=1e-9)
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(mean, dist.mean())
    np.testing.assert_allclose(std, dist.standard_deviation())
    assert np.all(std > 0.0)
    lower, upper = fitted.predict_interval(X, coverage=0.8)
    quantiles = fitted.predict_quantiles(X, quantiles=[0.1, 0.5, 0.9])
    assert quantiles.shape == (40, 3)
    np.testing.assert_allclose(quantiles[:, 0], lower)
    np.testing.assert_allclose(quantiles[:, 2], upper)
    inside = np.mean((lower < y) & (y < upper))
    assert 0.5 < inside <= 1.0


@pytest.mark.full(but=10)
@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_quantiles_agree_with_samples(model):
    X, _ = data_for(model)
    fitted = fit_once(model)
    draws = fitted.predict_dist(X[:3]).sample((20_000,), rng=np.random.default_rng(0))
    levels = [0.1, 0.5, 0.9]
    exact = fitted.predict_quantiles(X[:3], quantiles=levels)
    below = np.stack([np.mean(draws < exact[:, j], axis=0) for j in range(3)])
    np.testing.assert_allclose(below, np.array(levels)[:, None] * np.ones(3), atol=0.015)


def learns_for_all_outputs(model):
    """Whether outputs share what is learned, so that each by itself would learn another."""
    if isinstance(model, posterity.SparseLinearRegression | posterity.RelevanceVectorRegressor):
        return True  # the columns
    if isinstance(model, forest_model.ForestModel):
        return True  # the trees
    if not isinstance(model, posterity.GaussianProcessRegressor):
        return False
    return model.kernel is None or model.inducing_points is not None


SEVERAL = [i for i, case in enumerate(CASES) if get_tags(case).target_tags.multi_output]


@pytest.mark.full(but=6)
@pytest.mark.parametrize("model", [CASES[i] for i in SEVERAL], ids=[IDS[i] for i in SEVERAL])
def test_several_outputs_are_fitted_at_once(model):
    X, y = data_for(model)
    Y = np.column_stack([y, -3.0 * y + X[:, 0] ** 2])
    fitted = clone(model).fit(X, Y)
    mean, std = fitted.predict(X, return_std=True)
    assert mean.shape == std.shape == (40, 2)
    for k in range(2 * (not learns_for_all_outputs(model))):
        alone_mean, alone_std = clone(model).fit(X, Y[:, k]).predict(X, return_std=True)
        np.testing.assert_allclose(mean[:, k], alone_mean, rtol=1e-6)
        np.testing.assert_allclose(std[:, k], alone_std, rtol=1e-6)
    assert fitted.predict_quantiles(X).shape == (40, 2, 5)
    column = clone(model).fit(X, y[:, None])
    assert column.predict(X).shape == (40, 1)
    np.testing.assert_allclose(column.predict(X)[:, 0], fit_once(model).predict(X))


@for_each("model", [case for i, case in enumerate(CASES) if i not in SEVERAL])
def test_several_outputs_are_refused_where_there_is_one(model):
    X, y = data_for(model)
    with pytest.raises(ValueError, match="2"):
        clone(model).fit(X, np.column_stack([y, y]))


@pytest.mark.full(but=12)
@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_weights_equal_repetition(model):
    X, y = (values[:19] for values in data_for(model))  # of so few rows copies count, too
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, 0), y.repeat(weight))
    for a, b in zip(
        weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@for_each(
    ("model", "frame"), zip(CASES, itertools.cycle([pd.DataFrame, pl.DataFrame]), strict=False)
)
def test_names_of_data_frames_are_kept_and_checked(model, frame):
    X, y = data_for(model)
    table = frame(dict(zip("abc", X.T, strict=True)))
    fitted = clone(model).fit(table, y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(fitted.predict(table), fit_once(model).predict(X))
    swapped = frame(dict(zip("cab", X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(swapped)


@pytest.mark.full(but=8)
@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_it_works_inside_pipelines_and_searches(model):
    X, y = data_for(model)
    offset = {"fit_intercept": [True, False], "mean": ["constant", "zero"]}
    grid = {f"model__{name}": v for name, v in offset.items() if name in model.get_params()}
    pipeline = Pipeline([("scale", StandardScaler()), ("model", clone(model))])
    search = GridSearchCV(pipeline, grid, cv=2, refit=False, error_score="raise").fit(X, y)
    assert search.best_params_.keys() == grid.keys()
    assert np.isfinite(search.best_score_)


def test_std_and_covariance_cannot_both_be_asked_for():
    X, y = data()
    with pytest.raises(ValueError, match="not both"):
        posterity.BayesianLinearRegression().fit(X, y).predict(X, return_std=True, return_cov=True)


def test_a_model_without_a_joint_distribution_says_so():
    X, y = data()
    with pytest.raises(TypeError, match="no joint distribution"):
        posterity.LinearRegression().fit(X, y).predict(X, return_cov=True)


def test_quantile_levels_are_checked():
    X, y = data()
    with pytest.raises(ValueError, match="between 0 and 1"):
        posterity.RidgeRegression().fit(X, y).predict_quantiles(X, quantiles=[0.5, 1.0])


@pytest.mark.full(but=12)
@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_a_refused_refit_leaves_the_earlier_fit(model):
    X, y = data_for(model)
    fitted, wide = copy.copy(fit_once(model)), np.hstack([X, X])
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(wide, np.where(np.arange(len(y)) == 3, np.nan, y))
    if has_fit_parameter(model, "sample_weight"):
        with pytest.raises(ValueError, match="negative"):
            fitted.fit(wide, y, sample_weight=np.full(len(y), -1.0))
    assert vars(fitted) == vars(fit_once(model))
    np.testing.assert_array_equal(fitted.predict(X), fit_once(model).predict(X))


@for_each(
    "model",
    [
        posterity.GaussianProcessRegressor(noise_variance=np.full(40, 0.1)),
        posterity.GaussianProcessRegressor(kernels.RBF(1.0).fixed(), np.full(40, 0.1)),
        posterity.BayesianLinearRegression(noise_variance=np.full(40, 0.1)),
        posterity.DualLinearRegression(noise_variance=np.full(40, 0.1)),
    ],
)
def test_noise_of_each_row_is_for_fit(model):
    with pytest.raises(ValueError, match=r"array of shape \(40,\).*fit\(X, y, noise_variance="):
        model.fit(*data())


@for_each(
    "make",
    [
        posterity.GeneralizedLinearRegression,
        posterity.GaussianProcessRegressor,
        posterity.BoostedTreesRegressor,
    ],
)
def test_parameters_of_likelihoods_have_nested_names(make):
    given = likelihoods.StudentT(1.0, 4.0)
    model = clone(make(likelihood=given))
    assert model.get_params()["likelihood__scale"] == 1.0
    assert model.set_params(likelihood__scale=0.5).likelihood == likelihoods.StudentT(0.5, 4.0)
    assert given.scale == 1.0
    model.set_params(likelihood=likelihoods.Gamma(), likelihood__shape=3.0)
    assert model.likelihood == likelihoods.Gamma(3.0)
    with pytest.raises(ValueError, match="Gamma has no parameter 'size'; it has shape"):
        model.set_params(likelihood__size=3.0)


def test_a_likelihood_that_is_not_given_has_no_parameters():
    with pytest.raises(ValueError, match="likelihood=None has no parameters"):
        posterity.GaussianProcessRegressor().set_params(likelihood__scale=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'likelihood'"):
        posterity.LinearRegression().set_params(likelihood__scale=1.0)
