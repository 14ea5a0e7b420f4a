"""Powers of two: exact, in range, and of the right size."""

import numpy as np
from support.for_each import for_each

from posterity.linalg import scaling


@for_each("magnitude", [5e-324, 1e-300, 0.3, 1.0, 1.5, 2.0**10, 1e300, 1.7e308])
def test_scales_are_powers_of_two_whose_reciprocals_are_finite(magnitude):
    scale = scaling.power_of_two_scales(np.array([magnitude]))
    assert np.frexp(scale)[0] == 0.5
    assert np.all(np.isfinite([scale, 1.0 / scale]))
    assert np.all(1.0 / (1.0 / scale) == scale)


@for_each("magnitude", [1e-300, 0.3, 1.0, 1.5, 2.0**10, 1e300])
def test_scaled_magnitudes_lie_between_one_half_and_one(magnitude):
    scaled = magnitude * scaling.power_of_two_scales(np.array([magnitude]))
    assert 0.5 <= scaled < 1.0


@for_each("magnitude", [5e-324, 1.7e308])
def test_squares_of_scaled_magnitudes_are_in_range(magnitude):
    scaled = magnitude * scaling.power_of_two_scales(np.array([magnitude]))
    assert 1e-50 < scaled**2 < 1e50


def test_zero_is_left_alone():
    np.testing.assert_array_equal(scaling.power_of_two_scales(np.zeros(2)), 1.0)


def test_magnitudes_count_either_sign():
    A = np.array([[1.0, -5.0], [-3.0, 2.0]])
    np.testing.assert_array_equal(scaling.column_magnitudes(A), [3.0, 5.0])
    np.testing.assert_array_equal(scaling.column_magnitudes(np.empty((0, 2))), [0.0, 0.0])
