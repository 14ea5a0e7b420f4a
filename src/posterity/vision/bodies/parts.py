"""The 31 parts of a body that a depth camera can distinguish, and its 16 joints."""

from __future__ import annotations

from itertools import pairwise

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
