"""GaussianProcessRegressor through inducing points: close to the exact one, and honest about it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from support.for_each import for_each

from posterity import GaussianProcessRegressor, kernels
from posterity.inference.observations import HeldRows, Observations
from posterity.process.inducing import bound

KERNEL = (2.0 * kernels.RBF([0.6, 1.5])).fixed()


def data(n=200, outputs=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, size=(n, 2))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    noise = 0.1 * rng.normal(size=(n, max(1, outputs)))
    return X, f + noise[:, 0] if not outputs else f[:, None] + noise


def fixed(points, **settings):
    return GaussianProcessRegressor(KERNEL, 0.01, inducing_points=points, **settings)


def test_points_at_every_row_are_the_exact_process():
    X, y = data(60)
    exact = GaussianProcessRegressor(KERNEL, 0.01).fit(X, y)
    sparse = fixed(X).fit(X, y)
    assert sparse.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-3)
    for a, b in zip(
        sparse.predict(X + 0.1, return_std=True),
        exact.predict(X + 0.1, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)
    np.testing.assert_allclose(sparse.predict_cov(X[:9]), exact.predict_cov(X[:9]), atol=1e-4)


@pytest.mark.filterwarnings("ignore:The inducing points leave")  # few suffice here
def test_the_exact_evidence_lies_within_the_gap():
    X, y = data()
    exact = GaussianProcessRegressor(KERNEL, 0.01).fit(X, y)
    for points in (4, 12, 40):
        sparse = fixed(points).fit(X, y)
        assert len(sparse.inducing_points_) <= points
        assert sparse.log_evidence_ <= exact.log_evidence_ + 1e-6
        assert exact.log_evidence_ <= sparse.log_evidence_ + sparse.evidence_gap_ + 1e-6
    assert exact.evidence_gap_ == 0.0


@pytest.mark.filterwarnings("ignore:The inducing points leave")  # few suffice here
def test_more_points_lose_less():
    X, y = data()
    bounds = [fixed(m).fit(X, y).log_evidence_ for m in (3, 9, 27)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0] + 1.0


def smooth(n):
    """A function without noise, and rows that are kept."""
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(n + 500, 3))
    W = np.random.default_rng(1).normal(size=(3, 2)) * 0.6
    y = np.sin(X @ W[:, 0]) + 0.5 * np.cos(1.5 * X @ W[:, 1])
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.full
@for_each("noise", [0.0, 1e-3])
def test_little_noise_is_covered_and_more_points_raise_the_bound(noise):
    X, y, X_new, y_new = smooth(300)
    rng = np.random.default_rng(2)
    bounds = []
    for points in (15, 30, 80):
        model = GaussianProcessRegressor(
            kernels.Scaled(kernels.RBF(ard=True)), inducing_points=points
        ).fit(X, y + noise * rng.normal(size=300))
        low, high = model.predict_dist(X_new).interval(0.9)
        new = y_new + noise * rng.normal(size=500)
        assert np.mean((low <= new) & (new <= high)) > 0.85
        assert model.evidence_gap_ < 300
        bounds.append(model.log_evidence_)
    assert bounds == sorted(bounds)


def test_points_that_leave_more_than_the_noise_are_told_with_the_cure():
    X, y, _, _ = smooth(300)
    model = GaussianProcessRegressor((2.0 * kernels.RBF(1.0)).fixed(), 1e-4, inducing_points=15)
    with pytest.warns(UserWarning, match="Use more inducing_points") as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    assert model.evidence_gap_ > 600
    model.set_params(noise_variance=None).fit(X, y)  # which is learned, and warns of nothing


def test_rows_that_points_do_not_reach_are_told():
    X, y, _, _ = smooth(300)
    model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), inducing_points=60)
    model.fit(0.2 * X[:150], y[:150])
    with pytest.warns(UserWarning, match="fit all rows again") as told:
        model.partial_fit(X[150:], y[150:])
    assert told[0].filename == __file__


def test_learned_parameters_are_those_of_the_exact_process():
    X, y = data(400)
    exact = GaussianProcessRegressor(kernels.Scaled(kernels.RBF(ard=True))).fit(X, y)
    sparse = GaussianProcessRegressor(kernels.Scaled(kernels.RBF(ard=True)), inducing_points=30)
    sparse.fit(X, y)
    assert sparse.noise_variance_ == pytest.approx(exact.noise_variance_, rel=0.05)
    assert sparse.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1.0)
    np.testing.assert_allclose(sparse.predict(X), exact.predict(X), atol=0.02)


def test_a_weight_is_a_repetition():
    X, y = data(50)
    weights = np.arange(50) % 3
    often = np.repeat(np.arange(50), weights)
    weighted = fixed(X[:12]).fit(X, y, sample_weight=weights)
    repeated = fixed(X[:12]).fit(X[often], y[often])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_known_noise_of_each_row_is_used():
    X, y = data(80)
    noise = np.where(np.arange(80) % 2, 0.01, 4.0)
    spoiled = np.where(np.arange(80) % 2, y, y + 2.0)
    model = GaussianProcessRegressor(KERNEL, inducing_points=25).fit(
        X, spoiled, noise_variance=noise
    )
    np.testing.assert_allclose(model.predict(X[1::2]), y[1::2], atol=0.5)


def test_several_outputs_are_those_of_each_alone():
    X, Y = data(80, outputs=2)
    points = X[:20]
    both = GaussianProcessRegressor(KERNEL, 0.01, "zero", inducing_points=points).fit(X, Y)
    assert both.predict(X).shape == (80, 2)
    for k in range(2):
        alone = GaussianProcessRegressor(KERNEL, 0.01, "zero", inducing_points=points)
        np.testing.assert_allclose(
            both.predict(X)[:, k], alone.fit(X, Y[:, k]).predict(X), atol=0.02
        )


def test_further_rows_are_taken_in():
    X, y = data(120)
    model = fixed(20).fit(X[:100], y[:100])
    points = model.inducing_points_.copy()
    model.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(model.inducing_points_, points)
    assert len(model.X_train_) == 120
    centre = y[:100].mean()  # which a fit sets, and further rows do not
    observed = Observations.from_targets((y - centre)[:, None])
    again = bound.condition_on_points(model.posterior_.kernel, 0.01, HeldRows(X, observed), points)
    np.testing.assert_allclose(model.predict(X), again.mean(X)[:, 0] + centre, atol=1e-9)
    assert model.log_evidence_ == pytest.approx(again.log_evidence)


def test_draws_agree_with_the_joint_prediction():
    X, y = data(100)
    model = fixed(20).fit(X, y)
    draws = model.sample_functions(X[:5], 4000, random_state=0)
    joint = model.predict_joint(X[:5], noise_variance=0.0)
    np.testing.assert_allclose(draws.mean(axis=0), joint.mean(), atol=0.02)
    np.testing.assert_allclose(np.cov(draws.T), joint.covariance, atol=2e-3)


def test_strings_can_stand_for_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(40)]
    y = np.array([word.count("ab") for word in words], dtype=float)
    model = GaussianProcessRegressor(kernels.Scaled(kernels.Spectrum(2)), inducing_points=12)
    model.fit(words, y)
    assert set(model.inducing_points_) <= set(words)
    assert np.mean((model.predict(words) - y) ** 2) < 0.1 * np.var(y)


def test_data_frames_keep_their_names():
    X, y = data(60)
    frame = pd.DataFrame(X, columns=["a", "b"])
    kernel = kernels.Scaled(kernels.Columns(kernels.RBF(), "a"))
    model = GaussianProcessRegressor(kernel, inducing_points=15).fit(frame, y)
    assert model.irrelevant_inputs_ == ["b"]
    assert model.predict(frame).shape == (60,)


def test_the_same_twice_and_through_pickle():
    X, y = data(80)
    one, two = (GaussianProcessRegressor(inducing_points=10, max_iter=5).fit(X, y) for _ in "ab")
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


def test_a_fit_without_points_forgets_those_of_an_earlier_one():
    X, y = data(40)
    model = fixed(10).fit(X, y)
    model.set_params(inducing_points=None).fit(X, y)
    assert not hasattr(model, "inducing_points_")
    assert model.evidence_gap_ == 0.0


@pytest.mark.filterwarnings("ignore:The inducing points leave")  # few suffice here
def test_leave_one_out_needs_the_exact_process():
    X, y = data(30)
    with pytest.raises(TypeError, match="inducing_points=None"):
        fixed(5).fit(X, y).leave_one_out()


@for_each("points", [0, -3])
def test_there_must_be_a_point(points):
    with pytest.raises(ValueError, match="at least 1"):
        fixed(points).fit(*data(30))


def test_points_have_the_columns_of_the_rows():
    with pytest.raises(ValueError, match="3 features"):
        fixed(np.ones((4, 3))).fit(*data(30))


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    X, y = data(50)
    there = fixed(10).fit(torch.asarray(X), torch.asarray(y))
    here = fixed(10).fit(X, y)
    assert isinstance(there.predict(torch.asarray(X)), torch.Tensor)
    np.testing.assert_allclose(there.predict(torch.asarray(X)).numpy(), here.predict(X), atol=1e-5)
