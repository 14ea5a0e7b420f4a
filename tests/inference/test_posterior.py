"""Every posterior of inference answers in one shape: marginals, joint, and before the rows."""

import functools
import importlib
import inspect
import itertools
import pkgutil

import numpy as np
import pytest

import posterity as pt
from posterity import designs, inference, kernels, likelihoods, process, sparse
from posterity.inference import posterior as protocol
from posterity.inference.averaging import PosteriorMixture
from posterity.inference.observations import HeldRows, Observations
from posterity.inference.weights.targets import RowTargets
from posterity.process import (
    CondensedPosterior,
    ProcessPosterior,
    SeparateOutputs,
    condition_on_points,
)
from posterity.process.latent.density import LatentTargets
from posterity.process.latent_fit import LatentFit
from posterity.process.softmax.shared import SharedSoftmaxPosterior
from posterity.sparse.class_normals import ClassNormals
from posterity.sparse.problem import weight_problem
from posterity.sparse.vector_fit import VectorFit

N = 30
rng = np.random.default_rng(3)
X, QUERIES = rng.normal(size=(N, 2)), rng.normal(size=(7, 2))
Y = np.column_stack([X[:, 0] + 0.2 * rng.normal(size=N), np.sin(X[:, 1]), X @ [0.5, -1.0]])
Y += 0.1 * rng.normal(size=Y.shape)
TWO = X[:, 0] + 0.5 * rng.normal(size=N) > 0.0
THREE = np.argmax(X @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(N, 3)), axis=1)
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0]))
KERNEL = (1.5 * kernels.RBF(1.2)).fixed()
WIDE = np.hstack([X, np.random.default_rng(0).normal(size=(N, 40))])


def fitted(model, y, rows=X):
    return model.fit(rows, y).posterior_


def at_maximum():
    return pt.BayesianLinearRegression(hyperparameters="maximise")


def averaged():
    noises = (0.05, 0.2)
    parts = [ProcessPosterior.condition(KERNEL, s, X, Observations.from_targets(Y)) for s in noises]
    return PosteriorMixture(parts[0], tuple(parts), np.array([0.4, 0.6]))


def likely(likelihood, y, **options):
    return fitted(pt.GaussianProcessRegressor(KERNEL, likelihood=likelihood, **options), y)


def classes(y, **options):
    return fitted(pt.GaussianProcessClassifier(KERNEL, max_iter=2, **options), y)


def separate():
    parts = [
        condition_on_points(
            v * KERNEL, 0.1, HeldRows(X, Observations.from_targets(y[:, None])), X[:9]
        )
        for v, y in zip((0.5, 1.0, 2.0), Y.T, strict=True)
    ]
    return SeparateOutputs(tuple(parts))


def shared(y):
    return ProcessPosterior.condition(KERNEL, 0.1, X, Observations.from_targets(y))


def condition_classes(labels):
    likelihood, codes = likelihoods.Categorical(3), np.unique(labels, return_inverse=True)[1]
    targets = LatentTargets.with_offset_prior(
        codes * 1.0, np.ones(len(codes)), likelihood, offset=True
    )
    return SharedSoftmaxPosterior.condition(KERNEL, likelihood, X, targets)


def independent_classes(labels):
    rows = designs.Dense(np.hstack([X, np.ones((N, 1))]))
    targets = RowTargets.from_observations(labels, None, likelihoods.Categorical(3), offset=True)
    problem = weight_problem(np.ones(2), rows, targets.with_separate_weights())
    return ClassNormals.from_problem(problem, np.zeros(problem.shape))


def same(posterior, queries):
    return queries


def widened(posterior, queries):
    return np.hstack([queries, np.random.default_rng(1).normal(size=(len(queries), 40))])


def kept(posterior, queries):
    at_maximum = getattr(posterior, "at_maximum", posterior)
    scale = posterior.scale if hasattr(posterior, "scale") else at_maximum.problem.scale
    return queries[:, : len(scale)]


def design_rows(posterior, queries):
    """As many columns as there are weights, the offset's ones last."""
    n_columns = posterior.problem.shape[0] if hasattr(posterior, "weights") else len(posterior.coef)
    return np.hstack([queries[:, : n_columns - 1], np.ones((len(queries), 1))])


# What makes a posterior, the number of its functions, and what makes its queries.
LOGISTIC = functools.partial(pt.BayesianLogisticRegression, hyperparameters="maximise")
SPARSE = pt.SparseLogisticRegression
CASES = {
    "linear": (lambda: fitted(at_maximum(), Y), 3, same),
    "linear, averaged": (lambda: fitted(pt.BayesianLinearRegression(), Y), 3, same),
    "linear, one output": (lambda: fitted(pt.BayesianLinearRegression(), Y[:, 0]), 1, same),
    "linear, few rows": (lambda: fitted(at_maximum(), Y, WIDE), 3, widened),
    "linear, sparse": (
        lambda: fitted(pt.SparseLinearRegression(hyperparameters="maximise"), Y[:, 2]),
        1,
        kept,
    ),
    "linear, sparse, averaged": (
        lambda: fitted(pt.SparseLinearRegression(), Y[:, 2]),
        1,
        kept,
    ),
    "amounts": (lambda: fitted(pt.GammaRegression(), COUNTS + 1.0), 1, same),
    "two classes": (lambda: fitted(LOGISTIC(), TWO), 1, same),
    "three classes": (lambda: fitted(LOGISTIC(), THREE), 3, same),
    "three classes, few rows": (lambda: fitted(LOGISTIC(), THREE, WIDE), 3, widened),
    "Laplace's weights": (lambda: fitted(LOGISTIC(inference="laplace"), THREE).fit, 3, design_rows),
    "nearest weights": (lambda: fitted(LOGISTIC(), THREE).fit, 3, design_rows),
    "kernel columns": (
        lambda: fitted(pt.KernelLogisticRegression(KERNEL, hyperparameters="maximise"), THREE),
        3,
        same,
    ),
    "sparse": (lambda: fitted(SPARSE(), TWO), 1, kept),
    "sparse, by class": (lambda: fitted(SPARSE(columns="per_class"), THREE), 3, kept),
    "independent classes": (lambda: independent_classes(THREE), 3, design_rows),
    "Laplace's by class": (
        lambda: fitted(SPARSE(columns="per_class", inference="laplace"), THREE).fit,
        3,
        design_rows,
    ),
    "weights by class": (lambda: fitted(SPARSE(columns="per_class"), THREE).fit, 3, design_rows),
    "process": (lambda: shared(Y), 3, same),
    "process, one output": (lambda: shared(Y[:, :1]), 1, same),
    "process, points": (
        lambda: condition_on_points(KERNEL, 0.1, HeldRows(X, Observations.from_targets(Y)), X[:9]),
        3,
        same,
    ),
    "separate processes": (separate, 3, same),
    "averaged process": (averaged, 3, same),
    "counts": (lambda: likely(likelihoods.Poisson(), COUNTS), 1, same),
    "outliers": (lambda: likely(likelihoods.StudentT(4.0, 0.3), Y[:, 0]), 1, same),
    "outliers, points": (
        lambda: likely(likelihoods.StudentT(4.0, 0.3), Y[:, 0], inducing_points=9),
        1,
        same,
    ),
    "counts, points": (lambda: likely(likelihoods.Poisson(), COUNTS, inducing_points=9), 1, same),
    "propagation": (lambda: classes(TWO, inference="propagation"), 1, same),
    "Laplace's process": (lambda: classes(TWO, inference="laplace"), 1, same),
    "softmax": (lambda: classes(THREE), 3, same),
    "softmax, one factor": (lambda: condition_classes(THREE), 3, same),
    "softmax, Laplace": (lambda: classes(THREE, inference="laplace"), 3, same),
    "softmax, points": (lambda: classes(THREE, inducing_points=9), 3, same),
}
PROCESSES = [
    name
    for name in CASES
    if any(word in name for word in ("process", "softmax", "counts", "outliers", "propagation"))
]


@functools.cache
def case(name):
    make, n_latents, queries_of = CASES[name]
    posterior = make()
    return posterior, n_latents, queries_of(posterior, QUERIES)


@pytest.fixture(params=CASES)
def each(request):
    return case(request.param)


def check_shapes(posterior, n_latents, queries):
    assert isinstance(posterior, protocol.Posterior)
    latent, joint, n = posterior.latent(queries), posterior.joint(queries), len(queries)
    assert latent.mean.shape == latent.variance.shape == joint.mean.shape == (n, n_latents)
    assert latent.covariance.shape == (n, n_latents, n_latents)
    assert joint.covariance.shape == (n_latents, n, n)
    diagonal = np.diagonal(latent.covariance, axis1=1, axis2=2)
    np.testing.assert_array_equal(diagonal, latent.variance)
    np.testing.assert_allclose(joint.mean, latent.mean, rtol=1e-9, atol=1e-9)
    variances = np.diagonal(joint.covariance, axis1=1, axis2=2).T
    np.testing.assert_allclose(variances, latent.variance, rtol=1e-7, atol=1e-9)


def test_shapes_are_those_of_the_protocol_and_the_joint_has_the_marginals(each):
    check_shapes(*each)


def test_rows_are_answered_one_by_one_as_together(each):
    posterior, _, queries = each
    together, first = posterior.latent(queries), posterior.latent(queries[2:3])
    np.testing.assert_allclose(first.mean[0], together.mean[2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.covariance[0], together.covariance[2], rtol=1e-9, atol=1e-9)


def test_before_rows_is_a_belief_of_the_same_kind_that_knows_less(each):
    posterior, n_latents, queries = each
    prior = posterior.before_rows()
    check_shapes(prior, n_latents, queries)
    before, after = prior.latent(queries), posterior.latent(queries)
    np.testing.assert_allclose(before.mean, before.mean[:1] + 0.0 * before.mean, atol=1e-9)
    assert np.all(before.variance > after.variance)
    again = prior.before_rows().latent(queries)
    np.testing.assert_allclose(again.covariance, before.covariance, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROCESSES)
def test_before_rows_a_process_has_its_kernel_and_an_offset(name):
    posterior, n_latents, queries = case(name)
    covariances = posterior.before_rows().joint(queries).covariance
    kernel_of = [p.kernel for p in posterior.parts] if "separate" in name else [KERNEL] * n_latents
    for K, kernel in zip(covariances, kernel_of, strict=True):
        offset = K - kernel(queries)
        if n_latents == 3 and "points" in name and "softmax" in name:
            continue  # what all classes have in common is left out
        np.testing.assert_allclose(offset, offset[0, 0], atol=1e-6)
        assert offset[0, 0] >= -1e-9


@pytest.mark.parametrize("name", ["linear", "linear, few rows", "process", "separate processes"])
def test_bayes_rule_leads_from_the_prior_to_the_posterior(name):
    """Condition the joint prior of rows and queries on the targets, by dense algebra."""
    posterior, n_latents, queries = case(name)
    if name == "separate processes":
        posterior = SeparateOutputs(tuple(shared(y[:, None]) for y in Y.T))
    rows = WIDE if "few" in name else X
    prior = posterior.before_rows().joint(np.vstack([rows, queries]))
    found = posterior.joint(queries)
    noise = np.broadcast_to(getattr(posterior, "noise_variance", 0.1), n_latents)
    for c in range(n_latents):
        m, K = prior.mean[:, c], prior.covariance[c]
        gain = np.linalg.solve(K[:N, :N] + noise[c] * np.eye(N), K[:N, N:]).T
        expected = m[N:] + gain @ (Y[:, c] - m[:N])
        np.testing.assert_allclose(found.mean[:, c], expected, rtol=1e-6, atol=1e-7)
        left = K[N:, N:] - gain @ K[:N, N:]
        np.testing.assert_allclose(found.covariance[c], left, rtol=1e-6, atol=1e-7)


def classes_with_latent():
    """Every class of inference, and of engines of families, that answers ``latent``."""
    found = set()
    walks = (
        pkgutil.walk_packages(e.__path__, e.__name__ + ".") for e in (inference, process, sparse)
    )
    for module in itertools.chain.from_iterable(walks):
        members = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        found |= {c for _, c in members if hasattr(c, "latent") and c.__module__ == module.name}
    return found - {protocol.Posterior, protocol.WeightedPosterior}


def test_every_class_that_answers_latent_is_held_here():
    made = {type(case(name)[0]) for name in CASES}
    made |= {type(case(name)[0].before_rows()) for name in CASES}
    made |= {type(p.fit) for p in (case(name)[0] for name in CASES) if hasattr(p, "fit")}
    made |= {base for kind in made for base in kind.__mro__}
    # Decoders of latent points and a page's copy of a process answer row by row only.
    rest = {c for c in classes_with_latent() - made if not c.__module__.count("gplvm")}
    # The records of a fit ask their posterior.
    assert rest == {CondensedPosterior, LatentFit, VectorFit}


def test_variances_that_outputs_share_are_not_copied():
    latent = case("process")[0].latent(QUERIES)
    assert latent.variance.strides[1] == 0


def test_values_of_independent_outputs_make_no_blocks_until_asked():
    latent = case("linear")[0].latent(QUERIES)
    assert latent.coupling is None
    off = latent.covariance[:, ~np.eye(3, dtype=bool)]
    np.testing.assert_array_equal(off, 0.0)
