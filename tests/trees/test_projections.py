"""Weighted sums of columns: their directions, their units, and fairness of the draw."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.trees.families import projections

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * [1.0, 10.0, 0.1, 3.0]


def answers(family, rows, tests):
    places = np.arange(len(rows), dtype=np.int32)
    return family.respond(rows, places, tests[None], np.zeros_like(places))


def standardised(tests, unit):
    """Directions (J, D) in units of the columns."""
    S = tests.shape[1] // 2
    directions = np.zeros((len(tests), len(unit)))
    for j, test in enumerate(tests):
        for d, w in zip(test[:S].astype(int), test[S:], strict=True):
            directions[j, d] += w * unit[d]
    return directions


def test_differences_are_differences_to_the_last_bit():
    family = projections.Differences().adapt_to(X)
    tests = family.catalogue()
    i, j = tests[:, 0].astype(int), tests[:, 1].astype(int)
    assert np.all(i != j)
    np.testing.assert_array_equal(answers(family, X, tests), (X[:, i] - X[:, j]).T)


def test_every_pair_is_as_likely():
    family = projections.Differences().adapt_to(X)
    drawn = family.draw(6000, 2, np.random.default_rng(1)).reshape(-1, 4)
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-3


def test_differences_of_many_columns_need_no_list_of_all_pairs():
    family = projections.Differences().adapt_to(np.zeros((1, 50_000)))
    drawn = family.draw(2000, 3, np.random.default_rng(1))
    i, j = drawn[..., 0], drawn[..., 1]
    assert np.all((i >= 0) & (i < j) & (j < 50_000))
    assert stats.kstest((j.ravel() / 50_000) ** 2, "uniform").pvalue > 1e-3


def test_one_column_has_no_differences():
    with pytest.raises(ValueError, match=r"X has only one; use Columns\(\)"):
        projections.Differences().adapt_to(X[:, :1])


def test_the_unit_is_the_standard_deviation_of_what_is_present():
    holed = X.copy()
    holed[RNG.random(X.shape) < 0.2] = np.nan
    np.testing.assert_allclose(
        projections.Projections().adapt_to(holed).unit, np.nanstd(holed, axis=0), rtol=1e-9
    )


@for_each("scale", [1e-322, 1e-300, -1e-160, 1e-160, -1e160, 1e307])
def test_units_neither_overflow_nor_vanish(scale):
    x = np.array([[1.0], [2.0], [4.0]]) * scale
    family = projections.Projections().adapt_to(x)
    if abs(scale) > 1e-300:
        np.testing.assert_allclose(family.unit, np.std([1.0, 2.0, 4.0]) * abs(scale))
    tests = family.draw(1, 3, np.random.default_rng(0))[0]
    assert np.all(np.isfinite(answers(family, x, tests)))


@for_each("value", [0.0, 0.1, -7e200, np.nan])
def test_a_column_that_does_not_vary_has_no_weight(value):
    rows = np.column_stack([X[:, 0], np.full(200, value)])
    family = projections.Projections(n_columns=None).adapt_to(rows)
    tests = family.draw(1, 5, np.random.default_rng(0))[0]
    constant = tests[:, :2] == 1
    assert np.all(tests[:, 2:][constant] == 0.0)
    assert np.all(tests[:, 2:][~constant] != 0.0)


@for_each("n_columns", [2, 3, None])
def test_directions_are_uniform_in_units_of_the_columns(n_columns):
    family = projections.Projections(n_columns=n_columns).adapt_to(X)
    tests = family.draw(3000, 1, np.random.default_rng(2))[:, 0]
    directions = standardised(tests, family.unit)
    S = n_columns or 4
    assert np.all((directions != 0.0).sum(axis=1) == S)
    weights = directions[directions != 0.0]
    assert stats.kstest(weights, "norm").pvalue > 1e-3
    looked_at = (directions != 0.0).sum(axis=0)
    assert stats.chisquare(looked_at).pvalue > 1e-3 or S == 4


def test_few_columns_are_all_looked_at():
    family = projections.Projections(n_columns=3).adapt_to(X[:, :1])
    assert family.draw(1, 2, np.random.default_rng(0)).shape == (1, 2, 2)


def test_orientations_of_a_plane_divide_the_half_circle():
    family = projections.Orientations(n_angles=10).adapt_to(X[:, :2])
    directions = standardised(family.catalogue(), family.unit)
    angles = np.arctan2(directions[:, 1], directions[:, 0]) % np.pi  # of lines
    np.testing.assert_allclose(np.sort(angles), np.pi / 10 * np.arange(10), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)


def test_orientations_of_a_space_hold_each_axis_once():
    family = projections.Orientations(n_angles=6).adapt_to(X)
    directions = standardised(family.catalogue(), family.unit)
    assert len(directions) == 4 + 6 * 4
    assert len(np.unique(directions.round(9), axis=0)) == len(directions)
    np.testing.assert_allclose(directions[:4], np.eye(4)[family.column_order()])
    assert np.all((np.abs(directions[4:]) > 1e-9).sum(axis=1) == 2)


def test_an_axis_is_not_missing_where_another_column_is():
    family = projections.Orientations().adapt_to(X)
    holed = X.copy()
    holed[:, 0] = np.nan
    axes = answers(family, holed, family.catalogue()[:4])
    np.testing.assert_array_equal(np.isnan(axes).all(axis=1), family.column_order() == 0)


def test_every_orientation_is_as_likely():
    family = projections.Orientations(n_angles=4).adapt_to(X[:, :3])
    drawn = family.draw(4000, 3, np.random.default_rng(4)).reshape(-1, 4)
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 9
    assert stats.chisquare(counts).pvalue > 1e-3


@for_each("n_angles", [0, -2, 5])
def test_angles_that_miss_an_axis_are_refused(n_angles):
    with pytest.raises(ValueError, match=f"n_angles must be an even number .* it is {n_angles}"):
        projections.Orientations(n_angles=n_angles)


def test_tests_of_no_column_are_refused():
    with pytest.raises(ValueError, match="n_columns must be at least 1, or None for all; it is 0"):
        projections.Projections(n_columns=0)


@for_each(
    "family",
    [projections.Differences(), projections.Projections(3), projections.Orientations(8)],
    ids=repr,
)
def test_a_family_that_has_seen_no_data_says_so(family):
    with pytest.raises(ValueError, match="seen no data yet") as caught:
        family.draw(1, 1, np.random.default_rng(0))
    assert f"{family!r}.adapt_to(X)" in str(caught.value)


def test_default_tests_grow_with_the_columns():
    assert projections.Projections().adapt_to(X).default_tests() == 10
    assert projections.Projections().adapt_to(np.zeros((2, 401))).default_tests() == 21
