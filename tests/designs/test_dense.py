"""The design in memory: no copies where none are needed."""

import tracemalloc

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs


def test_float64_is_kept_and_other_numbers_are_converted():
    Z = np.ones((3, 2))
    assert designs.Dense(Z).Z is Z
    assert designs.Dense(np.ones((3, 2), dtype=np.int32)).Z.dtype == np.float64


def test_a_vector_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\).*reshape"):
        designs.Dense(np.ones(3))


def test_blocks_and_rows_are_views():
    Z = designs.Dense(np.ones((300_000, 8)))
    blocks = list(Z.blocks())
    assert len(blocks) > 2
    assert all(np.shares_memory(block, Z.Z) for _, block in blocks)
    assert np.shares_memory(Z.rows(5, 9), Z.Z)


def test_weighted_gram_over_several_blocks_matches_einsum():
    rng = np.random.default_rng(0)
    Z, weights = rng.standard_normal((300_000, 8)), rng.uniform(size=300_000)
    expected = np.einsum("ni,n,nj->ij", Z, weights, Z)
    np.testing.assert_allclose(designs.Dense(Z).gram(weights), expected, rtol=1e-10, atol=1e-6)


@for_each("weighted", [False, True])
def test_gram_does_not_copy_the_matrix(weighted):
    Z = designs.Dense(np.ones((400_000, 16)))
    weights = np.ones(400_000) if weighted else None
    tracemalloc.start()
    Z.gram(weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < Z.Z.nbytes / 4
