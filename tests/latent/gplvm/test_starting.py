"""Where a search for latent points begins."""

import numpy as np
import pytest

from posterity.latent.gplvm import placements


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _low_rank(rng, n=40, d=6, rank=2):
    Y = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    return Y - Y.mean(axis=0)


def test_the_start_is_the_principal_scores_with_variance_one(rng):
    Y = _low_rank(rng, rank=4)
    start = placements.find_principal_start(Y, 3, rng)
    U, s, _ = np.linalg.svd(Y, full_matrices=False)
    np.testing.assert_allclose(np.abs(start.X.T @ U[:, :3]) / np.sqrt(40), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(np.mean(start.X**2, axis=0), 1.0)
    np.testing.assert_allclose(start.deviations, s[:3] / np.sqrt(40))


def test_dimensions_past_the_rank_are_faint_but_not_equal(rng):
    start = placements.find_principal_start(_low_rank(rng, rank=1), 3, rng)
    assert np.array_equal(start.deviations > 0.0, [True, False, False])
    spread = start.X.std(axis=0)
    assert spread[0] == pytest.approx(1.0)
    assert np.all((spread[1:] > 0.0) & (spread[1:] < 0.1))


def test_outputs_that_are_all_alike_have_a_start(rng):
    start = placements.find_principal_start(np.zeros((5, 2)), 2, rng)
    assert np.all(np.isfinite(start.X))
    assert not start.deviations.any()


def test_missing_values_of_low_rank_outputs_are_filled_in(rng):
    Y = _low_rank(rng, n=60)
    holes = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    filled = placements.fill_by_components(holes, 2)
    assert np.array_equal(filled[~np.isnan(holes)], Y[~np.isnan(holes)])
    np.testing.assert_allclose(filled, Y, atol=0.02 * np.abs(Y).max())
    U, s, Vt = np.linalg.svd(filled, full_matrices=False)
    again = np.where(np.isnan(holes), (U[:, :2] * s[:2]) @ Vt[:2], Y)
    np.testing.assert_allclose(again, filled, atol=1e-4 * np.abs(Y).max())  # two components


def test_whole_outputs_are_not_copied(rng):
    Y = _low_rank(rng)
    assert placements.fill_by_components(Y, 2) is Y


def test_the_same_rows_start_at_the_same_place(rng):
    Y = _low_rank(rng)
    first, second = (
        placements.find_principal_start(Y, 4, np.random.default_rng(3)).X for _ in range(2)
    )
    assert np.array_equal(first, second)
