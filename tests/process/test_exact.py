"""The exact Gaussian process against dense formulas, brute force and finite differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.for_each import for_each
from support.latents import with_variance

from posterity import arrays, kernels, linalg
from posterity.process import exact, kernel_blocks
from posterity.process.exact import Evidence, Observations, ProcessPosterior

NOISE = 0.3
KERNELS = {
    "RBF": 1.5 * kernels.RBF(0.8),
    "one length a column": 1.5 * kernels.RBF([0.8, 2.0]),
    "sum": kernels.Matern(1.2, smoothness=1.5) + kernels.Linear(0.4) + 0.7,
    "product": kernels.RBF(2.0) * kernels.Periodic(1.7) + kernels.White(0.2),
    "deep": 2.0 * (kernels.RationalQuadratic(1.1, shape=0.6) + kernels.Linear([0.2, 0.3])),
    "partly held": (1.5 * kernels.RBF([0.8, 2.0])).fixed("length_scale") + kernels.White(0.1),
    "a function": 0.5 * kernels.Function(lambda X, Z: (1.0 + X @ Z.T) ** 2),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(params=["one block", "blocks", "blocks by threads"])
def blocked(request, monkeypatch):
    """Kernel matrices and queries in one block, in many, and in many by two threads."""
    if request.param != "one block":
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS", 5)
        monkeypatch.setattr(exact, "_QUERY_VALUES", 40)
    if request.param == "blocks by threads":
        monkeypatch.setattr(kernel_blocks, "_SHARED_FROM", 2)
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS_SHARED", 4)
        monkeypatch.setattr(linalg.threads, "available_threads", lambda: 2)


def data(n=17, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.sin(2.0 * X) @ rng.normal(size=(2, outputs)) + 0.3 * rng.normal(size=(n, outputs))
    return X, Y, rng.integers(1, 4, n).astype(float), rng.uniform(0.2, 2.0, n)


def observations_of(which):
    X, Y, weights, known = data()
    given = {"plain": {}, "weights": {"weights": weights}, "known": {"known_noise": known}}
    given["both"] = given["weights"] | given["known"]
    return X, Observations.from_targets(Y, **given[which])


def dense_evidence(kernel, noise, X, Y):
    C = kernel(X) + np.diag(np.broadcast_to(noise, len(X)))
    return sum(multivariate_normal(np.zeros(len(X)), C).logpdf(y) for y in Y.T)


@each_kernel
def test_the_evidence_is_the_density_of_the_targets(kernel, blocked):
    X, Y, _, _ = data()
    expected = dense_evidence(kernel, NOISE, X, Y)
    y = Observations.from_targets(Y)
    assert Evidence(X, y)(kernel, NOISE)[0] == pytest.approx(expected, rel=1e-11)
    posterior = ProcessPosterior.condition(kernel, NOISE, X, y)
    assert posterior.log_evidence == pytest.approx(expected, rel=1e-11)


def test_known_noise_scales_the_diagonal():
    X, Y, _, known = data()
    y = Observations.from_targets(Y, known_noise=known)
    expected = dense_evidence(KERNELS["RBF"], NOISE * known, X, Y)
    assert Evidence(X, y)(KERNELS["RBF"], NOISE)[0] == pytest.approx(expected, rel=1e-12)


@for_each("is_known", [False, True])
def test_a_weight_is_a_repetition(is_known):
    X, Y, weights, known = data()
    kernel, times = KERNELS["one length a column"], weights.astype(int)
    noise = known if is_known else None
    repeated_noise = known.repeat(times) if is_known else None
    rows, Y_rows = X.repeat(times, 0), Y.repeat(times, 0)
    once, often = (
        Evidence(X, Observations.from_targets(Y, weights=weights, known_noise=noise)),
        Evidence(rows, Observations.from_targets(Y_rows, known_noise=repeated_noise)),
    )
    for noise_variance in (0.3, 1.0):
        value, gradient = once(kernel, noise_variance)
        same, same_gradient = often(kernel, noise_variance)
        assert value == pytest.approx(same, rel=1e-11)
        np.testing.assert_allclose(gradient, same_gradient, rtol=1e-8)


@pytest.mark.full(but=24)
@pytest.mark.parametrize("which", ["plain", "weights", "known", "both"])
@each_kernel
def test_the_gradient_is_that_of_differences(kernel, which, blocked):
    X, y = observations_of(which)
    evidence = Evidence(X, y)
    theta = np.append(kernel.theta, np.log(NOISE))

    def value(point):
        return evidence(kernel.with_theta(point[:-1]), float(np.exp(point[-1])))[0]

    steps = 1e-5 * np.eye(len(theta))
    expected = [(value(theta + h) - value(theta - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(evidence(kernel, NOISE)[1], expected, rtol=1e-6, atol=1e-6)


@each_kernel
def test_jitter_grows_with_the_kernel_in_value_and_gradient(kernel):
    X, y = observations_of("weights")
    evidence = Evidence(X, y, jitter=0.2)
    total = NOISE + 0.2 * np.mean(kernel.diag(X))
    noise, apart = total * y.spread, y.log_apart(total)[0]
    assert evidence(kernel, NOISE)[0] == pytest.approx(
        dense_evidence(kernel, noise, X, y.Y) + apart
    )
    theta = np.append(kernel.theta, np.log(NOISE))

    def value(point):
        return evidence(kernel.with_theta(point[:-1]), float(np.exp(point[-1])))[0]

    steps = 1e-5 * np.eye(len(theta))
    expected = [(value(theta + h) - value(theta - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(evidence(kernel, NOISE)[1], expected, rtol=1e-6, atol=1e-6)


def test_a_function_that_misses_a_target_for_jitter_is_warned_of():
    X, y = observations_of("plain")
    posterior = ProcessPosterior.interpolate(KERNELS["RBF"], X, y, jitter=1e-10)
    np.testing.assert_allclose(posterior.mean(X), y.Y, atol=1e-6)
    with pytest.warns(linalg.JitterWarning, match="misses the target of row"):
        ProcessPosterior.interpolate(KERNELS["RBF"], X, y, jitter=0.2)


def test_the_memory_of_the_matrix_is_used_again_without_a_trace():
    X, y = observations_of("weights")
    evidence = Evidence(X, y)
    first = evidence(KERNELS["RBF"], NOISE)
    evidence(KERNELS["product"], 2.0)
    again = evidence(KERNELS["RBF"], NOISE)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


@each_kernel
def test_mean_variance_and_covariance_are_the_dense_formulas(kernel, blocked):
    X, Y, _, known = data()
    X_star = np.random.default_rng(5).normal(size=(9, 2))
    C = kernel(X) + NOISE * np.diag(known)
    k = kernel(X_star, X)
    mean, cov = k @ np.linalg.solve(C, Y), kernel(X_star) - k @ np.linalg.solve(C, k.T)
    posterior = ProcessPosterior.condition(
        kernel, NOISE, X, Observations.from_targets(Y, known_noise=known)
    )
    np.testing.assert_allclose(posterior.mean(X_star), mean, rtol=1e-8, atol=1e-10)
    found_mean, found_variance = with_variance(posterior.latent(X_star))
    np.testing.assert_allclose(found_mean, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        found_variance, np.diag(cov)[:, None] + 0.0 * mean, rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(posterior.joint(X_star).covariance[0], cov, rtol=1e-8, atol=1e-10)


def test_leaving_one_out_is_conditioning_on_all_others():
    X, Y, _, known = data(9)
    kernel = KERNELS["sum"]
    whole = ProcessPosterior.condition(
        kernel, NOISE, X, Observations.from_targets(Y, known_noise=known)
    )
    factor = whole.L.copy()
    mean, variance = with_variance(whole.leave_one_out())
    np.testing.assert_array_equal(whole.L, factor)
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        y = Observations.from_targets(Y[rest], known_noise=known[rest])
        m, v = with_variance(
            ProcessPosterior.condition(kernel, NOISE, X[rest], y).latent(X[i : i + 1])
        )
        np.testing.assert_allclose(mean[i], m[0], rtol=1e-9)
        assert variance[i] == pytest.approx(v[0] + NOISE * known[i], rel=1e-10)


@for_each("weight", [2.0, 3.0])
def test_of_a_row_that_counts_several_times_one_is_left_out(weight):
    X, Y, _, known = data(6)
    kernel, weights = KERNELS["RBF"], np.array([weight, 1.0, 1.0, weight, 0.5, 1.0])
    y = Observations.from_targets(Y, weights=weights, known_noise=known)
    mean, variance = with_variance(ProcessPosterior.condition(kernel, NOISE, X, y).leave_one_out())
    for i in range(len(X)):
        left = weights - (np.arange(len(X)) == i) * min(1.0, weights[i])
        there = left > 0.0
        rest = Observations.from_targets(Y[there], weights=left[there], known_noise=known[there])
        m, v = with_variance(
            ProcessPosterior.condition(kernel, NOISE, X[there], rest).latent(X[i : i + 1])
        )
        np.testing.assert_allclose(mean[i], m[0], rtol=1e-9)
        assert variance[i] == pytest.approx(v[0] + NOISE * known[i], rel=1e-10)


def test_rows_that_are_added_are_rows_that_were_there():
    X, Y, _, known = data()
    kernel, y = KERNELS["product"], Observations.from_targets(Y, known_noise=known)
    first = Observations.from_targets(Y[:10], known_noise=known[:10])
    grown = ProcessPosterior.condition(kernel, NOISE, X[:10], first).condition_further(X, y)
    whole = ProcessPosterior.condition(kernel, NOISE, X, y)
    np.testing.assert_allclose(grown.L, whole.L, atol=1e-12)
    assert grown.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    for a, b in zip(
        with_variance(grown.latent(X[:4] + 0.1)),
        with_variance(whole.latent(X[:4] + 0.1)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_outputs_are_independent_of_each_other():
    X, Y, _, _ = data()
    kernel = KERNELS["RBF"]
    together = Evidence(X, Observations.from_targets(Y))(kernel, NOISE)
    alone = [Evidence(X, Observations.from_targets(Y[:, [k]]))(kernel, NOISE) for k in range(2)]
    assert together[0] == pytest.approx(sum(value for value, _ in alone), rel=1e-12)
    np.testing.assert_allclose(together[1], sum(g for _, g in alone), rtol=1e-9)


def test_a_matrix_larger_than_memory_is_refused_before_it_is_allocated(monkeypatch):
    X, Y, _, _ = data()
    monkeypatch.setattr(arrays, "free_memory", lambda x: 8 * 17 * 17 - 1)
    for refused in (
        lambda: Evidence(X, Observations.from_targets(Y))(KERNELS["RBF"], NOISE),
        lambda: ProcessPosterior.condition(KERNELS["RBF"], NOISE, X, Observations.from_targets(Y)),
    ):
        with pytest.raises(MemoryError, match=r"17 rows.*inducing_points=512"):
            refused()
    monkeypatch.setattr(arrays, "free_memory", lambda x: 8 * 17 * 17)
    ProcessPosterior.condition(KERNELS["RBF"], NOISE, X, Observations.from_targets(Y))
    monkeypatch.setattr(arrays, "free_memory", lambda x: None)  # nobody knows: it is tried
    ProcessPosterior.condition(KERNELS["RBF"], NOISE, X, Observations.from_targets(Y))


def test_jitter_is_announced_where_rows_are_equal_and_noise_is_none(blocked):
    X, Y, _, _ = data()
    X[:] *= 5.0
    X[1] = X[0]
    with pytest.raises(linalg.NotPositiveDefiniteError):
        Evidence(X, Observations.from_targets(Y))(kernels.RBF(1.0), 0.0)
    with pytest.warns(linalg.JitterWarning, match="nearly equal"):
        posterior = ProcessPosterior.condition(
            kernels.RBF(1.0), 0.0, X, Observations.from_targets(Y)
        )
    np.testing.assert_allclose(posterior.L @ posterior.L.T, kernels.RBF(1.0)(X), atol=1e-6)
    np.testing.assert_allclose(posterior.mean(X)[2:], Y[2:], atol=1e-6)
    np.testing.assert_allclose(posterior.mean(X)[0], Y[:2].mean(0), atol=1e-6)


def test_observations_keep_apart_what_repetition_adds():
    _, Y, weights, _ = data()
    y = Observations.from_targets(Y, weights=weights)
    assert (y.n_rows, y.n_outputs) == (17, 2)
    few = y.select_rows(np.array([4, 2]))
    np.testing.assert_array_equal(few.Y, Y[[4, 2]])
    np.testing.assert_array_equal(few.spread, 1.0 / weights[[4, 2]])
    assert few.repeats == 0.0
    assert Observations.from_targets(Y).log_apart(NOISE) == (0.0, 0.0)


@pytest.mark.parametrize("module", ["torch", "array_api_strict"])
@pytest.mark.parametrize("which", ["plain", "both"])
@pytest.mark.parametrize("name", ["one length a column", "sum", "product"])
def test_every_array_library_gives_the_same_numbers(module, name, which, monkeypatch):
    kernel = KERNELS[name]
    library = pytest.importorskip(module)
    if module == "torch":
        library.set_num_threads(1)  # matrices here are too small for two
    monkeypatch.setattr(kernel_blocks, "_DEVICE_ROWS", 6)
    X, y = observations_of(which)
    on_device = Observations(
        library.asarray(y.Y), library.asarray(y.spread), y.repeats, y.log_constant, y.weights
    )
    X_there, X_star = library.asarray(X), np.random.default_rng(5).normal(size=(9, 2))
    value, gradient = Evidence(X, y)(kernel, NOISE)
    value_there, gradient_there = Evidence(X_there, on_device)(kernel, NOISE)
    assert value_there == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(gradient_there, gradient, rtol=1e-8, atol=1e-10)
    here = ProcessPosterior.condition(kernel, NOISE, X, y)
    there = ProcessPosterior.condition(kernel, NOISE, X_there, on_device)
    for a, b in zip(
        with_variance(here.latent(X_star)),
        with_variance(there.latent(library.asarray(X_star))),
        strict=True,
    ):
        assert type(b) is type(X_there)
        np.testing.assert_allclose(arrays.to_numpy(b), a, rtol=1e-9, atol=1e-11)
    for a, b in zip(
        with_variance(here.leave_one_out()), with_variance(there.leave_one_out()), strict=True
    ):
        np.testing.assert_allclose(arrays.to_numpy(b), a, rtol=1e-9)
    grown = ProcessPosterior.condition(
        kernel, NOISE, X_there[:7, :], on_device.select_rows(np.arange(7))
    )
    grown = grown.condition_further(X_there, on_device)
    np.testing.assert_allclose(arrays.to_numpy(grown.L), here.L, atol=1e-11)


def test_threads_that_share_queries_predict_what_one_does(monkeypatch):
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(30, 2)), rng.normal(size=(1100, 2))
    observations = Observations.from_targets(rng.normal(size=(30, 1)))
    posterior = ProcessPosterior.condition(kernels.RBF(1.0), 0.1, X, observations)
    alone, mean = posterior.latent(queries), posterior.mean(queries)
    monkeypatch.setattr("posterity.linalg.threads.available_threads", lambda: 3)
    shared = posterior.latent(queries)
    np.testing.assert_allclose(shared.mean, alone.mean, rtol=1e-12)
    np.testing.assert_allclose(shared.variance, alone.variance, rtol=1e-10)
    np.testing.assert_allclose(posterior.mean(queries), mean, rtol=1e-12)
