"""Several targets of one process: each as if it were fitted alone."""

import dask.array as da
import numpy as np
import pytest

from posterity import GaussianProcessRegressor, kernels, persistence


def data(n=60, seed=0):
    """Two targets of different size, noise and columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    functions = np.column_stack([np.sin(2.0 * X[:, 0]), 1e3 * np.cos(X[:, 1])])
    return X, functions + [0.1, 112.0] * rng.normal(size=(n, 2))


def options(case):
    return {
        "default": {},
        "points": {"inducing_points": 12, "max_iter": 30},
        "no noise": {"noise_variance": 0.0},
        "scaled": {"normalize_y": True, "mean": "linear"},
    }[case]


@pytest.mark.full(but=2)
@pytest.mark.parametrize("case", ["default", "points", "no noise", "scaled"])
def test_each_target_is_fitted_as_if_alone(case):
    X, Y = data()
    weight = None if case == "no noise" else np.random.default_rng(1).integers(0, 3, len(X))
    model = GaussianProcessRegressor(**options(case)).fit(X, Y, sample_weight=weight)
    X_new = data(7, seed=2)[0]
    mean, std = model.predict(X_new, return_std=True)
    _, covariance = model.predict(X_new, return_cov=True)
    total = 0.0
    for k in range(2):
        alone = GaussianProcessRegressor(**options(case)).fit(X, Y[:, k], sample_weight=weight)
        mean_alone, std_alone = alone.predict(X_new, return_std=True)
        np.testing.assert_allclose(mean[:, k], mean_alone, rtol=1e-6)
        np.testing.assert_allclose(std[:, k], std_alone, rtol=1e-6)
        scale = np.outer(std_alone, std_alone)  # of covariances, some of which are nearly zero
        cov_alone = alone.predict_cov(X_new)
        np.testing.assert_allclose(covariance[k] / scale, cov_alone / scale, atol=1e-6)
        assert model.noise_variance_[k] == pytest.approx(alone.noise_variance_)
        assert model.jitter_[k] == pytest.approx(alone.jitter_)
        total += alone.log_evidence_
    assert model.log_evidence_ == pytest.approx(total)


def test_targets_of_different_size_have_noise_of_their_own():
    X, Y = data(150)
    model = GaussianProcessRegressor().fit(X, Y)
    np.testing.assert_allclose(np.sqrt(model.noise_variance_), [0.1, 112.0], rtol=0.25)
    assert len(model.kernel_) == 2
    assert model.irrelevant_inputs_ == []
    only_first = GaussianProcessRegressor().fit(X, np.column_stack([Y[:, 0], 2.0 * Y[:, 0]]))
    assert only_first.irrelevant_inputs_ == [1]


def test_rows_are_left_out_and_added_target_by_target():
    X, Y = data()
    model = GaussianProcessRegressor().fit(X[:50], Y[:50])
    alone = GaussianProcessRegressor().fit(X[:50], Y[:50, 1])
    loo, loo_alone = model.leave_one_out(), alone.leave_one_out()
    np.testing.assert_allclose(loo.mean()[:, 1], loo_alone.mean())
    np.testing.assert_allclose(loo.standard_deviation()[:, 1], loo_alone.standard_deviation())
    model.partial_fit(X[50:], Y[50:])
    alone.partial_fit(X[50:], Y[50:, 1])
    np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X))
    assert model.sample_functions(X[:4], 3, random_state=0).shape == (3, 4, 2)


def test_a_shared_kernel_is_that_of_the_sum_of_evidences():
    X, Y = data()
    model = GaussianProcessRegressor(shared_kernel=True, normalize_y=True).fit(X, Y)
    assert isinstance(model.kernel_, kernels.Kernel)
    ratio = model.noise_variance_ / Y.var(axis=0)
    assert ratio[0] == pytest.approx(ratio[1])
    apart = GaussianProcessRegressor(normalize_y=True).fit(X, Y)
    assert apart.log_evidence_ > model.log_evidence_


def test_a_warm_start_goes_on_with_each_target():
    X, Y = data()
    model = GaussianProcessRegressor(warm_start=True, n_restarts=0).fit(X, Y)
    n_iter, evidence = model.n_iter_, model.log_evidence_
    assert model.fit(X, Y).n_iter_ < n_iter
    assert model.log_evidence_ >= evidence - 1e-3
    assert isinstance(model.fit(X, Y[:, 0]).kernel_, kernels.Kernel)


def test_several_targets_are_saved(tmp_path):
    X, Y = data(30)
    model = GaussianProcessRegressor(max_iter=5, n_restarts=0)
    with pytest.warns(UserWarning, match="stopped after 5"):
        model.fit(X, Y)
    persistence.save(model, tmp_path / "model")
    again = persistence.load(tmp_path / "model")
    for a, b in zip(
        model.predict(X, return_std=True), again.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_rows_on_workers_are_summed_target_by_target(monkeypatch):
    X, Y = data(80)
    settings = {"inducing_points": 10, "max_iter": 20, "n_restarts": 0}
    here = GaussianProcessRegressor(**settings).fit(X, Y)
    monkeypatch.setattr("posterity.process.normal_process._SHOWN_ROWS", 79)
    there = GaussianProcessRegressor(**settings).fit(
        da.from_array(X, chunks=(40, 2)), da.from_array(Y, chunks=(40, 2))
    )
    np.testing.assert_allclose(there.noise_variance_, here.noise_variance_, rtol=0.2)
