"""Displays of tracks: the box, the ellipse, and the probability over time."""

import numpy as np
import pytest

from posterity import vision


def make_display(n=4):
    boxes = [np.array([10.0 + k, 5.0, 30.0 + k, 25.0]) for k in range(n)]
    found = [
        vision.TrackedBox(box, np.diag([4.0, 1.0, 0.1]), 1.0 - 0.3 * k)
        for k, box in enumerate(boxes)
    ]
    frames = np.full((n, 40, 60), 128, dtype=np.uint8)
    return vision.displays.TrackDisplay.from_track(frames, found, objects=boxes)


def test_box_and_ellipse_are_at_pixel_centres():
    axes = make_display().plot_frame(1)
    known, box, ellipse = (line.get_xydata() for line in axes.lines)
    np.testing.assert_allclose(known, box)
    assert box[:, 0].min() == 10.5
    np.testing.assert_allclose(ellipse.mean(axis=0), [20.5, 14.5], atol=0.2)


def test_probability_and_radius_over_time():
    display = make_display()
    axes = display.plot_probability()
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1.0, 0.7, 0.4, 0.1])
    assert len(display.plot([0, 3]).axes) == 4


def test_each_frame_needs_a_box():
    with pytest.raises(ValueError, match="2 frames but 1 boxes"):
        vision.displays.TrackDisplay.from_track(
            np.zeros((2, 4, 4), np.uint8), make_display(1).found
        )
