"""Models with a weight for each training row answer many queries in little memory."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import DualLinearRegression, DualLogisticRegression, KernelLogisticRegression, priors
from posterity.inference.weights import kernel_columns
from posterity.linear import dual

rng = np.random.default_rng(0)
X, QUERIES = rng.normal(size=(40, 2)), rng.normal(size=(2500, 2))
NUMBERS = X[:, 0] + 0.1 * rng.normal(size=40)
CLASSES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=40), [-0.5, 0.5])
sizes = []


def kernel(A, B):
    sizes.append(len(A) * len(B))
    return (1.0 + A @ B.T) ** 2


MODELS = {
    "dual": (DualLinearRegression(kernel), NUMBERS),
    "flat": (DualLinearRegression(kernel, prior=priors.Flat()), NUMBERS),
    "two outputs": (DualLinearRegression(kernel), np.column_stack([NUMBERS, NUMBERS**2])),
    "two classes": (DualLogisticRegression(kernel), CLASSES > 0),
    "three classes": (DualLogisticRegression(kernel), CLASSES),
    "kernel": (KernelLogisticRegression(kernel), CLASSES > 0),
}


@for_each("kind", list(MODELS))
def test_queries_meet_the_training_rows_in_blocks(kind, monkeypatch):
    model, y = MODELS[kind]
    model.fit(X, y)
    whole, together = model.predict_dist(QUERIES), model.predict(QUERIES)
    sizes.clear()
    for module in (dual, kernel_columns):
        monkeypatch.setattr(module, "_BLOCK_VALUES", 400 * len(X))
    blocks = model.predict(QUERIES)
    assert max(sizes) <= 400 * len(X)
    np.testing.assert_allclose(blocks, together, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.predict_dist(QUERIES).mean(), whole.mean(), rtol=1e-9)


def test_noise_of_each_query_goes_with_its_block(monkeypatch):
    model = DualLinearRegression().fit(X, NUMBERS)
    noise = np.linspace(0.0, 1.0, len(QUERIES))
    whole = model.predict_dist(QUERIES, noise_variance=noise).variance()
    monkeypatch.setattr(dual, "_BLOCK_VALUES", 1250 * len(X))
    blocks = model.predict_dist(QUERIES, noise_variance=noise).variance()
    np.testing.assert_allclose(blocks, whole, rtol=1e-10)
    with pytest.raises(ValueError, match="one for each query row"):
        model.predict_dist(QUERIES, noise_variance=noise[:1250])
