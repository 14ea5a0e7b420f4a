"""Coupled latent functions against dense algebra of all classes at once, and by differences."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from support.for_each import for_each
from support.latents import with_covariance

from posterity import kernels, likelihoods, linalg, optimize
from posterity.process import kernel_blocks
from posterity.process.latent.targets import LatentTargets
from posterity.process.softmax import factors, laplace, modes, products
from posterity.process.softmax.laplace import SoftmaxEvidence, SoftmaxPosterior
from posterity.process.softmax.products import ProductSteps

KERNEL = 1.7 * kernels.RBF([0.8, 1.3])
KERNELS = {
    "one length a column": KERNEL,
    "sum": kernels.Matern(1.2, smoothness=1.5) + kernels.Linear(0.4) + 0.7,
    "white": 2.0 * (kernels.RBF(2.0) * kernels.Periodic(1.7)) + kernels.White(0.2),
    "weak": 0.01 * kernels.RBF(1.0),
    "partly held": (1.5 * kernels.RBF([0.8, 2.0])).fixed("length_scale") + kernels.White(0.1),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
with_and_without_offset = pytest.mark.parametrize("offset", [False, True])


@pytest.fixture(params=["one block", "blocks", "exact steps alone"])
def route(request, monkeypatch):
    """Matrices and queries in one block or in many; Newton's steps by products or by factors."""
    if request.param == "blocks":
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS", 5)
        monkeypatch.setattr(factors, "_COLUMNS", 4)
        monkeypatch.setattr(laplace, "_QUERY_VALUES", 300)
    if request.param == "exact steps alone":
        monkeypatch.setattr(products, "_MOST_PRODUCTS", 0)


def data(n=13, C=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = rng.permutation(np.arange(n) % C).astype(float)
    return X, y, rng.uniform(0.5, 3.0, n)


def problem(offset=True, n=13, C=3):
    X, y, weights = data(n, C)
    likelihood = likelihoods.Categorical(C)
    return X, likelihood, LatentTargets.with_offset_prior(y, weights, likelihood, offset=offset)


class Dense:
    """The same by matrices of all classes at once, classes first."""

    def __init__(self, kernel, likelihood, X, targets):
        self.kernel, self.likelihood, self.X, self.targets = kernel, likelihood, X, targets
        self.K = self.prior(kernel(X))
        self.f = self.mode()
        W, _ = self.curvature(self.f)
        self.R = np.linalg.solve(np.eye(len(W)) + W @ self.K, W)

    def prior(self, K):
        C, n, m = len(self.targets.shift), *K.shape
        full = np.zeros((C, n, C, m))
        for c, v in enumerate(self.targets.offset_variance):
            full[c, :, c, :] = K + v
        return full.reshape(C * n, C * m)

    def activations(self, f):
        return self.targets.shift + f.reshape(len(self.targets.shift), -1).T

    def curvature(self, f):
        a, t = self.activations(f), self.targets
        n, C = a.shape
        u, W = self.likelihood.curvature_shares(t.y, a), np.zeros((C, n, C, n))
        for i in range(n):
            W[:, i, :, i] = t.weights[i] * (np.diag(u[i]) - np.outer(u[i], u[i]))
        slope = t.weights[:, None] * self.likelihood.d1(t.y, a)
        return W.reshape(C * n, C * n), slope.T.ravel()

    def mode(self):
        f = np.zeros(len(self.K))
        for _ in range(25):
            W, slope = self.curvature(f)
            g = self.K @ np.linalg.solve(np.eye(len(W)) + W @ self.K, W @ f + slope)
            f = 0.5 * (f + g) if np.max(np.abs(g - f)) > 1.0 else g
        return f

    @property
    def log_evidence(self):
        a, t = self.activations(self.f), self.targets
        W, slope = self.curvature(self.f)
        log_p = np.sum(t.weights * self.likelihood.log_prob(t.y, a))
        _, log_determinant = np.linalg.slogdet(np.eye(len(W)) + self.K @ W)
        return log_p - 0.5 * self.f @ slope - 0.5 * log_determinant

    def latent(self, X):
        C, n = len(self.targets.shift), len(X)
        k = self.prior(self.kernel(self.X, X))
        _, slope = self.curvature(self.f)
        mean = self.targets.shift + (k.T @ slope).reshape(C, n).T
        within = self.prior(self.kernel(X)) - k.T @ self.R @ k
        return mean, np.einsum("cndn->ncd", within.reshape(C, n, C, n))


def differences(function, theta, step=1e-3):
    """Central differences of the fourth order."""

    def slope(e):
        d1 = function(theta + e) - function(theta - e)
        d2 = function(theta + 2.0 * e) - function(theta - 2.0 * e)
        return (8.0 * d1 - d2) / (12.0 * step)

    return np.array([slope(step * e) for e in np.eye(len(theta))])


@pytest.mark.full(but=10)
@each_kernel
@with_and_without_offset
def test_the_evidence_is_that_of_dense_algebra(kernel, offset, route):
    X, likelihood, targets = problem(offset)
    expected = Dense(kernel, likelihood, X, targets).log_evidence
    assert SoftmaxEvidence(X, targets)(kernel, likelihood)[0] == pytest.approx(expected, abs=1e-8)
    posterior = SoftmaxPosterior.condition(kernel, likelihood, X, targets)
    assert posterior.log_evidence == pytest.approx(expected, abs=1e-8)


@pytest.mark.full(but=10)
@each_kernel
@with_and_without_offset
def test_the_gradient_is_that_of_the_evidence(kernel, offset, route):
    X, likelihood, targets = problem(offset)
    evidence = SoftmaxEvidence(X, targets)
    _, gradient = evidence(kernel, likelihood)

    def value(theta):
        return Dense(kernel.with_theta(theta), likelihood, X, targets).log_evidence

    assert len(gradient) == len(kernel.theta)
    np.testing.assert_allclose(gradient, differences(value, kernel.theta), rtol=1e-6, atol=1e-8)


@pytest.mark.full(but=10)
@each_kernel
@with_and_without_offset
def test_latent_functions_are_those_of_dense_algebra(kernel, offset, route):
    X, likelihood, targets = problem(offset)
    queries = np.random.default_rng(5).normal(size=(9, 2))
    expected_mean, expected_covariance = Dense(kernel, likelihood, X, targets).latent(queries)
    mean, covariance = with_covariance(
        SoftmaxPosterior.condition(kernel, likelihood, X, targets).latent(queries)
    )
    np.testing.assert_allclose(mean, expected_mean, atol=1e-9)
    np.testing.assert_allclose(covariance, expected_covariance, atol=1e-9)
    np.testing.assert_array_equal(covariance, np.swapaxes(covariance, 1, 2))


def test_six_classes_of_more_rows_than_columns_worked_on_at_a_time():
    X, likelihood, targets = problem(n=70, C=6)
    value, gradient = SoftmaxEvidence(X, targets)(KERNEL, likelihood)
    dense = Dense(KERNEL, likelihood, X, targets)
    assert value == pytest.approx(dense.log_evidence, abs=1e-9)
    evidence = SoftmaxEvidence(X, targets)
    by_differences = differences(
        lambda t: evidence(KERNEL.with_theta(t), likelihood)[0], KERNEL.theta
    )
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5)
    posterior = SoftmaxPosterior.condition(KERNEL, likelihood, X, targets)
    for ours, theirs in zip(
        with_covariance(posterior.latent(X[:5])), dense.latent(X[:5]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_two_classes_are_a_sigmoid_of_twice_the_kernel():
    X, y, weights = data(C=2)
    targets = LatentTargets(y, weights, np.array([0.3, -0.1]), np.array([0.4, 1.5]))
    K, difference = 2.0 * KERNEL(X) + 1.9, np.zeros(len(y))
    for _ in range(50):
        p = expit(0.4 + difference)
        W, slope = weights * p * (1.0 - p), weights * ((y == 0.0) - p)
        b = np.linalg.solve(np.eye(len(y)) + W[:, None] * K, W * difference + slope)
        difference = K @ b
    log_p = np.sum(weights * log_expit(np.where(y == 0.0, 1.0, -1.0) * (0.4 + difference)))
    _, log_determinant = np.linalg.slogdet(np.eye(len(y)) + K * W)
    expected = log_p - 0.5 * difference @ b - 0.5 * log_determinant
    value, _ = SoftmaxEvidence(X, targets)(KERNEL, likelihoods.Categorical(2))
    assert value == pytest.approx(expected, abs=1e-8)


@with_and_without_offset
def test_a_weight_is_a_repetition(offset):
    X, y, _ = data()
    weights, likelihood = (
        np.random.default_rng(1).integers(1, 4, len(y)),
        likelihoods.Categorical(3),
    )
    once = LatentTargets.with_offset_prior(y, weights.astype(float), likelihood, offset=offset)
    rows, ones = y.repeat(weights), np.ones(weights.sum())
    often = LatentTargets.with_offset_prior(rows, ones, likelihood, offset=offset)
    X_rows = X.repeat(weights, axis=0)
    for a, b in zip(
        SoftmaxEvidence(X, once)(KERNEL, likelihood),
        SoftmaxEvidence(X_rows, often)(KERNEL, likelihood),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    queries = X + 0.3
    a, b = (
        with_covariance(SoftmaxPosterior.condition(KERNEL, likelihood, *rows_of).latent(queries))
        for rows_of in ((X, once), (X_rows, often))
    )
    np.testing.assert_allclose(a[0], b[0], atol=1e-8)
    np.testing.assert_allclose(a[1], b[1], atol=1e-8)


def test_the_mode_is_stationary(route):
    X, likelihood, targets = problem()
    posterior = SoftmaxPosterior.condition(KERNEL, likelihood, X, targets)
    a, _ = with_covariance(posterior.latent(X))
    slope = targets.weights[:, None] * likelihood.d1(targets.y, a)
    np.testing.assert_allclose(posterior.b, slope, atol=1e-8)
    assert 0 < posterior.n_iter < 20
    assert posterior.stop_reason == "a further Newton step gains no more than round-off"


def test_a_search_leaves_no_trace_in_the_evidence():
    X, likelihood, targets = problem(n=40)
    evidence = SoftmaxEvidence(X, targets)
    path = [KERNEL.with_theta(KERNEL.theta + t) for t in (0.0, 4.0, -3.0, 0.5)]
    for kernel in path:
        fresh = SoftmaxEvidence(X, targets)(kernel, likelihood)
        again = evidence(kernel, likelihood)
        assert again[0] == pytest.approx(fresh[0], abs=1e-8)
        np.testing.assert_allclose(again[1], fresh[1], atol=1e-6)


def test_the_mode_of_the_last_call_is_where_the_next_one_starts(monkeypatch):
    X, likelihood, targets = problem(n=40)
    lengths = []
    newton_step = ProductSteps.newton_step

    def counted(self, latents, point):
        step = newton_step(self, latents, point)
        lengths.append(step.length)
        return step

    monkeypatch.setattr(ProductSteps, "newton_step", counted)
    evidence = SoftmaxEvidence(X, targets)
    evidence(KERNEL, likelihood)
    first = lengths[0]
    lengths.clear()
    evidence(KERNEL.with_theta(KERNEL.theta + 1e-3), likelihood)
    assert lengths[0] < 0.05 * first


def test_one_factorisation_serves_an_evaluation(monkeypatch):
    X, likelihood, targets = problem(n=150)
    points = []
    at = factors.ClassFactors.factorise.__func__

    def counted(cls, latents, point, memory):
        points.append(point)
        return at(cls, latents, point, memory)

    monkeypatch.setattr(factors.ClassFactors, "factorise", classmethod(counted))
    SoftmaxEvidence(X, targets)(KERNEL, likelihood)
    assert len(points) == 1


@for_each("variance", [1e-6, 1e2, 1e5])
@for_each("length_scale", [0.05, 1.0, 100.0])
def test_wide_and_narrow_priors(variance, length_scale):
    X, likelihood, targets = problem(n=60)
    kernel = variance * kernels.RBF(length_scale)
    evidence = SoftmaxEvidence(X, targets)
    value, gradient = evidence(kernel, likelihood)
    by_differences = differences(
        lambda t: evidence(kernel.with_theta(t), likelihood)[0], kernel.theta
    )
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-3, atol=1e-4)
    posterior = SoftmaxPosterior.condition(kernel, likelihood, X, targets)
    assert posterior.log_evidence == pytest.approx(value, rel=1e-9)
    _, covariance = with_covariance(posterior.latent(np.vstack([X, 100.0 * X])))
    assert np.min(np.linalg.eigvalsh(covariance)) >= -1e-10 * variance


def test_probabilities_that_underflow():
    X, likelihood, targets = problem(n=30)
    far = LatentTargets(np.zeros(30), targets.weights, np.array([900.0, 0.0, -900.0]), np.zeros(3))
    value, gradient = SoftmaxEvidence(X, far)(KERNEL, likelihood)
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    mean, covariance = with_covariance(
        SoftmaxPosterior.condition(KERNEL, likelihood, X, far).latent(X)
    )
    np.testing.assert_allclose(mean, np.broadcast_to(far.shift, mean.shape), atol=1e-9)
    np.testing.assert_allclose(covariance, np.broadcast_to(1.7 * np.eye(3), (30, 3, 3)), atol=1e-9)


def test_far_from_all_rows_the_prior_is_left():
    X, likelihood, targets = problem(offset=False)
    mean, covariance = with_covariance(
        SoftmaxPosterior.condition(KERNEL, likelihood, X, targets).latent(X + 1e3)
    )
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(covariance, np.broadcast_to(1.7 * np.eye(3), covariance.shape))


def test_rows_may_be_objects():
    words = ["abc", "abd", "bcd", "xyz", "xzy", "yzx", "ab", "xy"]
    y, likelihood = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0]), likelihoods.Categorical(3)
    targets = LatentTargets.with_offset_prior(y, np.ones(8), likelihood, offset=True)
    kernel = kernels.Function(
        lambda A, B: np.array([[len({*a} & {*b}) for b in B] for a in A]) + 0.0
    )
    posterior = SoftmaxPosterior.condition(kernel, likelihood, words, targets)
    mean, covariance = with_covariance(posterior.latent(["abcd", "xyzz"]))
    assert mean.shape == (2, 3)
    assert covariance.shape == (2, 3, 3)
    assert np.argmax(mean[0]) == 0
    assert np.argmax(mean[1]) == 1


def test_rows_that_do_not_fit_are_named(monkeypatch):
    X, likelihood, targets = problem()
    monkeypatch.setattr(factors.arrays, "free_memory", lambda x: 1000)
    with pytest.raises(MemoryError, match="5 covariances of 13 rows, one for each of 3 classes"):
        SoftmaxPosterior.condition(KERNEL, likelihood, X, targets)
    with pytest.raises(MemoryError, match="fewer rows"):
        SoftmaxEvidence(X, targets)


def test_a_kernel_that_is_none_is_refused():
    X, likelihood, targets = problem()
    kernel = kernels.Function(lambda A, B: -5.0 * np.exp(-((A[:, :1] - B[:, :1].T) ** 2)))
    with pytest.raises(linalg.NotPositiveDefiniteError):
        SoftmaxEvidence(X, targets)(kernel, likelihood)


def test_round_off_that_hides_the_mode_is_an_error():
    X, likelihood, targets = problem(n=60, offset=False)
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"round-off hides.*1\.0e\+12"):
        SoftmaxPosterior.condition(1e12 * kernels.RBF(3.0), likelihood, X, targets)


def test_too_few_steps_are_announced(monkeypatch):
    X, likelihood, targets = problem()
    monkeypatch.setattr(modes, "_STEPS", 1)
    with pytest.warns(optimize.ConvergenceWarning, match="1 exact Newton steps were not enough"):
        posterior = SoftmaxPosterior.condition(KERNEL, likelihood, X, targets)
    assert posterior.n_iter == 2
