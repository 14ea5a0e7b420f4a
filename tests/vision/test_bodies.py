"""Bodies: files of motion, kinematics, spheres, depth and the sensor."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from posterity import vision
from posterity.vision import bodies
from posterity.vision.bodies import spheres

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Knee
  {
    OFFSET 0 -4 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 -3 1
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.04
1 2 3 10 20 30 40 50 60
0 0 0 0 0 0 0 0 90
"""


def write(folder, text):
    path = folder / "motion.bvh"
    path.write_text(text)
    return path


def test_joints_are_where_rotations_of_scipy_place_them(tmp_path):
    motion = bodies.read_bvh(write(tmp_path, BVH))
    assert motion.skeleton.names == ("Hips", "Knee", "Knee end")
    assert motion.frame_time == 0.04
    poses = bodies.place_joints(motion)
    for row, positions in zip(motion.values, poses.positions, strict=True):
        hips, knee = (Rotation.from_euler("ZYX", row[k : k + 3], degrees=True) for k in (3, 6))
        np.testing.assert_allclose(positions[0], row[:3])
        np.testing.assert_allclose(positions[1], row[:3] + hips.apply([0, -4, 0]))
        shin = (hips * knee).apply([0, -3, 1])
        np.testing.assert_allclose(positions[2] - positions[1], shin, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("HIERARCHY", "HIERARCHIE", 1, "expected 'HIERARCHY'"),
        ("OFFSET 0 -4 0", "OFFSET 0 -4", 8, "expected 3 numbers, found 2"),
        ("OFFSET 0 -3 1", "", 13, "'Knee end' has no OFFSET"),
        ("JOINT Knee", "JOINT Hips", 6, "two joints named 'Hips'"),
        ("CHANNELS 3", "CHANNELS 4", 9, "'4' channels, but 3 names"),
        ("0 0 0 0 0 0 0 0 90", "0 0 0 0 0 0 0 0 nan", 20, "not finite"),
        ("0 0 0 0 0 0 0 0 90", "0 0 0 0 0 0 0 0 x", 20, "expected numbers"),
        ("Frames: 2", "Frames: 999999999999", 20, "ends too early"),
        ("Frames: 2", "Frames: 1", 19, "more rows than the 1 frames"),
        ("MOTION", "}", 16, "expected 'MOTION'"),
        ("JOINT Knee", "JOINT a\n{\n" * 2000 + "JOINT Knee", 8, "two joints named 'a'"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path, old, new, line, sentence):
    path = write(tmp_path, BVH.replace(old, new, 1))
    with pytest.raises(ValueError, match=f"{path}, line {line}: .*{sentence}"):
        bodies.read_bvh(path)


def cast_rays(centres, radii, labels, camera):
    """The nearest sphere of every ray, by all pairs of pixels and spheres."""
    rows, columns = np.mgrid[: camera.height, : camera.width]
    rays = camera.find_points(rows, columns, np.ones(rows.shape))
    a, b = np.sum(rays**2, axis=-1)[..., None], rays @ centres.T
    inside = b**2 - a * (np.sum(centres**2, axis=1) - radii**2)
    with np.errstate(invalid="ignore"):
        depth = np.where(inside > 0.0, (b - np.sqrt(inside)) / a, np.inf)
    nearest = depth.min(axis=-1)
    hit = np.isfinite(nearest)
    return np.where(hit, nearest, 0.0), np.where(hit, labels[depth.argmin(axis=-1)], 255)


def test_pictures_show_the_nearest_sphere_of_every_ray():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(60, 3)) * [1.2, 1.0, 0.6] + [0.0, 0.0, 2.5]
    radii = rng.uniform(0.05, 0.4, 60)
    radii[centres[:, 2] - radii < 0.2] = 0.01
    labels = rng.integers(31, size=60).astype(np.uint8)
    camera = bodies.Camera(50, 70, 60.0)
    depth, shown = bodies.render_spheres(centres, radii, labels, camera)
    expected, expected_labels = cast_rays(centres, radii, labels, camera)
    np.testing.assert_allclose(depth, expected, rtol=1e-6)
    np.testing.assert_array_equal(shown, expected_labels)


def test_readings_have_the_errors_of_a_depth_camera():
    wall = np.full((200, 300), 3.0, dtype=np.float32)
    wall[:, 150:] = 2.0
    readings = bodies.DepthSensor().measure(wall, np.random.default_rng(0))
    far, near = readings[:, :149], readings[:, 151:]
    # Noise and the rounding to steps add up: 1.5 mm and 2.9 mm / sqrt(12), times the square.
    sd = np.hypot(0.0015, 0.0029 / np.sqrt(12.0))
    assert far.std() == pytest.approx(sd * 9.0, rel=0.03)
    assert near.std() == pytest.approx(sd * 4.0, rel=0.03)
    steps = 1.0 / (far.astype(np.float64) * 0.0029)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-4)
    assert far.min() > 0.0
    assert np.mean(readings[:, 149:151] == 0.0) == pytest.approx(0.3, abs=0.06)


def test_a_mirrored_person_is_a_mirrored_picture():
    walk = vision.datasets.motions()[1]
    skeleton, camera = walk.motion.skeleton, bodies.Camera(60, 80, 70.0)
    pose = walk.poses[60:61]
    other = {"left": "right", "right": "left"}
    swap = [
        spheres.PARTS.index(" ".join(other.get(w, w) for w in p.split())) for p in spheres.PARTS
    ]
    table = np.append(swap, np.full(225, 255))
    pictures = []
    for seen, turn in ((pose, 0.4), (pose.mirror(skeleton), -0.4)):
        centres, joints = walk.body.place(seen)
        view, n = bodies.Viewpoint(turn, 2.5, 0.2, 0.1), centres.shape[1]
        points = view.look_at(centres[0], joints[0].mean(axis=0), heading=0.0)
        radii, labels = walk.body.radii[:n], walk.body.parts[:n]
        pictures.append(bodies.render_spheres(points, radii, labels, camera))
    (depth, shown), (mirrored, mirrored_labels) = pictures
    np.testing.assert_allclose(mirrored[:, ::-1], depth, rtol=1e-5)
    assert np.mean(table[mirrored_labels[:, ::-1]] == shown) > 0.999  # ties between two spheres


def test_people_are_hidden_from_a_row_below_the_neck_on():
    camera = bodies.Camera(120, 160, 142.0)
    whole, hidden = (
        vision.datasets.bodies(8, camera=camera, noise=False, hidden=share, random_state=k)
        for k, share in enumerate((0.0, 1.0))
    )
    for data, is_hidden in ((whole, False), (hidden, True)):
        lowest = [np.flatnonzero((depth > 0.0).any(axis=1)).max() for depth in data.depth]
        feet = camera.find_pixels(data.joints)[..., 0].max(axis=1)
        neck = camera.find_pixels(data.joints[:, 1])[:, 0]
        assert np.all((lowest < feet) == is_hidden)
        assert np.all(lowest >= np.floor(neck) - 1)


def test_rendered_people_are_where_their_joints_are():
    camera = bodies.Camera(120, 160, 142.0)
    data = vision.datasets.bodies(12, max_turn=30.0, camera=camera)
    rows, columns = np.mgrid[:120, :160]
    counts = np.bincount(data.parts.ravel(), minlength=256)
    assert counts[:31].all()
    assert not counts[31:255].any()
    assert np.array_equal(data.parts == 255, data.depth == 0.0)
    distances = []
    for depth, labels, joints in zip(data.depth, data.parts, data.joints, strict=True):
        points = camera.find_points(rows, columns, depth.astype(np.float64))
        for joint, shown in zip(joints, spheres.find_joint_parts(), strict=True):
            if (own := np.isin(labels, shown)).sum() > 10:
                nearest = np.linalg.norm(points[own] - joint, axis=1).min()
                distances.append(nearest)
    assert max(distances) < 0.12
    assert set(data.subjects) <= {recording.subject for recording in vision.datasets.motions()}
    np.testing.assert_array_equal(vision.datasets.bodies(2).depth, vision.datasets.bodies(2).depth)
