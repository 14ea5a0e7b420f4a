"""Observed frequencies beside stated probabilities, and how far apart chance alone puts them."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression as Peer
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    displays,
    distributions,
)


def reliability(happened, p, **options):
    return displays.ReliabilityDisplay.from_predictions(happened, p, **options)


def test_bins_hold_means_shares_and_binomial_bands():
    p = np.array([0.05, 0.15, 0.1, 0.9, 0.8, 0.7])
    display = reliability([0, 1, 0, 1, 1, 0], p, n_bins=2, coverage=0.8)
    np.testing.assert_allclose(display.predicted, [0.1, 0.8])
    np.testing.assert_allclose(display.observed, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(display.counts, [3, 3])
    np.testing.assert_allclose(display.lower, stats.binom.ppf(0.1, 3, [0.1, 0.8]) / 3)
    np.testing.assert_allclose(display.upper, stats.binom.ppf(0.9, 3, [0.1, 0.8]) / 3)


def test_right_predictions_fall_into_the_band_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(60):
        p = rng.random(400)
        display = reliability(rng.random(400) < p, p, coverage=0.9)
        inside.append((display.lower <= display.observed) & (display.observed <= display.upper))
    assert 0.88 < np.mean(inside) < 0.98  # steps of a binomial make the band a little wide


def test_wrong_predictions_leave_the_band():
    p = np.random.default_rng(0).random(2000)
    display = reliability(np.zeros(2000), p)
    assert (display.observed < display.lower).sum() >= 8


def test_rows_of_equal_probability_share_a_bin():
    display = reliability([0, 1, 1, 0, 1], [0.5, 0.5, 0.5, 0.5, 0.9], n_bins=4)
    np.testing.assert_allclose(display.predicted, [0.5, 0.9])
    np.testing.assert_array_equal(display.counts, [4, 1])


def test_of_two_classes_it_is_the_second():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = np.where(X[:, 0] + rng.logistic(size=200) > 0.0, "yes", "no")
    model = BayesianLogisticRegression().fit(X, y)
    display = displays.ReliabilityDisplay.from_estimator(model, X, y, n_bins=5)
    expected = reliability(y == "yes", model.predict_proba(X)[:, 1], n_bins=5)
    np.testing.assert_array_equal(display.observed, expected.observed)
    assert display.plot().get_xlabel() == "predicted probability of yes"


class ThreeClasses:
    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        return np.array([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.0, 0.8]])


def test_of_more_classes_it_is_whether_the_most_probable_one_was_right():
    y = ["a", "a", "c"]
    display = displays.ReliabilityDisplay.from_estimator(ThreeClasses(), np.eye(3), y, n_bins=3)
    np.testing.assert_allclose(display.predicted, [0.6, 0.7, 0.8])
    np.testing.assert_allclose(display.observed, [1.0, 0.0, 1.0])


def test_picture_has_the_shares_the_bands_and_the_diagonal():
    display = reliability([0, 1, 0, 1], [0.2, 0.3, 0.6, 0.9], n_bins=2)
    axes = display.plot()
    diagonal, shares = axes.lines
    np.testing.assert_array_equal(diagonal.get_ydata(), diagonal.get_xdata())
    np.testing.assert_array_equal(shares.get_ydata(), display.observed)
    ends = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
    np.testing.assert_array_equal(ends, np.column_stack([display.lower, display.upper]))


@for_each(
    ("happened", "p", "words"),
    [
        ([0, 1], [0.5], r"shapes are \(2,\) and \(1,\)"),
        ([0, 1], [0.5, 1.5], "Row 1 has the probability 1.5"),
        ([0, 2], [0.5, 0.5], "Row 1 .* the outcome 2"),
    ],
)
def test_what_is_no_probability_or_no_outcome_is_named(happened, p, words):
    with pytest.raises(ValueError, match=words):
        reliability(happened, p)


@for_each("options", [{"n_bins": 0}, {"coverage": 1.0}])
def test_bins_and_coverage_are_checked(options):
    with pytest.raises(ValueError, match=r"must be >= 1, and coverage=.* in \(0, 1\)"):
        reliability([0, 1], [0.2, 0.4], **options)


def of_intervals(prediction, y, **options):
    return displays.ReliabilityDisplay.from_distribution(prediction, y, **options)


def test_intervals_of_right_predictions_hold_their_share():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        mean, spread = rng.normal(size=300), rng.uniform(0.1, 3.0, size=300)
        display = of_intervals(distributions.Normal(mean, spread), rng.normal(mean, spread))
        inside.append((display.lower <= display.observed) & (display.observed <= display.upper))
    assert 0.85 < np.mean(inside) < 0.97  # points of one picture move together
    np.testing.assert_allclose(display.predicted, np.arange(0.05, 1.0, 0.1))
    np.testing.assert_array_equal(display.counts, 300.0)


def test_shares_and_bands_are_those_of_a_count():
    y = np.array([-3.0, -0.1, 0.0, 0.2, 1.0])
    display = of_intervals(distributions.Normal(np.zeros(5), 1.0), y, n_intervals=2, coverage=0.8)
    np.testing.assert_allclose(display.predicted, [0.25, 0.75])
    np.testing.assert_allclose(display.observed, [0.6, 0.8])  # |y| below 0.319 and 1.15
    np.testing.assert_allclose(display.lower, stats.binom.ppf(0.1, 5, [0.25, 0.75]) / 5)
    np.testing.assert_allclose(display.upper, stats.binom.ppf(0.9, 5, [0.25, 0.75]) / 5)


@for_each(("factor", "direction"), [(0.4, -1.0), (2.5, 1.0)])
def test_intervals_that_are_too_narrow_or_too_wide_leave_the_band(factor, direction):
    y = np.random.default_rng(0).normal(size=500)
    display = of_intervals(distributions.Normal(np.zeros(500), factor), y)
    edge = display.lower if direction < 0.0 else display.upper
    assert (direction * (display.observed - edge) > 0.0).sum() >= 8


def test_counts_are_held_by_what_their_intervals_truly_hold():
    rng = np.random.default_rng(0)
    rate = rng.uniform(0.5, 4.0, size=4000)
    display = of_intervals(distributions.Poisson(rate), rng.poisson(rate))
    assert (display.predicted > np.arange(0.05, 1.0, 0.1)).all()
    np.testing.assert_allclose(display.observed, display.predicted, atol=0.03)
    low, high = (stats.poisson.ppf(q, rate) for q in (0.25, 0.75))
    expected = stats.poisson.cdf(high, rate) - stats.poisson.cdf(low - 1.0, rate)
    half = of_intervals(distributions.Poisson(rate), rng.poisson(rate), n_intervals=1)
    np.testing.assert_allclose(half.predicted, [expected.mean()], rtol=1e-8)


def test_a_regressor_is_asked_for_its_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1))
    y = X[:, 0] + rng.normal(size=120)
    model = BayesianLinearRegression().fit(X[:60], y[:60])
    display = displays.ReliabilityDisplay.from_estimator(model, X[60:], y[60:], n_bins=4)
    for level, share in zip(display.predicted, display.observed, strict=True):
        low, high = model.predict_interval(X[60:], coverage=level)
        assert share == np.mean((low <= y[60:]) & (y[60:] <= high))
    assert display.plot().get_xlabel() == "predicted probability of a central interval"


def test_what_says_no_probability_or_has_other_rows_is_named():
    X, y = np.eye(3), np.arange(3.0)
    with pytest.raises(TypeError, match="neither predict_proba nor predict_dist"):
        displays.ReliabilityDisplay.from_estimator(Peer().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"shapes are \(3,\) and \(2,\)"):
        of_intervals(distributions.Normal(y, 1.0), y[:2])
    with pytest.raises(ValueError, match="n_intervals=0 must be >= 1"):
        of_intervals(distributions.Normal(y, 1.0), y, n_intervals=0)
