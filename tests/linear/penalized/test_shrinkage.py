"""The scalar penalised minimum, against brute force and against many digits."""

import math

import mpmath
import numpy as np
import pytest
from support.for_each import for_each

from posterity.linear.penalized import descent

POWERS = [0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0]


def cost(w, u, h, lam, q):
    return 0.5 * h * (w - u) ** 2 + lam * np.abs(w) ** q


@for_each("q", POWERS)
@for_each("lam", [1e-3, 0.2, 1.0, 7.0])
def test_no_point_of_a_fine_grid_is_better(q, lam):
    for u, h in [(0.1, 1.0), (-1.3, 0.5), (2.0, 1.0), (5.0, 3.0)]:
        w = descent.shrink_weights(u, h, lam, q)
        grid = np.append(np.linspace(-0.5 * abs(u), 1.5 * abs(u), 20_001) * np.sign(u), 0.0)
        assert cost(w, u, h, lam, q) <= cost(grid, u, h, lam, q).min() * (1.0 + 1e-12)


@for_each("q", [0.1, 0.5, 0.99, 1.01, 1.2, 1.5, 1.9, 2.1, 3.0, 8.0])
@for_each("k", [1e-6, 0.03, 0.4, 3.0, 1e5])
def test_the_root_is_right_to_rounding(q, k):
    w = descent.shrink_weights(1.0, 1.0, k, q)
    if w == 0.0:
        assert q < 1.0 or (q == 1.01 and k == 1e5)  # the root is 1e-500
        return
    with mpmath.workdps(60):
        x, p = mpmath.mpf(w), mpmath.mpf(q)
        for _ in range(30):  # Newton in log x, which cannot leave the positive numbers
            slope = k * p * x ** (p - 1)
            x *= mpmath.exp(-(x - 1 + slope) / (x + (p - 1) * slope))
        assert abs(float((w - x) / x)) < 4e-16 / min(abs(q - 1.0), 0.5)


@for_each("q", [0.2, 0.5, 0.8, 1.0])
def test_below_the_threshold_it_is_exactly_zero_and_above_it_jumps(q):
    h, lam = np.array([2.0]), np.array([0.7])
    edge = float(descent.zero_threshold(h, lam, q)[0])
    assert descent.shrink_weights(-edge * (1.0 - 1e-9), 2.0, 0.7, q) == 0.0
    above = descent.shrink_weights(edge * (1.0 + 1e-9), 2.0, 0.7, q)
    assert above > 0.0
    assert above / edge == pytest.approx(2.0 * (1.0 - q) / (2.0 - q), abs=1e-6)


def test_the_jump_of_the_root_penalty_is_the_known_one():
    """The threshold of q = 1/2 is (3/2) lam^(2/3) (Xu et al. 2012)."""
    np.testing.assert_allclose(
        descent.zero_threshold(np.ones(1), np.full(1, 0.6), 0.5), 1.5 * 0.6 ** (2 / 3)
    )


def test_above_power_one_nothing_is_silenced():
    assert descent.zero_threshold(np.ones(3), np.full(3, 5.0), 1.5).tolist() == [0.0, 0.0, 0.0]
    assert descent.shrink_weights(1e-3, 1.0, 5.0, 1.5) > 0.0


@for_each("q", POWERS)
def test_it_is_odd_and_scales_with_u(q):
    w = descent.shrink_weights(1.7, 1.3, 0.4, q)
    assert descent.shrink_weights(-1.7, 1.3, 0.4, q) == -w
    scaled = descent.shrink_weights(1.7e3, 1.3, 0.4 * 1e3 ** (2.0 - q), q)
    assert scaled == pytest.approx(1e3 * w, rel=1e-12)


@for_each("q", POWERS)
@for_each("u", [1e-300, 1e-30, 1e30, 1e150])
def test_extreme_values_stay_between_zero_and_u(q, u):
    for lam in (1e-200, 1.0, 1e200):
        assert 0.0 <= descent.shrink_weights(u, 1.0, lam, q) <= u


def test_zero_has_no_sign_and_no_penalty_changes_nothing():
    assert math.copysign(1.0, descent.shrink_weights(-0.1, 1.0, 1.0, 1.0)) == 1.0
    assert descent.shrink_weights(-0.1, 1.0, 0.0, 0.5) == -0.1
    assert descent.shrink_weights(0.0, 1.0, 1.0, 0.5) == 0.0
