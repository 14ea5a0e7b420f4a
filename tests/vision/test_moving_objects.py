"""An object that moves: it is hidden where it should be, and its box follows it."""

import numpy as np

from posterity.vision.datasets import moving_object, moving_objects


def test_a_moving_object_is_hidden_where_it_should_be():
    scene = moving_object(12, shape=(60, 80), radius=8.0, hidden=((4, 8),))
    assert scene.frames.dtype == np.uint8
    assert scene.visible[[0, 11]].min() == 1.0
    assert scene.visible[6] == 0.0
    sizes = scene.boxes[:, 2:] - scene.boxes[:, :2]
    np.testing.assert_allclose(sizes[:, 1] / sizes[:, 0], sizes[0, 1] / sizes[0, 0])
    again = moving_object(12, shape=(60, 80), radius=8.0, hidden=((4, 8),))
    np.testing.assert_array_equal(scene.frames, again.frames)


def test_a_box_follows_the_surface_of_a_ball_that_turns():
    """The point of the texture that is in front at first stays where the box follows it."""
    scene = moving_objects._Scene(np.random.default_rng(0), 30, (180, 240), 16.0, 0.3, 0.0, 1.0)
    scene.follows, scene.rng = 1.0, np.random.default_rng(1)
    y, x = np.mgrid[:40, :40]
    # A dark dot in front of a bright ball; the first axis of the volume is depth.
    scene.surface = np.full((40, 40, 40), 60.0)
    scene.surface[30:, :, :] -= 120.0 * ((x - 20) ** 2 + (y - 20) ** 2 < 9)
    for t in (10, 20, 29):
        image = np.full((180, 240), 115.0)
        inside = scene._draw_ball(image, t)
        dark = np.argwhere(inside & (image < 80))
        box = scene.compute_box(t)
        middle = 0.5 * (box[:2] + box[2:])
        np.testing.assert_allclose(dark.mean(axis=0)[::-1] + 0.5, middle, atol=1.5)
