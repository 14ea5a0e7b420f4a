"""Relevance vectors among candidates, of rows in Dask collections: as those of rows in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest

import posterity
from posterity import RelevanceVectorClassifier, RelevanceVectorRegressor, designs, kernels
from posterity.sparse import candidate_rows, kernel_search

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


KERNEL = kernels.RBF((0.7, 7.0)).fixed()
CUTS = (120, 0, 200, 80)
N = sum(CUTS)
GRID = np.array([[a, b] for a in (-1.5, 0.0, 1.5) for b in (-15.0, -5.0, 5.0, 15.0)])
REGRESSED = ("dual_coef_", "intercept_", "precision_", "noise_variance_", "log_evidence_")
CLASSIFIED = ("dual_coef_", "intercept_", "precision_", "log_evidence_")


@pytest.fixture(autouse=True)
def alone():
    """One thing after the other, where a test asks for no cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) * [1.0, 10.0]
    f = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
    weights = rng.integers(0, 3, N).astype(float)
    return X, f + 0.3 * rng.normal(size=N), weights


def cut(*parts):
    return [da.from_array(a, chunks=(CUTS, *a.shape[1:])) for a in parts]


def classes(y):
    return np.where(y > 0.5, "yes", "no")


def assert_same(found, expected, names, X):
    assert found.kernel_ == expected.kernel_
    np.testing.assert_array_equal(found.relevance_, expected.relevance_)
    np.testing.assert_array_equal(found.relevance_vectors_, expected.relevance_vectors_)
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-8)
    assert vars(found).keys() == vars(expected).keys()
    assert found.n_iter_ == expected.n_iter_
    assert found.stop_reason_ == expected.stop_reason_
    a, b = found.predict_dist(X).mean(), expected.predict_dist(X).mean()
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("candidates", [15, GRID], ids=["drawn", "given"])
@pytest.mark.parametrize("max_vectors", [None, 6])
def test_a_regressor_is_that_of_rows_in_memory(candidates, max_vectors, monkeypatch):
    monkeypatch.setattr(kernel_search, "_BISECTIONS", 3)
    X, y, w = rows()
    model = RelevanceVectorRegressor(
        KERNEL, candidates=candidates, max_vectors=max_vectors, random_state=0
    )
    expected = pickle.loads(pickle.dumps(model)).fit(X, y, w)
    assert len(expected.relevance_) > 3
    assert_same(model.fit(*cut(X, y, w)), expected, REGRESSED, X)


def test_several_outputs_share_their_vectors():
    X, y, _ = rows()
    Y = np.column_stack([y, 5.0 - 2.0 * y[::-1]])
    model = RelevanceVectorRegressor(KERNEL, candidates=GRID, fit_intercept=False)
    expected = RelevanceVectorRegressor(KERNEL, candidates=GRID, fit_intercept=False).fit(X, Y)
    found = model.fit(*cut(X, Y))
    assert found.dual_coef_.shape[0] == 2
    assert_same(found, expected, REGRESSED[:1] + REGRESSED[2:], X)


@pytest.mark.parametrize(
    ("kind", "names", "candidates"),
    [
        (RelevanceVectorRegressor, REGRESSED, 7),
        (RelevanceVectorClassifier, CLASSIFIED, np.linspace(-2.0, 2.0, 5)[:, None]),
    ],
    ids=["values", "classes"],
)
def test_a_kernel_is_learned_from_the_same_rows(kind, names, candidates, monkeypatch):
    for module in (kernel_search, candidate_rows):
        monkeypatch.setattr(module, "MANY_ROWS", 200)
    X, y, w = rows()
    x, targets = X[:, :1], y if kind is RelevanceVectorRegressor else classes(y)
    kernel = kernels.RBF(0.45).bounded(length_scale=(0.4, 0.9))
    expected = kind(kernel, candidates=candidates, random_state=2).fit(x, targets, w)
    found = kind(kernel, candidates=candidates, random_state=2).fit(*cut(x, targets, w))
    assert expected.kernel_ != kernel
    assert_same(found, expected, names, x)


def test_units_come_from_the_same_rows_where_there_is_no_kernel(monkeypatch):
    for module in (kernel_search, candidate_rows):
        monkeypatch.setattr(module, "MANY_ROWS", 100)
    X, y, w = rows()
    expected = RelevanceVectorRegressor(candidates=GRID[::2], random_state=2).fit(X, y, w)
    found = RelevanceVectorRegressor(candidates=GRID[::2], random_state=2).fit(*cut(X, y, w))
    assert_same(found, expected, REGRESSED, X)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_classifier_is_that_of_rows_in_memory(weighted):
    X, y, w = rows()
    labels = classes(y)
    given, on_workers = ((w,), cut(w)) if weighted else ((), [])
    model = RelevanceVectorClassifier(KERNEL, candidates=8, random_state=0)
    expected = RelevanceVectorClassifier(KERNEL, candidates=8, random_state=0)
    expected.fit(X, labels, *given)
    assert len(expected.relevance_) > 2
    found = model.fit(*cut(X, labels), *on_workers)
    np.testing.assert_array_equal(found.classes_, ["no", "yes"])
    assert_same(found, expected, CLASSIFIED, X)


def test_a_budget_counts_rows_less_on_workers_too(monkeypatch):
    monkeypatch.setattr(kernel_search, "_BISECTIONS", 2)
    X, y, w = rows()
    for given, on_workers in (((), []), ((w,), cut(w))):
        expected = RelevanceVectorClassifier(KERNEL, candidates=GRID[:6], max_vectors=2)
        expected.fit(X, classes(y), *given)
        assert "max_vectors" in expected.stop_reason_
        found = RelevanceVectorClassifier(KERNEL, candidates=GRID[:6], max_vectors=2)
        assert_same(found.fit(*cut(X, classes(y)), *on_workers), expected, CLASSIFIED, X)


def test_data_frames_of_unknown_length_keep_their_names():
    X, y, w = rows()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "w": w, "c": classes(y)})
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    kernel = kernels.Columns(kernels.RBF(0.7), "a") * kernels.Columns(kernels.RBF(7.0), "b")
    columns = frame[["a", "b"]]
    for kind, target, names in (
        (RelevanceVectorRegressor, "y", REGRESSED),
        (RelevanceVectorClassifier, "c", CLASSIFIED),
    ):
        expected = kind(kernel.fixed(), candidates=12, random_state=0)
        expected.fit(columns, frame[target], frame["w"])
        found = kind(kernel.fixed(), candidates=12, random_state=0)
        found.fit(parts[["a", "b"]], parts[target], parts["w"])
        assert list(found.feature_names_in_) == ["a", "b"]
        assert_same(found, expected, names, columns)


@pytest.mark.full
def test_worker_processes_do_the_work_and_leave_nothing_behind(client, tmp_path):
    X, y, w = rows()
    with dask.config.set(scheduler=None):
        regressor = RelevanceVectorRegressor(KERNEL, candidates=12, random_state=0)
        regressor.fit(*cut(X, y, w))
        classifier = RelevanceVectorClassifier(KERNEL, candidates=GRID[4:5])
        classifier.fit(*cut(X, classes(y), w))
    expected = RelevanceVectorRegressor(KERNEL, candidates=12, random_state=0).fit(X, y, w)
    assert_same(regressor, expected, REGRESSED, X)
    for model in (regressor, classifier):
        posterity.save(model, tmp_path / "model")
        loaded = posterity.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert b"dask" not in pickle.dumps(model)


def test_one_pass_is_enough_where_nothing_is_drawn(monkeypatch):
    X, y, _ = rows()
    passes = []
    reduce, chosen = designs.Partitions.reduce, designs.Partitions.take_rows
    monkeypatch.setattr(
        designs.Partitions,
        "reduce",
        lambda self, *a, **k: passes.append(1) or reduce(self, *a, **k),
    )
    monkeypatch.setattr(
        designs.Partitions, "take_rows", lambda self, *a: passes.append(2) or chosen(self, *a)
    )
    RelevanceVectorRegressor(KERNEL, candidates=X[:9], max_vectors=3).fit(*cut(X, y))
    assert passes == [1]
    passes.clear()
    RelevanceVectorRegressor(kernels.RBF().fixed(), candidates=9).fit(*cut(X, y))
    assert passes == [2, 1]


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (RelevanceVectorRegressor, {"candidates": None}, "give candidates="),
        (RelevanceVectorClassifier, {"candidates": None}, "give candidates="),
        (RelevanceVectorRegressor, {"query_column": True}, "keeps all rows"),
        (RelevanceVectorClassifier, {"query_column": True}, "keeps all rows"),
        (RelevanceVectorRegressor, {"kernel": kernels.Spectrum(2)}, "compares objects"),
        (RelevanceVectorRegressor, {"noise_variance": -1.0}, "noise_variance"),
        (RelevanceVectorRegressor, {"candidates": np.ones((2, 3))}, "candidates have 3 columns"),
    ],
)
def test_what_needs_rows_in_memory_is_refused_in_a_sentence(kind, settings, sentence):
    X, y, _ = rows()
    model = kind(**{"kernel": KERNEL, "candidates": 5} | settings)
    with pytest.raises(ValueError, match=sentence):
        model.fit(*cut(X, (y > 0.0).astype(float)))


def test_targets_that_will_not_do_are_refused_in_a_sentence():
    X, y, w = rows()
    three, zero = np.digitize(y, [-0.5, 0.5]), np.zeros(len(y))
    with pytest.raises(ValueError, match="3 classes; a choice of vectors"):
        RelevanceVectorClassifier(KERNEL, candidates=5).fit(*cut(X, three))
    for kind in (RelevanceVectorRegressor, RelevanceVectorClassifier):
        with pytest.raises(ValueError, match="no targets"):
            kind(KERNEL, candidates=5).fit(*cut(X))
    with pytest.raises(ValueError, match="weight zero"):
        RelevanceVectorRegressor(KERNEL, candidates=X[:5]).fit(*cut(X, y, zero))
    with pytest.raises(ValueError, match="noise_variance by row"):
        RelevanceVectorRegressor(KERNEL, candidates=5).fit(*cut(X, y), noise_variance=w + 1.0)
    with pytest.raises(TypeError, match="reads no chunks"):
        RelevanceVectorRegressor(KERNEL, candidates=5).fit(designs.Chunks.from_arrays(X, y))
