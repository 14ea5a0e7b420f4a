"""Different poses that frames may show."""

import numpy as np

from posterity.vision import PoseModes


def make_modes(probability):
    p = np.array([probability])
    poses = np.arange(p.size, dtype=float).reshape(1, -1, 1, 1) * np.ones((2, 3))
    return PoseModes(p, poses, np.full(poses.shape, 0.5))


def test_frames_with_fewer_modes_are_joined_to_those_with_more():
    one, three = make_modes([1.0]), make_modes([0.5, 0.3, 0.2])
    both = PoseModes.join([one, three])
    assert both.poses.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(both.probability, [[1.0, 0.0, 0.0], [0.5, 0.3, 0.2]])
    for k, own in enumerate((one, three)):
        np.testing.assert_allclose(both[k : k + 1].mean(), own.mean())
        np.testing.assert_allclose(both.interval(0.9)[1][k], own.interval(0.9)[1][0])


def test_modes_of_a_probability_are_listed_and_the_best_always():
    both = PoseModes.join([make_modes([1.0]), make_modes([0.5, 0.3, 0.2])])
    assert len(both.list_probable(0)[0]) == 1
    np.testing.assert_array_equal(both.list_probable(1, 0.25)[0], [0.5, 0.3])
    probability, poses = both.list_probable(1, 0.9)
    np.testing.assert_array_equal(probability, [0.5])
    assert poses.shape == (1, 2, 3)


def test_the_spread_of_the_mixture_is_that_of_its_moments():
    modes = make_modes([0.5, 0.3, 0.2])
    mean = 0.3 + 2 * 0.2
    variance = 0.25 + 0.3 + 4 * 0.2 - mean**2
    np.testing.assert_allclose(modes.mean(), mean)
    np.testing.assert_allclose(modes.standard_deviation(), np.sqrt(variance))
