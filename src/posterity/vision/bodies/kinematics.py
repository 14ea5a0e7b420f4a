"""Joints of a body: their positions from angles, and the 31 parts between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from posterity.arrays import Array
from posterity.vision.bodies.bvh import Motion, Skeleton


@dataclass(frozen=True, eq=False)
class Poses:
    """Positions of the joints of a skeleton, frame by frame.

    Attributes
    ----------
    positions : ndarray of shape (T, J, 3)
        In units of the skeleton, with y up.
    rotations : ndarray of shape (T, J, 3, 3)
        From the axes of each joint to those of the world.
    """

    positions: Array
    rotations: Array

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, frames: slice) -> Poses:
        return Poses(self.positions[frames], self.rotations[frames])

    def mirror(self, skeleton: Skeleton) -> Poses:
        """The same poses with left and right exchanged."""
        swap = [skeleton.number_of(_name_other_side(name)) for name in skeleton.names]
        flip = np.array([-1.0, 1.0, 1.0])
        return Poses(self.positions[:, swap] * flip, self.rotations[:, swap] * flip[:, None] * flip)


def place_joints(motion: Motion) -> Poses:
    """Place all joints in all frames.

    A joint stands at its offset, and where its channels move it, in the axes of its parent; its
    channels turn its axes one after the other.

    Parameters
    ----------
    motion : Motion
        A skeleton and its channels.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.bodies import bvh, kinematics
    >>> arm = bvh.Skeleton(
    ...     ("elbow", "hand"), np.array([-1, 0], dtype=np.int32), np.eye(3)[:2] * 0.3,
    ...     np.zeros(1, dtype=np.int32), ("Zrotation",),
    ... )
    >>> motion = bvh.Motion(arm, np.array([[0.0], [90.0]]), 0.1)
    >>> kinematics.place_joints(motion).positions[:, 1].round(6)
    array([[0.3, 0.3, 0. ],
           [0. , 0. , 0. ]])
    """
    skeleton, values = motion.skeleton, motion.values
    shape = (len(values), len(skeleton.names), 3)
    positions, rotations = np.empty(shape), np.empty((*shape, 3))
    for joint, parent in enumerate(skeleton.parents):
        turn = np.broadcast_to(np.eye(3), (len(values), 3, 3))
        place = np.broadcast_to(skeleton.offsets[joint], (len(values), 3)).copy()
        for channel in np.flatnonzero(skeleton.owners == joint):
            axis, kind = "XYZ".index(skeleton.kinds[channel][0]), skeleton.kinds[channel][1:]
            if kind == "position":
                place[:, axis] += values[:, channel]
            else:
                turn = turn @ turn_about_axis(np.deg2rad(values[:, channel]), axis)
        if parent < 0:
            positions[:, joint], rotations[:, joint] = place, turn
        else:
            moved = np.einsum("tij,tj->ti", rotations[:, parent], place)
            positions[:, joint] = positions[:, parent] + moved
            rotations[:, joint] = rotations[:, parent] @ turn
    return Poses(positions, rotations)


def turn_about_axis(angles: Array, axis: int) -> Array:
    """Matrices (..., 3, 3) that turn by angles in radians about the x, y or z axis.

    Examples
    --------
    >>> import numpy as np
    >>> turn_about_axis(np.array(np.pi / 2), 2).round()
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    turns = np.zeros((*angles.shape, 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turns[..., axis, axis] = 1.0
    turns[..., i, i] = turns[..., j, j] = np.cos(angles)
    turns[..., j, i] = np.sin(angles)
    turns[..., i, j] = -turns[..., j, i]
    return turns


def _name_other_side(name: str) -> str:
    """The joint on the other side: "LeftArm" of "RightArm", "LThumb" of "RThumb"."""
    for side, other in (("Left", "Right"), ("Right", "Left")):
        if name.startswith(side):
            return other + name.removeprefix(side)
        if name.startswith(side[0]) and name[1:2].isupper():
            return other[0] + name[1:]
    return name


BACKGROUND = 255
"""The label of pixels that show no body."""

_SIDES = ("left", "right")
_PAIRED_TWICE = ("head", "torso", "arm", "leg")  # an upper and a lower part on each side
_PAIRED = ("shoulder", "elbow", "wrist", "hand", "knee", "ankle", "foot")

PARTS: tuple[str, ...] = (
    *(f"{level} {name} {side}" for name in _PAIRED_TWICE for level in ("upper", "lower")
      for side in _SIDES),
    *(f"{name} {side}" for name in _PAIRED for side in _SIDES),
    "neck",
)  # fmt: skip
"""Names of the parts, by their label."""

JOINTS: tuple[str, ...] = (
    "head",
    "neck",
    *(f"{name} {side}" for name in _PAIRED for side in _SIDES),
)
"""Names of the joints."""


def _list_bones() -> tuple[tuple[int, int], ...]:
    place = JOINTS.index
    chain = ("neck", *_PAIRED[:4]), ("shoulder", *_PAIRED[4:])
    bones = [(place("head"), place("neck"))]
    for side in _SIDES:
        sided = [[n if n == "neck" else f"{n} {side}" for n in names] for names in chain]
        bones += [(place(a), place(b)) for names in sided for a, b in pairwise(names)]
    return tuple(bones)


BONES: tuple[tuple[int, int], ...] = _list_bones()
"""Pairs of joints to connect in drawings; there are no hips, so shoulders and knees are one."""


def find_joint_parts() -> list[list[int]]:
    """The parts that show each joint: the one of its name, and for the head all four.

    Examples
    --------
    >>> dict(zip(JOINTS, find_joint_parts()))["head"]
    [0, 1, 2, 3]
    """
    return [
        [i for i, part in enumerate(PARTS) if part == joint or f" {joint} " in part]
        for joint in JOINTS
    ]
