"""A column for each query: against the dense posterior of the model that has it."""

from dataclasses import replace

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import with_variance

from posterity import designs, kernels, likelihoods
from posterity.inference.conjugate.linear import WeightPosterior, reduce_statistics
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import query as sparse_query
from posterity.sparse.query import QueryColumn

KERNEL = 1.5 * kernels.RBF(0.7)
QUERIES = np.array([[0.1], [2.0], [3.5], [50.0]])
VECTORS = np.array([[-1.0], [0.3], [1.5]])


def normal_model(*, centred, K=2, vectors=VECTORS, kernel=KERNEL):
    """A sparse model of known vectors and precisions, and its query column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(30, 1))
    Y = np.column_stack([np.sin((k + 1.0) * X[:, 0]) for k in range(K)])
    Y += 0.2 * rng.normal(size=Y.shape)
    weights = rng.uniform(0.5, 2.0, size=30)
    columns = kernel(X, vectors) if len(vectors) else np.empty((30, 0))
    statistics = designs.Statistics.from_rows(columns, Y, sample_weight=weights, shift=centred)
    scale = np.array([0.3, 2.0, 0.8])[: len(vectors)]
    problem = reduce_statistics(statistics, fit_intercept=centred, standardize=False, scale=scale)
    noise = 0.05 * np.arange(1.0, K + 1.0)
    posterior = WeightPosterior(problem, noise, noise)
    query = QueryColumn.from_normal(kernel, X, columns, Y, weights, posterior, centred=centred)
    return X, Y, weights, posterior, query


def standardised(posterior, queries, kernel=KERNEL, vectors=VECTORS):
    p = posterior.problem
    return (kernel(queries, vectors) - p.center) / p.scale


def dense_normal(X, Y, weights, posterior, query, x):
    """Mean and variance of each output at x, of the model with the column of x, by inversion."""
    share, centred = weights / weights.sum(), query.share is not None
    columns = np.hstack([KERNEL(X, VECTORS), KERNEL(X, x[None])])
    at_x = np.hstack([KERNEL(x[None], VECTORS), KERNEL(x[None])])[0]
    center = share @ columns if centred else np.zeros(4)
    Z, z = columns - center, at_x - center
    scale = posterior.problem.scale
    average = share @ np.sum((Z[:, :3] / scale) ** 2, axis=1)
    prior = np.append(scale**2, at_x[3] ** 2 / average)  # precisions, in units of the noise
    Sigma = np.linalg.inv(np.diag(prior) + Z.T @ (weights[:, None] * Z))
    R = Y - (share @ Y if centred else 0.0)
    mean = z @ Sigma @ Z.T @ (weights[:, None] * R) + (share @ Y if centred else 0.0)
    offset = posterior.offset_variance if centred else 0.0
    return mean, posterior.noise_variance * (z @ Sigma @ z) + offset


@for_each("centred", [True, False])
def test_it_is_the_dense_posterior_of_the_model_with_one_more_column(centred):
    X, Y, weights, posterior, query = normal_model(centred=centred)
    mean, variance = with_variance(posterior.latent(KERNEL(QUERIES, VECTORS)))
    more, doubt = query.changes(QUERIES, standardised(posterior, QUERIES))
    for i, x in enumerate(QUERIES):
        dense_mean, dense_variance = dense_normal(X, Y, weights, posterior, query, x)
        np.testing.assert_allclose(mean[i] + more[i, 0], dense_mean, rtol=1e-9)
        total = variance[i] + doubt[i, 0] * posterior.noise_variance
        np.testing.assert_allclose(total, dense_variance, rtol=1e-9)


def test_far_away_a_query_varies_as_rows_did_before_the_data():
    _, _, weights, posterior, query = normal_model(centred=True)
    share = weights / weights.sum()
    average = share @ np.sum(query.A**2, axis=1)
    more, doubt = query.changes(QUERIES[3:], standardised(posterior, QUERIES[3:]))
    assert doubt[0, 0, 0] == pytest.approx(average, rel=1e-9)
    np.testing.assert_allclose(more, 0.0, atol=1e-12)


def test_near_the_rows_next_to_nothing_changes():
    _, _, _, posterior, query = normal_model(centred=True)
    _, doubt = query.changes(QUERIES[[0, 3]], standardised(posterior, QUERIES[[0, 3]]))
    assert doubt[0, 0, 0] < 0.02 * doubt[1, 0, 0]


def test_blocks_of_queries_make_no_difference(monkeypatch):
    _, _, _, posterior, query = normal_model(centred=True)
    A = standardised(posterior, QUERIES)
    whole = query.changes(QUERIES, A)
    monkeypatch.setattr(sparse_query, "_BLOCK_VALUES", 90)  # three queries of thirty rows
    for a, b in zip(whole, query.changes(QUERIES, A), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)


def test_a_kernel_that_is_zero_at_the_query_adds_nothing():
    kernel = kernels.Linear(1.0)
    _, _, _, posterior, query = normal_model(centred=False, kernel=kernel)
    origin = np.zeros((1, 1))
    for change in query.changes(origin, standardised(posterior, origin, kernel)):
        np.testing.assert_array_equal(change, 0.0)


@for_each("centred", [True, False])
def test_a_model_without_vectors_has_nothing_to_go_by(centred):
    *_, query = normal_model(centred=centred, vectors=VECTORS[:0])
    mean, covariance = query.changes(QUERIES, np.empty((4, 0)))
    assert mean.shape == (4, 1, 2)
    assert not mean.any()
    assert not covariance.any()


def class_model(likelihood, n_classes, *, nearest=False):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, size=(40, 1))
    y = np.clip((X[:, 0] + 2.0 + 0.8 * rng.normal(size=40)) * n_classes / 4.0, 0.0, n_classes - 1.0)
    weights = rng.uniform(0.5, 2.0, size=40)
    share = weights / weights.sum()
    columns = KERNEL(X, VECTORS)
    center = share @ columns
    A = np.hstack([columns - center, np.ones((40, 1))])
    targets = RowTargets.from_observations(np.floor(y), weights, likelihood, offset=True)
    h = np.array([0.2, 1.0, 3.0])
    prior = WeightPrior(h, 4, targets.offset_precision)
    laplace = LaplaceFit.from_problem(WeightProblem(designs.Dense(A), targets, prior))
    fit = variational.find_nearest_normal(laplace, tol=1e-12) if nearest else laplace
    query = QueryColumn.from_fit(KERNEL, X, A, fit, centred=True)
    average = share @ (A[:, :3] ** 2) @ (1.0 / h)
    at_queries = np.hstack([KERNEL(QUERIES, VECTORS) - center, np.ones((4, 1))])
    return X, share, A, fit, query, average, at_queries


def at_the_mode(A, fit):
    """Slope and curvature of the rows."""
    t = fit.problem.targets
    latents = t.latents(A @ fit.weights.W)
    return t.slope(latents), t.curvature(latents)


def on_average(A, fit):
    """The same over draws of the weights."""
    d = len(fit.L)
    z = np.random.default_rng(0).standard_normal((2000, d))
    z = np.concatenate([z, -z])
    draws = fit.weights.W.reshape(-1) + z @ np.linalg.inv(np.tril(fit.L))
    told = [
        at_the_mode(A, replace(fit, weights=replace(fit.weights, W=w)))
        for w in draws.reshape(-1, *fit.weights.W.shape)
    ]
    return np.mean([d1 for d1, _ in told], axis=0), np.mean([B for _, B in told], axis=0)


def dense_changes(X, share, A, fit, average, at_x, x, told=at_the_mode):
    """Change of mean and covariance of J values at x, from the Hessian of all weights."""
    J = fit.problem.shape[1]
    d1, B = told(A, fit)
    column = KERNEL(X, x[None])[:, 0]
    center, own = share @ column, KERNEL(x[None])[0, 0]
    Z = np.column_stack([A, column - center])
    H = np.einsum("np,njk,nq->pjqk", Z, B, Z).reshape(5 * J, 5 * J)
    before = fit.problem.prior.add_precision(H[: 4 * J, : 4 * J].copy())
    H[: 4 * J, : 4 * J] = before
    H[4 * J :, 4 * J :] += np.eye(J) * own**2 / average
    gradient = np.zeros((5, J))
    gradient[4] = Z[:, 4] @ d1
    at = np.kron(np.append(at_x, own - center), np.eye(J))
    old = np.kron(at_x, np.eye(J))
    mean = at @ np.linalg.solve(H, gradient.reshape(-1))
    return mean, at @ np.linalg.inv(H) @ at.T - old @ np.linalg.inv(before) @ old.T


each_likelihood = pytest.mark.parametrize(
    ("likelihood", "n_classes"),
    [(likelihoods.Bernoulli(), 2), (likelihoods.Categorical(3), 3)],
    ids=["two", "three"],
)


@each_likelihood
def test_any_likelihood_is_taken_as_it_curves_at_the_mode(likelihood, n_classes):
    X, share, A, fit, query, average, at_queries = class_model(likelihood, n_classes)
    assert query.prior_variance == pytest.approx(average)
    mean, covariance = query.changes(QUERIES, at_queries)
    for i, x in enumerate(QUERIES):
        dense = dense_changes(X, share, A, fit, average, at_queries[i], x)
        np.testing.assert_allclose(mean[i, :, 0], dense[0], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(covariance[i], dense[1], rtol=1e-8, atol=1e-12)


@each_likelihood
def test_rows_curve_on_average_about_the_nearest_normal(likelihood, n_classes):
    X, share, A, fit, query, average, at_queries = class_model(likelihood, n_classes, nearest=True)
    slope, curvature = on_average(A, fit)
    np.testing.assert_allclose(query.G[:, :, 0], slope, atol=0.02)
    np.testing.assert_allclose(query.B, curvature, atol=0.02)
    mean, covariance = query.changes(QUERIES, at_queries)

    def told(A, fit):
        return query.G[:, :, 0], query.B

    for i, x in enumerate(QUERIES):
        dense = dense_changes(X, share, A, fit, average, at_queries[i], x, told)
        # Averages by points are not quite the slopes of the bound by points: the climb ends where
        # the two disagree, with a factor that is off by some 1e-4 for three classes.
        np.testing.assert_allclose(mean[i, :, 0], dense[0], rtol=5e-3, atol=1e-3)
        np.testing.assert_allclose(covariance[i], dense[1], rtol=5e-3, atol=1e-3)
