"""People in motion: as a depth camera sees them, and walking, as a camera beside them does."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import datasets
from posterity.arrays import Array
from posterity.vision import bodies as people
from posterity.vision.bodies.frames import find_heading

_FRAME_TIME = 1.0 / 15.0
_UNIT = 0.01  # degrees, or units of the skeleton


@dataclass(frozen=True, eq=False)
class Bodies:
    """Labelled depth images of people.

    Attributes
    ----------
    depth : ndarray of shape (N, H, W), float32
        Metres along the axis of the camera; 0 where there is no reading.
    parts : ndarray of shape (N, H, W), uint8
        Part of the body of each pixel; 255 is the background.
    joints : ndarray of shape (N, 16, 3)
        Positions of joints in the axes of the camera (right, down, forward), in metres.
    poses : ndarray of shape (N, J, 3)
        All joints of the skeleton relative to its root, in the same axes.
    subjects : ndarray of shape (N,)
        The person who moved.
    clips : ndarray of shape (N,)
        The recording.
    part_names, joint_names : tuple of str
        Names of labels, and of joints.
    description : str
        Source of the data.

    Examples
    --------
    >>> from posterity import vision
    >>> data = vision.datasets.bodies(2)
    >>> data.depth.shape, data.joints.shape, len(data.part_names)
    ((2, 240, 320), (2, 16, 3), 31)
    """

    depth: NDArray[np.float32] = field(repr=False)
    parts: NDArray[np.uint8] = field(repr=False)
    joints: Array = field(repr=False)
    poses: Array = field(repr=False)
    subjects: NDArray[np.str_] = field(repr=False)
    clips: NDArray[np.str_] = field(repr=False)
    part_names: tuple[str, ...] = field(repr=False)
    joint_names: tuple[str, ...]
    description: str = field(repr=False)


def bodies(
    n_frames: int = 20,
    *,
    max_turn: float = 180.0,
    noise: bool = True,
    random_state: datasets.Seed = 0,
    **ranges: Any,
) -> Bodies:
    """Render people in recorded poses: depth, parts of the body and joints.

    Recordings, frames, bodies and viewpoints are drawn at random.

    Parameters
    ----------
    n_frames : int, default=20
        Number of images.
    max_turn : float, default=180.0
        People face the camera within this angle to either side, in degrees.
    noise : bool, default=True
        Add the errors of a depth camera: noise, steps, and holes at edges.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.
    **ranges
        Further arguments of ``posterity.vision.bodies.FrameSampler``, such as ``camera``,
        ``distance`` or ``stature``.

    Examples
    --------
    >>> from posterity import vision
    >>> data = vision.datasets.bodies(3, max_turn=60.0)
    >>> round(float(data.depth[data.parts < 255].mean()), 1)
    3.2
    """
    datasets.check_count("n_frames", n_frames)
    sensor = people.DepthSensor() if noise else None
    sampler = people.FrameSampler(sensor=sensor, max_turn=max_turn, **ranges)
    recordings = motions()
    drawn = list(islice(sampler.draw(recordings, np.random.default_rng(random_state)), n_frames))
    return Bodies(
        depth=np.stack([frame.depth for frame in drawn]),
        parts=np.stack([frame.labels for frame in drawn]),
        joints=np.stack([frame.joints for frame in drawn]),
        poses=np.stack([frame.pose for frame in drawn]),
        subjects=np.array([recordings[frame.recording].subject for frame in drawn]),
        clips=np.array([recordings[frame.recording].clip for frame in drawn]),
        part_names=people.PARTS,
        joint_names=people.JOINTS,
        description="Rendered people in poses of mocap.cs.cmu.edu (funded by NSF EIA-0196217).",
    )


def motions() -> tuple[people.Recording, ...]:
    """Recorded motion of 12 people: twenty clips, 15 frames per second.

    The data was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF
    EIA-0196217.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.motions()[0]
    >>> walk.subject, walk.description, walk.motion.values.shape
    ('02', 'walk', (43, 96))
    """
    return _load_motions()


@functools.cache
def _load_motions() -> tuple[people.Recording, ...]:
    place = resources.files("posterity.vision.datasets") / "data" / "motions.npz"
    with resources.as_file(place) as path, np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    pieces = np.split(arrays["values"], np.cumsum(arrays["lengths"])[:-1])
    return tuple(
        people.Recording(
            str(arrays["subjects"][k]),
            str(arrays["clips"][k]),
            str(arrays["descriptions"][k]),
            _decode_motion(arrays, arrays["offsets"][k].astype(np.float64), piece),
        )
        for k, piece in enumerate(pieces)
    )


def _decode_motion(
    arrays: dict[str, NDArray[Any]], offsets: Array, steps: NDArray[np.int16]
) -> people.Motion:
    """Add up the differences from frame to frame, modulo 65536."""
    skeleton = people.Skeleton(
        tuple(map(str, arrays["names"])),
        arrays["parents"],
        offsets,
        arrays["owners"],
        tuple(map(str, arrays["kinds"])),
    )
    values = np.cumsum(steps, axis=0, dtype=np.int16).astype(np.float64) * _UNIT
    return people.Motion(skeleton, values, _FRAME_TIME)


_SUBJECT, _DESCRIPTION = "35", "walk"
_CAMERA = people.Camera(120, 90, 130.0)
_DISTANCE = 2.8  # metres
_STATURE = 1.75  # metres


@dataclass(frozen=True, eq=False)
class Walkers:
    """Poses and silhouettes of walks.

    Attributes
    ----------
    poses : ndarray of shape (N, J, 3)
        Joints relative to the hips, in the axes of the camera (right, down, forward), in metres.
    masks : ndarray of shape (N, H, W), bool
        Silhouettes.
    groups : ndarray of shape (N,)
        Walk of each frame.
    times : ndarray of shape (N,)
        Seconds since the walk began.
    joint_names : tuple of str
        Names of the joints.
    bones : tuple of pairs of int
        Each joint and its parent.
    description : str
        Source of the data.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.walkers(1)
    >>> walk.poses.shape, walk.masks.shape
    ((45, 38, 3), (45, 120, 90))
    """

    poses: Array = field(repr=False)
    masks: NDArray[np.bool_] = field(repr=False)
    groups: NDArray[np.intp] = field(repr=False)
    times: Array = field(repr=False)
    joint_names: tuple[str, ...] = field(repr=False)
    bones: tuple[tuple[int, int], ...] = field(repr=False)
    description: str


def walkers(
    n_walks: int = 4,
    *,
    recordings: Sequence[people.Recording] | None = None,
    step: int = 1,
    turn: float = 90.0,
    stature: float = _STATURE,
) -> Walkers:
    """Render a person who walks, seen from the side.

    Parameters
    ----------
    n_walks : int, default=4
        Number of walks, of one person: four at most.
    recordings : sequence of Recording, optional
        Other walks to render, of one skeleton, such as files read by
        ``posterity.vision.bodies.read_bvh``. None: those of the package.
    step : int, default=1
        Take every so many frames.
    turn : float, default=90.0
        Angle at which the camera stands, in degrees: 0 is before the person.
    stature : float, default=1.75
        Height of the person, in metres.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.walkers(2, step=3)
    >>> len(walk.poses), round(float(walk.times[1]), 2)
    (32, 0.2)
    """
    datasets.check_count("n_walks", n_walks)
    datasets.check_count("step", step)
    chosen = _list_walks() if recordings is None else list(recordings)
    if n_walks > len(chosen) and recordings is None:
        raise ValueError(f"n_walks={n_walks}, but there are {len(chosen)} walks.")
    chosen = chosen[:n_walks] if recordings is None else chosen
    view = people.Viewpoint(float(np.deg2rad(turn)), _DISTANCE)
    seen = [list(_render_walk(one, step, view, stature)) for one in chosen]
    skeleton = chosen[0].motion.skeleton
    return Walkers(
        poses=np.array([pose for walk in seen for pose, _ in walk]),
        masks=np.array([mask for walk in seen for _, mask in walk]),
        groups=np.repeat(np.arange(len(seen)), [len(walk) for walk in seen]),
        times=np.concatenate(
            [
                np.arange(len(walk)) * step * one.motion.frame_time
                for walk, one in zip(seen, chosen, strict=True)
            ]
        ),
        joint_names=skeleton.names,
        bones=tuple((k, int(p)) for k, p in enumerate(skeleton.parents) if p >= 0),
        description="Rendered walks of mocap.cs.cmu.edu (funded by NSF EIA-0196217).",
    )


def _list_walks() -> list[people.Recording]:
    return [one for one in motions() if one.subject == _SUBJECT and one.description == _DESCRIPTION]


def _render_walk(
    recording: people.Recording, step: int, view: people.Viewpoint, stature: float
) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Pose and silhouette of every so many frames; the camera walks beside the person."""
    body, skeleton = recording.body.resize(stature), recording.motion.skeleton
    poses = recording.poses[slice(None, None, step)]
    centres, _ = body.place(poses)
    n = centres.shape[1]
    for spheres, joints in zip(centres, poses.positions * body.metres, strict=True):
        where = {"centre": joints.mean(axis=0), "heading": find_heading(skeleton, joints)}
        pose = view.look_at(joints, **where)
        visible = view.look_at(spheres, **where)
        _, labels = people.render_spheres(visible, body.radii[:n], body.parts[:n], _CAMERA)
        yield pose - pose[0], labels != people.BACKGROUND
