"""Scores against their definitions, and as scikit-learn uses them."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

from posterity import BayesianLinearRegression, scoring
from posterity.distributions import (
    Bernoulli,
    Categorical,
    Gamma,
    Mixture,
    MultivariateNormal,
    Normal,
    StudentT,
)

rng = np.random.default_rng(11)
N = 400
M, S = rng.normal(size=N), rng.uniform(0.5, 2.0, size=N)
RIGHT = Normal(M, S)
Y = RIGHT.sample(rng=rng)
WEIGHTS = rng.integers(0, 4, size=N)
P = rng.dirichlet([1.0, 2.0, 3.0], size=N)
K = Categorical(np.log(P)).sample(rng=rng)


def test_scores_agree_with_their_definitions():
    np.testing.assert_allclose(scoring.log_score(RIGHT, Y), stats.norm.logpdf(Y, M, S).mean())
    np.testing.assert_allclose(scoring.crps(RIGHT, Y), RIGHT.crps(Y).mean())
    np.testing.assert_allclose(scoring.rmse(RIGHT, Y), root_mean_squared_error(Y, M))
    np.testing.assert_allclose(scoring.rmse(M, Y), root_mean_squared_error(Y, M))
    np.testing.assert_allclose(scoring.interval_width(RIGHT, 0.8), 2.0 * 1.2815516 * S.mean(), 1e-7)
    inside = np.abs(Y - M) <= stats.norm.ppf(0.95) * S
    np.testing.assert_allclose(scoring.interval_coverage(RIGHT, Y), inside.mean())


def test_scores_of_classes_agree_with_scikit_learn():
    np.testing.assert_allclose(scoring.log_score(Categorical(np.log(P)), K), -log_loss(K, P))
    p1, k = P[:, 0], (K == 0).astype(int)
    two = Bernoulli(np.log(p1), np.log1p(-p1))
    for prediction in (
        two,
        p1,
        np.stack([1.0 - p1, p1], axis=1),
        Categorical(two.log_probabilities()),
    ):
        np.testing.assert_allclose(scoring.brier(prediction, k), brier_score_loss(k, p1))
    squares = ((P - np.eye(3)[K]) ** 2).sum(axis=1)
    np.testing.assert_allclose(scoring.brier(Categorical(np.log(P)), K), squares.mean())
    np.testing.assert_allclose(scoring.brier(P, K), squares.mean())


TIED = rng.integers(0, 11, size=N) / 10.0  # many rows with the same probability
CAME = (rng.random(N) < TIED).astype(int)


@for_each("positive", [0, 1])
@for_each("threshold", [0.0, 0.2, 0.5, 1.0])
def test_decisions_on_two_classes_agree_with_scikit_learn(threshold, positive):
    p = TIED if positive else 1.0 - TIED
    flagged = np.where(p >= threshold, positive, 1 - positive)
    more = {"pos_label": positive, "sample_weight": WEIGHTS}
    own = {"threshold": threshold, "positive": positive, "sample_weight": WEIGHTS}
    assert scoring.precision(TIED, CAME, **own) == pytest.approx(
        precision_score(CAME, flagged, **more)
    )
    assert scoring.recall(TIED, CAME, **own) == pytest.approx(recall_score(CAME, flagged, **more))
    counts = confusion_matrix(CAME, flagged, sample_weight=WEIGHTS, labels=[1 - positive, positive])
    cost = (3.0 * counts[0, 1] + 0.5 * counts[1, 0]) / counts.sum()
    assert scoring.expected_cost(TIED, CAME, (3.0, 0.5), **own) == pytest.approx(cost)


@for_each("weights", [None, WEIGHTS])
@for_each("p", [TIED, P[:, 0]])
def test_the_area_agrees_with_scikit_learn(p, weights):
    area = scoring.roc_area(p, CAME, weights)
    assert area == pytest.approx(roc_auc_score(CAME, p, sample_weight=weights))
    assert scoring.roc_area(1.0 - p, 1 - CAME, weights) == pytest.approx(area)


def test_the_area_is_the_share_of_pairs_in_order_and_ties_count_half():
    ones, zeros = TIED[CAME == 1], TIED[CAME == 0]
    pairs = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    assert scoring.roc_area(TIED, CAME) == pytest.approx(pairs.mean())


@for_each("cost", [(1.0, 20.0), (7.0, 2.0), (1, 1)])
def test_the_threshold_of_the_costs_is_the_cheapest_where_probabilities_are_right(cost):
    p = np.linspace(0.0, 1.0, 101)
    never, always = cost[1] * p, cost[0] * (1.0 - p)  # mean costs of a row
    level = scoring.cost_threshold(cost)
    np.testing.assert_array_less(always[p > level + 1e-9], never[p > level + 1e-9])
    np.testing.assert_array_less(never[p < level - 1e-9], always[p < level - 1e-9])


def test_shares_of_no_rows_are_unknown():
    assert np.isnan(scoring.precision([0.1, 0.2], [0, 1]))
    assert np.isnan(scoring.recall([0.9, 0.2], [0, 0]))
    assert np.isnan(scoring.roc_area([0.9, 0.2], [0, 0]))


@for_each("score", [scoring.log_score, scoring.crps, scoring.rmse, scoring.interval_coverage])
def test_a_weight_repeats_a_row(score):
    repeated = np.repeat(np.arange(N), WEIGHTS)
    weighted = score(RIGHT, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(weighted, score(RIGHT[repeated], Y[repeated]), rtol=1e-12)


def test_brier_weights_repeat_rows_too():
    repeated = np.repeat(np.arange(N), WEIGHTS)
    weighted = scoring.brier(P, K, sample_weight=WEIGHTS)
    np.testing.assert_allclose(weighted, scoring.brier(P[repeated], K[repeated]), rtol=1e-12)


def test_the_right_prediction_scores_best_on_average():
    for wrong in (Normal(M + 0.5, S), Normal(M, 2.0 * S), Normal(M, 0.5 * S)):
        assert scoring.log_score(RIGHT, Y) > scoring.log_score(wrong, Y)
        assert scoring.crps(RIGHT, Y) < scoring.crps(wrong, Y)
        assert scoring.calibration_error(RIGHT, Y) < scoring.calibration_error(wrong, Y)
        assert scoring.ks_distance(RIGHT, Y) < scoring.ks_distance(wrong, Y)


@for_each(
    "dist",
    [
        RIGHT,
        StudentT(M, S, 3.0),
        Gamma(S, 2.0),
        Mixture(Normal(np.stack([M, M + 3.0], axis=1), S[:, None]), np.log([0.3, 0.7])),
        Bernoulli.from_logit(M),
        Categorical(np.log(P)),
    ],
    ids=repr,
)
def test_the_transform_is_uniform_where_predictions_are_right(dist):
    y = dist.sample(rng=np.random.default_rng(4))
    u = scoring.pit(dist, y, rng=np.random.default_rng(5))
    assert stats.kstest(u, "uniform").pvalue > 0.01
    distance = scoring.ks_distance(dist, y, rng=np.random.default_rng(5))
    np.testing.assert_allclose(distance, stats.kstest(u, "uniform").statistic)
    assert scoring.calibration_error(dist, y, rng=np.random.default_rng(5)) < 0.05


def test_the_calibration_curve_counts_outcomes_below_quantiles():
    levels = np.array([0.1, 0.5, 0.9])
    at, observed = scoring.calibration_curve(RIGHT, Y, levels)
    expected = [(RIGHT.icdf(p) >= Y).mean() for p in levels]
    np.testing.assert_array_equal(at, levels)
    np.testing.assert_allclose(observed, expected)
    error = scoring.calibration_error(RIGHT, Y, levels)
    np.testing.assert_allclose(error, np.abs(expected - levels).mean())


def test_classes_need_a_generator_for_the_transform():
    with pytest.raises(ValueError, match="pass a numpy Generator as rng"):
        scoring.pit(Categorical(np.log(P)), K)


def test_joint_predictions_are_scored_jointly_or_row_by_row():
    C = np.array([[2.0, 1.0], [1.0, 2.0]])
    joint, y = MultivariateNormal([0.0, 1.0], C), np.array([0.5, 0.0])
    expected = stats.multivariate_normal([0.0, 1.0], C).logpdf(y) / 2.0
    np.testing.assert_allclose(scoring.log_score(joint, y), expected)
    for score in (scoring.crps, scoring.interval_coverage, scoring.rmse, scoring.ks_distance):
        np.testing.assert_allclose(score(joint, y), score(joint.marginals(), y))
    with pytest.raises(ValueError, match="cannot be used with a joint prediction"):
        scoring.log_score(joint, y, sample_weight=[1.0, 2.0])


def test_several_outputs_are_averaged():
    both = Normal(np.stack([M, M], axis=1), 1.0)
    np.testing.assert_allclose(
        scoring.crps(both, np.stack([Y, Y], axis=1), WEIGHTS),
        scoring.crps(Normal(M, 1.0), Y, WEIGHTS),
    )
    assert scoring.log_score(Normal(0.0, 1.0), 0.0) == Normal(0.0, 1.0).logpdf(0.0)


@for_each(
    ("call", "sentence"),
    [
        (lambda: scoring.log_score(RIGHT, Y[:, None]), r"y has shape \(400, 1\), but"),
        (lambda: scoring.crps(RIGHT, np.full(N, np.nan)), "y contains NaN"),
        (lambda: scoring.crps(RIGHT, np.full(N, "a")), "y must be numeric"),
        (lambda: scoring.crps(Bernoulli.from_logit(M), K), "use brier"),
        (lambda: scoring.brier(RIGHT, K), "predictions of classes"),
        (lambda: scoring.brier(P, K + 1), "400 class codes from 0 to 2"),
        (lambda: scoring.brier(P, K[1:]), "400 class codes from 0 to 2"),
        (lambda: scoring.brier(2.0 * P, K), r"in \[0, 1\]"),
        (lambda: scoring.interval_coverage(RIGHT, Y, 90), "coverage=90"),
        (lambda: scoring.recall(P, K), "need predictions of two classes; these have 3"),
        (lambda: scoring.recall(TIED, CAME, positive=2), "code of a class, 0 or 1, not 2"),
        (lambda: scoring.precision(TIED, CAME + 1), "class codes from 0 to 1"),
        (lambda: scoring.expected_cost(TIED, CAME, (1.0, 0.0)), "two positive numbers"),
        (lambda: scoring.cost_threshold((1.0, np.inf)), "two positive numbers"),
        (lambda: scoring.cost_threshold((1.0,)), "two positive numbers"),
        (lambda: scoring.pit(M, Y), "must be univariate distributions"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


class Constant(RegressorMixin, BaseEstimator):
    """Predicts N(0, scale^2) whatever it is given."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        return self

    def predict_dist(self, X):
        return Normal(np.zeros(len(X)), self.scale)


class Frequencies(ClassifierMixin, BaseEstimator):
    """Predicts how often each class occurred."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_p_ = np.log(counts / len(y))
        return self

    def predict_dist(self, X):
        return Categorical(np.tile(self.log_p_, (len(X), 1)))


def test_scorers_work_in_scikit_learn():
    X = np.zeros((N, 1))
    for scorer in (scoring.log_score_scorer, scoring.crps_scorer, scoring.rmse_scorer):
        search = GridSearchCV(Constant(), {"scale": [1e-3, 1.0, 1e3]}, scoring=scorer, cv=3)
        search.fit(X, rng.normal(size=N))
        if scorer is not scoring.rmse_scorer:
            assert search.best_params_ == {"scale": 1.0}
    values = cross_val_score(Constant(), X, Y, scoring=scoring.crps_scorer, cv=2)
    expected = [-Normal(0.0, 1.0).crps(half).mean() for half in (Y[: N // 2], Y[N // 2 :])]
    np.testing.assert_allclose(values, expected)


def test_scorers_number_the_labels_of_a_classifier():
    X, labels = np.zeros((N, 1)), np.array(["b", "a", "c"])[K]
    model = Frequencies().fit(X, labels)
    p = np.array([(labels == c).mean() for c in "abc"])
    expected = np.mean([np.log(p["abc".index(label)]) for label in labels])
    np.testing.assert_allclose(scoring.log_score_scorer(model, X, labels), expected)
    squares = [((p - (np.array(list("abc")) == label)) ** 2).sum() for label in labels]
    np.testing.assert_allclose(scoring.brier_scorer(model, X, labels), -np.mean(squares))
    with pytest.raises(ValueError, match="label 'd', which was not in the training data"):
        scoring.brier_scorer(model, X[:1], ["d"])


def test_scorers_find_the_model_inside_pipelines_and_searches():
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = BayesianLinearRegression()
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=3)
    for scorer in (scoring.log_score_scorer, scoring.crps_scorer, scoring.rmse_scorer):
        expected = scorer(model.fit(StandardScaler().fit_transform(X), y), X * 0.0, y)
        wrapped = search.fit(X, y)
        np.testing.assert_allclose(scorer(wrapped, X * 0.0 + X.mean(axis=0), y), expected)
    labels = np.where(y > 0.0, "high", "low")
    theirs = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
    P = theirs.predict_proba(X)
    np.testing.assert_allclose(
        scoring.log_score_scorer(theirs, X, labels), -log_loss(labels, P, labels=["high", "low"])
    )
    np.testing.assert_allclose(
        scoring.brier_scorer(theirs, X, labels), -np.mean((P[:, 1] - (labels == "low")) ** 2)
    )
