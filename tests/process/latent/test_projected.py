"""A latent process carried by points: all rows are exact, fewer are a process of lower rank."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from latent_oracles import DenseLaplace
from support.for_each import for_each
from support.latents import of_one, with_covariance
from weight_oracles import DenseWeights

from posterity import kernels, likelihoods, linalg
from posterity.inference.weights import variational
from posterity.process.latent import projected
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.projected import ProjectedPosterior
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.softmax.posterior import SoftmaxPosterior

KERNEL = 3.0 * kernels.Matern([0.9, 1.4], smoothness=1.5)
TWO, THREE = likelihoods.Bernoulli(), likelihoods.Categorical(3)
OUTLIERS, COUNTS = likelihoods.StudentT(0.5, 4.0), likelihoods.Poisson()
SINGLE = {"two classes": TWO, "outliers": OUTLIERS, "counts": COUNTS}
each = pytest.mark.parametrize("likelihood", SINGLE.values(), ids=SINGLE)
offset_or_not = pytest.mark.parametrize("offset", [True, False])
FAR = np.array([[400.0, -400.0], [1e6, 0.0]])


def data(likelihood, *, n=25, offset=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a = 1.0 + 2.0 * np.sin(2.0 * X[:, 0]) - X[:, 1]
    noisy = a + rng.logistic(size=n)
    if likelihood is OUTLIERS:
        y = a + 0.3 * rng.standard_t(2, size=n)
    elif likelihood is COUNTS:
        y = rng.poisson(np.exp(0.5 * a)).astype(float)
    else:
        y = np.digitize(noisy, [0.0] if likelihood is TWO else [0.0, 1.5]).astype(float)
    weights = rng.integers(1, 4, n).astype(float)
    return (
        X,
        LatentTargets.with_offset_prior(y, weights, likelihood, offset=offset),
        rng.normal(size=(6, 2)),
    )


def exactly(likelihood, X, targets):
    """The posterior that all rows have, and how closely alternating factors come to it."""
    kind = "variational" if likelihood is OUTLIERS else "laplace"
    near = 1e-4 if likelihood is OUTLIERS else 1e-7
    return SitePosterior.condition(kind, KERNEL, likelihood, X, targets), near


class DenseFactors:
    """The best normal beside precisions of the rows, in matrices."""

    def __init__(self, covariance, likelihood, X, targets):
        def total(A, B):
            return covariance(A, B) + targets.offset_variance[0]

        y, w, K = targets.y - targets.shift[0], targets.weights, total(X, X)
        E = y * y
        for _ in range(2000):
            W = w * likelihood.step_curvature(np.sqrt(E), 0.0)
            G = np.linalg.inv(K + np.diag(1.0 / W))
            mean, v = K @ G @ y, np.diagonal(K - K @ G @ K)
            E = (y - mean) ** 2 + v
        self.total, self.X, self.G, self.y, self.shift = total, X, G, y, targets.shift[0]
        determinant = np.linalg.slogdet(np.eye(len(y)) + K * W)[1]
        divergence = 0.5 * (determinant - W @ v + mean @ G @ y)
        self.log_evidence = w @ likelihood.log_prob(np.sqrt(E), 0.0) - divergence

    def latent(self, queries):
        k = self.total(self.X, queries)
        C = self.total(queries, queries) - k.T @ self.G @ k
        return self.shift + k.T @ self.G @ self.y, C


@each
@offset_or_not
def test_points_at_all_rows_are_exact(likelihood, offset):
    X, targets, queries = data(likelihood, offset=offset)
    exact, near = exactly(likelihood, X, targets)
    carried = ProjectedPosterior.condition(KERNEL, likelihood, X, targets, X)
    assert carried.log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)
    mean, covariance = with_covariance(exact.latent(queries))
    carried_mean, carried_covariance = with_covariance(carried.latent(queries))
    np.testing.assert_allclose(carried_mean, mean, atol=near)
    np.testing.assert_allclose(carried_covariance, covariance, rtol=near)
    one, other = carried.joint(queries), exact.joint(queries)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=near)


@offset_or_not
def test_points_at_all_rows_are_exact_for_what_tells_classes_apart(offset):
    X, targets, queries = data(THREE, offset=offset)
    exact = SoftmaxPosterior.condition("laplace", KERNEL, THREE, X, targets)
    carried = ProjectedPosterior.condition(KERNEL, THREE, X, targets, X)
    assert carried.log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)
    (mean, S), (carried_mean, carried_S) = (
        with_covariance(exact.latent(queries)),
        with_covariance(carried.latent(queries)),
    )
    D = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    np.testing.assert_allclose(carried_mean @ D.T, mean @ D.T, atol=1e-7)
    np.testing.assert_allclose(D @ carried_S @ D.T, D @ S @ D.T, atol=1e-7)
    np.testing.assert_allclose(
        THREE.predict(carried_mean, carried_S).probabilities(),
        THREE.predict(mean, S).probabilities(),
        atol=1e-7,
    )


@each
@offset_or_not
def test_few_points_are_a_process_of_lower_rank_and_what_it_leaves(likelihood, offset):
    X, targets, queries = data(likelihood, offset=offset)
    points = X[:4] + 0.1
    carried = ProjectedPosterior.condition(KERNEL, likelihood, X, targets, points)
    inverse = np.linalg.inv(KERNEL(points))

    def low_rank(A, B=None):
        return KERNEL(A, points) @ inverse @ KERNEL(points, A if B is None else B)

    oracle = DenseFactors if likelihood is OUTLIERS else DenseLaplace
    dense = oracle(low_rank, likelihood, X, targets)
    assert carried.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    mean, covariance = dense.latent(queries)
    left = KERNEL(queries) - low_rank(queries)
    near = 1e-4 if likelihood is OUTLIERS else 1e-5
    np.testing.assert_allclose(carried.latent(queries).mean[:, 0], mean, atol=near)
    np.testing.assert_allclose(carried.joint(queries).covariance[0], covariance + left, atol=near)
    np.testing.assert_allclose(
        carried.latent(queries).covariance[:, 0, 0],
        np.diagonal(covariance + left),
        atol=near,
    )


@offset_or_not
def test_few_points_carry_the_functions_of_several_classes(offset):
    X, targets, queries = data(THREE, offset=offset)
    points = X[:4]
    carried = ProjectedPosterior.condition(KERNEL, THREE, X, targets, points)
    root = np.linalg.cholesky(KERNEL(points))

    def columns(A):
        Z = np.linalg.solve(root, KERNEL(points, A)).T
        return np.column_stack([Z, np.ones(len(Z))]) if offset else Z

    variance = np.ones((len(points) + offset, 3))
    if offset:
        variance[-1] = targets.offset_variance
    dense = DenseWeights(columns(X), targets.y, targets.weights, THREE, variance, targets.shift)
    assert carried.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    mean, S = dense.latent(columns(queries))
    left = KERNEL.diag(queries) - np.sum(columns(queries)[:, :4] ** 2, axis=1)
    D = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    carried_mean, carried_S = with_covariance(carried.latent(queries))
    np.testing.assert_allclose(carried_mean @ D.T, mean @ D.T, atol=1e-5)
    S_left = left[:, None, None] * np.eye(3)
    np.testing.assert_allclose(D @ carried_S @ D.T, D @ (S + S_left) @ D.T, atol=1e-5)


@each
def test_the_offset_keeps_its_prior_when_the_likelihood_has_learned(likelihood):
    """That of the rows which nothing else explains, as for the exact process."""
    X, targets, queries = data(likelihood)
    moved = replace(targets, shift=targets.shift + 0.3, offset_variance=2.0 * np.ones(1))
    exact, near = exactly(likelihood, X, moved)
    carried = ProjectedPosterior.condition(KERNEL, likelihood, X, moved, X)
    assert carried.log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)
    np.testing.assert_allclose(carried.latent(queries).mean, exact.latent(queries).mean, near)


def test_more_points_lose_less_of_the_evidence():
    X, targets, _ = data(TWO, n=40)
    exact = SitePosterior.condition("laplace", KERNEL, TWO, X, targets).log_evidence
    gaps = []
    for m in (1, 5, 15, 40):
        points = projected.choose_points(KERNEL, X, m, np.random.default_rng(0))
        carried = ProjectedPosterior.condition(KERNEL, TWO, X, targets, points)
        gaps.append(abs(carried.log_evidence - exact))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-8


@for_each("likelihood", [TWO, THREE], ids=["two", "three"])
def test_where_points_do_not_reach_the_variance_is_that_of_the_process(likelihood):
    X, targets, _ = data(likelihood, offset=False)
    carried = ProjectedPosterior.condition(KERNEL, likelihood, X, targets, X[:2])
    mean, S = with_covariance(carried.latent(FAR))
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(S, np.broadcast_to(3.0 * np.eye(mean.shape[1]), S.shape))


def test_variances_are_those_of_the_process_at_most_and_never_negative():
    X, targets, queries = data(TWO, offset=False)
    for m in (1, 3, 10, 25):
        carried = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:m])
        variance = carried.latent(np.vstack([X, queries, FAR])).covariance[:, 0, 0]
        assert np.all(variance >= 0.0)
        assert np.all(variance <= 3.0 + 1e-12)


def test_a_weight_is_a_repetition():
    X, targets, queries = data(TWO)
    counts = targets.weights.astype(int)
    again = LatentTargets.with_offset_prior(
        targets.y.repeat(counts), np.ones(counts.sum()), TWO, offset=True
    )
    weighted = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:5])
    repeated = ProjectedPosterior.condition(KERNEL, TWO, X.repeat(counts, 0), again, X[:5])
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-10)
    for one, other in zip(
        with_covariance(weighted.latent(queries)),
        with_covariance(repeated.latent(queries)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_rows_in_blocks_are_rows_at_once(monkeypatch):
    X, targets, queries = data(TWO)
    whole = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:5])
    expected = with_covariance(whole.latent(queries))
    monkeypatch.setattr(projected, "_BLOCK_ROWS", 4)
    parts = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:5])
    assert parts.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    for one, other in zip(with_covariance(parts.latent(queries)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_points_are_rows_none_twice_and_no_more_than_there_are():
    X = np.vstack([data(TWO)[0]] * 2)
    points = projected.choose_points(KERNEL, X, 1000, np.random.default_rng(0))
    assert len(np.unique(points, axis=0)) == len(points) <= 25
    assert all(any(np.array_equal(p, x) for x in X) for p in points)


def test_equal_points_are_announced():
    X, targets, queries = data(TWO)
    once = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:3])
    with pytest.warns(linalg.JitterWarning):
        twice = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[[0, 1, 2, 0, 1]])
    for one, other in zip(
        with_covariance(once.latent(queries)), with_covariance(twice.latent(queries)), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_white_terms_stay_with_their_rows():
    """A new row has its own, and the points tell nothing of it."""
    X, targets, queries = data(OUTLIERS, offset=False)
    white = KERNEL + kernels.White(0.7)
    carried = ProjectedPosterior.condition(white, OUTLIERS, X, targets, X[:3])
    np.testing.assert_allclose(carried.latent(FAR).covariance[:, 0, 0], 3.7)
    np.testing.assert_allclose(
        np.diagonal(carried.joint(queries).covariance[0]),
        carried.latent(queries).covariance[:, 0, 0],
    )


def test_a_posterior_says_how_it_was_found():
    X, targets, _ = data(TWO)
    carried = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:3])
    assert carried.n_iter > 0
    assert carried.stop_reason


def sharp(n=40):
    """Rows of two classes that hardly overlap, and a kernel under which they are sure."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = (np.hypot(*X.T) + 0.1 * rng.logistic(size=n) > 1.1).astype(float)
    return X, LatentTargets.with_offset_prior(
        y, rng.integers(1, 3, n).astype(float), TWO, offset=True
    )


def bound_in_values(kernel, X, targets, points, mean, S):
    """E[log p(y | f)] - KL(q(u) | p(u)), for q(u) = N(mean, S) of the values at points and offset.

    Rows vary as the process does given u.
    """
    Kuu, m = kernel(points), len(points)
    P = np.linalg.solve(Kuu, kernel(points, X)).T
    left = kernel.diag(X) - np.einsum("nm,mk,nk->n", P, Kuu, P)
    B = np.hstack([P, np.ones((len(X), 1))])
    prior = np.zeros((m + 1, m + 1))
    prior[:m, :m], prior[m, m] = Kuu, targets.offset_variance[0]
    nodes, shares = np.polynomial.hermite_e.hermegauss(150)
    sd = np.sqrt(np.einsum("nm,mk,nk->n", B, S, B) + left)
    a = (targets.shift[0] + B @ mean)[:, None] + sd[:, None] * nodes
    log_p = TWO.log_prob(targets.y[:, None], a) @ (shares / shares.sum())
    distance = mean @ np.linalg.solve(prior, mean) + np.trace(np.linalg.solve(prior, S)) - m - 1
    distance += np.linalg.slogdet(prior)[1] - np.linalg.slogdet(S)[1]
    return targets.weights @ log_p - 0.5 * distance


def test_the_nearest_normal_maximises_the_bound_of_the_whole_process(monkeypatch):
    X, targets = sharp()
    points, kernel = X[:4], 40.0 * kernels.RBF(1.2)
    exactly = functools.partial(variational.find_nearest_normal, tol=1e-13)
    monkeypatch.setattr(variational, "find_nearest_normal", exactly)
    carried = ProjectedPosterior.condition(kernel, TWO, X, targets, points, approximation="nearest")
    fit, lower = carried.fit, np.tril_indices(5)

    def bound(x):
        R = np.zeros((5, 5))
        R[lower] = x[5:]
        return bound_in_values(kernel, X, targets, points, x[:5], R @ R.T)

    T = np.zeros((5, 5))  # makes of the weights the values at the points, and the offset
    T[:4, :4], T[4, 4] = np.tril(carried.L), 1.0
    S = T @ np.linalg.inv(np.tril(fit.L) @ np.tril(fit.L).T) @ T.T
    x = np.append(T @ fit.weights.W[:, 0], np.linalg.cholesky(S)[lower])
    assert fit.bound == pytest.approx(bound(x), abs=1e-5)
    slope = [(bound(x + h) - bound(x - h)) / 2e-4 for h in 1e-4 * np.eye(len(x))]
    np.testing.assert_allclose(slope, 0.0, atol=5e-4)


def test_the_nearest_normal_is_nearer_to_propagation_and_its_bound_rises_with_the_points():
    X, targets = sharp()
    single = replace(targets, weights=np.ones(len(X)))
    kernel = 40.0 * kernels.RBF(1.2)
    full = SitePosterior.condition("propagation", kernel, TWO, X, single)
    queries = np.random.default_rng(5).normal(size=(100, 2))
    exact = TWO.predict(*of_one(full.latent(queries))).probabilities()
    bounds = []
    for m in (4, 8, 40):
        errors = []
        for nearest in (True, False):
            carried = ProjectedPosterior.condition(
                kernel, TWO, X, single, X[:m], approximation="nearest" if nearest else "laplace"
            )
            mean, S = with_covariance(carried.latent(queries))
            p = TWO.predict(mean[:, 0], S[:, 0, 0]).probabilities()
            errors.append(np.mean(np.abs(p - exact)))
            if nearest:
                bounds.append(carried.fit.bound)
        assert errors[0] < 0.8 * errors[1]
    assert np.all(np.diff(bounds) > 0.0)
    assert bounds[-1] < full.log_evidence + 0.05


def test_the_nearest_normal_of_several_classes_knows_what_points_leave():
    X, targets, queries = data(THREE, n=60)
    kernel = 30.0 * kernels.RBF([0.9, 1.4])
    exact = SoftmaxPosterior.condition("variational", kernel, THREE, X, targets)
    p = THREE.predict(*with_covariance(exact.latent(queries))).probabilities()
    errors = []
    for nearest in (True, False):
        carried = ProjectedPosterior.condition(
            kernel, THREE, X, targets, X, approximation="nearest" if nearest else "laplace"
        )
        found = THREE.predict(*with_covariance(carried.latent(queries))).probabilities()
        errors.append(np.max(np.abs(found - p)))
    assert errors[0] < 0.03
    assert errors[1] > 2.0 * errors[0]


def test_rows_that_count_twice_are_two_rows_to_the_nearest_normal():
    X, targets = sharp()
    counts = targets.weights.astype(int)
    again = replace(targets, y=targets.y.repeat(counts), weights=np.ones(counts.sum()))
    one = ProjectedPosterior.condition(KERNEL, TWO, X, targets, X[:5], approximation="nearest")
    other = ProjectedPosterior.condition(
        KERNEL, TWO, X.repeat(counts, 0), again, X[:5], approximation="nearest"
    )
    assert one.fit.bound == pytest.approx(other.fit.bound, abs=1e-8)
    np.testing.assert_allclose(one.latent(FAR).mean, other.latent(FAR).mean, atol=1e-7)
