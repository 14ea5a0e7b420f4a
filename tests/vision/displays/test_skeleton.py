"""Joints are drawn where the camera sees them, and ellipses hold their share."""

import numpy as np
import pytest

from posterity import vision
from posterity.vision import bodies


def test_joints_in_an_image_are_where_the_camera_sees_them():
    camera = bodies.Camera(24, 32, 28.5)
    positions = np.tile([0.0, 0.0, 2.0], (16, 1))
    positions[3], positions[5] = np.nan, (0.5, -0.25, 2.0)
    joints = vision.Joints(positions, np.linspace(0.0, 1.0, 16))
    display = vision.displays.SkeletonDisplay.from_joints(
        joints, camera=camera, image=np.zeros((24, 32), np.uint8), min_probability=0.1
    )
    # The middle of the image is the corner of four pixels.
    np.testing.assert_allclose(display.positions[2], [15.5, 11.5])
    np.testing.assert_allclose(display.positions[5], [15.5 + 28.5 / 4, 11.5 - 28.5 / 8])
    assert np.isnan(display.positions[[0, 1, 3]]).all()
    axes = display.plot()
    assert len(axes.texts) == 13
    assert axes.get_xlim() == (-0.5, 31.5)


def test_a_viewer_who_walks_around_sees_forward_as_left_and_then_as_mirrored():
    display = vision.displays.SkeletonDisplay.from_positions([[1.0, 2.0, -3.0]], [])
    np.testing.assert_allclose(display.project(), [[1.0, 2.0]])
    np.testing.assert_allclose(display.project(turn=90.0), [[-3.0, 2.0]], atol=1e-15)
    np.testing.assert_allclose(display.project(turn=180.0), [[-1.0, 2.0]])


def test_ellipses_contain_their_share_of_draws():
    from matplotlib.path import Path

    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    cov = root @ root.T
    display = vision.displays.SkeletonDisplay.from_positions(
        [[1.0, 2.0, 3.0]], [], covariance=[cov]
    )
    axes = display.plot(turn=30.0, coverage=0.8)
    outline = Path(axes.patches[0].get_xy())
    draws = rng.multivariate_normal([1.0, 2.0, 3.0], cov, size=4000)
    seen = vision.displays.SkeletonDisplay.from_positions(draws, []).project(turn=30.0)
    assert outline.contains_points(seen).mean() == pytest.approx(0.8, abs=0.02)


def test_bones_of_missing_joints_are_not_drawn():
    places = [[0.0, 0.0], [1.0, 1.0], [np.nan, np.nan]]
    axes = vision.displays.SkeletonDisplay.from_positions(places, [(0, 1), (1, 2)]).plot()
    assert len(axes.lines) == 1
    assert axes.yaxis_inverted()


def test_bones_connect_all_joints_of_a_body():
    reached = {0}
    for _ in bodies.JOINTS:
        reached |= {b for a, b in bodies.BONES if a in reached}
    assert reached == set(range(len(bodies.JOINTS)))
    assert len(bodies.BONES) == len(bodies.JOINTS) - 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[0.0]], []), r"\(J, 2\) or \(J, 3\)"),
        (([[0.0, 1.0]], [(0, 1)]), "joints from 0 to 0"),
    ],
)
def test_wrong_arrays_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        vision.displays.SkeletonDisplay.from_positions(*arguments)
    with pytest.raises(ValueError, match=r"probability must have the shape \(1,\)"):
        vision.displays.SkeletonDisplay.from_positions([[0.0, 1.0]], [], probability=[0.5, 0.5])
