"""No more vectors than are allowed, and those that are left learn from all rows."""

import numpy as np
import pytest
from sparse_support import latent_engine
from sparse_support import normal_engine as engine_of
from support.for_each import for_each

from posterity import kernels, likelihoods
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import kernel_search

KERNEL = kernels.RBF(0.3).fixed()


def rows(n=120):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3.0, 3.0, (n, 1)), axis=0)
    return X, np.sin(4.0 * X[:, 0]), rng


def normal_engine():
    X, f, rng = rows()
    y = f + 0.05 * rng.normal(size=len(f))
    return engine_of(X, y, rng)


def class_engine(n_classes):
    X, f, rng = rows()
    g = f + 0.3 * rng.normal(size=len(f))
    y = np.clip(np.floor((g + 1.0) * n_classes / 2.0), 0, n_classes - 1)
    likelihood = likelihoods.Bernoulli() if n_classes == 2 else likelihoods.Categorical(n_classes)
    targets = RowTargets.from_observations(y, None, likelihood, offset=True)
    return latent_engine(X, targets, rng, own=n_classes > 2)


ENGINES = {
    "normal": normal_engine,
    "two classes": lambda: class_engine(2),
    "three classes": lambda: class_engine(3),
}
each_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)


def learned(engine):
    return kernel_search.learn_kernel(engine, KERNEL, rng=np.random.default_rng(0))


@each_engine
@for_each("most", [1, 3])
def test_there_are_no_more_vectors_than_allowed(make, most):
    engine = make()
    free = learned(engine)
    assert len(free.chosen.places) > most
    few = kernel_search.limit_vectors(engine, free, most)
    assert len(few.chosen.places) <= most
    assert len(np.unique(few.chosen.places)) == len(few.chosen.places)
    assert "max_vectors" in few.chosen.stop_reason or not len(few.chosen.places)


@each_engine
def test_a_model_within_the_limit_stays_as_it_is(make):
    engine = make()
    free = learned(engine)
    assert kernel_search.limit_vectors(engine, free, len(free.chosen.places)) is free


def test_what_is_chosen_has_the_largest_evidence_that_all_rows_give_it():
    engine = normal_engine()
    few = kernel_search.limit_vectors(engine, learned(engine), 6)
    alone = engine.confine(few.chosen.places).select(KERNEL, None, coarse=False)[0]
    assert few.chosen.value == pytest.approx(alone.value, abs=0.1)
    X, f, _ = rows()
    Z = (KERNEL(X, X[few.chosen.places]) - few.chosen.center) / few.chosen.scale
    y = engine.outputs.Y[:, 0] - engine.outputs.Y[:, 0].mean()
    w = np.linalg.solve(Z.T @ Z + np.diag(few.chosen.precision), Z.T @ y)
    assert np.mean((Z @ w - f + f.mean()) ** 2) < 0.5 * np.var(f)
