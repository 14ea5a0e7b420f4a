"""The design read from chunks: a few blocks in memory, and the same rows at every pass."""

import tracemalloc

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs

ROWS, D, N = 4_000, 20, 200_000


def made_on_the_way(n=N):
    for start in range(0, n, ROWS):
        X = np.random.default_rng(start).standard_normal((min(ROWS, n - start), D))
        yield X, X[:, 0]


@for_each("weighted", [False, True])
def test_gram_of_a_stream_holds_only_a_few_blocks(weighted):
    Z = designs.Streamed(designs.Chunks.from_iterable(made_on_the_way))
    weights = np.ones(Z.n_rows) if weighted else None
    tracemalloc.start()
    Z.gram(weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * ROWS * D * 8


def test_rows_of_arrays_look_at_no_other_rows():
    X = np.full((100, 2), np.nan)
    X[0] = X[40:50] = 1.0
    Z = designs.Streamed(designs.Chunks.from_arrays(X, rows=7))
    np.testing.assert_array_equal(Z.rows(40, 50), np.ones((10, 2)))


def test_a_generator_is_refused_with_what_to_do():
    chunks = designs.Chunks.from_iterable(made_on_the_way(ROWS))
    with pytest.raises(ValueError, match=r"a design needs.*a function that returns a new"):
        designs.Streamed(chunks)


@for_each("later", [3, 7])
def test_a_source_that_changes_between_passes_is_noticed(later):
    sizes = iter([5, 5, later])
    supply = designs.Chunks.from_iterable(lambda: [(np.ones((next(sizes), 2)), None)])
    Z = designs.Streamed(supply)
    assert Z.n_rows == 5
    with pytest.raises(ValueError, match="had 5 rows before and now has a different number"):
        Z @ np.ones(2)
