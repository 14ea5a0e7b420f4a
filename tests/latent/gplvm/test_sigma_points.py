"""Points that stand for a standard normal distribution."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.latent.gplvm import locating


@for_each(("n_dimensions", "degree"), [(1, 17), (2, 17), (3, 11), (4, 7), (5, 3), (9, 3)])
def test_averages_of_polynomials_are_exact(n_dimensions, degree):
    points, weights = locating.standard_rule(n_dimensions)
    direction = np.ones(n_dimensions) / np.sqrt(n_dimensions)
    for power in range(degree + 1):
        exact = 0.0 if power % 2 else np.prod(np.arange(power - 1, 0, -2, dtype=float))
        assert weights @ (points @ direction) ** power == pytest.approx(exact, rel=1e-9, abs=1e-6)


@for_each("n_dimensions", [1, 2, 3, 4])
def test_waves_within_the_distribution_are_averaged_well(n_dimensions):
    points, weights = locating.standard_rule(n_dimensions)
    direction = np.ones(n_dimensions) / np.sqrt(n_dimensions)
    wave = weights @ np.cos(2.0 * points @ direction + 0.3)
    assert wave == pytest.approx(np.exp(-2.0) * np.cos(0.3), abs=1e-3)
