"""Relevance vectors of two classes: probabilities that hold, of rare and of clear classes."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from support.for_each import for_each

from posterity import RelevanceVectorClassifier, designs, kernels, likelihoods, priors
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import ClimbStart
from posterity.sparse.precisions import CauchyTails
from posterity.sparse.vector_prices import price_columns


def rare_rows(n, n_events, n_columns=2, seed=0):
    """Events that no column has anything to do with."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, n_events, replace=False)] = 1
    return rng.normal(size=(n, n_columns)), y


@pytest.mark.full
@for_each(("n", "n_events", "seed"), [(300, 1, 1), (400, 4, 0)])
def test_the_mean_probability_of_a_rare_class_is_its_share(n, n_events, seed):
    X, y = rare_rows(n, n_events, seed=seed)
    p = RelevanceVectorClassifier(random_state=0).fit(X, y).predict_proba(X)
    assert p[:, 1].mean() == pytest.approx(y.mean(), abs=1.0 / n)
    shares = np.tile([1.0 - y.mean(), y.mean()], (n, 1))
    assert log_loss(y, p) < log_loss(y, shares) + 1.0 / n


@pytest.mark.full
def test_events_without_a_cause_are_not_learned_by_heart():
    """With narrow kernels a vector at each event would fit the rows, and no others."""
    X, y = rare_rows(300, 2, 5, seed=2)
    model = RelevanceVectorClassifier(random_state=0).fit(X, y)
    assert len(model.relevance_) == 0


@pytest.mark.full
def test_a_rare_class_that_has_a_place_of_its_own_is_learned():
    rng = np.random.default_rng(0)
    y = (np.arange(1200) % 100 == 0).astype(int)
    X = rng.normal(size=(1200, 3))
    X[:, 0] += 4.0 * y
    model = RelevanceVectorClassifier(random_state=0).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    assert log_loss(y[600:], p) < 0.02  # class frequencies: 0.056
    assert p[:, 1].mean() == pytest.approx(0.01, abs=0.005)


def test_clusters_far_apart_are_told_apart_with_certainty():
    rng = np.random.default_rng(0)
    n, y = 40, np.arange(540) % 2
    X = rng.normal(size=(540, 2))
    X[:, 0] += 14.0 * y
    model = RelevanceVectorClassifier(random_state=0).fit(X[:n], y[:n])
    p = model.predict_proba(X[n:])
    assert log_loss(y[n:], p) < 0.05  # the normal at the mode: 0.3 to 0.4
    assert np.mean(np.max(p, axis=1)) > 0.95
    assert len(model.relevance_) <= 4


def test_a_column_is_priced_by_the_rows_it_speaks_for():
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.normal(size=2000), np.eye(2000)[0], np.repeat([1.0, -1.0], 1000)])
    targets = RowTargets.from_observations(
        z[:, 2] > 0.0, None, likelihoods.Bernoulli(), offset=True
    )
    price = price_columns(designs.Dense(z), targets, 3)
    np.testing.assert_allclose(np.exp(price), [3.0, 2000.0, 1.0], rtol=0.2)
    counted = RowTargets.from_observations(
        z[:, 2] > 0.0, np.full(2000, 2.0), likelihoods.Bernoulli(), offset=True
    )
    twice = RowTargets.from_observations(
        np.repeat(z[:, 2] > 0.0, 2), None, likelihoods.Bernoulli(), offset=True
    )
    repeated = price_columns(designs.Dense(np.repeat(z, 2, axis=0)), twice, 3)
    np.testing.assert_allclose(price_columns(designs.Dense(z), counted, 3), repeated)


@for_each("nu", [0.0, 0.5, 3.0])
def test_the_slope_of_the_tails_is_that_of_their_total(nu):
    tails, h = CauchyTails(priors.Sparse(nu)), np.array([1e-3, 0.4, 1.0, 7.0])
    for one in h:
        up, down = (tails.log_density_of_choice([one * np.exp(step)]) for step in (1e-5, -1e-5))
        assert tails.penalty_slope([one])[0] == pytest.approx((up - down) / 2e-5, abs=1e-5)
    assert tails.log_density_of_choice([np.inf]) == 0.0


def test_precisions_that_predict_are_those_of_largest_posterior():
    """Held against a search of its own, over Laplace's evidence and Cauchy tails."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6.0])
    y = np.repeat([0, 1], 20)
    kernel = kernels.RBF(4.0).fixed()
    model = RelevanceVectorClassifier(kernel).fit(X, y)
    Z = kernel(X, X[model.relevance_])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)

    def objective(h):
        A = designs.Dense(np.column_stack([Z, np.ones(len(y))]))
        prior = WeightPrior(h, A.n_columns, targets.offset_precision)
        fit = LaplaceFit.from_problem(WeightProblem(A, targets, prior))
        small = np.minimum(h, 1.0)
        return fit.log_evidence + 0.5 * np.sum(np.log(small) - small + 1.0)

    best = objective(model.precision_)
    for i in range(len(model.precision_)):
        for factor in (0.8, 1.25):
            h = model.precision_.copy()
            h[i] *= factor
            assert objective(h) < best


def test_what_rare_rows_tell_is_not_in_proportion_to_their_number():
    none = np.zeros(0)
    assert ClimbStart(none, none, none, 2000.0, -16.0).nats == 16.0
    assert ClimbStart(none, none, none, 2000.0, -1300.0).nats == 1300.0
    assert ClimbStart(none, none, none, 20.0, -1300.0).nats == 20.0
