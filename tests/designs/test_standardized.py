"""Columns that are centred and scaled without a copy of them."""

import numpy as np
from support.for_each import for_each

from posterity import designs, linalg

CENTERS = [0.0, 3.0, 1e6]  # the last is too far to be taken from a Gram matrix


def columns(center, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return center + rng.standard_normal((n, 3)) * [1.0, 0.1, 50.0]


@for_each("offset", [True, False])
@for_each("center", CENTERS)
@for_each("weighted", [True, False])
def test_centre_and_scale_are_the_weighted_moments(center, offset, weighted):
    Z = columns(center)
    w = np.random.default_rng(1).integers(0, 3, len(Z)).astype(float) if weighted else None
    design = designs.Standardized.from_design(designs.Dense(Z), w, offset=offset)
    mean = np.average(Z, axis=0, weights=w) * offset
    scale = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(design.center, mean, rtol=1e-12)
    np.testing.assert_allclose(design.scale, scale, rtol=1e-7)


@for_each("offset", [True, False])
@for_each("center", CENTERS)
def test_answers_are_those_of_the_standardised_matrix(center, offset):
    Z, rng = columns(center), np.random.default_rng(2)
    design = designs.Standardized.from_design(
        designs.Streamed(designs.Chunks.from_arrays(Z, rows=7)), offset=offset
    )
    A = (Z - design.center) / design.scale
    A = np.hstack([A, np.ones((len(Z), 1))]) if offset else A
    W, R = rng.standard_normal((A.shape[1], 2)), rng.standard_normal((len(Z), 2))
    h = rng.standard_normal(len(Z))
    np.testing.assert_allclose(design.rows(3, 9), A[3:9], rtol=1e-12)
    np.testing.assert_allclose(design @ W, A @ W, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(design.rmatvec(R), A.T @ R, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(design.gram(h), A.T @ (h[:, None] * A), rtol=1e-8, atol=1e-8)
    (G,) = design.sum_over_parts(lambda part, h: [part.gram(h)], h)
    np.testing.assert_allclose(G, A.T @ (h[:, None] * A), rtol=1e-8, atol=1e-8)


def test_a_far_centre_is_taken_from_the_columns():
    Z = columns(1e9)
    design = designs.Standardized.from_design(designs.Dense(Z), offset=True)
    A = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    np.testing.assert_allclose(design.gram()[:3, :3], A.T @ A, rtol=1e-5, atol=1e-5)


def test_a_column_that_does_not_vary_keeps_its_scale():
    Z = np.column_stack([np.full(5, 0.1), np.arange(5.0)])
    design = designs.Standardized.from_design(designs.Dense(Z), offset=True)
    assert design.scale[0] == 1.0
    np.testing.assert_allclose(design.rows(0, 5)[:, 0], 0.0, atol=1e-15)


def test_threads_share_the_parts_and_change_nothing(monkeypatch):
    Z = np.random.default_rng(0).standard_normal((30_000, 40))
    w = np.random.default_rng(1).standard_normal(40)
    design = designs.Dense(Z)

    def terms(part):
        return [part.rmatvec(np.tanh(part @ w))]

    found = design.sum_over_parts(terms)[0]
    with monkeypatch.context() as one:
        one.setattr(linalg.threads, "available_threads", lambda: 1)
        np.testing.assert_array_equal(found, design.sum_over_parts(terms)[0])
