import numpy as np
import pytest
from support.for_each import for_each

from posterity.trees.forests import sampling


def total_counts(weights, size, *, bootstrap, repeats=400):
    rng, total = np.random.default_rng(0), np.zeros(len(weights))
    for _ in range(repeats):
        bag = sampling.draw_rows(weights, size, rng, bootstrap=bootstrap)
        total[bag.places] += bag.weights
    return total / repeats


@for_each("weights", [np.ones(20), np.array([0.0, 1.0, 2.5, 6.0, 0.0])])
def test_rows_are_drawn_again_in_proportion_to_their_weight(weights):
    counts = total_counts(weights, 30, bootstrap=True)
    np.testing.assert_allclose(counts, 30 * weights / weights.sum(), atol=0.6)
    assert not counts[weights == 0.0].any()


@for_each("weights", [np.ones(20), np.array([0.0, 1.0, 2.0, 6.0, 0.0, 11.0])])
def test_rows_are_never_drawn_more_often_than_they_are_there(weights):
    bag = sampling.draw_rows(weights, 9, np.random.default_rng(3), bootstrap=False)
    assert bag.weights.sum() == 9.0
    assert (bag.weights <= weights[bag.places]).all()
    counts = total_counts(weights, 9, bootstrap=False)
    np.testing.assert_allclose(counts, 9 * weights / weights.sum(), atol=0.25)


def test_all_rows_are_taken_as_they_are_where_they_are_no_more_than_asked_for():
    rng, weights = np.random.default_rng(0), np.array([0.3, 0.0, 1.9])
    bag = sampling.draw_rows(weights, sampling.sample_size(weights, None), rng, bootstrap=False)
    assert bag.places.tolist() == [0, 2]
    assert bag.places.dtype == np.int32
    assert bag.weights.tolist() == [0.3, 1.9]
    assert rng.random() == np.random.default_rng(0).random()


@for_each("bootstrap", [True, False])
def test_rows_of_a_group_are_drawn_together(bootstrap):
    rng, groups = np.random.default_rng(0), np.arange(60) % 10
    weights = rng.random(60) + 0.1
    bag = sampling.draw_groups(weights, groups, 30, rng, bootstrap=bootstrap)
    times = np.zeros(60)
    times[bag.places] = bag.weights / weights[bag.places]
    by_group = times.reshape(6, 10)
    np.testing.assert_allclose(by_group, np.broadcast_to(by_group[0], (6, 10)))
    assert round(by_group[0].sum()) == 5  # half of the rows, half of the groups
    assert bootstrap or by_group.max() <= 1.0 + 1e-12


def test_parts_of_rows_cannot_be_drawn_without_replacement():
    with pytest.raises(ValueError, match="whole numbers"):
        sampling.draw_rows(np.full(9, 0.5), 2, np.random.default_rng(0), bootstrap=False)


def test_a_product_rounded_up_to_the_total_still_draws_a_row_that_is_there():
    class Highest:
        def random(self, size):
            return np.ones(size)

    bag = sampling.draw_rows(np.array([1.0, 2.0, 0.0]), 4, Highest(), bootstrap=True)
    assert bag.places.tolist() == [1]


def test_weights_that_are_not_whole_are_relative():
    weights = np.array([0.1, 0.2, 0.0, 0.7])
    assert sampling.sample_size(weights, None) == 3
    bag = sampling.draw_rows(weights, 3, np.random.default_rng(0), bootstrap=True)
    assert bag.weights.sum() == 3.0
    assert 2 not in bag.places


def test_huge_weights_are_drawn_by_their_counts():
    weights = np.array([1e12, 3e12])
    bag = sampling.draw_rows(
        weights, sampling.sample_size(weights, None), np.random.default_rng(0), bootstrap=True
    )
    assert bag.weights.sum() == 4e12
    assert bag.weights[1] / bag.weights[0] == pytest.approx(3.0, rel=1e-4)
    with pytest.raises(ValueError, match="more than can be drawn"):
        sampling.sample_size(np.array([1e300, 1.0]), None)
