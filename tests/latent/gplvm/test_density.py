"""The density of outputs at latent points, against dense formulas and finite differences."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.for_each import for_each

from posterity import kernels, linalg
from posterity.latent.gplvm.outputs import ProcessDensity
from posterity.process import kernel_blocks

NOISE = 0.3
KERNELS = {
    "RBF": kernels.RBF(0.8),
    "scaled": 1.5 * kernels.RBF(0.8),
    "one length a column": 1.5 * kernels.RBF([0.8, 2.0]),
    "Matern 1/2": kernels.Matern(1.2, smoothness=0.5),
    "Matern 3/2": kernels.Matern([1.2, 0.7], smoothness=1.5),
    "Matern 5/2": 0.4 * kernels.Matern(1.2),
    "rational quadratic": kernels.RationalQuadratic(1.1, shape=0.6),
    "linear": kernels.Linear([0.2, 0.7]),
    "polynomial": 0.3 * kernels.Polynomial(3, offset=0.5),
    "periodic": 0.6 * kernels.Periodic(1.7, length_scale=0.9),
    "sum": kernels.RBF(1.2) + kernels.Linear(0.4) + kernels.White(0.2) + 0.7,
    "product": kernels.RBF(2.0) * kernels.Linear(0.5) * kernels.White(0.3) + kernels.RBF(1.0),
    "columns": kernels.Columns(kernels.RBF(0.5), 1) + kernels.Columns(kernels.Linear(1.0), 0),
    "partly held": (1.5 * kernels.RBF([0.8, 2.0])).fixed("length_scale") + kernels.Linear(0.1),
    "nothing free": kernels.Linear(1.0).fixed(),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(params=["at once", "blocks", "blocks by threads"])
def blocked(request, monkeypatch):
    """The kernel asked once for all rows, for blocks of them, and for blocks by two threads."""
    if request.param != "at once":
        monkeypatch.setattr("posterity.latent.gplvm.outputs._AT_ONCE", 3)
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS", 5)
    if request.param == "blocks by threads":
        monkeypatch.setattr(kernel_blocks, "_SHARED_FROM", 2)
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS_SHARED", 4)
        monkeypatch.setattr(linalg.threads, "available_threads", lambda: 2)


def data(n=13, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, outputs))


def dense(X, Y, kernel, noise):
    normal = multivariate_normal(np.zeros(len(X)), kernel(X) + noise * np.eye(len(X)))
    return np.sum(normal.logpdf(Y.T))


def slopes(function, x, h=1e-5):
    """Central differences in every entry of x."""
    found = np.empty(np.shape(x))
    for at in np.ndindex(found.shape):
        step = np.zeros_like(found)
        step[at] = h
        found[at] = (function(x + step) - function(x - step)) / (2.0 * h)
    return found


@pytest.mark.full(but=15)
@each_kernel
def test_the_value_is_the_density_of_the_outputs(kernel, blocked):
    X, Y = data()
    found = ProcessDensity(len(X))(X, Y, kernel, NOISE)
    assert found.value == pytest.approx(dense(X, Y, kernel, NOISE), rel=1e-11)


@pytest.mark.full(but=15)
@each_kernel
def test_every_slope_is_that_of_differences(kernel, blocked):
    X, Y = data()
    found = ProcessDensity(len(X))(X, Y, kernel, NOISE)
    moved = slopes(lambda x: dense(x, Y, kernel, NOISE), X)
    tuned = slopes(lambda theta: dense(X, Y, kernel.with_theta(theta), NOISE), kernel.theta)
    louder = slopes(lambda log_noise: dense(X, Y, kernel, np.exp(log_noise)), np.log(NOISE))
    changed = slopes(lambda y: dense(X, y, kernel, NOISE), Y)
    np.testing.assert_allclose(found.X, moved, rtol=1e-6, atol=1e-6)
    assert found.theta == pytest.approx(tuned, rel=1e-6, abs=1e-6)
    assert found.log_noise == pytest.approx(float(louder), rel=1e-6)
    np.testing.assert_allclose(found.Y, changed, rtol=1e-6, atol=1e-6)


def test_blocks_and_all_rows_at_once_agree_on_several_blocks_and_strips(monkeypatch):
    X, Y = data(n=450)
    once = ProcessDensity(450)(X, Y, KERNELS["one length a column"], NOISE)
    monkeypatch.setattr("posterity.latent.gplvm.outputs._AT_ONCE", 0)
    many = ProcessDensity(450)(X, Y, KERNELS["one length a column"], NOISE)
    assert many.value == pytest.approx(once.value, rel=1e-12)
    for part in ("X", "theta", "log_noise", "Y"):
        np.testing.assert_allclose(
            getattr(many, part), getattr(once, part), rtol=1e-8, atol=1e-9, err_msg=part
        )


@for_each("outputs", [3, 40])
def test_a_factor_of_the_outputs_products_says_the_same(outputs):
    X, Y = data(outputs=outputs)
    d, kernel = ProcessDensity(len(X)), KERNELS["scaled"]
    expected = d(X, Y, kernel, NOISE)
    factor = np.linalg.cholesky(Y @ Y.T + 1e-13 * np.eye(len(X)))
    found = d(X, factor, kernel, NOISE, n_outputs=outputs)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(found.X, expected.X, rtol=1e-8)
    assert found.theta == pytest.approx(expected.theta, rel=1e-8)


def test_nothing_is_left_in_memory_of_what_was_asked_before(blocked):
    d, kernel = ProcessDensity(20), KERNELS["sum"]
    for n in (20, 7, 20, 13):
        X, Y = data(n=n, seed=n)
        found, fresh = d(X, Y, kernel, NOISE), ProcessDensity(n)(X, Y, kernel, NOISE)
        assert found.value == fresh.value
        np.testing.assert_array_equal(found.X, fresh.X)


def test_an_answer_does_not_change_with_the_next():
    X, Y = data()
    d = ProcessDensity(len(X))
    first = d(X, Y, KERNELS["sum"], NOISE)
    kept = copy.deepcopy(first)
    d(X + 1.0, 2.0 * Y, KERNELS["scaled"], NOISE)
    for part in ("X", "theta", "Y"):
        np.testing.assert_array_equal(getattr(first, part), getattr(kept, part))


@for_each("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_copy_has_memory_of_its_own(copied):
    X, Y = data()
    d = ProcessDensity(len(X))
    value = d(X, Y, KERNELS["scaled"], NOISE).value
    again = copied(d)
    assert again(X, Y, KERNELS["scaled"], NOISE).value == value
    assert not np.shares_memory(again._memory, d._memory)


def test_equal_points_without_noise_have_no_density(blocked):
    X, Y = data()
    X[1] = X[0]
    with pytest.raises(linalg.NotPositiveDefiniteError):
        ProcessDensity(len(X))(X, Y, KERNELS["RBF"], 1e-20)


def test_points_that_are_not_finite_have_no_density():
    X, Y = data()
    X[4, 0] = np.nan
    with pytest.raises(linalg.NotPositiveDefiniteError):
        ProcessDensity(len(X))(X, Y, KERNELS["RBF"], NOISE)
