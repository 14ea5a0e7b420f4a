"""Forests, trees and ferns of numbers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import RandomFernRegressor, RandomForestRegressor, RandomTreeRegressor, distributions
from posterity.copies import CopiedRowsWarning

DRAWN = "weights equal repetition only in distribution where rows are drawn"
CASES = [
    RandomForestRegressor(20, max_features=2, random_state=0),
    RandomFernRegressor(20, 5, max_features=2, random_state=0),
    RandomTreeRegressor(max_features=2, random_state=0),
]
every_case = pytest.mark.parametrize("model", CASES, ids=lambda model: type(model).__name__)


def waves(n=400, seed=0):
    """A curve whose noise grows from left to right."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + np.where(X[:, 0] > 0.0, 0.5, 0.05) * rng.normal(size=n)


@checks_of_settings(
    [RandomForestRegressor(10)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": DRAWN},
)
def test_scikit_learn_contract_where_rows_are_drawn(estimator, check):
    check(estimator)


@every_case
def test_curves_are_learned_and_the_spread_follows_the_noise(model):
    fitted, (X, y) = clone(model).fit(*waves(1000)), waves(1000, seed=1)
    assert fitted.score(X, y) > 0.6
    _, std = fitted.predict(X, return_std=True)
    assert np.median(std[X[:, 0] > 0.2]) > 1.5 * np.median(std[X[:, 0] < -0.2])


@pytest.mark.full
def test_scores_out_of_the_bag_are_those_of_new_rows():
    model, (X, y) = RandomForestRegressor(random_state=0).fit(*waves(1000)), waves(1000, seed=1)
    new = model.predict_dist(X).log_prob(y).mean()
    assert new == pytest.approx(model.oob_log_score_, abs=0.15)
    rmse = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert rmse == pytest.approx(model.oob_rmse_, rel=0.1)


@every_case
def test_predictions_are_mixtures_whose_variance_has_two_parts(model):
    X, y = waves()
    dist = clone(model).fit(X, y).predict_dist(X)
    assert isinstance(dist, distributions.Mixture)
    parts = dist.aleatoric_variance(), dist.epistemic_variance()
    np.testing.assert_allclose(dist.variance(), sum(parts), rtol=1e-12)
    if isinstance(model, RandomTreeRegressor):
        np.testing.assert_array_equal(parts[1], 0.0)
    else:
        assert np.all(parts[1] > 0.0)


@every_case
def test_units_and_origin_of_the_target_do_not_matter(model):
    X, y = waves(150)
    mean, std = clone(model).fit(X, y).predict(X, return_std=True)
    for scale in (2.0**300, 2.0**-300):
        other = clone(model).fit(X, scale * y).predict(X, return_std=True)
        np.testing.assert_allclose(other[0] / scale, mean, rtol=1e-12)
        np.testing.assert_allclose(other[1] / scale, std, rtol=1e-6)
    far = clone(model).fit(X, 1e6 + y).predict(X, return_std=True)
    # Of splits that part the rows of a bag alike, rounding may prefer another one.
    assert np.sqrt(np.mean((far[0] - 1e6 - mean) ** 2)) < 0.02
    assert np.sqrt(np.mean((far[1] - std) ** 2)) < 0.02


@every_case
def test_several_targets_share_the_trees(model):
    X, y = waves(150)
    Y = np.column_stack([y, -2.0 * y])
    both = clone(model).fit(X, Y)
    assert both.predict(X).shape == both.predict_dist(X).mean().shape == (150, 2)
    np.testing.assert_allclose(both.predict(X)[:, 1], -2.0 * both.predict(X)[:, 0], atol=1e-12)
    assert clone(model).fit(X, Y[:, :1]).predict(X).shape == (150, 1)


@pytest.mark.full
def test_weights_are_repetition_in_distribution_where_rows_are_drawn():
    X, y = waves(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    model = RandomForestRegressor(600, max_features=2, random_state=0)
    often = np.repeat(np.arange(60), w)  # observations of their own, not copies
    repeated = clone(model).fit(X[often], y[often], groups=np.arange(len(often))).predict(X)
    weighted = clone(model).fit(X, y, sample_weight=w).predict(X)
    unweighted = clone(model).fit(X, y).predict(X)
    assert np.abs(weighted - repeated).max() < 0.5 * np.abs(unweighted - repeated).max()


def test_groups_are_in_the_bag_together():
    X, y = np.repeat(waves(40)[0], 5, axis=0), np.random.default_rng(0).normal(size=40).repeat(5)
    options = {"min_samples_leaf": 1, "random_state": 0}
    together = RandomForestRegressor(40, **options).fit(X, y, groups=np.arange(200) // 5)
    apart = RandomForestRegressor(40, **options).fit(X, y, groups=np.arange(200))
    assert apart.oob_rmse_ < 0.5 < 0.9 < together.oob_rmse_
    counted = (np.arange(200) < 5).astype(float)  # one group, which every tree draws
    alone = RandomForestRegressor(3).fit(X, y, sample_weight=counted, groups=np.arange(200) // 5)
    np.testing.assert_allclose(alone.predict(X), y[0])
    assert np.isnan(alone.oob_rmse_)


@every_case
def test_copies_predict_the_same(model):
    X, y = waves(60)
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(
        again.predict_dist(X).variance(), fitted.predict_dist(X).variance()
    )


@for_each(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"max_features": 1.5}, "max_features=1.5"),
        ({"max_depth": True}, "max_depth=True"),
        ({"min_samples_leaf": np.inf}, "min_samples_leaf=inf"),
        ({"bootstrap": "yes"}, "bootstrap='yes' must be True or False"),
        ({"max_samples": 0.0}, "max_samples=0.0"),
        ({"concentration": 0.0}, "concentration=0.0"),
        ({"sharpness": -1.0}, "sharpness=-1.0"),
    ],
)
def test_parameters_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RandomForestRegressor().set_params(**options).fit(*waves(30))


@every_case
def test_targets_that_are_no_numbers_get_a_sentence(model):
    X, y = waves(30)
    for bad, message in (
        (np.where(np.arange(30) == 4, np.nan, y), "Input y contains NaN: row 4"),
        (np.where(np.arange(30) == 4, np.inf, y), "Input y contains infinity: row 4"),
        (np.full(30, "text"), "holds the text 'text'"),
        (None, "requires y to be passed"),
        (y[:3], "X has 30 rows but y has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, bad)


def test_copies_of_rows_are_in_the_bag_together():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(1080, 3))
    y = np.sin(X[:, 0]) + 0.5 * rng.normal(size=1080)
    rows, targets = np.tile(X[:80], (5, 1)) + 1e-9 * rng.normal(size=(400, 3)), np.tile(y[:80], 5)
    with pytest.warns(CopiedRowsWarning, match="320 of 400 rows are copies"):
        model = RandomForestRegressor(60, random_state=0).fit(rows, targets)
    predicted = model.predict_dist(X[80:])
    assert np.mean(np.abs(predicted.cdf(y[80:]) - 0.5) < 0.45) > 0.8
    assert model.oob_log_score_ == pytest.approx(predicted.log_prob(y[80:]).mean(), abs=0.2)
