"""Theorems of latent spaces: the same axes by every route, and the same model in a special case."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans
from support.for_each import for_each

from posterity import (
    GPLVM,
    PCA,
    HierarchicalGPLVM,
    KernelKMeans,
    KernelPCA,
    Whitening,
    designs,
    kernels,
)
from posterity.latent.gplvm import locating
from posterity.latent.gplvm.inducing_outputs import InducingOutputs
from posterity.latent.gplvm.outputs import ExactOutputs
from posterity.latent.gplvm.terms import StandardNormalPrior, Volume
from posterity.latent.gplvm.variational import bound, posterior
from posterity.latent.gplvm.variational.bound import ObservedOutputs
from posterity.latent.gplvm.variational.statistics import NormalPoints
from posterity.optimize import Optimum

HELD = np.empty((0, 2))  # no number of a kernel is learned
shapes = pytest.mark.parametrize("shape", [(60, 5), (7, 20)], ids=["tall", "wide"])


def rows(shape=(60, 5), seed=0):
    """Columns that depend on each other, with a mean."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1])) + 3.0


def chunked(X, size=4):
    return designs.Chunks.from_arrays(X, rows=size)


def by_parts(model, X, size=4):
    for i in range(0, len(X), size):
        model.partial_fit(X[i : i + size])
    return model


ROUTES = {
    "columns": lambda k, X: PCA(k, method="columns").fit(X),
    "rows": lambda k, X: PCA(k, method="rows").fit(X),
    "chunks": lambda k, X: PCA(k).fit(chunked(X)),
    "parts": lambda k, X: by_parts(PCA(k), X),
    "weights": lambda k, X: PCA(k).fit(np.repeat(X, 2, axis=0), None, np.full(2 * len(X), 0.5)),
}


@shapes
@for_each("route", ROUTES)
def test_principal_components_are_those_of_the_singular_value_decomposition(route, shape):
    X = rows(shape)
    model = ROUTES[route](3, X)
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    variances, size = s**2 / (len(X) - 1.0), s[0] ** 2 / (len(X) - 1.0)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, variances[:3], atol=1e-12 * size)
    np.testing.assert_allclose(np.abs(np.diag(model.components_ @ Vt[:3].T)), 1.0, rtol=1e-12)
    beyond = np.sum(variances[3:]) / (shape[1] - 3)
    assert model.noise_variance_ == pytest.approx(beyond, abs=1e-12 * size)
    plain = PCA(3).fit(X)
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-11)
    Z = model.transform(X)
    np.testing.assert_allclose(Z, plain.transform(X), atol=1e-12 * np.abs(Z).max())


@shapes
@for_each("route", ["array", "chunks", "parts"])
def test_white_rows_have_the_covariance_of_their_span(route, shape):
    X = rows(shape)
    rank = min(shape[1], shape[0] - 1)
    V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:rank]
    spans = {"pca": np.diag(np.arange(min(shape)) < rank), "zca": V.T @ V}
    for method, span in spans.items():
        model = {
            "array": lambda m: m.fit(X),
            "chunks": lambda m: m.fit(chunked(X)),
            "parts": lambda m: by_parts(m, X),
        }[route](Whitening(method))
        np.testing.assert_allclose(np.cov(model.transform(X).T), span, atol=1e-11)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-10)


@shapes
def test_kernel_components_of_a_linear_kernel_are_principal_components(shape):
    X, queries = rows(shape), rows((9, shape[1]), seed=1)
    k = 4
    curved, flat = KernelPCA(k, kernels.Linear(1.0)).fit(X), PCA(k).fit(X)
    signs = np.sign(np.sum(curved.embedding_ * flat.transform(X), axis=0))
    size = np.abs(flat.transform(X)).max()
    np.testing.assert_allclose(curved.embedding_ * signs, flat.transform(X), atol=1e-10 * size)
    np.testing.assert_allclose(
        curved.transform(queries) * signs, flat.transform(queries), atol=1e-10 * size
    )
    np.testing.assert_allclose(curved.explained_variance_, flat.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        curved.explained_variance_ratio_, flat.explained_variance_ratio_, rtol=1e-10
    )
    np.testing.assert_allclose(
        curved.reconstruction_error(queries), flat.reconstruction_error(queries), rtol=1e-8
    )
    np.testing.assert_allclose(
        curved.inverse_transform(curved.embedding_),
        flat.inverse_transform(flat.transform(X)),
        atol=1e-5 * size,
    )


def test_kernel_clusters_of_a_linear_kernel_are_those_of_k_means():
    X = rows((60, 2)) + 60.0 * np.eye(3, 2)[np.arange(60) % 3]
    ours, theirs = KernelKMeans(3, kernels.Linear(1.0)).fit(X), KMeans(3, n_init=5).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    pairs = {tuple(pair) for pair in np.column_stack([ours.labels_, theirs.labels_])}
    assert len(pairs) == 3


def flat_rows(n=40, D=6, Q=2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, Q)) @ (np.diag([3.0, 1.5]) @ rng.normal(size=(Q, D)))
    return X + 0.1 * rng.normal(size=X.shape) + 1.0


LINEAR = kernels.Linear()
FLAT = {
    "map": GPLVM(2, LINEAR),
    "map, standardized": GPLVM(2, LINEAR, standardize=True),
    "inducing points": GPLVM(2, LINEAR, inducing_points=4),
    "variational": GPLVM(2, kernels.Linear((1.0, 1.0)), inference="variational", inducing_points=4),
    "back constraints": GPLVM(2, LINEAR, back_constraints=kernels.Linear(1.0)),
    "hierarchy of one part": HierarchicalGPLVM(
        [list(range(6))], kernel=LINEAR, root_kernel=kernels.Linear(1.0).fixed()
    ),
}


@pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning")
@pytest.mark.parametrize("model", FLAT.values(), ids=FLAT.keys())
def test_latent_points_of_a_linear_kernel_span_the_principal_components(model):
    X = flat_rows()
    if model.standardize:
        X *= 10.0 ** np.arange(6)
    fitted = model.fit(X)
    units = X.std(axis=0) if model.standardize else 1.0
    centred = (X - X.mean(axis=0)) / units
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    assert np.max(subspace_angles(fitted.embedding_, U[:, :2])) < 5e-3
    back = (fitted.inverse_transform(fitted.embedding_) - X.mean(axis=0)) / units
    nearest = (U[:, :2] * s[:2]) @ Vt[:2]  # of all planes the one nearest to the rows
    assert np.sqrt(np.mean((back - nearest) ** 2)) < 0.02 * np.sqrt(np.mean(nearest**2))


def curved_rows(n=25, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]), X[:, 0] * X[:, 1], X.sum(axis=1)])
    return X, Y - Y.mean(axis=0) + 0.1 * rng.normal(size=Y.shape)


def moments(latent):
    return latent.mean, latent.variance


def test_a_process_carried_by_all_its_points_is_the_process():
    (X, Y), kernel, noise = curved_rows(), (1.3 * kernels.RBF(1.1)).fixed(), 0.05
    queries = np.random.default_rng(0).normal(size=(8, 2))
    whole = ExactOutputs(Y, kernel, HELD, noise, None)
    carried = InducingOutputs(Y, kernel, HELD, noise, None, X)
    value, slope, _ = whole(X, whole.start)
    value_carried, slope_carried, own = carried(X, carried.start)
    # The value does not change as points move together with those that carry them.
    assert value_carried == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(slope_carried + own.reshape(X.shape), slope, atol=1e-3)
    decoders = [term.decoder(X, term.start) for term in (whole, carried)]
    for one, other in zip(*(moments(d.latent(queries)) for d in decoders), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    for one, other in zip(*(d.log_density(queries, Y[:8]) for d in decoders), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kernel", [1.3 * kernels.RBF(1.1), 0.7 * kernels.Matern(0.9)], ids=str)
def test_points_that_are_sure_make_the_variational_model_the_sparse_one(kernel, monkeypatch):
    monkeypatch.setattr(bound, "_JITTER", 2.0**-26)  # that of sure points
    (X, Y), noise, S = curved_rows(), 0.05, np.full((25, 2), 1e-13)
    Y[3, 1] = np.nan
    Z = X[::4]
    sparse = InducingOutputs(Y, kernel.fixed(), HELD, noise, None, Z)
    observed = ObservedOutputs.from_outputs(Y)
    averaged = bound.compute_bound(observed, kernel, noise, NormalPoints(X, S, Z, observed.weights))
    value, slope, _ = sparse(X, sparse.start)
    assert averaged.value == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(averaged.m, slope, rtol=1e-4, atol=1e-4)
    end = Optimum(np.empty(0), 0.0, np.empty(0), 0, "", True)
    found = posterior.condition_variational(Y, X, S, kernel.fixed(), noise, Z, np.empty(0), end)
    queries = np.random.default_rng(0).normal(size=(8, 2))
    decoder = sparse.decoder(X, sparse.start)
    for one, other, uncertain in zip(
        moments(found.latent(queries)),
        moments(decoder.latent(queries)),
        found.decode(queries, np.full((8, 2), 1e-13)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
        np.testing.assert_allclose(uncertain, other, atol=1e-6)


def bent_rows(n=30):
    """Along a curve, of which there is one way to lay it out."""
    rng = np.random.default_rng(5)
    t = np.sort(rng.uniform(-1.5, 1.5, n))
    Y = np.column_stack([np.sin(t), t, t + 0.3 * t**2, np.sin(1.5 * t)])
    return Y + 0.05 * rng.normal(size=Y.shape)


def up_to_signs(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


def test_rows_that_are_far_apart_to_the_kernel_of_back_constraints_are_free():
    """Where they end, nothing is gained by letting a point go."""
    Y = bent_rows()
    slopes = {}
    for length in (1e-3, 1.0):
        model = GPLVM(1, back_constraints=kernels.RBF(length)).fit(Y)
        outputs = ExactOutputs(
            Y - Y.mean(axis=0), model.kernel_.fixed(), HELD, model.noise_variance_, None
        )
        terms = (outputs, StandardNormalPrior(), Volume())
        found = [term(model.embedding_, np.empty(0)) for term in terms]
        assert sum(value for value, _, _ in found) == pytest.approx(model.log_posterior_, abs=1e-6)
        slopes[length] = np.max(np.abs(sum(slope for _, slope, _ in found)))
    assert slopes[1e-3] < 0.1 * slopes[1.0]


@pytest.mark.full
@for_each("inference", ["map", "variational"])
@pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning")
def test_a_motion_that_forgets_at_once_is_none(inference):
    _, Y = curved_rows()
    options = {"inference": inference, "inducing_points": 6, "max_iter": 300}
    still = GPLVM(2, **options).fit(Y)
    moving = GPLVM(2, dynamics=kernels.RBF(1e-2).fixed(), **options).fit(Y)
    heights = [
        model.log_posterior_ if inference == "map" else model.log_evidence_
        for model in (still, moving)
    ]
    assert heights[0] == pytest.approx(heights[1], abs=0.1)


def test_the_order_of_parts_does_not_matter():
    Y = bent_rows()
    both = [
        HierarchicalGPLVM(parts, 1, 1, noise_variance=0.01)
        for parts in ({"a": [0, 2], "b": [1, 3]}, {"b": [1, 3], "a": [0, 2]})
    ]
    one, other = (model.fit(Y) for model in both)
    assert one.log_posterior_ == pytest.approx(other.log_posterior_, abs=1e-3)
    np.testing.assert_allclose(
        up_to_signs(one.embedding_, other.embedding_), other.embedding_, atol=1e-2
    )


def test_a_new_row_equal_to_an_old_one_is_found_where_that_one_is():
    _, Y = curved_rows()
    fitted = GPLVM(2).fit(Y)
    decoder = fitted._fitted.model.decoder
    found = locating.locate(decoder, Y - Y.mean(axis=0), candidates=fitted.embedding_)
    prior = StandardNormalPrior()
    height = [
        decoder.log_density(X, Y - Y.mean(axis=0))[0] + [prior(x[None], np.empty(0))[0] for x in X]
        for X in (found.mean, fitted.embedding_)
    ]
    assert np.all(height[0] >= height[1] - 1e-6)
