"""Models to files and back: whole, the same to the last bit, truly described."""

import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from persistence_cases import CASES
from regression_cases import Bump
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from support.for_each import for_each

import posterity
from posterity import designs, features, kernels, likelihoods, persistence, priors, tables, trees
from posterity.persistence import encoding, npy, registry, saving

pytestmark = [
    pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] - 2.0 * X[:, 1] + 0.1 * RNG.normal(size=40)
LABELS = np.where(Y > 0.0, "up", "down")
FRAME = pd.DataFrame(
    {"size": X[:, 0], "colour": RNG.choice(["red", "bl\u00fce"], 40), "b": X[:, 1]}
)
FRAME.loc[3, "size"] = np.nan


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.posterity"


def through(model, path):
    persistence.save(model, path)
    return persistence.load(path)


AROUND = [
    make_pipeline(StandardScaler(), posterity.BayesianLinearRegression()),
    make_pipeline(MinMaxScaler(), PolynomialFeatures(2), posterity.RidgeRegression()),
    make_pipeline(RobustScaler(), KBinsDiscretizer(3, encode="onehot-dense"), posterity.PCA(1)),
    make_pipeline(
        make_union(StandardScaler(), FunctionTransformer(np.abs)), posterity.LinearRegression()
    ),
    OneVsRestClassifier(posterity.BayesianLogisticRegression()),
]


@pytest.mark.parametrize("model", AROUND, ids=lambda model: " ".join(repr(model).split()))
@pytest.mark.filterwarnings("ignore:Bins whose width:UserWarning")
@pytest.mark.filterwarnings("ignore:The current default behavior:FutureWarning")
def test_pipelines_and_wrappers_come_back(model, path):
    target = LABELS if isinstance(model, OneVsRestClassifier) else Y
    fitted = model.fit(X, target)
    loaded = through(fitted, path)
    method = "predict" if hasattr(fitted, "predict") else "transform"
    expected = getattr(fitted, method)(X)
    np.testing.assert_array_equal(getattr(loaded, method)(X), expected)


def test_a_model_of_a_data_frame_comes_back(path):
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
            ("classes", OneHotEncoder(sparse_output=False), ["colour"]),
            ("order", OrdinalEncoder(), make_column_selector(dtype_exclude=np.number)),
        ],
        remainder="passthrough",
    )
    fitted = make_pipeline(columns, posterity.BayesianLinearRegression()).fit(FRAME, Y)
    loaded = through(fitted, path)
    np.testing.assert_array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
    np.testing.assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)
    assert loaded.feature_names_in_.dtype == object


def table_model():
    frame = tables.as_frame(FRAME).with_columns(price=pl.Series(Y))
    schema = tables.infer(frame, "price")
    estimator = posterity.GaussianProcessRegressor(n_restarts=0, max_iter=5)
    return tables.TableModel(estimator, schema).fit(frame), frame


def test_a_model_of_tables_comes_back_and_describes_itself(path):
    fitted, frame = table_model()
    loaded = through(fitted, path)
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
    assert loaded.schema == fitted.schema
    said = persistence.describe(path)
    assert (said.class_name, said.estimator) == ("TableModel", "GaussianProcessRegressor")
    assert (said.target, said.task) == ("price", "regression")
    assert said.inputs == ("size", "colour", "b")
    assert said.parameters["max_iter"] == "5"
    assert said.training_rows == 40
    assert said.log_evidence == fitted.estimator_.log_evidence_


def test_parts_of_models_come_back(path):
    parts = [kernels.RBF(2.0) + kernels.White(), features.Polynomial(2), priors.Sparse()]
    parts += [likelihoods.Bernoulli(), trees.Projections(2)]
    for part in parts:
        assert repr(through(part, path)) == repr(part)


@for_each("room", [kernels, features, likelihoods, priors, trees])
def test_every_public_part_of_a_model_can_be_saved(room):
    known = registry.Registry()
    for name in room.__all__:
        part = getattr(room, name)
        concrete = isinstance(part, type) and not getattr(part, "__abstractmethods__", None)
        if concrete and part.__module__.startswith(room.__name__) and part not in NO_PARTS:
            assert known.find_name(part) is not None, name


NO_PARTS = {kernels.Tangent, kernels.Definiteness}


def test_what_is_known_of_a_model_is_said_without_reading_it(path):
    model = posterity.GaussianProcessRegressor(
        kernels.RBF(1.0).fixed(), noise_variance=0.1, random_state=7
    ).fit(X, Y)
    persistence.save(model, path)
    said = persistence.describe(path)
    assert said.class_name == said.estimator == "GaussianProcessRegressor"
    assert said.parameters["kernel"] == "RBF(1.0).fixed()"
    assert said.parameters["random_state"] == "7"
    assert said.log_evidence == model.log_evidence_
    assert said.training_rows == 40
    assert said.notes == (
        "The file contains 40 rows of training data, which anyone with the file can read.",
    )
    assert said.versions["numpy"] == np.__version__
    assert said.versions["scikit-learn"] == sklearn.__version__
    assert said.versions["posterity"]
    assert said.n_bytes == path.stat().st_size
    with zipfile.ZipFile(path) as plain:
        assert said.members == {info.filename: info.file_size for info in plain.infolist()}
    assert (said.target, said.task, said.inputs) == (None, None, ())


def test_a_pipeline_is_described_by_what_is_in_it(path):
    model = make_pipeline(StandardScaler(), posterity.BayesianLinearRegression()).fit(X, Y)
    persistence.save(model, path)
    said = persistence.describe(path)
    assert (said.class_name, said.estimator) == ("Pipeline", "BayesianLinearRegression")
    assert said.log_evidence == model[-1].log_evidence_
    assert said.training_rows == 0
    assert said.notes == ()


def test_long_parameters_are_cut_and_functions_are_named(path):
    def bump(A, B):
        return np.exp(-np.abs(A - B.T))

    for parameters in ({"kernel": bump}, {"kernel": kernels.Columns(kernels.RBF(), range(200))}):
        model = posterity.KernelRidgeRegression(**parameters)
        persistence.save(model, path, classes=(bump,))
        shown = persistence.describe(path).parameters["kernel"]
        assert len(shown) <= 200
        assert "0x" not in shown


def manifest_of(path, change):
    """Change what the manifest says."""
    with zipfile.ZipFile(path) as plain:
        found = {name: plain.read(name) for name in plain.namelist()}
    manifest = json.loads(found["manifest.json"])
    change(manifest)
    with zipfile.ZipFile(path, "w") as plain:
        for name, content in (found | {"manifest.json": json.dumps(manifest)}).items():
            plain.writestr(zipfile.ZipInfo(name), content)


def test_a_description_never_moves_a_cursor(path):
    persistence.save(posterity.LinearRegression(), path)
    manifest_of(path, lambda m: m["summary"].update({"class": "Nice\x1b[2J\u202e"}))
    assert persistence.describe(path).class_name == "Nice?[2J?"


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("summary"),
        lambda m: m.pop("notes"),
        lambda m: m.update(summary=[1]),
        lambda m: m.update(versions=3),
        lambda m: m["summary"].update(training_rows=-1),
        lambda m: m["summary"].update(training_rows="1"),
        lambda m: m["summary"].update(log_evidence="1"),
        lambda m: m["summary"].update({"class": None}),
        lambda m: m["summary"].update(parameters=[]),
    ],
)
def test_a_file_that_does_not_say_what_it_is_is_refused(path, change):
    persistence.save(posterity.LinearRegression(), path)
    manifest_of(path, change)
    with pytest.raises(persistence.FileError, match=r"manifest\.json does not say"):
        persistence.describe(path)


def test_a_part_of_another_scikit_learn_is_pointed_out(path):
    model = make_pipeline(StandardScaler(), posterity.LinearRegression()).fit(X, Y)
    persistence.save(model, path)
    manifest_of(path, lambda m: m["versions"].update({"scikit-learn": "0.1"}))
    with pytest.warns(InconsistentVersionWarning, match=r"0\.1"):
        persistence.load(path)
    persistence.save(posterity.LinearRegression().fit(X, Y), path)
    manifest_of(path, lambda m: m["versions"].update({"scikit-learn": "0.1"}))
    persistence.load(path)


def test_a_model_that_cannot_be_saved_leaves_the_old_file(path):
    persistence.save(posterity.LinearRegression(), path)
    before = path.read_bytes()
    with pytest.raises(persistence.FileError, match=r"The model\.kernel is a function"):
        persistence.save(posterity.KernelRidgeRegression(lambda A, B: A @ B.T), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_functions_of_ones_own_come_back_by_name(path):
    def inner(A, B):
        return A @ B.T

    model = posterity.KernelRidgeRegression(inner).fit(X, Y)
    persistence.save(model, path, classes=(inner,))
    with pytest.raises(persistence.FileError, match=r"inner.*classes="):
        persistence.load(path)
    loaded = persistence.load(path, classes=(inner,))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_models_of_more_text_than_a_file_holds_are_refused(path, monkeypatch):
    persistence.save(posterity.LinearRegression(), path)
    monkeypatch.setattr(saving, "_MAX_DOCUMENT", 10)
    with pytest.raises(persistence.FileError, match="more than allowed"):
        persistence.load(path)
    with pytest.raises(persistence.FileError, match="too many small parts"):
        persistence.save(posterity.LinearRegression(), path)


def test_a_file_that_is_not_there_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        persistence.load(path)
    with pytest.raises(FileNotFoundError):
        persistence.describe(path)


def test_rows_that_predictions_do_not_ask_for_stay_out_of_the_file(path):
    small, large = (
        posterity.BayesianLogisticRegression().fit(np.tile(X, (n, 1)), np.tile(LABELS, n))
        for n in (1, 20)
    )
    assert persistence.compute_size(large) < 1.1 * persistence.compute_size(small)
    loaded = through(large, path)
    np.testing.assert_array_equal(loaded.predict_proba(X), large.predict_proba(X))
    assert loaded.posterior_.fit.log_evidence == large.posterior_.fit.log_evidence
    draws = [model.sample_weights(5, random_state=0) for model in (large, loaded)]
    for one, two in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_model_fitted_to_a_stream_comes_back(path):
    ups = (LABELS == "up").astype(float)
    chunks = designs.Chunks.from_iterable(lambda: [(X[:20], ups[:20]), (X[20:], ups[20:])])
    fitted = posterity.BayesianLogisticRegression().fit(chunks)
    np.testing.assert_array_equal(through(fitted, path).predict_proba(X), fitted.predict_proba(X))


VECTORS = [c for c in CASES if isinstance(c.rows, np.ndarray) and c.rows.dtype.kind == "f"]


def rows_found(values, rows):
    """How many of the rows are in an array, as they are, centred, or standardised; in any order."""
    if values.ndim != 2 or values.dtype.kind != "f" or values.shape[1] != rows.shape[1]:
        return 0
    centred = rows - rows.mean(axis=0)
    images = (rows, centred, centred / rows.std(axis=0), centred / rows.std(axis=0, ddof=1))
    return max(
        int(np.sum(np.any(np.all(np.abs(values - row[:, None, :]) < 1e-9, axis=2), axis=1)))
        for row in images
    )


def holds_a_column(values, rows):
    """Whether a column of the data is in an array of as many rows, in any units."""
    if values.ndim != 2 or values.dtype.kind != "f" or len(values) != len(rows):
        return False
    spread = np.std(values, axis=0)
    varying = values[:, np.isfinite(spread) & (spread > 0.0)]
    both = np.corrcoef(varying.T, rows.T)[: varying.shape[1], varying.shape[1] :]
    return bool(np.any(np.abs(both) > 1.0 - 1e-10))


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case.name)
def test_the_rows_inside_a_file_are_counted(case, monkeypatch):
    inside, rows = [], np.asarray(case.rows, dtype=float)
    member = npy.make_member
    monkeypatch.setattr(npy, "make_member", lambda *a: (inside.append(a[1]), member(*a))[1])
    document = encoding.encode(case.fitted, registry.Registry((Bump,)))
    found = max((rows_found(values, rows) for values in inside), default=0)
    if any(holds_a_column(values, rows) for values in inside):
        found = len(rows)
    assert document.training_rows == found


def test_rows_that_are_objects_are_counted():
    words = ["fig", "figs", "wig", "twig"]
    model = posterity.GaussianProcessRegressor(kernels.Spectrum(2), n_restarts=0, max_iter=2)
    known = registry.Registry()
    assert encoding.encode(model.fit(words, np.arange(4.0)), known).training_rows == 4
    table = np.array([["a", "x"], ["a", "x"], ["b", "x"]])
    joint = posterity.DiscreteClassifier().fit(table, [0, 1, 1])
    assert encoding.encode(joint, known).training_rows == 2
    apart = posterity.DiscreteClassifier(independent=True).fit(table, [0, 1, 1])
    assert encoding.encode(apart, known).training_rows == 0


@pytest.mark.parametrize("columns", ["shared", "per_class"])
def test_a_sparse_classifier_keeps_its_nearest_normal(columns, tmp_path):
    codes = np.digitize(Y, [-1.5, 1.5])
    model = posterity.SparseLogisticRegression(columns=columns).fit(X, codes)
    assert type(model.posterior_.fit).__name__ == "NearestNormal"
    persistence.save(model, tmp_path / "model.posterity")
    again = persistence.load(tmp_path / "model.posterity")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.posterior_.fit.bound == model.posterior_.fit.bound
