"""Labelled pictures and videos of people, drawn at random from recorded motion."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.bodies.bvh import Motion, Poses, Skeleton, place_joints
from posterity.vision.bodies.cameras import Camera, DepthSensor, Viewpoint, render_spheres
from posterity.vision.bodies.spheres import BACKGROUND, JOINTS, Spheres, build_spheres

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Recording:
    """A motion, the person who moved, and what was done.

    Attributes
    ----------
    subject : str
        The person.
    clip : str
        Name of the recording.
    description : str
        What was done.
    motion : Motion
        Skeleton and angles.
    """

    subject: str
    clip: str
    description: str
    motion: Motion = field(repr=False)

    @functools.cached_property
    def poses(self) -> Poses:
        """Positions of all joints in all frames."""
        return place_joints(self.motion)

    @functools.cached_property
    def body(self) -> Spheres:
        """A slim body of 1.75 m."""
        return build_spheres(self.motion.skeleton)


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """A picture of a person.

    Attributes
    ----------
    depth : ndarray of shape (H, W), float32
        Metres; 0 where there is no reading.
    labels : ndarray of shape (H, W), uint8
        Part of the body of each pixel that has a reading; 255 elsewhere.
    joints : ndarray of shape (16, 3)
        Joints in the axes of the camera, in metres.
    pose : ndarray of shape (J, 3)
        All joints of the skeleton relative to its root, in the same axes.
    recording, frame : int
        Where the pose was taken from.
    """

    depth: NDArray[np.float32]
    labels: NDArray[np.uint8]
    joints: Array
    pose: Array
    recording: int
    frame: int


@dataclass(frozen=True)
class FrameSampler:
    """Draws bodies and viewpoints.

    Parameters
    ----------
    camera : Camera
        Size of pictures, and focal length.
    sensor : DepthSensor or None
        Errors of measurement; None: true depths.
    max_turn : float, default=180.0
        People face the camera within this angle to either side, in degrees.
    distance, height, pitch : pair of float
        Ranges of the viewpoint: metres, metres above the middle of the person, degrees downwards.
    stature, girth : pair of float
        Ranges of bodies: metres; relative to a slim person.
    mirror : bool, default=False
        Mirror half of the poses, chosen at random.
    hidden : float, default=0.0
        Share of the images in which a person is hidden from a row below the neck downwards, as
        behind a table.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> sampler = vision.bodies.FrameSampler(max_turn=60.0)
    >>> frame = next(sampler.draw(vision.datasets.motions(), np.random.default_rng(0)))
    >>> frame.depth.shape, frame.joints.shape
    ((240, 320), (16, 3))
    """

    camera: Camera = Camera()  # noqa: RUF009
    sensor: DepthSensor | None = DepthSensor()  # noqa: RUF009
    max_turn: float = 180.0
    distance: Range = (2.0, 4.0)
    height: Range = (-0.2, 0.6)
    pitch: Range = (-6.0, 12.0)
    stature: Range = (1.55, 1.95)
    girth: Range = (0.9, 1.2)
    mirror: bool = False
    hidden: float = 0.0

    def draw(
        self,
        recordings: Sequence[Recording],
        rng: np.random.Generator,
        shares: Array | None = None,
    ) -> Iterator[BodyFrame]:
        """Frames without end: a recording, one of its frames, a body and a viewpoint.

        Recordings are drawn in proportion to ``shares``, (R,); None: all alike.
        """
        p = None if shares is None else shares / np.sum(shares)
        while True:
            number = int(rng.choice(len(recordings), p=p))
            frame = int(rng.integers(len(recordings[number].poses)))
            yield self.render(recordings[number], frame, rng, number=number)

    def render(
        self, recording: Recording, frame: int, rng: np.random.Generator, *, number: int = 0
    ) -> BodyFrame:
        """One frame of a recording, with a body and a viewpoint at random."""
        stature, girth = rng.uniform(*self.stature), rng.uniform(*self.girth)
        turn = np.deg2rad(rng.uniform(-self.max_turn, self.max_turn))
        pitch = np.deg2rad(rng.uniform(*self.pitch))
        view = Viewpoint(turn, rng.uniform(*self.distance), rng.uniform(*self.height), pitch)
        body, skeleton = recording.body.resize(stature, girth), recording.motion.skeleton
        poses = recording.poses[frame : frame + 1]
        if self.mirror and rng.random() < 0.5:
            poses = poses.mirror(skeleton)
        centres, joints = (points[0] for points in body.place(poses))
        heading = find_heading(skeleton, poses.positions[0])
        look = functools.partial(view.look_at, centre=joints.mean(axis=0), heading=heading)
        n = len(centres)
        depth, labels = render_spheres(look(centres), body.radii[:n], body.parts[:n], self.camera)
        if self.sensor is not None:
            depth = self.sensor.measure(depth, rng)
            labels[depth == 0.0] = BACKGROUND
        seen = look(joints)
        if self.hidden > 0.0 and rng.random() < self.hidden:
            row = _draw_row(self.camera.find_pixels(seen)[:, 0], rng)
            depth[row:], labels[row:] = 0.0, BACKGROUND
        pose = look(poses.positions[0] * body.metres)
        return BodyFrame(depth, labels, seen, pose - pose[0], number, frame)


def _draw_row(rows: Array, rng: np.random.Generator) -> int:
    """A row between the neck and the lowest joint."""
    neck = rows[JOINTS.index("neck")]
    return max(int(rng.uniform(neck, max(rows.max(), neck))), 0)


def find_heading(skeleton: Skeleton, positions: Array) -> float:
    """The direction in which the hips face, in radians: 0 is z, pi / 2 is x.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.motions()[0]
    >>> round(find_heading(walk.motion.skeleton, walk.poses.positions[0]), 1)
    -0.2
    """
    left, right = positions[_find_hips(skeleton)]
    across = left - right
    return float(np.arctan2(-across[2], across[0]))


def _find_hips(skeleton: Skeleton) -> list[int]:
    return [skeleton.number_of(f"{side}UpLeg") for side in ("Left", "Right")]


_STATURE = 1.75  # metres: silhouettes do not tell size
_SMALL_CAMERA = Camera(160, 160, 200.0)


@dataclass(frozen=True, eq=False)
class SilhouetteVideo:
    """Silhouettes of one person, frame by frame.

    Attributes
    ----------
    masks : ndarray of shape (T, H, W), bool
        Pixels of the person.
    joints : ndarray of shape (T, 16, 3)
        Joints relative to the middle of the hips, in the axes of the camera (right, down, forward),
        in metres, for a person of 1.75 m.
    """

    masks: NDArray[np.bool_]
    joints: Array


@dataclass(frozen=True)
class VideoSampler:
    """Draws bodies and viewpoints, one for each video.

    Parameters
    ----------
    camera : Camera
        Size of frames, and focal length.
    turn : pair of float, default=(-180, 180)
        Range of the angle from the direction that the person first faces, in degrees: 90 shows the
        left side.
    distance, height, pitch : pair of float
        Ranges of the viewpoint: metres, metres above the middle of the person, degrees downwards.
    girth : pair of float
        Range of bodies, relative to a slim person.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> sampler = vision.bodies.VideoSampler(turn=(80.0, 100.0))
    >>> walk = vision.datasets.motions()[0]
    >>> video = sampler.render(walk, np.random.default_rng(0), frames=10)
    >>> video.masks.shape, video.joints.shape
    ((10, 160, 160), (10, 16, 3))
    """

    camera: Camera = _SMALL_CAMERA
    turn: Range = (-180.0, 180.0)
    distance: Range = (4.4, 5.2)  # so that feet are in the frame
    height: Range = (0.0, 0.4)
    pitch: Range = (-3.0, 6.0)
    girth: Range = (0.9, 1.2)

    def render(
        self,
        recording: Recording,
        rng: np.random.Generator,
        *,
        frames: int | None = None,
        every: int = 1,
        mirror: bool = False,
    ) -> SilhouetteVideo:
        """Silhouettes of a recording, from its beginning.

        Parameters
        ----------
        recording : Recording
        rng : Generator
        frames : int, optional
            Number of frames at most. None: all.
        every : int, default=1
            Take every so many frames.
        mirror : bool, default=False
            Exchange left and right.
        """
        poses, skeleton = recording.poses[::every][:frames], recording.motion.skeleton
        if mirror:
            poses = poses.mirror(skeleton)
        heading = find_heading(skeleton, poses.positions[0])
        view = Viewpoint(
            np.deg2rad(rng.uniform(*self.turn)),
            rng.uniform(*self.distance),
            rng.uniform(*self.height),
            np.deg2rad(rng.uniform(*self.pitch)),
        )
        body = recording.body.resize(_STATURE, rng.uniform(*self.girth))
        centres, joints = body.place(poses)
        hips = np.mean(poses.positions[:, _find_hips(skeleton)], axis=1) * body.metres
        radii, labels = body.radii[: centres.shape[1]], body.parts[: centres.shape[1]]
        masks, places = [], []
        for spheres, own, root in zip(centres, joints, hips, strict=True):
            middle = own.mean(axis=0)
            seen = view.look_at(spheres, middle, heading)
            _, drawn = render_spheres(seen, radii, labels, self.camera)
            masks.append(drawn != BACKGROUND)
            about = view.look_at(np.vstack([own, root]), middle, heading)
            places.append(about[:-1] - about[-1])
        return SilhouetteVideo(np.array(masks), np.array(places))
