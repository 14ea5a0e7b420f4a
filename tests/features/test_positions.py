"""Places on an axis agree with those of the data written out row by row."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.features import positions


@for_each("n", [1, 2, 5, 10, 40])
def test_quantiles_are_the_values_at_their_ranks(n):
    x = np.random.default_rng(0).normal(size=23)
    expected = np.quantile(x, (np.arange(n) + 0.5) / n, method="inverted_cdf")
    np.testing.assert_array_equal(positions.compute_quantiles(x, None, n), np.unique(expected))


def test_quantiles_of_weighted_values_are_those_of_repeated_ones():
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=50).round(1), rng.integers(0, 5, 50).astype(float)
    repeated = np.repeat(x, weights.astype(int))
    for n in (1, 3, 7, 20):
        np.testing.assert_array_equal(
            positions.compute_quantiles(x, weights, n),
            positions.compute_quantiles(repeated, None, n),
        )
        np.testing.assert_array_equal(
            positions.compute_cuts(x, weights, n), positions.compute_cuts(repeated, None, n)
        )


@for_each("n", [1, 3, 9])
def test_cuts_part_the_rows_evenly(n):
    x = np.random.default_rng(2).permutation(100) ** 1.5
    below = [(x < cut).sum() for cut in positions.compute_cuts(x, None, n)]
    np.testing.assert_allclose(below, np.arange(1, n + 1) * 100 / (n + 1), atol=1.0)


def test_more_cuts_than_gaps_cut_every_gap_once():
    np.testing.assert_array_equal(
        positions.compute_cuts(np.array([3.0, 1, 1, 2]), None, 50), [1.5, 2.5]
    )


def test_a_cut_between_neighbouring_doubles_parts_them():
    x = np.array([1.0, np.nextafter(1.0, 2.0)])
    (cut,) = positions.compute_cuts(x, None, 3)
    np.testing.assert_array_equal(x >= cut, [False, True])


@for_each("scale", [1.0, 1e-300, 1e305])
def test_spread_is_the_weighted_standard_deviation(scale):
    rng = np.random.default_rng(3)
    x, weights = rng.normal(size=40), rng.integers(0, 4, 40)
    expected = np.repeat(x, weights).std()
    assert positions.compute_spread(x * scale, weights * 1.0) / scale == pytest.approx(
        expected, rel=1e-12
    )


def test_spread_far_from_zero_keeps_its_digits():
    assert positions.compute_spread(1e9 + np.array([0.0, 2.0**-10]), None) == 2.0**-11


def test_spread_of_the_widest_column_is_finite():
    largest = np.finfo(float).max
    assert positions.compute_spread(np.array([-largest, largest]), None) == pytest.approx(largest)


@for_each(("value", "expected"), [(0.0, 1.0), (-3.0, 3.0), (0.1, 0.1)])
def test_spread_of_a_constant_is_its_magnitude(value, expected):
    assert positions.compute_spread(np.full(7, value), None) == expected


def test_spacing_is_the_mean_gap():
    places = np.array([5.0, 1.0, 2.0])
    assert positions.compute_spacing(places, places, None) == pytest.approx(
        np.diff(np.sort(places)).mean()
    )
    assert positions.compute_spacing(places[:1], np.array([1.0, 3.0]), None) == 1.0


def test_labels_have_as_many_digits_as_needed():
    columns = np.array([0, 0, 1])
    assert positions.format_places(columns, np.array([1.5, -0.0, 1.5])) == ["1.5", "0", "1.5"]
    close = positions.format_places(columns, np.array([1.0, 1.0 + 1e-8, 1.0]))
    assert close == ["1", "1.00000001", "1"]
    closest = positions.format_places(columns, np.array([1.0, np.nextafter(1.0, 2.0), 1.0]))
    assert len(set(closest[:2])) == 2
