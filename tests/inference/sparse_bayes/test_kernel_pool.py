"""Candidates that are not the rows: every engine sees the same columns about them."""

from dataclasses import replace

import numpy as np
import pytest

from posterity import designs, kernels, likelihoods, priors
from posterity.inference.sparse_bayes import budget, kernel_search
from posterity.inference.sparse_bayes.kernel_design import DesignEngine
from posterity.inference.sparse_bayes.kernel_laplace import LaplaceEngine, PairEngine
from posterity.inference.sparse_bayes.kernel_normal import NormalEngine
from posterity.inference.weights.targets import RowTargets

KERNEL = kernels.RBF(0.8)
POOL = np.linspace(-2.9, 2.8, 9)[:, None]


def rows(n=120):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n), rng


def normal_engine():
    X, y, rng = rows()
    return NormalEngine(X, y[:, None], None, True, None, priors.Sparse(), rng, pool=POOL)


def class_engine(kind=LaplaceEngine, n_classes=2):
    X, y, rng = rows()
    codes = np.digitize(y, [0.0, 0.6][: n_classes - 1]).astype(float)
    likelihood = likelihoods.Bernoulli() if n_classes == 2 else likelihoods.Categorical(n_classes)
    targets = RowTargets.of(codes, None, likelihood, offset=True)
    return kind(X, targets, True, priors.Sparse(), rng, pool=POOL)


ENGINES = {
    "values": normal_engine,
    "two classes": class_engine,
    "three classes": lambda: class_engine(LaplaceEngine, 3),
    "own vectors": lambda: class_engine(PairEngine, 3),
}
each_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)


@each_engine
def test_places_are_those_among_the_candidates(make):
    engine = make()
    found = kernel_search.fit_given_kernel(engine, KERNEL)
    assert 1 < len(found.chosen.places) <= len(POOL)
    K = KERNEL(engine.rows, POOL[found.chosen.places])
    np.testing.assert_allclose(found.chosen.center, K.mean(axis=0))
    np.testing.assert_allclose(found.chosen.scale, K.std(axis=0))
    half = engine.among(np.arange(60))
    assert half.candidates is POOL
    assert len(half.rows) == 60


@pytest.mark.parametrize("make", [normal_engine, class_engine], ids=["values", "classes"])
def test_a_climb_begins_at_the_evidence_of_the_chosen_columns(make):
    engine = make()
    fitted = engine.maximise(KERNEL, None, coarse=False)
    climb = engine.climb(KERNEL, np.ones(1, dtype=bool), fitted)
    x = np.append(np.log(fitted.chosen.precision), KERNEL.theta)
    assert -climb(x)[0] == pytest.approx(fitted.chosen.value, rel=1e-6)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_design_of_the_columns_leads_to_the_same_vectors(weighted):
    engine = class_engine()
    w = np.random.default_rng(1).uniform(0.5, 2.0, 120) if weighted else None
    targets = replace(engine.targets, weights=w)
    rowwise = replace(engine, targets=targets)
    design = DesignEngine(designs.Dense(KERNEL(engine.rows, POOL)), targets, True, priors.Sparse())
    assert design.total_weight == pytest.approx(120.0 if w is None else w.sum())
    for one, other in (
        (
            kernel_search.fit_given_kernel(rowwise, KERNEL),
            kernel_search.fit_given_kernel(design, KERNEL),
        ),
        (
            budget.limit_vectors(rowwise, kernel_search.fit_given_kernel(rowwise, KERNEL), 2),
            budget.limit_vectors(design, kernel_search.fit_given_kernel(design, KERNEL), 2),
        ),
    ):
        assert sorted(one.chosen.places) == sorted(other.chosen.places)
        assert one.chosen.value == pytest.approx(other.chosen.value, abs=1e-2)
