"""Models that keep their rows in memory say so, and bring none of Dask's there."""

import numpy as np
import pytest

import posterity
from posterity import kernels, validation
from posterity.kernels import strings

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

REGRESSORS = ("DualLinearRegression", "StagewiseRegressor", "KernelRidgeRegression")
CLASSIFIERS = (
    "DiscreteClassifier",
    "DualLogisticRegression",
    "GaussianProcessClassifier",
    "StagewiseClassifier",
    "KernelLogisticRegression",
    "LogisticTreeClassifier",
    "LogitBoostClassifier",
    "MixtureOfExpertsClassifier",
)
LATENT = ("GPLVM", "HierarchicalGPLVM", "KernelKMeans", "KernelPCA")


def unread(x):
    """A collection of which no partition may be read."""

    def refuse(block):
        raise AssertionError("a partition was read")

    return da.from_array(x, chunks=(5, *x.shape[1:])).map_blocks(refuse, dtype=x.dtype, meta=x[:0])


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize("name", [*REGRESSORS, *CLASSIFIERS, *LATENT])
def test_rows_on_dask_are_refused_unread(name, X):
    model = getattr(posterity, name)()
    y = X[:, 0] if name in REGRESSORS else (X[:, 0] > 0.0).astype(int)
    given = [unread(X)] if name in LATENT else [unread(X), unread(y)]
    with pytest.raises(TypeError, match=rf"{name} needs its rows in memory.*pass X\.compute\(\)"):
        model.fit(*given)


@pytest.mark.parametrize("name", [*REGRESSORS, *CLASSIFIERS])
def test_targets_on_dask_beside_rows_in_memory_are_refused_unread(name, X):
    y = X[:, 0] if name in REGRESSORS else (X[:, 0] > 0.0).astype(int)
    with pytest.raises(TypeError, match=r"y is a Dask collection.*pass y\.compute\(\)"):
        getattr(posterity, name)().fit(X, unread(y))


def test_weights_on_dask_beside_rows_in_memory_are_refused_unread(X):
    with pytest.raises(TypeError, match=r"pass sample_weight\.compute\(\)"):
        posterity.KernelRidgeRegression().fit(X, X[:, 0], sample_weight=unread(np.ones(20)))
    with pytest.raises(TypeError, match=r"pass X\.compute\(\)"):
        validation.check_coordinates(posterity.PCA(), unread(X), 2)


def test_objects_on_dask_are_refused():
    words = pytest.importorskip("dask.bag").from_sequence(["anna", "otto"])
    for kernel in (strings.Spectrum(length=2), kernels.Scaled(strings.Spectrum(length=2))):
        with pytest.raises(TypeError, match="needs its rows in memory"):
            posterity.KernelRidgeRegression(kernel).fit(words, [1.0, 2.0])
        with pytest.raises(TypeError, match="needs its rows in memory"):
            posterity.KernelKMeans(n_clusters=2, kernel=kernel).fit(words)


def test_queries_on_dask_that_nobody_answers_lazily_are_refused(X):
    with pytest.raises(TypeError, match=r"needs rows in memory: pass X\.compute\(\)"):
        validation.check_X(posterity.PCA().fit(X), unread(X), reset=False)
