"""People who walk, as a camera at their side sees them: poses and silhouettes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.datasets import base
from posterity.vision import bodies
from posterity.vision.bodies.frames import find_heading
from posterity.vision.datasets.people import motions

_SUBJECT, _DESCRIPTION = "35", "walk"
_CAMERA = bodies.Camera(120, 90, 130.0)
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
    recordings: Sequence[bodies.Recording] | None = None,
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
    base.check_count("n_walks", n_walks)
    base.check_count("step", step)
    chosen = _list_walks() if recordings is None else list(recordings)
    if n_walks > len(chosen) and recordings is None:
        raise ValueError(f"n_walks={n_walks}, but there are {len(chosen)} walks.")
    chosen = chosen[:n_walks] if recordings is None else chosen
    view = bodies.Viewpoint(float(np.deg2rad(turn)), _DISTANCE)
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


def _list_walks() -> list[bodies.Recording]:
    return [one for one in motions() if one.subject == _SUBJECT and one.description == _DESCRIPTION]


def _render_walk(
    recording: bodies.Recording, step: int, view: bodies.Viewpoint, stature: float
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
        _, labels = bodies.render_spheres(visible, body.radii[:n], body.parts[:n], _CAMERA)
        yield pose - pose[0], labels != bodies.BACKGROUND
