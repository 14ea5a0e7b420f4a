"""What is said of held-out rows, each score beside another way to compute it."""

import dataclasses

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LogisticRegression
from support.for_each import for_each

from posterity import distributions, linear, scoring
from posterity.comparison import row_scores
from posterity.comparison.results import LEVELS


class Fixed:
    """Says a distribution that was decided before."""

    def __init__(self, dist):
        self.dist = dist

    def predict_dist(self, X):
        return self.dist[X[:, 0].astype(int)]


def numbers(n=200, seed=0):
    rng = np.random.default_rng(seed)
    dist = distributions.Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, size=n))
    return dist, dist.sample(rng=rng)


def said_of_numbers(dist, y, **options):
    rows = np.arange(len(y))
    X = rows[:, None].astype(float)
    return row_scores.predict_rows(Fixed(dist), X, y, rows, classes=(), n_train=10, **options)


def scored(said):
    held_out = said.with_quantiles()
    return row_scores.score_predictions("m", "M()", held_out, row_scores.Costs(), baseline=False)


def test_scores_of_numbers_are_those_of_the_scoring_room():
    dist, y = numbers()
    found = scored(said_of_numbers(dist, y))
    assert found.log_score == pytest.approx(scoring.log_score(dist, y), rel=1e-12)
    assert found.rmse == pytest.approx(scoring.rmse(dist, y), rel=1e-12)
    assert found.coverage == pytest.approx(scoring.interval_coverage(dist, y), rel=1e-12)
    assert found.calibration == pytest.approx(scoring.ks_distance(dist, y), rel=1e-12)
    assert found.standard_error == pytest.approx(scipy.stats.sem(dist.log_prob(y)), rel=1e-12)
    assert found.accuracy is None


def test_quantiles_stand_at_their_rows_also_after_merging():
    dist, y = numbers(50)
    X = np.arange(50.0)[:, None]
    order = np.random.default_rng(3).permutation(50)
    halves = [
        row_scores.predict_rows(Fixed(dist), X[rows], y[rows], rows, classes=(), n_train=5)
        for rows in (np.sort(order[:20]), np.sort(order[20:]))
    ]
    held_out = row_scores.combine_folds(halves).with_quantiles()
    np.testing.assert_array_equal(held_out.rows, np.arange(50))
    np.testing.assert_array_equal(held_out.y, y)
    np.testing.assert_allclose(held_out.mean, dist.mean())
    for place, level in enumerate(LEVELS):
        np.testing.assert_allclose(held_out.quantiles[:, place], dist.icdf(level), rtol=1e-12)


def test_pieces_say_what_the_whole_does(monkeypatch):
    dist, y = numbers(50)
    whole = said_of_numbers(dist, y).with_quantiles()
    monkeypatch.setattr(row_scores, "_ROWS", 7)
    pieces = said_of_numbers(dist, y)
    assert len(pieces.pieces) == 8
    np.testing.assert_array_equal(whole.pit, pieces.held_out.pit)
    np.testing.assert_array_equal(whole.quantiles, pieces.with_quantiles().quantiles)


def test_counts_are_spread_over_their_steps_so_that_right_ones_are_uniform():
    rng = np.random.default_rng(0)
    dist = distributions.Poisson(np.full(4000, 1.5))
    y = rng.poisson(1.5, size=4000).astype(float)
    found = scored(said_of_numbers(dist, y))
    assert found.calibration < 1.63 / np.sqrt(4000)
    assert found.coverage == pytest.approx(0.9, abs=0.02)


def test_what_was_called_impossible_costs_the_smallest_number():
    dist = distributions.Normal(np.zeros(3), 1e-3)
    found = said_of_numbers(dist, np.array([0.0, 0.0, 1e9])).held_out
    assert found.log_prob[2] == pytest.approx(np.log(np.finfo(float).tiny))
    assert np.all(np.isfinite(found.log_prob))


def test_a_prediction_that_is_no_number_is_an_error():
    dist = distributions.StudentT(np.zeros(3), 1.0, 1.0)
    with pytest.raises(ValueError, match="not finite"):
        said_of_numbers(dist, np.zeros(3))
    certain = distributions.Normal(np.zeros(3), 0.0)
    with pytest.raises(ValueError, match="is NaN or infinite"):
        said_of_numbers(certain, np.zeros(3))


def labelled(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])


def test_probabilities_of_classes_are_the_estimators():
    X, y = labelled()
    model = linear.BayesianLogisticRegression().fit(X, y)
    said = row_scores.predict_rows(model, X, y, np.arange(len(y)), classes=tuple("abc"), n_train=9)
    np.testing.assert_allclose(said.held_out.probabilities, model.predict_proba(X), rtol=1e-12)
    found = scored(said)
    assert found.log_score == pytest.approx(scoring.log_score(model.predict_dist(X), y), rel=1e-12)
    assert found.accuracy == pytest.approx(model.score(X, y))
    assert found.coverage is found.rmse is None


def test_an_estimator_without_a_distribution_is_asked_for_its_probabilities():
    X, y = labelled()
    model = LogisticRegression().fit(X, y)
    log_p = row_scores.class_log_probabilities(model, X, 3, 100)
    np.testing.assert_allclose(np.exp(log_p), model.predict_proba(X), rtol=1e-9)


def test_a_class_that_no_fitted_row_had_is_rare_but_possible():
    X, y = labelled()
    model = linear.BayesianLogisticRegression().fit(X[y != 1], y[y != 1])
    p = np.exp(row_scores.class_log_probabilities(model, X, 4, 96))
    np.testing.assert_allclose(p[:, [1, 3]], 0.01, rtol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(p[:, [0, 2]], 0.98 * model.predict_proba(X), rtol=1e-12)


def test_calibration_of_classes_is_the_mean_gap_over_bins_of_as_many_rows():
    p = np.repeat([0.6, 0.9], 30)
    right = np.concatenate([np.arange(30) < 12, np.arange(30) < 27])
    probabilities = np.column_stack([p, 1.0 - p])
    held_out = row_scores.HeldOut(
        np.arange(60), np.where(right, 0, 1), np.zeros(60), probabilities=probabilities
    )
    found = row_scores.score_predictions("m", "", held_out, row_scores.Costs(), baseline=False)
    assert found.calibration == pytest.approx(0.5 * (0.6 - 0.4) + 0.5 * 0.0, abs=1e-12)
    assert found.accuracy == pytest.approx(39 / 60)


@for_each("n_classes", [0, 3])
def test_log_prob_alone_is_that_of_everything_said(n_classes):
    X, y = labelled()
    if n_classes:
        model = linear.BayesianLogisticRegression().fit(X, y)
    else:
        model = linear.BayesianLinearRegression().fit(X, y)
    said = row_scores.predict_rows(
        model, X, y, np.arange(len(y)), classes=tuple("abc")[:n_classes], n_train=9
    )
    alone = row_scores.log_prob(model, X, y, n_classes=n_classes, n_train=9)
    np.testing.assert_array_equal(alone, said.held_out.log_prob)


def test_clusters_that_are_right_or_wrong_together_count_as_one_row_each():
    pit = np.where(np.repeat(np.arange(20), 30) < 18, 0.5, 0.01)
    rows = np.arange(600)
    held_out = row_scores.HeldOut(rows, rows, 0.0 * rows, pit=pit)
    assert row_scores.count_effective_rows(held_out) == 600.0
    together = dataclasses.replace(held_out, clusters=np.repeat(np.arange(20), 30))
    np.testing.assert_allclose(row_scores.count_effective_rows(together), 20.0)
    apart = dataclasses.replace(held_out, clusters=np.tile(np.arange(30), 20))
    assert row_scores.count_effective_rows(apart) == 600.0
