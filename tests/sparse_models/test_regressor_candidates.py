"""Relevance vectors of regression that are chosen among candidates, by statistics of columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from support.for_each import for_each

import posterity
from posterity import RelevanceVectorRegressor, kernels
from posterity.sparse import candidate_rows, kernel_search, sparse_noise

KERNEL = kernels.RBF(0.8).fixed()
GRID = np.linspace(-5.0, 5.0, 14)[:, None]


def wave(n=120, k=1, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-6.0, 6.0, size=(n, 1))
    Y = np.column_stack([np.sin(X[:, 0]) * (-2.0) ** j + j for j in range(k)])
    Y += noise * rng.normal(size=Y.shape)
    return X, Y[:, 0] if k == 1 else Y


def dense_log_evidence(model, X, y, w):
    """log N(y | mean, C) of rows repeated by their weights, offset and weights integrated out."""
    X, y = np.repeat(X, w, axis=0), np.repeat(y, w)
    K = model.kernel_(X, model.relevance_vectors_)
    Z = (K - K.mean(axis=0)) / K.std(axis=0)
    C = model.noise_variance_ * (np.eye(len(y)) + (Z / model.precision_) @ Z.T) + np.var(y)
    return stats.multivariate_normal(np.full(len(y), y.mean()), C).logpdf(y)


def assert_same(one, other, X, rtol=1e-8):
    np.testing.assert_array_equal(one.relevance_vectors_, other.relevance_vectors_)
    for name in ("dual_coef_", "intercept_", "precision_", "noise_variance_", "log_evidence_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol)
    for a, b in zip(
        one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def test_the_evidence_is_the_dense_log_density():
    X, y = wave()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    for model in (
        RelevanceVectorRegressor(KERNEL, candidates=GRID),
        RelevanceVectorRegressor(candidates=20, random_state=0),
        RelevanceVectorRegressor(KERNEL, noise_variance=0.02, candidates=GRID),
    ):
        model.fit(X, y, sample_weight=w)
        assert model.log_evidence_ == pytest.approx(dense_log_evidence(model, X, y, w), rel=1e-7)
        mean = model.kernel_(GRID, model.relevance_vectors_) @ model.dual_coef_ + model.intercept_
        np.testing.assert_allclose(model.predict(GRID), mean)


def test_the_rows_as_candidates_are_those_of_a_fit_without():
    X, y = wave(40)
    plain = RelevanceVectorRegressor(KERNEL).fit(X, y)
    for candidates in (X, 40, 1000):
        model = RelevanceVectorRegressor(KERNEL, candidates=candidates).fit(X, y)
        np.testing.assert_array_equal(model.relevance_, plain.relevance_)
        assert_same(model, plain, X, rtol=1e-6)


def test_candidates_need_not_be_rows_and_are_numbered_among_themselves():
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID).fit(X, y)
    assert 1 < len(model.relevance_) <= len(GRID)
    assert np.all(np.diff(model.relevance_) > 0)
    np.testing.assert_array_equal(model.relevance_vectors_, GRID[model.relevance_])
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, rel=0.3)
    twice = RelevanceVectorRegressor(KERNEL, candidates=np.vstack([GRID, GRID])).fit(X, y)
    np.testing.assert_array_equal(twice.relevance_, model.relevance_)


def test_a_number_of_candidates_are_rows_drawn_at_random():
    X, y = wave(300)
    model = RelevanceVectorRegressor(KERNEL, candidates=15, random_state=3).fit(X, y)
    drawn = np.sort(np.random.default_rng(3).choice(300, 15, replace=False))
    assert np.all(np.isin(model.relevance_, drawn))
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    same = RelevanceVectorRegressor(KERNEL, candidates=X[drawn]).fit(X, y)
    np.testing.assert_array_equal(drawn[same.relevance_], model.relevance_)
    assert_same(same, model, X)


def test_rows_of_weight_zero_teach_nothing_and_are_not_drawn():
    X, y = wave(100)
    w = np.repeat([0.0, 1.0], 50)
    model = RelevanceVectorRegressor(candidates=60, random_state=0).fit(X, y, w)
    assert np.all(model.relevance_ >= 50)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    elsewhere = np.where(w > 0.0, y, 99.0)
    other = clone(model).fit(np.where(w[:, None] > 0.0, X, 7.0), elsewhere, w)
    assert other.kernel_ == model.kernel_
    assert_same(other, model, X)
    only = np.random.default_rng(0).choice(100, 1)
    with pytest.raises(ValueError, match="drawn have weight zero"):
        RelevanceVectorRegressor(KERNEL, candidates=1, random_state=0).fit(
            X, y, (np.arange(100) != only).astype(float)
        )


def test_a_weight_repeats_a_row_and_order_makes_no_difference():
    X, y = wave(19)  # of more rows, repetitions would be copies
    rng = np.random.default_rng(0)
    w = rng.integers(1, 4, len(y))
    model = RelevanceVectorRegressor(candidates=GRID, random_state=0).fit(X, y, w)
    again = np.repeat(np.arange(len(y)), w)
    order = rng.permutation(again)
    other = clone(model).fit(X[order], y[order])
    assert other.kernel_ == model.kernel_
    assert_same(other, model, X)


def test_a_kernel_is_learned_on_a_sample_and_vectors_on_all_rows(monkeypatch):
    for module in (kernel_search, candidate_rows):
        monkeypatch.setattr(module, "MANY_ROWS", 60)
    X, y = wave(400)
    X_scaled = np.column_stack([X, 100.0 * np.random.default_rng(1).normal(size=400)])
    model = RelevanceVectorRegressor(candidates=X_scaled[:25], random_state=5).fit(X_scaled, y)
    few = np.sort(np.random.default_rng(5).choice(400, 60, replace=False))
    sampled = RelevanceVectorRegressor(candidates=X_scaled[:25]).fit(X_scaled[few], y[few])
    assert model.kernel_ == sampled.kernel_
    held = RelevanceVectorRegressor(model.kernel_.fixed(), candidates=X_scaled[:25])
    assert_same(held.fit(X_scaled, y), model, X_scaled)


@for_each("kernel", [None, kernels.RBF(ard=True)], ids=["default", "ard"])
def test_units_do_not_matter(kernel):
    X, y = wave(80)
    wide = np.column_stack([X, 0.1 * np.random.default_rng(1).normal(size=80)])
    factor = np.array([1e-3, 1e4])
    one = RelevanceVectorRegressor(kernel, candidates=wide[:8]).fit(wide, y)
    other = RelevanceVectorRegressor(kernel, candidates=wide[:8] * factor).fit(wide * factor, y)
    np.testing.assert_array_equal(other.relevance_, one.relevance_)
    lengths = np.array(one.kernel_.length_scale) * factor
    np.testing.assert_allclose(other.kernel_.length_scale, lengths, rtol=1e-3)
    np.testing.assert_allclose(other.predict(wide * factor), one.predict(wide), atol=1e-4)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X, y = wave(200, k=2)
    known = np.random.default_rng(0).uniform(0.5, 2.0, 200) * 0.01
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID)
    whole = clone(model).fit(X, y, noise_variance=known)
    monkeypatch.setattr(sparse_noise, "_VALUES", 1)
    blocks = clone(model).fit(X, y, noise_variance=known)
    assert_same(blocks, whole, X)
    assert whole.noise_variance_[1] == pytest.approx(np.mean(known))


def test_noise_known_by_row_is_noise_that_is_known():
    X, y = wave()
    one = RelevanceVectorRegressor(KERNEL, noise_variance=0.01, candidates=GRID).fit(X, y)
    by_row = RelevanceVectorRegressor(KERNEL, candidates=GRID)
    by_row.fit(X, y, noise_variance=np.full(len(y), 0.01))
    assert_same(by_row, one, X)


def test_there_are_no_more_vectors_than_allowed():
    X, y = wave(300)
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID, max_vectors=4).fit(X, y)
    assert 1 <= len(model.relevance_) <= 4
    assert "max_vectors" in model.stop_reason_


def test_nothing_is_kept_where_nothing_is_to_be_found():
    X, _ = wave()
    y = np.random.default_rng(0).normal(size=len(X))
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID).fit(X, y)
    assert not len(model.relevance_)
    np.testing.assert_allclose(model.predict(GRID), np.mean(y))


def test_a_query_column_doubts_far_from_all_rows():
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID, query_column=True).fit(X, y)
    _, far = model.predict([[50.0]], return_std=True)
    _, near = model.predict([[0.0]], return_std=True)
    assert far > 3.0 * near
    assert len(model.X_train_) == len(X)
    model.set_params(query_column=False).fit(X, y)
    assert not hasattr(model, "X_train_")


def test_objects_may_be_candidates():
    words = ["aab", "abb", "bbb", "aaa", "bab", "bba", "aba", "baa"] * 4
    y = np.array([word.count("a") for word in words]) + 0.01 * np.arange(32)
    kernel = kernels.Spectrum(1).fixed()
    for candidates in (["aaa", "bbb", "aab"], 6):
        model = RelevanceVectorRegressor(kernel, candidates=candidates, random_state=0)
        model.fit(words, y)
        own = candidates if isinstance(candidates, list) else words
        assert model.relevance_vectors_ == [own[i] for i in model.relevance_]
        assert np.corrcoef(model.predict(words), y)[0, 1] > 0.9


@for_each(
    ("candidates", "sentence"),
    [
        (0, "candidates=0 must be a whole number"),
        (2.5, "candidates=2.5 must be None, a number"),
        (True, "candidates=True must be None"),
        ([], "at least one"),
        (np.zeros((3, 2)), "candidates have 2 columns, but X has 1"),
        (np.full((3, 1), np.nan), "In candidates: .*row 0"),
        (pd.DataFrame({"other": [1.0]}), r"candidates have the columns \['other'\]"),
    ],
)
def test_candidates_that_are_none_are_refused_in_a_sentence(candidates, sentence):
    X, y = wave(20)
    with pytest.raises(ValueError, match=sentence):
        RelevanceVectorRegressor(KERNEL, candidates=candidates).fit(pd.DataFrame({"x": X[:, 0]}), y)


def test_a_frame_may_have_nameless_candidates():
    X, y = wave()
    frame = pd.DataFrame({"x": X[:, 0]})
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID).fit(frame, y)
    named = RelevanceVectorRegressor(KERNEL, candidates=pd.DataFrame({"x": GRID[:, 0]}))
    assert_same(named.fit(frame, y), model, frame)


def test_a_kernel_that_is_not_finite_is_told():
    X, y = wave(20)
    model = RelevanceVectorRegressor(kernels.Linear(1.0).fixed(), candidates=5)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="NaN or infinite"):
        model.fit(1e200 * X, y)


def test_a_file_keeps_candidates(tmp_path):
    X, y = wave()
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID).fit(X, y)
    posterity.save(model, tmp_path / "model")
    loaded = posterity.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.candidates, GRID)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
