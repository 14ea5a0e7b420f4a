"""A Gaussian process under other likelihoods than normal noise: outliers, counts, positive rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from support.for_each import for_each

from posterity import GaussianProcessRegressor, kernels, likelihoods
from posterity.process import latent_process

KERNEL = (2.0 * kernels.RBF(1.0)).fixed()
OUTLIERS, COUNTS = likelihoods.StudentT(0.3, 4.0), likelihoods.Poisson()
WORDS = ["aab", "aaab", "baab", "aabb", "xyx", "xyyx", "xxy", "yxyx"]


def data(n=40, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3.0, 3.0, size=(n, d)), axis=0)
    return X, np.sin(2.0 * X[:, 0]), rng


def robust(**options):
    return GaussianProcessRegressor(**{"kernel": KERNEL, "likelihood": OUTLIERS, **options})


@pytest.mark.full
def test_outliers_are_ignored():
    X, truth, rng = data(60)
    clean = truth + 0.1 * rng.normal(size=60)
    y = clean.copy()
    y[::7] += 8.0 * rng.choice([-1.0, 1.0], size=9)
    kernel = kernels.Scaled(kernels.RBF())
    likelihood = likelihoods.StudentT(degrees_of_freedom=4.0)
    heavy = GaussianProcessRegressor(kernel, likelihood=likelihood).fit(X, y)
    normal = GaussianProcessRegressor(kernel).fit(X, y)
    errors = [np.sqrt(np.mean((m.predict(X) - truth) ** 2)) for m in (heavy, normal)]
    assert errors[0] < 0.1 < 0.3 < errors[1]
    assert heavy.log_evidence_ > normal.log_evidence_ + 20.0
    # Moved twice as far, they change the function by less than its uncertainty.
    farther = GaussianProcessRegressor(kernel, likelihood=likelihood).fit(X, 2.0 * y - clean)
    change = np.abs(farther.predict(X) - heavy.predict(X))
    assert np.max(change) < np.min(heavy.predict_latent(X).standard_deviation())


def coverage_holds(dist, y, level):
    """As many targets inside as chance allows, by the binomial distribution."""
    lower, upper = dist.interval(level)
    inside = int(np.sum((y >= lower) & (y <= upper)))
    return 1e-3 < stats.binom.cdf(inside, len(y), level) < 1.0 - 1e-3


def test_rates_of_counts_are_recovered_and_their_intervals_hold():
    X, truth, rng = data(300)
    rate = np.exp(3.0 + truth)
    y = rng.poisson(rate)
    model = GaussianProcessRegressor(likelihood=likelihoods.Poisson()).fit(X[::2], y[::2])
    latent = model.predict_latent(X)
    assert np.sqrt(np.mean((latent.mean() - np.log(rate)) ** 2)) < 0.1
    assert np.mean(np.abs(latent.mean() - np.log(rate)) < 2 * latent.standard_deviation()) > 0.85
    new = rng.poisson(rate)
    p = model.predict_dist(X).cdf(new) - rng.uniform(size=300) * np.exp(
        model.predict_dist(X).log_prob(new)
    )
    for level in (0.5, 0.9):
        inside = int(np.sum(np.abs(p - 0.5) < level / 2))
        assert 1e-3 < stats.binom.cdf(inside, 300, level) < 1.0 - 1e-3
    np.testing.assert_allclose(model.predict(X), rate, rtol=0.5)


def test_positive_targets_have_intervals_that_hold():
    X, truth, rng = data(300)
    scale = np.exp(truth)
    y = scale * rng.gamma(5.0, 0.2, size=300)
    model = GaussianProcessRegressor(likelihood=likelihoods.Gamma()).fit(X[::2], y[::2])
    assert model.likelihood_.shape == pytest.approx(5.0, rel=0.4)
    np.testing.assert_allclose(model.predict(X), scale, rtol=0.5)
    new = scale * rng.gamma(5.0, 0.2, size=300)
    for level in (0.5, 0.9):
        assert coverage_holds(model.predict_dist(X), new, level)


def test_everything_derives_from_the_latent_function():
    X, truth, rng = data()
    y = rng.poisson(np.exp(1.0 + truth))
    model = GaussianProcessRegressor(KERNEL, likelihood=COUNTS).fit(X, y)
    queries = X[:5] + 0.1
    latent = model.predict_latent(queries)
    expected = COUNTS.predict(latent.mean(), latent.standard_deviation() ** 2)
    np.testing.assert_allclose(model.predict(queries), expected.mean())
    np.testing.assert_allclose(
        model.predict(queries, return_std=True)[1], expected.standard_deviation()
    )
    np.testing.assert_array_equal(model.predict_interval(queries), expected.interval(0.9))
    joint = model.predict_joint(queries, noise_variance=0.0)
    np.testing.assert_allclose(joint.mean(), latent.mean())
    np.testing.assert_allclose(
        np.sqrt(np.diagonal(joint.covariance)), latent.standard_deviation(), rtol=1e-6
    )
    draws = model.sample_functions(queries, 4000, random_state=0)
    assert draws.shape == (4000, 5)
    np.testing.assert_allclose(draws.mean(axis=0), latent.mean(), atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), joint.covariance, atol=0.02)


def test_without_a_likelihood_the_latent_function_is_the_function_without_noise():
    X, truth, _ = data()
    model = GaussianProcessRegressor(KERNEL, 0.1).fit(X, truth)
    latent, free = model.predict_latent(X), model.predict_dist(X, noise_variance=0.0)
    np.testing.assert_array_equal(latent.mean(), free.mean())
    np.testing.assert_array_equal(latent.standard_deviation(), free.standard_deviation())


def test_a_column_of_targets_gives_columns():
    X, truth, _ = data()
    single, column = robust().fit(X, truth), robust().fit(X, truth[:, None])
    assert column.predict(X).shape == column.predict_latent(X).mean().shape == (40, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], single.predict(X))
    joint = column.predict_joint(X[:3], noise_variance=0.0)
    assert joint.mean().shape == (3, 1)
    assert column.sample_functions(X[:3], 2).shape == (2, 3, 1)


@for_each("mean", ["constant", "zero"])
def test_points_at_all_rows_are_the_exact_process(mean):
    X, truth, rng = data()
    y = truth + 0.1 * rng.standard_t(3, size=40)
    kernel = (2.0 * kernels.Matern(1.0, smoothness=0.5)).fixed()
    queries = np.vstack([X[:5] + 0.05, [[50.0]]])
    exact = robust(kernel=kernel, mean=mean).fit(X, y)
    for points in (X, 40, 400):
        carried = robust(kernel=kernel, mean=mean, inducing_points=points).fit(X, y)
        assert len(carried.inducing_points_) == 40
        assert carried.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(carried.predict(queries), exact.predict(queries), atol=1e-6)
        one, other = (m.predict_joint(queries, noise_variance=0.0) for m in (carried, exact))
        np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-6)
    assert carried.sample_functions(queries, 3, random_state=0).shape == (3, 6)


def test_points_at_all_rows_are_exact_whatever_is_learned():
    """The prior of the offset is the same for both, not that of the scale learned since."""
    X, truth, rng = data()
    y = truth + 0.3 * rng.normal(size=40)
    likelihood = likelihoods.StudentT(degrees_of_freedom=4.0)
    kernel = (2.0 * kernels.Matern(1.0, smoothness=0.5)).fixed()
    exact = robust(kernel=kernel, likelihood=likelihood).fit(X, y)
    carried = robust(kernel=kernel, likelihood=likelihood, inducing_points=X).fit(X, y)
    assert carried.likelihood_ == exact.likelihood_
    assert carried.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)


def test_one_point_is_uncertain_far_from_it():
    X, truth, _ = data()
    model = robust(inducing_points=1, mean="zero").fit(X, truth)
    assert model.inducing_points_.shape == (1, 1)
    latent = model.predict_latent([*model.inducing_points_, [80.0]])
    near, far = latent.standard_deviation()
    assert near < 0.3
    assert far == pytest.approx(np.sqrt(2.0))


@for_each("likelihood", [OUTLIERS, COUNTS, likelihoods.Gamma(3.0)])
def test_a_weight_is_a_repetition(likelihood):
    X, truth, rng = data(20)
    y = likelihood.sample(1.0 + truth, rng=rng).astype(float)
    counts = rng.integers(0, 4, 20)
    model = GaussianProcessRegressor(KERNEL, likelihood=likelihood)
    weighted = clone(model).fit(X, y, counts)
    repeated = clone(model).fit(X.repeat(counts, 0), y.repeat(counts))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@for_each("inducing_points", [None, 3])
def test_objects_are_rows_too(inducing_points):
    kernel = kernels.Scaled(kernels.Spectrum(2))
    model = GaussianProcessRegressor(kernel, likelihood=COUNTS, inducing_points=inducing_points)
    model.fit(WORDS, [1, 2, 1, 0, 7, 8, 6, 9])
    low, high = model.predict(["aaa", "xyxy"])
    assert low < 4.0 < high
    assert model.predict_joint(["aaa", "xyxy"], noise_variance=0.0).covariance.shape == (2, 2)


def test_columns_are_called_by_their_names():
    X, truth, _ = data(d=2)
    table = pd.DataFrame(X, columns=["time", "noise"])
    named = robust(kernel=kernels.Scaled(kernels.Columns(kernels.RBF(), "time"))).fit(table, truth)
    numbered = robust(kernel=kernels.Scaled(kernels.Columns(kernels.RBF(), 0))).fit(X, truth)
    np.testing.assert_allclose(named.predict(table), numbered.predict(X), atol=1e-8)
    assert named.irrelevant_inputs_ == ["noise"]


def test_an_input_that_makes_no_difference_is_named():
    X, _, rng = data(100)
    both = np.column_stack([X, rng.normal(size=100)])
    y = rng.poisson(np.exp(2.0 + np.sin(2.0 * X[:, 0])))
    model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF(ard=True)), likelihood=COUNTS)
    assert model.fit(both, y).irrelevant_inputs_ == [1]


def test_nested_parameters_are_set_and_searched():
    X, truth, rng = data()
    grid = {"kernel__kernel__length_scale": [1e-3, 1.0]}
    search = GridSearchCV(robust(), grid, cv=3).fit(*(a[rng.permutation(40)] for a in (X, truth)))
    assert search.best_estimator_.kernel.kernel.length_scale in (1e-3, 1.0)
    moved = robust().set_params(kernel__kernel__length_scale=3.0)
    assert moved.kernel == (2.0 * kernels.RBF(3.0)).fixed()


def test_a_warm_start_goes_on_with_kernel_and_likelihood(monkeypatch):
    X, truth, rng = data()
    y = truth + 0.2 * rng.standard_t(3, size=40)
    starts, search = [], latent_process.maximise_evidence

    def spy(problem, **options):
        starts.append(problem.start)
        return search(problem, **options)

    monkeypatch.setattr(latent_process, "maximise_evidence", spy)
    model = GaussianProcessRegressor(
        likelihood=likelihoods.StudentT(), warm_start=True, n_restarts=0
    ).fit(X, y)
    learned = np.append(model.kernel_.theta, model.likelihood_.theta)
    model.fit(X, y)
    np.testing.assert_allclose(starts[1], learned, rtol=1e-12)
    model.set_params(likelihood=likelihoods.StudentT(degrees_of_freedom=5.0)).fit(X, y)
    np.testing.assert_allclose(starts[2], starts[0][: len(starts[2])])
    assert model.likelihood_.degrees_of_freedom == pytest.approx(5.0)
    model.set_params(likelihood=None).fit(X, y)
    assert model.noise_variance_ > 0.0


def test_one_kind_of_noise_forgets_what_the_other_left():
    X, truth, rng = data()
    y = truth + 0.1 * rng.normal(size=40)
    model = GaussianProcessRegressor(KERNEL, inducing_points=10).fit(X, y)
    model.set_params(likelihood=OUTLIERS, inducing_points=None).fit(X, y)
    left = {"noise_variance_", "evidence_gap_", "inducing_points_"} & set(vars(model))
    assert not left
    assert model.likelihood_ == OUTLIERS
    model.set_params(likelihood=None).fit(X, y)
    fresh = GaussianProcessRegressor(KERNEL).fit(X, y)
    assert not hasattr(model, "likelihood_")
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))
    np.testing.assert_array_equal(model.leave_one_out().mean(), fresh.leave_one_out().mean())


def test_a_refused_fit_leaves_the_model_as_it_was():
    X, truth, _ = data()
    model = robust().fit(X, truth)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="give it to the likelihood"):
        model.fit(X, truth, noise_variance=np.ones(40))
    np.testing.assert_array_equal(model.predict(X), expected)


def test_the_same_number_is_the_same_fit_by_any_number_of_jobs_and_through_pickle():
    X, truth, rng = data()
    y = rng.poisson(np.exp(1.0 + truth))
    one, again, jobs = (
        GaussianProcessRegressor(likelihood=COUNTS, random_state=3, n_jobs=n).fit(X, y)
        for n in (None, None, 2)
    )
    assert one.kernel_ == again.kernel_ == jobs.kernel_
    expected = one.predict(X)
    np.testing.assert_array_equal(jobs.predict(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), expected)
    assert clone(one).likelihood == COUNTS


@for_each(
    ("options", "error", "says"),
    [
        ({"likelihood": "poisson"}, TypeError, "must be a likelihood of one latent value"),
        ({"likelihood": likelihoods.Categorical(3)}, TypeError, "of one latent value"),
        ({"likelihood": likelihoods.Normal(np.ones(40))}, ValueError, "one number for all rows"),
        ({"noise_variance": 0.1}, ValueError, "noise_variance is that of normal noise"),
        ({"normalize_y": True}, ValueError, "use normalize_y=False"),
        ({"mean": "linear"}, ValueError, "mean='constant' or mean='zero'"),
        ({"mean": "none"}, ValueError, "mean='constant' or mean='zero'"),
        ({"inducing_points": 0}, ValueError, "at least 1"),
        ({"inducing_points": np.zeros((2, 3))}, ValueError, "X has 3 features"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_options_of_normal_noise_are_refused_in_words(options, error, says):
    X, truth, _ = data()
    with pytest.raises(error, match=says):
        robust(**options).fit(X, truth)


def test_targets_that_cannot_be_observed_are_named_by_their_row_as_given():
    X, _, _ = data(6)
    X[1] = X[0]
    y, weight = np.array([1, 1, 2, 0, -3, 2]), np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"y is -3 in row 4"):
        GaussianProcessRegressor(KERNEL, likelihood=COUNTS).fit(X, y, weight)


def test_what_only_normal_noise_can_is_refused_in_words():
    X, truth, _ = data()
    model = robust().fit(X, truth)
    with pytest.raises(TypeError, match=r"not jointly normal; noise_variance=0\.0 asks for"):
        model.predict_joint(X)
    with pytest.raises(TypeError, match="not jointly normal"):
        model.predict_joint(X, noise_variance=np.zeros(40))
    with pytest.raises(TypeError, match="not jointly normal"):
        model.predict(X, return_cov=True)
    with pytest.raises(ValueError, match="noise_variance has no use"):
        model.predict_dist(X, noise_variance=0.1)
    with pytest.raises(TypeError, match="closed form for normal noise only"):
        model.leave_one_out()
    with pytest.raises(TypeError, match="fit all rows again"):
        model.partial_fit(X, truth)
    with pytest.raises(ValueError, match="takes one output; fit each by itself"):
        robust().fit(X, np.column_stack([truth, truth]))
    with pytest.raises(ValueError, match="NaN"):
        robust().fit(X, np.where(np.arange(40) == 2, np.nan, truth))
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(np.zeros((1, 2)))


def test_tensors_are_refused_in_words():
    torch = pytest.importorskip("torch")
    X, truth, _ = data()
    with pytest.raises(ValueError, match="pass NumPy arrays"):
        robust().fit(torch.asarray(X), truth)
    model = robust().fit(X, truth)
    for ask in (model.predict, lambda rows: model.predict_joint(rows, noise_variance=0.0)):
        with pytest.raises(ValueError, match="pass NumPy arrays"):
            ask(torch.asarray(X))
