"""Candidates that are not the rows: every engine sees the same columns about them."""

from dataclasses import replace

import numpy as np
import pytest
from sparse_support import latent_engine
from sparse_support import normal_engine as engine_of
from support.for_each import for_each

from posterity import designs, kernels, likelihoods
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import kernel_search
from posterity.sparse.engines import ColumnEngine

KERNEL = kernels.RBF(0.8)
POOL = np.linspace(-2.9, 2.8, 9)[:, None]


def rows(n=120):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n), rng


def normal_engine():
    X, y, rng = rows()
    return engine_of(X, y, rng, pool=POOL)


def class_engine(n_classes=2, own=False):
    X, y, rng = rows()
    codes = np.digitize(y, [0.0, 0.6][: n_classes - 1]).astype(float)
    likelihood = likelihoods.Bernoulli() if n_classes == 2 else likelihoods.Categorical(n_classes)
    targets = RowTargets.from_observations(codes, None, likelihood, offset=True)
    return latent_engine(X, targets, rng, own=own, pool=POOL)


ENGINES = {
    "values": normal_engine,
    "two classes": class_engine,
    "three classes": lambda: class_engine(3),
    "own vectors": lambda: class_engine(3, own=True),
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
    half = engine.select_rows(np.arange(60))
    assert half.pool is POOL
    assert len(half.rows) == 60


@pytest.mark.parametrize("make", [normal_engine, class_engine], ids=["values", "classes"])
def test_a_climb_begins_at_the_evidence_of_the_chosen_columns(make):
    engine = make()
    fitted = chosen, _ = engine.select(KERNEL, None, coarse=False)
    climb = engine.climb(KERNEL, np.ones(1, dtype=bool), fitted)
    x = np.append(np.log(chosen.precision), KERNEL.theta)
    assert -climb(x)[0] == pytest.approx(chosen.value, rel=1e-6)


@for_each("weighted", [True, False])
def test_a_design_of_the_columns_leads_to_the_same_vectors(weighted):
    engine = class_engine()
    w = np.random.default_rng(1).uniform(0.5, 2.0, 120) if weighted else None
    outputs = replace(engine.outputs, targets=replace(engine.outputs.targets, weights=w))
    rowwise = replace(engine, outputs=outputs)
    design = ColumnEngine(designs.Dense(KERNEL(engine.rows, POOL)), outputs, engine.problem)
    assert design.outputs.total_weight == pytest.approx(120.0 if w is None else w.sum())
    given = [kernel_search.fit_given_kernel(engine, KERNEL) for engine in (rowwise, design)]
    fewer = [
        kernel_search.limit_vectors(engine, found, 2)
        for engine, found in zip((rowwise, design), given, strict=True)
    ]
    for one, other in (given, fewer):
        assert sorted(one.chosen.places) == sorted(other.chosen.places)
        assert one.chosen.value == pytest.approx(other.chosen.value, abs=1e-2)
