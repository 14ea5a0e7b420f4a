"""Relevance vectors of classes that are chosen among candidates."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from support.for_each import for_each

import posterity
from posterity import RelevanceVectorClassifier, kernels
from posterity.sparse import candidate_rows, kernel_search

KERNEL = kernels.RBF(1.0).fixed()
AXIS = np.linspace(-2.0, 2.0, 5)
GRID = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)


def rings(n=200, n_classes=2, seed=0):
    """Noisy rings about the origin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    radius = np.hypot(*X.T) + 0.15 * rng.logistic(size=n)
    return X, np.digitize(radius, [1.0, 1.8][: n_classes - 1])


def assert_same(one, other, X, rtol=1e-8):
    np.testing.assert_array_equal(one.relevance_vectors_, other.relevance_vectors_)
    for name in ("dual_coef_", "intercept_", "precision_", "log_evidence_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=rtol)


def test_the_evidence_is_laplaces_for_the_columns_of_the_vectors():
    X, y = rings()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = RelevanceVectorClassifier(KERNEL, candidates=GRID).fit(X, y, w)
    np.testing.assert_array_equal(model.relevance_vectors_, GRID[model.relevance_])
    K = KERNEL(X, model.relevance_vectors_)
    center = w @ K / w.sum()
    scale = np.sqrt(w @ (K - center) ** 2 / w.sum())
    A, p = np.column_stack([(K - center) / scale, np.ones(len(K))]), w @ y / w.sum()
    h = np.append(model.precision_, p * (1.0 - p))
    b = np.zeros(len(h))
    for _ in range(50):
        mu = expit(np.log(p / (1.0 - p)) + A @ b)
        H = A.T @ ((w * mu * (1.0 - mu))[:, None] * A) + np.diag(h)
        b = b + np.linalg.solve(H, A.T @ (w * (y - mu)) - h * b)
    evidence = w @ np.log(np.where(y, mu, 1.0 - mu)) - 0.5 * np.sum(h * b * b)
    evidence += 0.5 * np.sum(np.log(h)) - 0.5 * np.linalg.slogdet(H)[1]
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    np.testing.assert_allclose(
        model.predict_latent(X).mean(), np.log(p / (1 - p)) + A @ b, atol=1e-6
    )


@for_each("n_classes", [2, 3])
@for_each("vectors", ["shared", "per_class"])
def test_rows_of_each_kind_of_model_may_be_drawn(n_classes, vectors):
    X, y = rings(n_classes=n_classes)
    model = RelevanceVectorClassifier(KERNEL, candidates=20, vectors=vectors, random_state=1)
    model.fit(X, y)
    drawn = np.random.default_rng(1).choice(len(X), 20, replace=False)
    assert np.all(np.isin(model.relevance_, drawn))
    assert np.all(np.diff(model.relevance_) > 0)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.score(X, y) > (0.8 if n_classes == 2 else 0.7)


def test_the_rows_as_candidates_do_as_well_as_without():
    X, y = rings()
    plain = RelevanceVectorClassifier(KERNEL).fit(X, y)
    for candidates in (X, 1000):
        model = RelevanceVectorClassifier(KERNEL, candidates=candidates).fit(X, y)
        assert model.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1.0)
        np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])


def test_a_kernel_is_learned_on_a_sample_and_vectors_on_all_rows(monkeypatch):
    for module in (kernel_search, candidate_rows):
        monkeypatch.setattr(module, "MANY_ROWS", 120)
    X, y = rings(400)
    model = RelevanceVectorClassifier(candidates=GRID, random_state=5).fit(X, y)
    held = RelevanceVectorClassifier(model.kernel_.fixed(), candidates=GRID)
    assert_same(held.fit(X, y), model, X)
    other = RelevanceVectorClassifier(candidates=GRID, random_state=6).fit(X, y)
    assert other.kernel_ != model.kernel_


def test_units_do_not_matter():
    X, _ = rings(100)
    y, factor = np.sin(4.0 * X[:, 0]) > 0.0, np.array([1e-3, 1e4])
    one = RelevanceVectorClassifier(candidates=X[:15]).fit(X, y)
    other = RelevanceVectorClassifier(candidates=X[:15] * factor).fit(X * factor, y)
    lengths = np.array(one.kernel_.length_scale) * factor
    assert not np.allclose(one.kernel_.length_scale, X.std(axis=0), rtol=0.2)
    np.testing.assert_allclose(other.kernel_.length_scale, lengths, rtol=1e-3)
    np.testing.assert_allclose(other.predict_proba(X * factor), one.predict_proba(X), atol=1e-4)


def test_columns_that_do_not_fit_in_memory_are_made_at_every_pass(monkeypatch):
    X, y = rings()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = RelevanceVectorClassifier(KERNEL, candidates=GRID)
    held = clone(model).fit(X, y, w)
    monkeypatch.setattr(candidate_rows, "_HELD_BYTES", 1)
    monkeypatch.setattr(candidate_rows, "_DESIGN_VALUES", 50 * len(GRID))
    assert_same(clone(model).fit(X, y, w), held, X)


def test_a_weight_repeats_a_row():
    X, y = rings()
    X = np.round(2.0 * X) / 2.0  # a place is observed more than once
    w = np.random.default_rng(0).integers(0, 4, len(y))
    model = RelevanceVectorClassifier(KERNEL, candidates=GRID).fit(X, y, w)
    other = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_same(other, model, X)


@for_each("weighted", [True, False])
def test_there_are_no_more_vectors_than_allowed(weighted):
    X, y = rings(400)
    w = np.full(len(y), 1.5) if weighted else None
    free = RelevanceVectorClassifier(KERNEL, candidates=GRID).fit(X, y, w)
    model = RelevanceVectorClassifier(KERNEL, candidates=GRID, max_vectors=2).fit(X, y, w)
    assert 1 <= len(model.relevance_) <= 2 < len(free.relevance_)


def test_a_query_column_doubts_far_from_all_rows():
    X, y = rings()
    model = RelevanceVectorClassifier(KERNEL, candidates=GRID, query_column=True).fit(X, y)
    far, near = (model.predict_latent([x]).standard_deviation() for x in ([9.0, 9.0], [0.0, 0.5]))
    assert far > near
    assert len(model.X_train_) == len(X)


def test_a_file_keeps_candidates(tmp_path):
    X, y = rings()
    model = RelevanceVectorClassifier(KERNEL, candidates=10, random_state=0).fit(X, y)
    posterity.save(model, tmp_path / "model")
    loaded = posterity.load(tmp_path / "model")
    assert loaded.candidates == 10
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
