"""Statistics merge, shift and weigh exactly as the rows they stand for."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.designs import Statistics


def rows(n=40, m=3, k=2, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    return offset + rng.normal(size=(n, m)), rng.normal(size=(n, k))


def dense(Z, Y, weight=None):
    A = np.hstack([np.ones((len(Z), 1)), Z, Y])
    return A.T @ (A if weight is None else weight[:, None] * A)


@for_each("n", [2, 5, 40])
def test_the_factor_reproduces_the_gram_matrix_of_the_rows(n):
    Z, Y = rows(n)
    np.testing.assert_allclose(
        Statistics.from_rows(Z, Y).gram(), dense(Z, Y), rtol=1e-12, atol=1e-12
    )


@for_each("cuts", [[20], [1, 2, 3], [3, 7, 30], [39]])
def test_merged_pieces_equal_one_shot(cuts):
    Z, Y = rows()
    merged = None
    for Z_part, Y_part in zip(np.split(Z, cuts), np.split(Y, cuts), strict=True):
        part = Statistics.from_rows(Z_part, Y_part)
        merged = part if merged is None else merged.merge(part)
    whole = Statistics.from_rows(Z, Y)
    np.testing.assert_allclose(merged.gram(), whole.gram(), rtol=1e-12, atol=1e-12)
    B_merged, mean_merged, total_merged = merged.compute_centred_factor()
    B, mean, total = whole.compute_centred_factor()
    np.testing.assert_allclose(B_merged.T @ B_merged, B.T @ B, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(mean_merged, mean, rtol=1e-12, atol=1e-14)
    assert total_merged == pytest.approx(total)
    assert merged.count == whole.count == len(Z)


def test_few_rows_of_many_columns_never_become_a_square():
    Z, Y = rows(n=7, m=200, k=1)
    pieces = Statistics.from_rows(Z[:3], Y[:3]).merge(Statistics.from_rows(Z[3:], Y[3:]))
    assert pieces.factor.shape == (7, 202)


def test_many_rows_are_compressed_to_as_many_as_there_are_columns():
    Z, Y = rows(n=500, m=4, k=1)
    assert Statistics.from_rows(Z, Y).factor.shape == (6, 6)


def test_integer_weights_equal_repeated_rows():
    Z, Y = rows()
    weight = np.random.default_rng(1).integers(0, 4, len(Z)).astype(float)
    weighted = Statistics.from_rows(Z, Y, sample_weight=weight)
    repeated = Statistics.from_rows(
        Z.repeat(weight.astype(int), 0), Y.repeat(weight.astype(int), 0)
    )
    np.testing.assert_allclose(weighted.gram(), repeated.gram(), rtol=1e-12, atol=1e-12)
    assert weighted.count == repeated.count


def test_known_noise_divides_and_is_counted():
    Z, Y = rows()
    weight = np.arange(1.0, 41.0)
    noise = np.linspace(0.5, 3.0, 40)
    s = Statistics.from_rows(Z, Y, sample_weight=weight, noise_variance=noise)
    np.testing.assert_allclose(s.gram(), dense(Z, Y, weight / noise), rtol=1e-11, atol=1e-11)
    assert s.log_noise == pytest.approx(np.sum(weight * np.log(noise)))
    assert s.noise_sum == pytest.approx(np.sum(weight * noise))
    assert s.count == weight.sum()


def test_centred_rows_are_those_about_the_weighted_mean():
    Z, Y = rows(offset=5.0)
    weight = np.random.default_rng(2).uniform(0.1, 2.0, len(Z))
    B, mean, total = Statistics.from_rows(Z, Y, sample_weight=weight).compute_centred_factor()
    A = np.hstack([Z, Y])
    true_mean = np.average(A, axis=0, weights=weight)
    np.testing.assert_allclose(mean, true_mean, rtol=1e-13, atol=1e-14)
    C = A - true_mean
    np.testing.assert_allclose(B.T @ B, C.T @ (weight[:, None] * C), rtol=1e-11, atol=1e-12)
    assert total == pytest.approx(weight.sum())


def test_a_large_common_offset_costs_no_digits():
    Z, Y = rows(n=3000)
    far, _, _ = Statistics.from_rows(Z + 1e9, Y).compute_centred_factor()
    exact = (Z + 1e9) - 1e9  # what the shifted doubles really hold
    exact = exact - exact.mean(axis=0)
    np.testing.assert_allclose((far.T @ far)[:3, :3], exact.T @ exact, rtol=1e-9)


def test_constant_columns_are_exactly_zero_about_their_mean():
    Z, Y = rows()
    Z[:, 1] = 0.1
    B, mean, _ = (
        Statistics.from_rows(Z[:11], Y[:11])
        .merge(Statistics.from_rows(Z[11:], Y[11:]))
        .compute_centred_factor()
    )
    np.testing.assert_allclose(B[:, 1], 0.0, atol=1e-15)
    assert mean[1] == pytest.approx(0.1, rel=1e-15)


def test_different_columns_do_not_merge():
    Z, Y = rows()
    with pytest.raises(ValueError, match="same columns"):
        Statistics.from_rows(Z, Y).merge(Statistics.from_rows(Z[:, :2], Y))
