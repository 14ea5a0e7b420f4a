"""A sample of rows is uniform, whole, and does not depend on the blocks."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.designs import Chunks


def numbered(n, rows):
    t = np.arange(n, dtype=float)
    return Chunks.from_arrays(t[:, None] * [1.0, 10.0], t, t + 1.0, rows=rows)


def test_rows_stay_whole_and_are_drawn_without_replacement():
    sample = numbered(500, 64).sample(100, np.random.default_rng(0))
    assert sample.X.shape == (100, 2)
    assert len(np.unique(sample.y)) == 100
    np.testing.assert_array_equal(sample.X, sample.y[:, None] * [1.0, 10.0])
    np.testing.assert_array_equal(sample.sample_weight, sample.y + 1.0)


def test_parts_that_are_missing_stay_missing():
    sample = Chunks.from_arrays(np.ones((9, 2))).sample(4, np.random.default_rng(0))
    assert sample.y is None
    assert sample.sample_weight is None


def test_every_row_is_equally_likely():
    rng = np.random.default_rng(0)
    chunks, counts = numbered(20, 7), np.zeros(20)
    for _ in range(800):
        counts[chunks.sample(5, rng).y.astype(int)] += 1
    # Indicators of a sample of 5 of 20 have covariance 5/20 * 15/19 * (I - 11^T / 20).
    statistic = np.sum((counts - 200.0) ** 2) / (800 * 5 / 20 * 15 / 19)
    assert stats.chi2(19).sf(statistic) > 1e-3


def test_every_pair_of_rows_is_equally_likely():
    rng = np.random.default_rng(1)
    chunks, counts = numbered(6, 4), np.zeros((6, 6))
    for _ in range(1000):
        counts[tuple(np.sort(chunks.sample(2, rng).y.astype(int)))] += 1
    assert stats.chisquare(counts[np.triu_indices(6, 1)]).pvalue > 1e-3


@for_each("rows", [1, 7, 64, 500])
def test_the_sample_does_not_depend_on_the_blocks(rows):
    one, other = (numbered(500, r).sample(20, np.random.default_rng(3)) for r in (100, rows))
    np.testing.assert_array_equal(one.y, other.y)


def test_fewer_rows_than_asked_for_are_all_taken():
    sample = numbered(5, 2).sample(100, np.random.default_rng(0))
    np.testing.assert_array_equal(sample.y, np.arange(5.0))


def test_a_generator_cannot_be_sampled():
    chunks = Chunks.from_iterable((np.ones((2, 2)), None) for _ in range(2))
    with pytest.raises(ValueError, match=r"a sample needs another pass.*a function that returns"):
        chunks.sample(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="n=0 must be a whole number"):
        numbered(5, 2).sample(0, np.random.default_rng(0))
