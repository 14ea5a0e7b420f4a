"""Where latent points may lie: free, or on a function of the outputs."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from support.for_each import for_each

from posterity import kernels
from posterity.latent.gplvm import placements, search, terms

RNG = np.random.default_rng(0)
B = RNG.normal(size=(12, 4))
CASES = [placements.FreePlacement(12, 2), placements.MappedPlacement(B, 2)]


@for_each("placement", CASES)
def test_pulling_back_is_the_adjoint_of_placing(placement):
    weights, dX = RNG.normal(size=placement.size), RNG.normal(size=(12, 2))
    X = placement.points(weights)
    assert np.sum(X * dX) == pytest.approx(weights @ placement.pull_back(dX))


@for_each("placement", CASES)
def test_points_that_can_be_reached_are_where_the_search_starts(placement):
    X = placement.points(RNG.normal(size=placement.size))
    np.testing.assert_allclose(placement.points(placement.start(X)), X, atol=1e-4)


def test_a_start_that_cannot_be_reached_is_the_nearest():
    X = RNG.normal(size=(12, 2))
    expected = B @ np.linalg.lstsq(B, X)[0]
    placement = placements.MappedPlacement(B, 2)
    np.testing.assert_allclose(placement.points(placement.start(X)), expected, atol=1e-4)


def test_features_that_repeat_each_other_have_a_start():
    placement = placements.MappedPlacement(np.repeat(B, 2, axis=1), 2)
    X = B @ RNG.normal(size=(4, 2))
    np.testing.assert_allclose(placement.points(placement.start(X)), X, atol=1e-4)


def test_mapped_by_the_identity_is_free():
    free, mapped = placements.FreePlacement(12, 2), placements.MappedPlacement(np.eye(12), 2)
    x = RNG.normal(size=24)
    assert free.size == mapped.size
    np.testing.assert_array_equal(free.points(x), mapped.points(x))
    np.testing.assert_array_equal(
        free.pull_back(x.reshape(12, 2)), mapped.pull_back(x.reshape(12, 2))
    )
    X = RNG.normal(size=(12, 2))
    np.testing.assert_allclose(free.start(X), mapped.start(X), rtol=2e-6)


def test_the_gradient_of_a_search_reaches_the_weights():
    placement = placements.MappedPlacement(B, 2)
    objective = search.LatentPointProblem((terms.StandardNormalPrior(),), placement, 24).objective()
    x = RNG.normal(size=placement.size)
    numeric = approx_fprime(x, lambda w: objective(w)[0], 1e-6)
    np.testing.assert_allclose(objective(x)[1], numeric, rtol=1e-4, atol=1e-4)


def test_back_features_have_the_inner_products_of_the_kernel():
    rows, Y = RNG.normal(size=(30, 3)), RNG.normal(size=(5, 3))
    kernel = kernels.RBF(2.0)
    F, F_rows = (placements.compute_back_features(kernel, rows, Z) for Z in (Y, rows))
    np.testing.assert_array_equal(F[:, -1], 1.0)
    np.testing.assert_allclose(F[:, :-1] @ F_rows[:, :-1].T, kernel(Y, rows), atol=1e-4)


def test_back_features_of_a_row_do_not_depend_on_its_company():
    rows = RNG.normal(size=(30, 3))
    together = placements.compute_back_features(kernels.RBF(), rows, rows)
    alone = placements.compute_back_features(kernels.RBF(), rows, rows[4:5])
    np.testing.assert_allclose(together[4:5], alone, rtol=1e-10, atol=1e-12)


def test_an_unset_length_is_that_of_the_reference_rows():
    rows, Y = RNG.normal(size=(30, 3)), 100.0 * RNG.normal(size=(5, 3))
    started = kernels.RBF().start(rows)
    np.testing.assert_array_equal(
        placements.compute_back_features(kernels.RBF(), rows, Y),
        placements.compute_back_features(started, rows, Y),
    )


def test_equal_rows_have_features():
    rows = np.repeat(RNG.normal(size=(5, 3)), 4, axis=0)
    assert np.isfinite(placements.compute_back_features(kernels.RBF(), rows, rows)).all()
