"""Bad input and extremes of Gaussian process regression: a sentence or a right answer."""

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import with_variance

from posterity import GaussianProcessRegressor, arrays, kernels, linalg
from posterity.process import exact

FIXED = (1.0 * kernels.RBF(1.0)).fixed()


def data(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def test_equal_inputs_with_noise_are_averaged():
    X = np.zeros((4, 1))
    y = np.array([1.0, 2.0, 3.0, 6.0])
    model = GaussianProcessRegressor(FIXED, 0.5, "zero").fit(X, y)
    mean, std = model.predict([[0.0]], return_std=True)
    assert mean[0] == pytest.approx(3.0 / (1.0 + 0.125))
    assert std[0] ** 2 == pytest.approx(1.0 - 1.0 / 1.125 + 0.5)
    learned = GaussianProcessRegressor().fit(X, y)
    assert learned.predict([[0.0]])[0] == pytest.approx(3.0)


def test_nearly_equal_inputs_without_noise_are_averaged_with_a_warning():
    X, y = data()
    X[1] = X[0] + 1e-12
    model = GaussianProcessRegressor(FIXED, 0.0)
    with pytest.warns(linalg.JitterWarning, match=r"misses the target of row [01] .*nearly equal"):
        model.fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean[2:], y[2:], atol=1e-3)
    assert mean[0] == pytest.approx(y[:2].mean(), abs=1e-3)
    assert np.all(std >= 0.0)


@for_each("kernel", [FIXED, None], ids=["fixed", "learned"])
def test_without_noise_equal_inputs_have_one_target(kernel):
    X, y = data()
    X[7], y[7] = X[3], y[3]
    model = GaussianProcessRegressor(kernel, 0.0).fit(X, y)
    assert model.X_train_.shape == (11, 2)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-4)
    assert model.leave_one_out().mean().shape == (12,)
    y[7] = 5.0
    with pytest.raises(ValueError, match=r"Rows 3 and 7 .* different targets"):
        model.fit(X, y)


def test_without_noise_a_white_term_tells_equal_inputs_apart():
    X, y = np.zeros((3, 1)), np.array([1.0, 1.0, 2.0])
    model = GaussianProcessRegressor((FIXED + kernels.White(0.5)).fixed(), 0.0, "zero").fit(X, y)
    assert model.predict([[0.0]])[0] == pytest.approx(4.0 / 3.5)


def test_rows_too_close_to_interpolate_are_averaged_with_a_warning():
    X = np.linspace(0.0, 1e-9, 6)[:, None]
    kernel = kernels.RBF(1.0).bounded(length_scale=(0.5, 2.0))
    with pytest.warns(
        linalg.JitterWarning, match=r"misses the target of row 0 by 2\.5.*nearly equal"
    ):
        GaussianProcessRegressor(kernel, 0.0).fit(X, np.arange(6.0))


def test_points_without_noise_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="inducing_points=None to interpolate"):
        GaussianProcessRegressor(noise_variance=0.0, inducing_points=3).fit(X, y)


def test_one_row_is_enough_where_nothing_is_learned():
    model = GaussianProcessRegressor(FIXED, 0.5, "zero").fit([[0.0, 0.0]], [3.0])
    mean, std = model.predict([[0.0, 0.0], [1e9, 0.0]], return_std=True)
    np.testing.assert_allclose(mean, [2.0, 0.0])
    np.testing.assert_allclose(std**2, [1.0 - 1.0 / 1.5 + 0.5, 1.5])
    for learns in (
        GaussianProcessRegressor(),
        GaussianProcessRegressor(FIXED),
        GaussianProcessRegressor(noise_variance=0.5),
    ):
        with pytest.raises(ValueError, match="minimum of 2"):
            learns.fit([[0.0, 0.0]], [3.0])
    known = GaussianProcessRegressor(FIXED).fit([[0.0, 0.0]], [3.0], noise_variance=[0.5])
    assert known.noise_variance_ == 0.5


@pytest.mark.full
@for_each("scaled", [False, True])
@for_each("mean", ["zero", "constant", "linear"])
@for_each("value", [0.0, 0.1, -3e5])
def test_constant_targets_are_predicted_again(mean, scaled, value):
    X, _ = data()
    model = GaussianProcessRegressor(mean=mean, normalize_y=scaled).fit(X, np.full(12, value))
    predicted, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(predicted, value, rtol=1e-4, atol=1e-9)
    assert np.all(std < 1e-2 * max(1e-9, abs(value)))
    assert np.isfinite(model.log_evidence_)


@pytest.mark.full
def test_a_constant_output_beside_another_is_fitted_too():
    X, y = data()
    for scaled in (False, True):
        Y = np.column_stack([y, np.full(12, 4.0)])
        mean, std = GaussianProcessRegressor(normalize_y=scaled).fit(X, Y).predict(X, True)
        np.testing.assert_allclose(mean[:, 1], 4.0, rtol=1e-9)
        assert np.isfinite(std).all()


def test_a_function_that_is_no_kernel_is_refused_in_words():
    def no_kernel(A, B):
        return -((A[:, None, 0] - B[None, :, 0]) ** 2)

    X, y = data()
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not positive definite"):
        GaussianProcessRegressor(no_kernel, 0.1).fit(X, y)
    asymmetric = kernels.Function(lambda A, B: np.ones((len(A), len(B))) * np.nan)
    with pytest.raises(ValueError, match="is nan for row 0"):
        GaussianProcessRegressor(asymmetric, 0.1).fit(X, y)


@for_each("value", [np.nan, np.inf, 0.0, -1.0])
def test_kernel_parameters_that_are_no_positive_numbers_are_refused(value):
    with pytest.raises(ValueError, match="greater than zero"):
        kernels.RBF(value)
    with pytest.raises(ValueError, match="greater than zero"):
        GaussianProcessRegressor(kernels.RBF(1.0)).set_params(kernel__length_scale=value)


@for_each("value", [-1.0, np.nan, np.inf, "much", True, False])
def test_noise_that_is_no_variance_is_refused(value):
    X, y = data()
    with pytest.raises(ValueError, match="noise_variance"):
        GaussianProcessRegressor(FIXED, value).fit(X, y)


@for_each("value", [-1.0, np.nan, 0.0])
def test_known_noise_is_checked_row_by_row(value):
    X, y = data()
    known = np.ones(12)
    known[7] = value
    with pytest.raises(ValueError, match=r"noise_variance.*row 7"):
        GaussianProcessRegressor(FIXED).fit(X, y, noise_variance=known)
    with pytest.raises(ValueError, match="12 rows"):
        GaussianProcessRegressor(FIXED).fit(X, y, noise_variance=np.ones(5))


def test_noise_of_queries_is_checked():
    X, y = data()
    model = GaussianProcessRegressor(FIXED, 0.1).fit(X, y)
    for bad in (-1.0, np.nan, np.ones(3)):
        with pytest.raises(ValueError, match="noise_variance must be"):
            model.predict_dist(X, noise_variance=bad)


def test_weights_without_noise_are_refused():
    X, y = data()
    for kernel in (FIXED, FIXED + kernels.White(0.1)):
        with pytest.raises(ValueError, match="weights need noise"):
            GaussianProcessRegressor(kernel, 0.0).fit(X, y, sample_weight=np.arange(12) + 1.0)


def test_known_noise_of_several_scaled_outputs_is_refused():
    X, y = data()
    model = GaussianProcessRegressor(FIXED, normalize_y=True)
    with pytest.raises(ValueError, match="fit each by itself"):
        model.fit(X, np.column_stack([y, y]), noise_variance=np.ones(12))
    model.fit(X, y, noise_variance=np.ones(12))
    with pytest.raises(ValueError, match="fit all rows again"):
        model.partial_fit(X, y)


@for_each(
    ("options", "error", "says"),
    [
        ({"mean": "quadratic"}, ValueError, "'zero', 'constant', 'linear'"),
        ({"kernel": "rbf"}, TypeError, "kernel='rbf' must be"),
        ({"kernel": kernels.RBF([1.0, 2.0, 3.0])}, ValueError, "3 numbers.*2 columns"),
    ],
)
def test_unknown_options_are_refused_in_words(options, error, says):
    X, y = data()
    with pytest.raises(error, match=says):
        GaussianProcessRegressor(**options).fit(X, y)


def test_columns_and_rows_are_named():
    X, y = data()
    model = GaussianProcessRegressor(FIXED, 0.1).fit(X, y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.partial_fit(X[:, :1], y)
    X[5, 1] = np.nan
    for asked in (lambda: model.predict(X), lambda: model.fit(X, y)):
        with pytest.raises(ValueError, match=r"NaN.*row 5"):
            asked()


def test_tensors_are_checked_where_they_lie():
    torch = pytest.importorskip("torch")
    X, y = data()
    model = GaussianProcessRegressor(FIXED, 0.1).fit(torch.asarray(X), y)
    with pytest.raises(ValueError, match=r"expected \(n, 2\)"):
        model.predict(torch.asarray(X[:, :1]))
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match="first in row 5"):
        model.predict(torch.asarray(X))


def test_more_rows_than_memory_holds_are_refused_with_what_to_do(monkeypatch):
    X, y = data()
    monkeypatch.setattr(arrays, "free_memory", lambda x: 100)
    with pytest.raises(MemoryError, match=r"12 rows.*inducing_points"):
        GaussianProcessRegressor().fit(X, y)


def test_a_failed_addition_leaves_the_model_as_it_was():
    X, y = data()
    model = GaussianProcessRegressor(FIXED, 0.1).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 2), np.nan), [1.0])
    with pytest.raises(ValueError, match="y has 2 columns; the model was fitted to 1"):
        model.partial_fit(X[:2], np.ones((2, 2)))
    np.testing.assert_array_equal(model.predict(X), before)


RANDOM = [
    lambda s, l, k: s * kernels.RBF(l),
    lambda s, l, k: s * kernels.Matern(l, smoothness=(0.5, 1.5, 2.5)[k % 3]),
    lambda s, l, k: s * kernels.RationalQuadratic(l, shape=l),
    lambda s, l, k: s * kernels.Periodic(l) + kernels.Linear(s),
    lambda s, l, k: s * (kernels.RBF(l) * kernels.Linear(1.0)) + s,
    lambda s, l, k: kernels.Polynomial(1 + k % 3, offset=l),
]


@pytest.mark.full
@for_each("seed", range(5))
@pytest.mark.filterwarnings("ignore::posterity.linalg.JitterWarning")
def test_no_variance_is_negative_in_two_thousand_configurations(seed):
    """Scales from 1e-6 to 1e6, equal rows, next to no noise: zero at the least, and finite."""
    rng = np.random.default_rng(seed)
    for case in range(400):
        n, copies = rng.integers(1, 13), rng.integers(0, 3)
        X = rng.normal(size=(n, rng.integers(1, 3))) * 10.0 ** rng.uniform(-3, 3)
        X = np.vstack([X, X[rng.integers(0, n, copies)]])
        s, l = 10.0 ** rng.uniform(-6, 6, size=2)
        kernel = RANDOM[case % len(RANDOM)](s, l, case // len(RANDOM))
        noise = float(np.mean(kernel.diag(X))) * 10.0 ** rng.uniform(-18, 1) * (case % 10 > 0)
        y = exact.Observations.from_targets(rng.normal(size=(len(X), 1)))
        posterior = exact.ProcessPosterior.condition(kernel, noise, X, y)
        queries = np.vstack([X[:4], X[:4] + 1e-9 * l, rng.normal(size=(4, X.shape[1])) * l])
        _, variance = with_variance(posterior.latent(queries))
        assert np.isfinite(variance).all()
        assert np.all(variance >= 0.0)
        assert np.all(variance[:, 0] <= kernel.diag(queries) * (1.0 + 1e-9))
