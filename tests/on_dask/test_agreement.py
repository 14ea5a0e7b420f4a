"""A fit on Dask is the fit in memory, to rounding, and keeps nothing of Dask."""

import pickle

import dask_rows
import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import posterity
from posterity import features, likelihoods
from posterity.inference.weights import few_hessians

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


TOLERANCE = 1e-8
REGRESSORS = [
    posterity.LinearRegression(),
    posterity.LinearRegression(fit_intercept=False),
    posterity.RidgeRegression(),
    posterity.BayesianLinearRegression(),
    posterity.BayesianLinearRegression(features=features.Polynomial(2)),
    posterity.SparseLinearRegression(),
    posterity.LqRegression(0.1),
]
CLASSIFIERS = [
    posterity.LogisticRegression(),
    posterity.LogisticRegression(predictive="averaged"),
    posterity.BayesianLogisticRegression(),
    posterity.BayesianLogisticRegression(features=features.Polynomial(2), standardize=False),
    posterity.SparseLogisticRegression(),
]
ON_WORKERS = (
    "LinearRegression",
    "RidgeRegression",
    "BayesianLinearRegression",
    "SparseLinearRegression",
    "LogisticRegression",
    "BayesianLogisticRegression",
    "SparseLogisticRegression",
)
FITTED = (
    "classes_",
    "coef_",
    "intercept_",
    "noise_variance_",
    "prior_variance_",
    "precision_",
    "relevance_",
    "log_evidence_",
    "log_likelihood_",
    "n_features_in_",
    "n_iter_",
)


@pytest.fixture
def here():
    """Without a cluster, in this very thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(far, near, X):
    """All that was learned is, and so is what it predicts."""
    for name in FITTED:
        assert hasattr(far, name) == hasattr(near, name), name
        if hasattr(near, name):
            _assert_close(getattr(far, name), getattr(near, name), name)
    told, expected = far.predict_dist(X), near.predict_dist(X)
    if hasattr(near, "classes_"):
        _assert_close(told.probabilities(), expected.probabilities(), "probabilities")
    else:
        _assert_close(told.mean(), expected.mean(), "mean")
        _assert_close(told.variance(), expected.variance(), "variance")


def _assert_close(far, near, name):
    if np.asarray(near).dtype.kind in "OU":
        np.testing.assert_array_equal(far, near, err_msg=name)
    else:
        scale = float(np.max(np.abs(near), initial=1e-300))
        np.testing.assert_allclose(far, near, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=name)


def compare(model, rows, far):
    near = clone(model).fit(*rows.parts)
    found = clone(model).fit(*far.parts)
    names = getattr(found, "feature_names_in_", None)
    found.__dict__.pop("feature_names_in_", None)  # of which arrays have none
    assert_same(found, near, rows.X[:20])
    again = pickle.dumps(found)
    assert b"dask" not in again
    assert len(again) < 100_000
    return names


def short(model):
    return type(model).__name__


@pytest.mark.parametrize("model", REGRESSORS, ids=short)
def test_regressors(model, here):
    rows = dask_rows.measured(N=900, D=5)
    compare(model, rows, dask_rows.as_arrays(rows))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=short)
def test_classifiers(model, here):
    rows = dask_rows.classified(N=900, D=5)
    compare(model, rows, dask_rows.as_arrays(rows))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=short)
def test_more_classes(model, here):
    rows = dask_rows.classified(N=1200, D=4, n_classes=3)
    compare(model, rows, dask_rows.as_arrays(rows))


@pytest.mark.parametrize("model", REGRESSORS[3:4] + CLASSIFIERS[2:3], ids=short)
def test_data_frames_bring_names(model, here):
    make = dask_rows.classified if hasattr(model, "averaging") else dask_rows.measured
    rows = make(N=700, D=3)
    names = compare(model, rows, dask_rows.as_frames(rows))
    assert list(names) == list(dask_rows.NAMES[:3])


@pytest.mark.full(but=3)
@pytest.mark.parametrize("kind", ON_WORKERS)
@pytest.mark.usefixtures("client")
def test_worker_processes(kind):
    model = getattr(posterity, kind)()
    make = dask_rows.classified if is_classifier(model) else dask_rows.measured
    rows = make(N=2000, D=6)
    compare(model, rows, dask_rows.as_arrays(rows))


def test_rows_that_were_persisted(client):
    rows = dask_rows.measured(N=800)
    far = [part.persist() for part in dask_rows.as_arrays(rows).parts]
    found = posterity.BayesianLinearRegression().fit(*far)
    near = posterity.BayesianLinearRegression().fit(*rows.parts)
    assert_same(found, near, rows.X[:20])
    lazily = found.predict_dist(far[0])
    np.testing.assert_allclose(lazily.mean().compute(), near.predict(rows.X), rtol=1e-9)


@pytest.mark.usefixtures("here")
class TestPCA:
    @pytest.mark.parametrize("n_rows", [600, 4])
    def test_axes_and_variances(self, n_rows):
        rows = dask_rows.measured(N=n_rows, D=6, weighted=n_rows > 6)
        far = dask_rows.as_arrays(rows)
        near = posterity.PCA().fit(rows.X, sample_weight=rows.sample_weight)
        found = posterity.PCA().fit(far.X, sample_weight=far.sample_weight)
        for name in ("mean_", "components_", "explained_variance_", "n_samples_seen_"):
            _assert_close(getattr(found, name), getattr(near, name), name)

    def test_whitening(self):
        rows = dask_rows.measured(N=300, D=4, weighted=False)
        far = posterity.Whitening().fit(dask_rows.as_arrays(rows).X)
        near = posterity.Whitening().fit(rows.X)
        _assert_close(far.components_, near.components_, "components")


def test_pca_on_worker_processes(client):
    rows = dask_rows.measured(N=2000, D=8)
    far = dask_rows.as_arrays(rows)
    found = posterity.PCA(n_components=3).fit(far.X, sample_weight=far.sample_weight)
    near = posterity.PCA(n_components=3).fit(rows.X, sample_weight=rows.sample_weight)
    _assert_close(found.components_, near.components_, "components")


def test_rows_in_parts_add_up(here):
    rows = dask_rows.measured(N=500)
    far = dask_rows.as_arrays(rows)
    found = posterity.BayesianLinearRegression()
    for part in (slice(0, 200), slice(200, 500)):
        found.partial_fit(*(values[part] for values in far.parts))
    assert_same(found, posterity.BayesianLinearRegression().fit(*rows.parts), rows.X[:9])


def test_counts_are_tallied(here):
    rows = dask_rows.measured(N=600)
    y = np.random.default_rng(3).poisson(np.exp(0.3 * rows.X[:, 0]))
    model = posterity.GeneralizedLinearRegression(likelihoods.Poisson())
    far = dask_rows.as_arrays(dask_rows.Rows(rows.X, y, rows.sample_weight))
    compare(model, dask_rows.Rows(rows.X, y, rows.sample_weight), far)


def test_ratings_are_tallied(here):
    rows = dask_rows.measured(N=600)
    noise = np.random.default_rng(3).logistic(size=600)
    y = 1 + np.digitize(rows.X[:, 0] + noise, [-1.0, 0.5, 2.0])
    model = posterity.GeneralizedLinearRegression(likelihoods.Ordinal())
    far = dask_rows.as_arrays(dask_rows.Rows(rows.X, y, rows.sample_weight))
    compare(model, dask_rows.Rows(rows.X, y, rows.sample_weight), far)


def test_columns_in_several_pieces_are_joined(here):
    rows = dask_rows.measured(N=300, D=6, weighted=False)
    X = da.from_array(rows.X, chunks=(100, 2))
    y = da.from_array(rows.y, chunks=77)
    assert_same(
        posterity.LinearRegression().fit(X, y),
        posterity.LinearRegression().fit(rows.X, rows.y),
        rows.X,
    )


def test_several_targets(here):
    rows = dask_rows.measured(N=300, weighted=False)
    Y = np.column_stack([rows.y, -2.0 * rows.y + rows.X[:, 0]])
    far = dask_rows.as_arrays(dask_rows.Rows(rows.X, Y))
    found = posterity.BayesianLinearRegression().fit(far.X, far.y)
    assert_same(found, posterity.BayesianLinearRegression().fit(rows.X, Y), rows.X)


def test_dear_fits_agree(here, monkeypatch):
    """Where a Hessian is dear a sample of the rows goes first, in memory and on Dask."""
    monkeypatch.setattr(few_hessians, "_EXPENSIVE", 1e6)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 12))
    y = (X[:, :3].sum(axis=1) + rng.logistic(size=len(X)) > 0.0).astype(int)
    rows = dask_rows.Rows(X, y)
    compare(posterity.BayesianLogisticRegression(), rows, dask_rows.as_arrays(rows))


def test_targets_in_memory_are_refused(here):
    rows = dask_rows.measured()
    with pytest.raises(TypeError, match="y is an array in memory"):
        posterity.LinearRegression().fit(dask_rows.as_arrays(rows).X, rows.y)


def test_numbers_on_a_scale_are_no_classes(here):
    far = dask_rows.as_arrays(dask_rows.measured())
    with pytest.raises(ValueError, match=r"partition [0-9], row 0 is .* not a class"):
        posterity.LogisticRegression().fit(far.X, far.y)


def test_noise_by_row_is_refused(here):
    far = dask_rows.as_arrays(dask_rows.measured())
    with pytest.raises(ValueError, match="noise_variance by row"):
        posterity.BayesianLinearRegression().fit(far.X, far.y, noise_variance=far.y)


@pytest.mark.full
def test_features_made_on_the_workers(client):
    """How many columns they make is known before anything travels, and asked of one partition."""
    rows = dask_rows.classified(N=900, D=3)
    model = posterity.BayesianLogisticRegression(features=features.Polynomial(2))
    compare(model, rows, dask_rows.as_frames(rows))
