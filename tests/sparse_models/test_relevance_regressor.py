"""RelevanceVectorRegressor: few rows, chosen by evidence, and what it knows far from them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from support.for_each import for_each

from posterity import RelevanceVectorRegressor, kernels
from posterity.copies import CopiedRowsWarning
from posterity.models import Training
from posterity.sparse import relevance_model

KERNEL = kernels.RBF(1.5).fixed()


def wave(n=60, k=1, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-6.0, 6.0, size=(n, 1))
    Y = np.column_stack([np.sinc(X[:, 0] / np.pi) * (-2.0) ** j + j for j in range(k)])
    Y += noise * rng.normal(size=Y.shape)
    return X, Y[:, 0] if k == 1 else Y


def plane(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 100.0] + [5.0, -3.0]
    return X, np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.1 * rng.normal(size=n)


def dense_log_evidence(model, X, y):
    """log N(y | mean, C), offset and weights integrated out."""
    K = model.kernel_(X, model.relevance_vectors_)
    Z = (K - K.mean(axis=0)) / K.std(axis=0)
    C = model.noise_variance_ * (np.eye(len(y)) + (Z / model.precision_) @ Z.T) + np.var(y)
    return stats.multivariate_normal(np.full(len(y), y.mean()), C).logpdf(y)


def test_few_rows_are_kept_and_tell_the_function():
    X, y = wave()
    model = RelevanceVectorRegressor().fit(X, y)
    assert 1 <= len(model.relevance_) < 15
    assert np.all(np.diff(model.relevance_) > 0)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.dual_coef_.shape == model.precision_.shape == model.relevance_.shape
    grid = np.linspace(-5.0, 5.0, 50)[:, None]
    error = model.predict(grid) - np.sinc(grid[:, 0] / np.pi)
    assert np.sqrt(np.mean(error**2)) < 0.06
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, rel=0.3)
    by_hand = model.kernel_(grid, model.relevance_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(grid), by_hand)


def test_the_evidence_is_the_dense_log_density():
    X, y = wave()
    for model in (
        RelevanceVectorRegressor(),
        RelevanceVectorRegressor(KERNEL, noise_variance=0.02),
    ):
        model.fit(X, y)
        assert model.log_evidence_ == pytest.approx(dense_log_evidence(model, X, y), rel=1e-7)


def test_training_rows_are_forgotten():
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL).fit(X, y)
    assert not hasattr(model, "X_train_")
    held = [a for a in vars(model._fitted).values() if isinstance(a, np.ndarray)]
    assert max(len(a) for a in held) == len(model.relevance_) < len(X)
    small = len(pickle.dumps(model))
    X_more, y_more = wave(600)
    more = RelevanceVectorRegressor(KERNEL).fit(X_more, y_more)
    assert len(pickle.dumps(more)) < small + 200 * max(1, len(more.relevance_))
    kept = RelevanceVectorRegressor(KERNEL, query_column=True).fit(X, y)
    assert len(kept.X_train_) == len(X)
    assert not hasattr(kept.set_params(query_column=False).fit(X, y), "X_train_")


@for_each("kernel", [None, kernels.RBF(ard=True)], ids=["default", "ard"])
def test_units_do_not_matter(kernel):
    X, y = plane()
    one = RelevanceVectorRegressor(kernel).fit(X, y)
    factor = np.array([1e-3, 1e4])
    other = RelevanceVectorRegressor(kernel).fit(X * factor, 1e5 * y - 3e6)
    np.testing.assert_array_equal(other.relevance_, one.relevance_)
    np.testing.assert_allclose(other.precision_, one.precision_, rtol=1e-3)
    lengths = np.array(one.kernel_.length_scale) * factor
    np.testing.assert_allclose(other.kernel_.length_scale, lengths, rtol=1e-3)
    np.testing.assert_allclose(
        (other.predict(X * factor) + 3e6) / 1e5, one.predict(X), rtol=1e-4, atol=1e-6
    )


def test_columns_that_do_not_matter_have_long_length_scales():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (150, 6))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2
    model = RelevanceVectorRegressor().fit(X, f + 0.1 * rng.normal(size=150))
    lengths = np.array(model.kernel_.length_scale)
    assert np.all(lengths[2:] > 4.0 * lengths[0])
    assert len(model.relevance_) < 20
    queries = rng.uniform(-2.0, 2.0, (500, 6))
    truth = np.sin(2.0 * queries[:, 0]) + 0.5 * queries[:, 1] ** 2
    assert np.std(model.predict(queries) - truth) < 0.1


def test_rows_of_which_most_have_one_value_are_not_interpolated():
    """A kernel so narrow that every other row is a vector leaves no noise at all."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 8))
    y = np.where(rng.uniform(size=120) < 0.3, rng.normal(size=120), 0.0)
    model = RelevanceVectorRegressor().fit(X, y)
    assert model.noise_variance_ > 0.1 * np.var(y)


def test_without_a_kernel_columns_are_taken_in_units_of_their_spread():
    X, y = plane()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    spread = np.sqrt(np.cov(X.T, aweights=weights, ddof=0).diagonal())
    model = RelevanceVectorRegressor().fit(X, y, sample_weight=weights)
    width = tuple(np.array(model.kernel_.length_scale) / spread)
    given = RelevanceVectorRegressor(kernels.RBF(width).fixed())
    given.fit(X / spread, y, sample_weight=weights)
    np.testing.assert_array_equal(given.relevance_, model.relevance_)
    np.testing.assert_allclose(given.predict(X / spread), model.predict(X), rtol=1e-6, atol=1e-6)


def test_columns_that_are_constant_make_no_difference():
    X, y = wave()
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    one, other = RelevanceVectorRegressor().fit(X, y), RelevanceVectorRegressor().fit(wide, y)
    assert other.kernel_.length_scale[1] > 0.0
    np.testing.assert_allclose(other.predict(wide), one.predict(X), rtol=1e-6)


def test_a_kernel_that_is_given_is_kept():
    X, y = wave()
    assert RelevanceVectorRegressor(KERNEL).fit(X, y).kernel_ == KERNEL


def test_equal_rows_are_called_by_the_first():
    X, y = wave(40)
    twice = np.vstack([X, X])
    Y = np.concatenate([y, y + 0.01])
    model = RelevanceVectorRegressor(KERNEL).fit(twice, Y)
    assert len(model.relevance_)
    assert np.all(model.relevance_ < 40)
    assert len(np.unique(model.relevance_)) == len(model.relevance_)


def test_rows_of_weight_zero_are_absent_but_counted():
    X, y = wave(40)
    weights = np.concatenate([np.zeros(5), np.ones(40)])
    model = RelevanceVectorRegressor(KERNEL)
    alone = clone(model).fit(X, y)
    beside = clone(model).fit(
        np.vstack([X[:5], X]), np.concatenate([np.full(5, 99.0), y]), sample_weight=weights
    )
    np.testing.assert_array_equal(beside.relevance_, alone.relevance_ + 5)
    np.testing.assert_allclose(beside.predict(X), alone.predict(X))


def test_the_order_of_rows_makes_no_difference():
    X, y = wave()
    order = np.random.default_rng(1).permutation(len(y))
    one = RelevanceVectorRegressor(random_state=0).fit(X, y)
    other = RelevanceVectorRegressor(random_state=0).fit(X[order], y[order])
    np.testing.assert_array_equal(np.sort(order[other.relevance_]), one.relevance_)
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-9)


def test_rows_are_arranged_with_all_that_belongs_to_them():
    rows = np.array([[2.0], [1.0], [2.0], [0.0]])
    Y, weights, known = np.arange(4.0)[:, None], np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    training = relevance_model.arrange_rows(Training.from_present_rows(rows, Y, weights, known))
    np.testing.assert_array_equal(training.rows[:, 0], [0.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(training.Y[:, 0], [3.0, 1.0, 0.0, 2.0])
    np.testing.assert_array_equal(training.weights, [4.0, 2.0, 1.0, 3.0])
    np.testing.assert_array_equal(training.known_noise, [5.0, 3.0, 2.0, 4.0])
    np.testing.assert_array_equal(training.rows[training.places], rows)
    np.testing.assert_array_equal(training.Y[training.places], Y)


def test_noise_known_by_row_is_noise_known():
    X, y = wave()
    given = RelevanceVectorRegressor(noise_variance=0.02).fit(X, y)
    by_row = RelevanceVectorRegressor().fit(X, y, noise_variance=np.full(len(y), 0.02))
    np.testing.assert_array_equal(by_row.relevance_, given.relevance_)
    np.testing.assert_allclose(by_row.precision_, given.precision_, rtol=1e-4)
    assert by_row.noise_variance_ == pytest.approx(0.02)
    assert by_row.log_evidence_ == pytest.approx(given.log_evidence_)
    for a, b in zip(
        by_row.predict(X, return_std=True), given.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_without_signal_the_targets_have_mean_and_variance_only():
    X, _ = wave(100)
    y = np.random.default_rng(5).normal(size=100)
    model = RelevanceVectorRegressor(degrees_of_freedom=1.0).fit(X, y)
    assert not len(model.relevance_)
    assert "no vector raises the evidence" in model.stop_reason_
    mean, std = model.predict([[0.0], [1e6]], return_std=True)
    np.testing.assert_allclose(mean, y.mean())
    np.testing.assert_allclose(std, y.std(), rtol=0.03)
    assert model.sample_functions(X, 3).shape == (3, 100)


def test_two_rows_are_enough():
    for query_column in (False, True):
        model = RelevanceVectorRegressor(query_column=query_column).fit([[0.0], [1.0]], [0.0, 1.0])
        assert np.all(np.isfinite(model.predict([[0.5]], return_std=True)))


def test_outputs_share_their_vectors():
    X, Y = wave(k=3)
    model = RelevanceVectorRegressor().fit(X, Y)
    m = len(model.relevance_)
    assert model.dual_coef_.shape == (3, m)
    assert model.precision_.shape == (m,)
    assert model.intercept_.shape == model.noise_variance_.shape == (3,)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (60, 3)
    assert model.predict_cov(X[:4]).shape == (3, 4, 4)
    assert model.sample_functions(X[:4], 2).shape == (2, 4, 3)


def test_many_outputs_are_fitted():
    rng = np.random.default_rng(0)
    X, y = wave(80)
    Y = y[:, None] * rng.normal(size=63) + 0.1 * rng.normal(size=(80, 63))
    model = RelevanceVectorRegressor(KERNEL).fit(X, Y)
    assert len(model.relevance_) < 20
    assert model.predict(X).shape == (80, 63)


def test_strings_have_relevance_too():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), size=8)) for _ in range(40)]
    y = np.array([word.count("ab") for word in words]) + 0.05 * rng.normal(size=40)
    model = RelevanceVectorRegressor(kernels.Spectrum(2)).fit(words, y)
    assert model.relevance_vectors_ == [words[i] for i in model.relevance_]
    assert np.corrcoef(model.predict(words), y)[0, 1] > 0.95
    doubtful = RelevanceVectorRegressor(kernels.Spectrum(2), query_column=True).fit(words, y)
    assert np.all(np.isfinite(doubtful.predict(["aabb"], return_std=True)))


def test_a_function_of_two_blocks_is_a_kernel():
    X, y = wave()
    model = RelevanceVectorRegressor(lambda A, B: np.exp(-np.abs(A - B.T))).fit(X, y)
    assert len(model.relevance_) < 30


@pytest.mark.parametrize("kernel", [None, KERNEL], ids=["default", "given"])
@pytest.mark.parametrize("query_column", [False, True])
def test_rows_on_a_device_stay_there(kernel, query_column):
    torch = pytest.importorskip("torch")
    X, y = wave(40)
    model = RelevanceVectorRegressor(kernel, query_column=query_column)
    here, there = clone(model).fit(X, y), clone(model).fit(torch.asarray(X), torch.asarray(y))
    assert isinstance(there.relevance_vectors_, torch.Tensor)
    np.testing.assert_array_equal(there.relevance_, here.relevance_)
    mean, std = there.predict(torch.asarray(X), return_std=True)
    assert isinstance(mean, torch.Tensor)
    expected = here.predict(X, return_std=True)
    np.testing.assert_allclose(mean.numpy(), expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std.numpy(), expected[1], rtol=1e-6)
    assert isinstance(there.predict(torch.asarray(X)), torch.Tensor)


def test_draws_of_functions_spread_as_predicted():
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL).fit(X, y)
    grid = np.linspace(-5.0, 5.0, 7)[:, None]
    draws = model.sample_functions(grid, 4000, random_state=0)
    dist = model.predict_dist(grid, noise_variance=0.0)
    np.testing.assert_allclose(draws.mean(axis=0), dist.mean(), atol=0.01)
    np.testing.assert_allclose(draws.std(axis=0), dist.standard_deviation(), rtol=0.1)
    _, cov = model.predict(grid, return_cov=True)
    noise = model.noise_variance_ * np.eye(7)
    np.testing.assert_allclose(np.cov(draws.T) + noise, cov, atol=0.003)


def test_predictions_average_over_the_noise_with_three_degrees_of_freedom_less_for_each_vector():
    X, y = wave()
    n, query = len(y), np.array([[0.3], [2.0]])
    model = RelevanceVectorRegressor(KERNEL).fit(X, y)
    K = model.kernel_(X, model.relevance_vectors_)
    Z, h = (K - K.mean(axis=0)) / K.std(axis=0), np.diag(model.precision_)
    z = (model.kernel_(query, model.relevance_vectors_) - K.mean(axis=0)) / K.std(axis=0)
    centred = y - y.mean()
    squares = centred @ np.linalg.solve(np.eye(n) + Z @ np.linalg.solve(h, Z.T), centred)
    nu = n - 1 - 3 * len(model.relevance_)
    spread = 1.0 + 1.0 / n + np.sum(z * np.linalg.solve(Z.T @ Z + h, z.T).T, axis=1)
    expected = stats.t(nu, model.predict(query), np.sqrt(squares / nu * spread))
    np.testing.assert_allclose(
        model.predict_dist(query).interval(0.9), expected.interval(0.9), rtol=1e-6
    )
    latent, std = model.predict_latent(query), model.predict(query, return_std=True)[1]
    np.testing.assert_allclose(
        latent.interval(0.9), model.predict_dist(query, noise_variance=0.0).interval(0.9)
    )
    np.testing.assert_allclose(np.sqrt(np.diag(model.predict_cov(query))), std)
    best = RelevanceVectorRegressor(KERNEL, hyperparameters="maximise").fit(X, y)
    assert np.all(best.predict(query, return_std=True)[1] < std)
    np.testing.assert_allclose(best.predict(query), model.predict(query))


def test_few_rows_and_many_vectors_leave_three_degrees_of_freedom():
    X = np.linspace(-3.0, 3.0, 12)[:, None]
    model = RelevanceVectorRegressor(KERNEL).fit(X, np.sin(X[:, 0]))
    assert len(model.relevance_) > 2
    assert model.posterior_.degrees_of_freedom == 3.0
    assert np.all(np.isfinite(model.predict(X, return_std=True)[1]))


def test_far_from_all_vectors_it_is_surest():
    """The weakness that query_column is for."""
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL).fit(X, y)
    far = model.predict_dist([[1e3]], noise_variance=0.0).standard_deviation()[0]
    offset = np.sqrt(model.posterior_.at_maximum.offset_variance[0])
    assert far < 3.0 * offset + model.predict_dist(X, noise_variance=0.0).standard_deviation().max()
    assert far < 0.1


def test_a_query_column_doubts_far_from_all_rows():
    X, y = wave()
    plain = RelevanceVectorRegressor(KERNEL).fit(X, y)
    model = RelevanceVectorRegressor(KERNEL, query_column=True).fit(X, y)
    np.testing.assert_array_equal(model.relevance_, plain.relevance_)
    far = [[1e3]]
    prior = model.posterior_.mean_noise_variance[0] * np.sum(1.0 / model.precision_)
    variance = plain.predict(far, return_std=True)[1] ** 2 + prior
    np.testing.assert_allclose(model.predict(far, return_std=True)[1] ** 2, variance, rtol=1e-6)
    inner = np.linspace(-4.0, 4.0, 20)[:, None]
    near, before = (m.predict(inner, return_std=True) for m in (model, plain))
    np.testing.assert_allclose(near[1], before[1], rtol=0.1)
    np.testing.assert_allclose(near[0], before[0], atol=0.1)
    assert np.all(near[1] >= before[1])
    np.testing.assert_allclose(model.predict(inner), near[0])


def test_queries_with_columns_of_their_own_have_no_joint_distribution():
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL, query_column=True).fit(X, y)
    with pytest.raises(TypeError, match="model of its own"):
        model.predict(X, return_cov=True)
    with pytest.raises(TypeError, match="model of its own"):
        model.sample_functions(X)


def test_intervals_hold_as_often_as_they_say():
    inside = []
    for seed in range(15):
        X, y = wave(400, seed=seed)
        model = RelevanceVectorRegressor(KERNEL).fit(X[:100], y[:100])
        lower, upper = model.predict_interval(X[100:], coverage=0.9)
        inside.append(np.mean((lower < y[100:]) & (y[100:] < upper)))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)


@for_each("query_column", [False, True])
def test_the_same_rows_give_the_same_model(query_column):
    X, y = wave()
    model = RelevanceVectorRegressor(query_column=query_column, random_state=0)
    first = model.fit(X, y).predict(X, return_std=True)
    again = model.fit(X, y).predict(X, return_std=True)
    copied = pickle.loads(pickle.dumps(model)).predict(X, return_std=True)
    for a, b, c in zip(first, again, copied, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert not hasattr(clone(model), "relevance_")


def test_names_of_columns_reach_the_kernel():
    X, y = plane()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = RelevanceVectorRegressor(kernels.Columns(kernels.RBF(1.0).fixed(), ["a"])).fit(frame, y)
    moved = frame.assign(b=0.0)
    np.testing.assert_array_equal(model.predict(moved), model.predict(frame))
    assert model.set_params(kernel__kernel__length_scale=2.0).kernel.kernel.length_scale == 2.0


@for_each(
    ("choice", "said"),
    [
        ({"max_iter": 1.5}, "max_iter=1.5"),
        ({"degrees_of_freedom": -1.0}, "degrees_of_freedom"),
        ({"noise_variance": 0.0}, "noise_variance"),
    ],
)
def test_impossible_choices_are_refused(choice, said):
    X, y = wave()
    with pytest.raises(ValueError, match=said):
        RelevanceVectorRegressor(KERNEL, **choice).fit(X, y)


def test_a_prediction_costs_no_more_vectors_than_allowed():
    X = np.linspace(-3.0, 3.0, 100)[:, None]
    y = np.sin(4.0 * X[:, 0]) + 0.05 * np.random.default_rng(0).normal(size=100)
    kernel = kernels.RBF(0.3).fixed()
    free = RelevanceVectorRegressor(kernel).fit(X, y)
    few = RelevanceVectorRegressor(kernel, max_vectors=8).fit(X, y)
    assert len(few.relevance_) <= 8 < len(free.relevance_)
    assert few.log_evidence_ < free.log_evidence_
    with pytest.raises(ValueError, match=r"max_vectors=0 must be a whole number"):
        RelevanceVectorRegressor(max_vectors=0).fit(X, y)


def test_near_copies_that_differ_in_a_column_without_meaning_do_not_lower_the_noise():
    rng = np.random.default_rng(0)
    X, kernel = rng.normal(size=(80, 3)), kernels.RBF((1.0, 1.0, 300.0)).fixed()
    X[60:, :2] = X[:20, :2] + 1e-6
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=80)
    y[60:] = y[:20]
    once = RelevanceVectorRegressor(kernel).fit(X[:60], y[:60])
    with pytest.warns(CopiedRowsWarning, match="20 of 80 rows are copies"):
        copied = RelevanceVectorRegressor(kernel).fit(X, y)
    assert copied.noise_variance_ == pytest.approx(once.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(copied.predict(X), once.predict(X), atol=1e-2)


@for_each("gap", [0.0, 1e-9])
def test_copies_of_rows_do_not_make_it_sure(gap):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(60, 1))
    y = np.sin(X[:, 0]) + 0.5 * rng.normal(size=60)
    once = RelevanceVectorRegressor().fit(X, y)
    rows = np.tile(X, (5, 1)) + gap * rng.normal(size=(300, 1))
    with pytest.warns(CopiedRowsWarning, match="240 of 300 rows are copies"):
        often = RelevanceVectorRegressor().fit(rows, np.tile(y, 5))
    assert often.noise_variance_ == pytest.approx(once.noise_variance_, rel=1e-3)
    for a, b in zip(
        once.predict(X, return_std=True), often.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)
