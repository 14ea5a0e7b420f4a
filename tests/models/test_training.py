"""Rows that count: absent, merged, repeated, and still called by their numbers."""

import numpy as np
import pytest

from posterity.models import Training

ROWS = np.array([[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
Y = np.array([[7.0], [0.0], [1.0], [0.0], [1.0], [1.0]])


def training(weights=(0.0, 1.0, 2.0, 3.0, 1.0, 0.5), known=None, rows=ROWS):
    return Training.from_present_rows(rows, Y, np.asarray(weights), known)


def test_rows_of_weight_zero_are_absent():
    present = training()
    np.testing.assert_array_equal(present.rows, ROWS[1:])
    np.testing.assert_array_equal(present.Y, Y[1:])
    np.testing.assert_array_equal(present.weights, [1.0, 2.0, 3.0, 1.0, 0.5])
    np.testing.assert_array_equal(present.numbers, [1, 2, 3, 4, 5])


def test_the_rows_are_copied():
    rows = ROWS.copy()
    present = training(rows=rows)
    rows[:] = 0.0
    np.testing.assert_array_equal(present.rows, ROWS[1:])


def test_rows_equal_in_all_but_weight_are_made_one_in_the_order_of_their_first():
    merged = training().merge_equal_rows()
    np.testing.assert_array_equal(merged.rows, [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    np.testing.assert_array_equal(merged.Y[:, 0], [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(merged.weights, [4.0, 2.5, 1.0])
    np.testing.assert_array_equal(merged.places, [0, 1, 0, 2, 1])
    np.testing.assert_array_equal(merged.rows[merged.places], ROWS[1:])
    np.testing.assert_array_equal(merged.Y[merged.places], Y[1:])


def test_rows_of_different_known_noise_are_not_equal():
    known = np.array([1.0, 1.0, 2.0, 5.0, 1.0, 2.0])
    merged = training(known=known).merge_equal_rows()
    np.testing.assert_array_equal(merged.known_noise, [1.0, 2.0, 5.0, 1.0])
    np.testing.assert_array_equal(merged.weights, [1.0, 2.5, 3.0, 1.0])


def test_rows_all_different_and_objects_are_left_alone():
    different = training((0.0, 1.0, 1.0, 0.0, 1.0, 0.0))
    assert different.merge_equal_rows() is different
    words = Training.from_present_rows(["a", "b", "a"], np.zeros((3, 1)), np.ones(3), None)
    assert words.merge_equal_rows() is words


def test_each_row_is_repeated_as_often_as_it_counts():
    repeated = training((0.0, 1.0, 2.0, 3.0, 1.0, 1.0)).repeat_rows()
    again = [1, 2, 2, 3, 3, 3, 4, 5]
    np.testing.assert_array_equal(repeated.rows, ROWS[again])
    np.testing.assert_array_equal(repeated.Y, Y[again])
    np.testing.assert_array_equal(repeated.weights, np.ones(8))
    np.testing.assert_array_equal(repeated.places, [0, 1, 3, 6, 7])
    np.testing.assert_array_equal(repeated.rows[repeated.places], ROWS[1:])


def test_repeating_what_was_merged_knows_where_every_row_went():
    weights, known = (0.0, 1.0, 2.0, 3.0, 1.0, 1.0), np.array([1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    repeated = training(weights, known).merge_equal_rows().repeat_rows()
    np.testing.assert_array_equal(repeated.rows[repeated.places], ROWS[1:])
    np.testing.assert_array_equal(repeated.Y[repeated.places], Y[1:])
    np.testing.assert_array_equal(repeated.known_noise[repeated.places], known[1:])
    assert len(repeated.rows) == sum(weights)


def test_objects_are_repeated_too():
    words = Training.from_present_rows(
        ["a", "b", "c"], np.arange(3.0)[:, None], np.array([2, 0, 1.0]), None
    )
    assert words.repeat_rows().rows == ["a", "a", "c"]


def test_a_weight_that_is_no_whole_number_is_refused_by_the_number_of_its_row():
    with pytest.raises(ValueError, match=r"sample_weight is 0.5 in row 5; expectation propagation"):
        training().repeat_rows()
    with pytest.raises(ValueError, match=r"sample_weight is 2.5 in row 2;"):
        training().merge_equal_rows().repeat_rows()


def test_two_targets_at_one_input_are_refused_by_the_numbers_of_their_rows():
    with pytest.raises(ValueError, match="Rows 1 and 4 have equal inputs and different targets"):
        training((0.0, 1.0, 1.0, 1.0, 1.0, 1.0)).require_one_target_per_input()


def test_further_rows_go_on_where_the_others_ended():
    more = training().merge_equal_rows().append_rows(ROWS[:1], Y[:1])
    np.testing.assert_array_equal(more.places, [0, 1, 0, 2, 1, 3])
    np.testing.assert_array_equal(more.numbers, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(more.rows[more.places], np.vstack([ROWS[1:], ROWS[:1]]))
    np.testing.assert_array_equal(more.weights, [4.0, 2.5, 1.0, 1.0])
    with pytest.raises(ValueError, match="y has 2 columns; the model was fitted to 1"):
        more.append_rows(ROWS[:1], np.zeros((1, 2)))


def test_importance_is_weight_over_known_noise():
    known = np.array([1.0, 1.0, 2.0, 5.0, 1.0, 4.0])
    present = training(known=known)
    np.testing.assert_allclose(present.importance, present.weights / known[1:])
    np.testing.assert_array_equal(training().importance, present.weights)
    assert present.mean_known_noise == pytest.approx(np.average(known[1:], weights=present.weights))
    assert training().mean_known_noise is None


def test_a_sample_is_drawn_among_the_rows_as_they_were_given():
    known = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    merged = training(known=known).merge_equal_rows()
    assert merged.sample_rows(5, np.random.default_rng(0)) is merged
    sample = merged.sample_rows(3, np.random.default_rng(0))
    drawn = np.sort(np.random.default_rng(0).choice(5, 3, replace=False))
    np.testing.assert_array_equal(sample.numbers, merged.numbers[drawn])
    np.testing.assert_array_equal(sample.rows[sample.places], ROWS[sample.numbers])
    np.testing.assert_array_equal(sample.Y[sample.places], Y[sample.numbers])
    np.testing.assert_array_equal(sample.known_noise[sample.places], known[sample.numbers])
    assert len(np.unique(np.hstack([sample.rows, sample.Y]), axis=0)) == len(sample.rows)
    assert np.isin(sample.weights, merged.weights).all()


def test_targets_are_observed_in_units_of_their_scale():
    known = np.array([1.0, 1.0, 2.0, 5.0, 1.0, 4.0])
    given = training(known=known)
    held = given.standardise_targets(np.array([0.5]), np.array([2.0]))
    np.testing.assert_allclose(held.observations.Y, (given.Y - 0.5) / 2.0)
    np.testing.assert_allclose(held.observations.spread, known[1:] / 4.0 / given.weights)
    np.testing.assert_array_equal(held.X, given.rows)
    assert given.total_weight == given.weights.sum()
    moments = given.target_moments
    np.testing.assert_allclose(moments.mean, np.average(given.Y, axis=0, weights=given.importance))
