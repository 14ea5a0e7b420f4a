"""What Gaussian process regression promises: densities, predictions, learning, one answer."""

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from support.for_each import for_each

from posterity import GaussianProcessRegressor, arrays, distributions, kernels, likelihoods
from posterity.inference import search as evidence_search
from posterity.models import fitted

SMALL = Path(__file__).parents[3] / "shared" / "data" / "small"
KERNEL = (1.5 * kernels.RBF([0.9, 2.0])).fixed()
NOISE = 0.2
MEANS = ("zero", "constant", "linear")
each_mean = pytest.mark.parametrize("mean", MEANS)


def data(n=25, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal((1.0, -2.0), size=(n, 2))
    shape = (n,) if outputs is None else (n, outputs)
    slopes = 2.0 if outputs is None else np.arange(1.0, outputs + 1.0)
    signal = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 3.0
    return X, np.multiply.outer(signal, slopes) + 0.3 * rng.normal(size=shape)


def fixed(mean="zero", **options):
    return GaussianProcessRegressor(KERNEL, NOISE, mean, **options)


def full_kernel(mean, X, Y, weight=None):
    """The kernel with that of the mean, and the prior mean of the targets, by the textbook."""
    w = np.ones(len(X)) if weight is None else weight
    m = np.average(Y, axis=0, weights=w) if mean != "zero" else np.zeros(Y.shape[1])
    v = np.mean(np.average((Y - m) ** 2, axis=0, weights=w))
    centre = np.average(X, axis=0, weights=w)
    spread2 = np.average((X - centre) ** 2, axis=0, weights=w)

    def k(A, B):
        K = KERNEL(A, B)
        if mean != "zero":
            K = K + v
        return K + v * ((A - centre) / spread2) @ (B - centre).T if mean == "linear" else K

    return k, m


@each_mean
@for_each("outputs", [1, 3])
@for_each("is_known", [False, True])
def test_evidence_and_predictions_are_the_dense_formulas(mean, outputs, is_known):
    X, Y = data(outputs=outputs)
    known = np.random.default_rng(2).uniform(0.1, 1.0, len(X)) if is_known else None
    noise = known if is_known else np.full(len(X), NOISE)
    model = fixed(mean).fit(X, Y, noise_variance=known)
    k, m = full_kernel(mean, X, Y, None if known is None else 1.0 / known)
    C = k(X, X) + np.diag(noise)
    expected = sum(
        multivariate_normal(np.full(len(X), a), C).logpdf(y) for a, y in zip(m, Y.T, strict=True)
    )
    assert model.log_evidence_ == pytest.approx(expected, rel=1e-10)
    X_star = np.random.default_rng(3).normal(size=(6, 2))
    k_star = k(X_star, X)
    mean_star = m + k_star @ np.linalg.solve(C, Y - m)
    cov_star = k(X_star, X_star) - k_star @ np.linalg.solve(C, k_star.T)
    mean_found, std = model.predict(X_star, return_std=True)
    np.testing.assert_allclose(mean_found, mean_star, rtol=1e-8)
    variance = np.diag(cov_star) + noise.mean()
    np.testing.assert_allclose(std, np.sqrt(variance)[:, None] * np.ones(outputs), rtol=1e-8)
    joint = model.predict_joint(X_star, noise_variance=0.0)
    assert joint.covariance.shape == (outputs, 6, 6)
    for C_k in joint.covariance:
        np.testing.assert_allclose(C_k, cov_star, rtol=1e-8, atol=1e-10)


@pytest.mark.full(but=1)
@each_mean
@for_each("scaled", [False, True])
def test_a_weight_is_a_repetition_in_all_that_is_learned(mean, scaled):
    """The noise is given: rows that are repeated to the last digit would speak for none."""
    X, y = data(20)
    times = np.random.default_rng(4).integers(0, 4, len(X))
    model = GaussianProcessRegressor(1.0 * kernels.RBF(1.0), 0.1, mean, normalize_y=scaled)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(X.repeat(times, 0), y.repeat(times))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-6)
    np.testing.assert_allclose(weighted.kernel_.theta, repeated.kernel_.theta, atol=1e-4)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-4)
    X_star = data(7, seed=9)[0]
    for a, b in zip(
        weighted.predict(X_star, return_std=True),
        repeated.predict(X_star, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@for_each("scaled", [False, True])
def test_the_evidence_of_weighted_rows_is_the_density_of_all_repetitions(scaled):
    X, y = data(9)
    times = np.array([1, 3, 0, 2, 1, 1, 1, 4, 2])
    model = fixed(normalize_y=scaled).fit(X, y, sample_weight=times)
    rows, targets = X.repeat(times, 0), y.repeat(times)
    units = targets.var() if scaled else 1.0
    C = units * (KERNEL(rows) + NOISE * np.eye(len(rows)))
    assert model.log_evidence_ == pytest.approx(multivariate_normal(cov=C).logpdf(targets))


@pytest.mark.full(but=1)
@each_mean
@for_each("scaled", [False, True])
def test_units_of_the_targets_change_the_evidence_by_their_jacobian(mean, scaled):
    X, y = data()
    plain = GaussianProcessRegressor(mean=mean, normalize_y=scaled).fit(X, y)
    for c in (1e-3, 250.0):
        other = GaussianProcessRegressor(mean=mean, normalize_y=scaled).fit(X, c * y)
        expected = plain.log_evidence_ - len(y) * np.log(c)
        assert other.log_evidence_ == pytest.approx(expected, abs=1e-4)
        assert other.noise_variance_ == pytest.approx(c**2 * plain.noise_variance_, rel=1e-3)
        np.testing.assert_allclose(other.predict(X), c * plain.predict(X), rtol=1e-4)
    if mean != "zero":
        shifted = GaussianProcessRegressor(mean=mean, normalize_y=scaled).fit(X, y + 1e3)
        assert shifted.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-4)
        np.testing.assert_allclose(shifted.predict(X), plain.predict(X) + 1e3, rtol=1e-6)


def test_normalizing_is_dividing_by_the_deviation():
    X, y = data()
    s = y.std()
    normalized = fixed("constant", normalize_y=True).fit(X, y)
    by_hand = fixed("constant").fit(X, y / s)
    assert normalized.log_evidence_ == pytest.approx(by_hand.log_evidence_ - len(y) * np.log(s))
    assert normalized.noise_variance_ == pytest.approx(NOISE * s**2)
    for a, b in zip(
        normalized.predict(X, return_std=True), by_hand.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, s * b)
    loo = normalized.leave_one_out()
    np.testing.assert_allclose(loo.mean(), s * by_hand.leave_one_out().mean())
    known = np.full(len(y), 0.7)
    units = normalized.fit(X, y, noise_variance=known)
    same = by_hand.fit(X, y / s, noise_variance=known / s**2)
    assert units.log_evidence_ == pytest.approx(same.log_evidence_ - len(y) * np.log(s))


@each_mean
def test_leaving_one_out_is_fitting_without_it(mean):
    X, Y = data(8, outputs=2)
    model = fixed(mean).fit(X, Y)
    loo = model.leave_one_out()
    assert loo.mean().shape == (8, 2)
    k, m = full_kernel(mean, X, Y)
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        C = k(X[rest], X[rest]) + NOISE * np.eye(7)
        k_i = k(X[[i]], X[rest])
        np.testing.assert_allclose(
            loo.mean()[i], m + (k_i @ np.linalg.solve(C, Y[rest] - m))[0], rtol=1e-9
        )
        variance = k(X[[i]], X[[i]])[0, 0] - (k_i @ np.linalg.solve(C, k_i.T))[0, 0] + NOISE
        np.testing.assert_allclose(loo.standard_deviation()[i], np.sqrt(variance), rtol=1e-9)


def test_fitting_in_parts_is_fitting_at_once():
    X, y = data()
    whole = fixed().fit(X, y)
    parts = fixed().partial_fit(X[:10], y[:10]).partial_fit(X[10:13], y[10:13])
    parts.partial_fit(X[13:], y[13:])
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-10)
    np.testing.assert_array_equal(parts.X_train_, X)
    for a, b in zip(
        parts.predict(X, return_std=True), whole.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_equal_rows_are_held_once_and_answered_for_each():
    X, y = data(9)
    times = np.array([1, 3, 1, 2, 1, 1, 1, 1, 2])
    order = np.random.default_rng(0).permutation(times.sum())
    X_given, y_given = X.repeat(times, 0)[order], y.repeat(times)[order]
    model = fixed("linear").fit(X_given, y_given)
    assert model.X_train_.shape == (9, 2)
    apart = fixed("linear").fit(X_given + 1e-9 * np.arange(13)[:, None], y_given)
    assert apart.X_train_.shape == (13, 2)
    assert model.log_evidence_ == pytest.approx(apart.log_evidence_, abs=1e-5)
    for a, b in ((model.leave_one_out(), apart.leave_one_out()),):
        np.testing.assert_allclose(a.mean(), b.mean(), rtol=1e-5)
        np.testing.assert_allclose(a.standard_deviation(), b.standard_deviation(), rtol=1e-5)
    grown = fixed().fit(X_given[:8], y_given[:8]).partial_fit(X_given[8:], y_given[8:])
    assert grown.log_evidence_ == pytest.approx(fixed().fit(X_given, y_given).log_evidence_)
    np.testing.assert_allclose(
        grown.leave_one_out().mean(), fixed().fit(X_given, y_given).leave_one_out().mean()
    )


def test_white_terms_tell_equal_rows_apart():
    X, y = np.zeros((3, 1)), np.array([1.0, 1.0, 2.0])
    kernel = (kernels.RBF(1.0) + kernels.White(0.5)).fixed()
    model = GaussianProcessRegressor(kernel, 0.1, "zero").fit(X, y)
    C = np.ones((3, 3)) + 0.6 * np.eye(3)
    assert model.log_evidence_ == pytest.approx(multivariate_normal(cov=C).logpdf(y))


def test_further_rows_leave_what_was_learned():
    X, y = data(40)
    model = GaussianProcessRegressor().fit(X[:30], y[:30])
    kernel, noise, center = model.kernel_, model.noise_variance_, model.target_center_
    model.partial_fit(X[30:], y[30:])
    assert (model.kernel_, model.noise_variance_) == (kernel, noise)
    by_hand = multivariate_normal(
        np.full(40, center[0]), model.posterior_.kernel(X) + noise * np.eye(40)
    )
    assert model.log_evidence_ == pytest.approx(by_hand.logpdf(y), rel=1e-9)


def test_a_warm_start_goes_on_from_where_it_was():
    X, y = data(40)
    model = GaussianProcessRegressor(warm_start=True, n_restarts=0).fit(X, y)
    n_iter, evidence = model.n_iter_, model.log_evidence_
    assert model.fit(X, y).n_iter_ < n_iter
    assert model.log_evidence_ >= evidence - 1e-6
    cold = model.set_params(warm_start=False).fit(X, y)
    assert (cold.n_iter_, cold.log_evidence_) == (n_iter, evidence)


def test_a_warm_start_is_cold_for_another_kernel_or_other_columns():
    X, y = data(20)
    model = GaussianProcessRegressor(warm_start=True).fit(X, y)
    more = np.column_stack([X, X[:, 0] ** 2])
    expected = GaussianProcessRegressor().fit(more, y)
    assert model.fit(more, y).kernel_ == expected.kernel_
    model.set_params(kernel=1.0 * kernels.Matern(1.0)).fit(more, y)
    assert isinstance(model.kernel_.kernel, kernels.Matern)


def test_functions_are_drawn_from_the_prior_and_from_the_posterior():
    X, y = data(12)
    X_star = X[:4] + 0.3
    prior = fixed().sample_functions(X_star, 40_000, random_state=0)
    assert prior.shape == (40_000, 4)
    np.testing.assert_allclose(prior.mean(0), 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(prior.T), KERNEL(X_star), atol=0.05)
    model = fixed("constant").fit(X, y)
    draws = model.sample_functions(X_star, 40_000, random_state=0)
    joint = model.predict_joint(X_star, noise_variance=0.0)
    np.testing.assert_allclose(draws.mean(0), joint.mean(), atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), joint.covariance, atol=0.05)
    several = fixed().fit(X, np.column_stack([y, -y])).sample_functions(X_star, 3, random_state=1)
    assert several.shape == (3, 4, 2)


def test_drawing_from_the_prior_is_not_fitting():
    model = fixed()
    model.sample_functions(data(5)[0])
    assert "n_features_in_" not in vars(model)
    assert model.sample_functions([[1.0, 2.0]], 2).shape == (2, 1)


def test_predictions_agree_with_each_other():
    X, Y = data(outputs=2)
    X_star = data(5, seed=7)[0]
    model = fixed("constant").fit(X, Y)
    dist = model.predict_dist(X_star)
    mean, std = model.predict(X_star, return_std=True)
    np.testing.assert_allclose(dist.mean(), mean)
    np.testing.assert_allclose(dist.standard_deviation(), std)
    mean, cov = model.predict(X_star, return_cov=True)
    np.testing.assert_allclose(model.predict(X_star), mean)
    assert cov.shape == (2, 5, 5)
    np.testing.assert_allclose(np.sqrt(np.diagonal(cov, axis1=1, axis2=2)).T, std)
    joint = model.predict_joint(X_star)
    assert isinstance(joint, distributions.MultivariateNormal)
    np.testing.assert_allclose(joint.mean(), mean)
    np.testing.assert_allclose(joint.covariance, cov)
    cov[:] = 0.0  # a copy of one's own
    assert np.all(model.predict_cov(X_star).diagonal(axis1=1, axis2=2) > 0.0)


def test_noise_of_new_targets_may_be_none_or_known():
    X, y = data()
    model = fixed().fit(X, y)
    quiet = model.predict_dist(X, noise_variance=0.0).variance()
    np.testing.assert_allclose(model.predict_dist(X).variance(), quiet + NOISE)
    each = np.linspace(0.0, 2.0, len(X))
    np.testing.assert_allclose(model.predict_dist(X, noise_variance=each).variance(), quiet + each)
    joint = model.predict_joint(X, noise_variance=each)
    np.testing.assert_allclose(joint.variance(), quiet + each)


def test_without_noise_the_function_goes_through_the_targets():
    X, y = data(12)
    model = GaussianProcessRegressor(kernels.Matern(1.0, smoothness=1.5), 0.0, "zero").fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, rtol=1e-6)
    assert np.all(std < 1e-3 * y.std())
    assert model.noise_variance_ == 0.0
    C = model.kernel_(X)
    assert model.log_evidence_ == pytest.approx(multivariate_normal(cov=C).logpdf(y), rel=1e-8)


def test_the_optimum_is_a_maximum_and_says_how_it_was_found():
    X, y = data(40)
    model = GaussianProcessRegressor(1.0 * kernels.RBF(1.0), mean="linear").fit(X, y)
    assert model.n_iter_ > 0
    assert "gain" in model.stop_reason_ or "gradient" in model.stop_reason_
    theta, v = model.kernel_.theta, model.noise_variance_
    for d in range(len(theta) + 1):
        for step in (-0.3, 0.3):
            moved = theta + step * (np.arange(len(theta)) == d)
            noise = v * np.exp(step * (d == len(theta)))
            kernel = model.kernel_.with_theta(moved).fixed()
            other = GaussianProcessRegressor(kernel, noise, "linear").fit(X, y)
            assert other.log_evidence_ < model.log_evidence_
            assert other.stop_reason_ == "every parameter was given"


def test_inputs_that_make_no_difference_are_named_and_not_warned_of():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=80)
    table = pd.DataFrame(X, columns=["height", "colour", "weight"])
    model = GaussianProcessRegressor().fit(table, y)
    assert model.irrelevant_inputs_ == ["colour", "weight"]
    assert GaussianProcessRegressor().fit(X, y).irrelevant_inputs_ == [1, 2]


@for_each("seed", [1, 2, 3, 4])
def test_a_straight_line_needs_its_input(seed):
    """A very long and very large RBF is a line, not nothing."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    assert GaussianProcessRegressor().fit(X, X[:, 0]).irrelevant_inputs_ == [1]


@for_each("period", [0.29, 0.5, 0.77, 1.0])
def test_an_input_whose_range_holds_whole_periods_makes_a_difference(period):
    X = np.linspace(0.0, 1.0, 9)[:, None]
    assert fitted.find_irrelevant_columns(kernels.Periodic(period, length_scale=1.0), X, 1.0) == []
    assert fitted.find_irrelevant_columns(kernels.RBF(1e3) + kernels.White(9.0), X, 1.0) == [0]


def test_parameters_at_the_end_of_their_range_are_named():
    X, y = data()
    kernel = 1.0 * kernels.RBF(1.0).bounded(length_scale=(5.0, 9.0))
    model = GaussianProcessRegressor(kernel).fit(X, y)
    assert model.at_bounds_ == ("kernel__length_scale (lower)",)
    assert model.kernel_.kernel.length_scale == pytest.approx(5.0)
    assert fixed().fit(X, y).at_bounds_ == ()


@pytest.mark.full
def test_restarts_find_at_least_as_much_and_the_same_by_two_jobs():
    X, y = data(30)
    one, two = (
        GaussianProcessRegressor(n_restarts=2, n_jobs=n, random_state=3).fit(X, y) for n in (1, 2)
    )
    assert one.restarts_log_evidence_.shape == (3,)
    alone = GaussianProcessRegressor(n_restarts=0).fit(X, y)
    assert alone.restarts_log_evidence_.shape == (0,)
    assert one.log_evidence_ >= alone.log_evidence_ - 0.01
    np.testing.assert_allclose(one.restarts_log_evidence_, two.restarts_log_evidence_, rtol=1e-7)
    np.testing.assert_allclose(one.kernel_.theta, two.kernel_.theta, atol=1e-4)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, rel=1e-7)


@pytest.mark.full
def test_beginning_on_few_rows_finds_the_same(monkeypatch):
    X, y = data(200)
    whole = GaussianProcessRegressor().fit(X, y)
    monkeypatch.setattr(evidence_search, "_FEW_ROWS", 40)
    first, again = (GaussianProcessRegressor(random_state=5).fit(X, y) for _ in range(2))
    assert first.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.05)
    assert first.kernel_ == again.kernel_


@dataclass(frozen=True, repr=False)
class Letters(kernels.Kernel):
    """Strings by the letters they share."""

    takes_vectors = False

    def _block(self, X, Z):
        return np.array([[float(len(set(a) & set(b))) for b in Z] for a in X])


def test_objects_are_rows_too():
    words, y = ["cat", "hat", "dog", "horse", "heat"], np.array([1.0, 1.1, 3.0, 5.0, 2.0])
    model = GaussianProcessRegressor(2.0 * Letters(), 0.1).fit(words, y)
    assert model.irrelevant_inputs_ == []
    C = model.kernel_(words) + np.mean((y - y.mean()) ** 2) + 0.1 * np.eye(5)
    assert model.log_evidence_ == pytest.approx(
        multivariate_normal(np.full(5, y.mean()), C).logpdf(y)
    )
    by_parts = GaussianProcessRegressor(model.kernel_.fixed(), 0.1, "zero").fit(words[:3], y[:3])
    by_parts.partial_fit(words[3:], y[3:])
    at_once = GaussianProcessRegressor(model.kernel_.fixed(), 0.1, "zero").fit(words, y)
    np.testing.assert_allclose(by_parts.predict(["tea"]), at_once.predict(["tea"]))
    with pytest.raises(ValueError, match="rows that are vectors"):
        GaussianProcessRegressor(Letters(), 0.1, "linear").fit(words, y)


def test_nested_parameters_are_set_searched_and_kept():
    X, y = data(20)
    model = GaussianProcessRegressor((kernels.RBF(1.0) + kernels.White(0.1)).fixed(), 0.1)
    shared = model.kernel
    model.set_params(kernel__left__length_scale=2.0)
    assert model.get_params()["kernel__left__length_scale"] == 2.0
    assert shared.left.length_scale == 1.0
    copy = clone(model)
    assert copy.kernel == model.kernel
    search = GridSearchCV(
        GaussianProcessRegressor(kernels.RBF(1.0).fixed(), 0.1),
        {"kernel__length_scale": [0.01, 1.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 1.0}
    fitted = GaussianProcessRegressor(mean="linear").fit(X, y)
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.log_evidence_ == fitted.log_evidence_


def test_what_was_fitted_does_not_change_with_the_array():
    X, y = data()
    model = fixed().fit(X, y)
    expected = model.predict([[0.0, 0.0]])
    X[:] = 0.0
    np.testing.assert_array_equal(model.predict([[0.0, 0.0]]), expected)


@pytest.fixture
def torch():
    """PyTorch with one thread: matrices here are too small for two."""
    library = pytest.importorskip("torch")
    threads = library.get_num_threads()
    library.set_num_threads(1)
    yield library
    library.set_num_threads(threads)


def test_tensors_stay_tensors(torch):
    X, y = data()
    here = GaussianProcessRegressor(mean="linear").fit(X, y)
    there = GaussianProcessRegressor(mean="linear").fit(torch.asarray(X), torch.asarray(y))
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, rel=1e-6)
    np.testing.assert_allclose(there.kernel_.theta, here.kernel_.theta, atol=1e-4)
    mean, std = there.predict(torch.asarray(X), return_std=True)
    assert isinstance(mean, torch.Tensor)
    assert isinstance(std, torch.Tensor)
    np.testing.assert_allclose(mean.numpy(), here.predict(X), rtol=1e-4)
    np.testing.assert_allclose(std.numpy(), here.predict(X, return_std=True)[1], rtol=1e-4)
    assert isinstance(there.predict(torch.asarray(X)), torch.Tensor)
    assert isinstance(there.predict_dist(torch.asarray(X)).mean(), np.ndarray)
    more = there.partial_fit(torch.asarray(X[:3] + 0.1), y[:3])
    assert more.X_train_.shape == (28, 2)
    weighted = there.fit(torch.asarray(X), y, sample_weight=np.arange(25) % 3)
    assert weighted.X_train_.shape == (16, 2)


@pytest.mark.full
def test_arrays_of_the_standard_are_enough():
    strict = pytest.importorskip("array_api_strict")
    X, y = data()
    here = GaussianProcessRegressor(mean="linear").fit(X, y)
    there = GaussianProcessRegressor(mean="linear").fit(strict.asarray(X), strict.asarray(y))
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, rel=1e-6)
    mean, std = there.predict(strict.asarray(X), return_std=True)
    np.testing.assert_allclose(np.asarray(mean), here.predict(X), rtol=1e-4)
    np.testing.assert_allclose(np.asarray(std), here.predict(X, return_std=True)[1], rtol=1e-4)
    assert there.partial_fit(strict.asarray(X[:3] + 0.1), y[:3]).X_train_.shape == (28, 2)
    there.fit(strict.asarray(X), y, sample_weight=np.arange(25) % 3)
    assert there.X_train_.shape == (16, 2)


def test_a_device_may_be_named(torch):
    X, y = data()
    model = fixed(device="cpu").fit(X, y)
    np.testing.assert_allclose(model.predict(X), fixed().fit(X, y).predict(X), rtol=1e-9)
    assert isinstance(model.predict(X), np.ndarray)


@pytest.mark.parametrize("likelihood", [None, likelihoods.StudentT(4.0, 0.3)])
def test_queries_are_answered_where_the_rows_of_the_fit_are(likelihood, monkeypatch):
    X, y = data()
    model = GaussianProcessRegressor(kernels.RBF(1.0).fixed(), likelihood=likelihood).fit(X, y)
    expected = model.predict(X, return_std=True)
    monkeypatch.setattr(arrays, "to_device", None)
    model.set_params(device="nowhere")
    np.testing.assert_array_equal(model.predict(X, return_std=True), expected)


@pytest.mark.skipif(not SMALL.exists(), reason="the data are not here")
def test_the_evidence_of_a_known_data_set_is_the_known_one():
    """Snelson's one-dimensional data: other libraries reach the same from many starts."""
    stored = np.load(SMALL / "snelson1d.npz")
    X, y = ((a - a.mean(0)) / a.std(0) for a in (stored["X"], stored["y"]))
    model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), mean="zero").fit(X, y)
    assert model.log_evidence_ == pytest.approx(-89.81, abs=0.01)


def co2_kernel(trend, season, wiggle, noise):
    """Trend + season that fades + irregular years + months that depend.  [GPML 5.4.3]"""
    return (
        trend[0] ** 2 * kernels.RBF(trend[1])
        + season[0] ** 2
        * kernels.RBF(season[1])
        * kernels.Periodic(1.0, length_scale=season[2]).fixed("period")
        + wiggle[0] ** 2 * kernels.RationalQuadratic(wiggle[1], shape=wiggle[2])
        + noise[0] ** 2 * kernels.RBF(noise[1])
    )


def co2_months():
    weeks = pd.read_csv(SMALL / "co2_weekly_1958_2001.csv.gz", dtype={"date": str}).dropna()
    months = weeks.groupby(weeks.date.str[:6]).co2.mean()
    years = [float(month[:4]) + (float(month[4:]) - 1.0) / 12.0 for month in months.index]
    return np.array(years)[:, None], months.to_numpy() - months.mean()


@pytest.mark.skipif(not SMALL.exists(), reason="the data are not here")
def test_the_evidence_of_carbon_dioxide_is_the_published_one():
    """Parameters and evidence as scikit-learn's documentation prints them for these months."""
    X, y = co2_months()
    assert len(y) == 521
    kernel = co2_kernel((44.8, 51.6), (2.64, 91.5, 1.48), (0.536, 0.968, 2.89), (0.188, 0.122))
    model = GaussianProcessRegressor(kernel.fixed(), 0.0367, "zero").fit(X, y)
    assert model.log_evidence_ == pytest.approx(-115.050, abs=0.005)


@pytest.mark.full
@pytest.mark.skipif(not SMALL.exists(), reason="the data are not here")
def test_the_parameters_of_carbon_dioxide_are_found_from_those_of_the_book():
    X, y = co2_months()
    book = co2_kernel((66.0, 67.0), (2.4, 90.0, 1.3), (0.66, 1.2, 0.78), (0.18, 1.6 / 12.0))
    model = GaussianProcessRegressor(book, mean="zero").fit(X, y)
    assert model.log_evidence_ == pytest.approx(-115.050, abs=0.005)
    assert model.noise_variance_ == pytest.approx(0.0367, abs=0.0002)
