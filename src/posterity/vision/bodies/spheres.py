"""A body of spheres around a skeleton, its 16 joints and 31 parts.

Every sphere has its centre at a weighted sum of joints, and an offset in the axes of one joint, so
that a body is placed in all frames of a motion by two products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.bodies.bvh import Poses, Skeleton

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


_STATURE = 1.75  # metres, of the body that the lengths here describe
_CHAIN = ("UpLeg", "Leg", "Foot")  # and the spine: what stature is measured by
_SPINE = ("LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head")
_BEYOND_CHAIN = 1.2  # stature over the length of these: soles and the top of the head

Place = Mapping[str, float]
"""A point: joints and their weights."""


class _Limb(NamedTuple):
    """A row of spheres from one point to another; radii and parts change along it."""

    start: Place
    end: Place
    radii: tuple[float, ...]
    parts: tuple[str, ...]
    n: int


class _Slice(NamedTuple):
    """A row of spheres across the trunk, in the axes of a joint; metres."""

    height: float  # from the hips, 0, to the shoulders, 1
    half_width: float
    radius: float
    forward: float


_TRUNK = (
    _Slice(0.00, 0.160, 0.092, -0.010),
    _Slice(0.10, 0.166, 0.104, -0.015),
    _Slice(0.20, 0.162, 0.106, -0.012),
    _Slice(0.30, 0.152, 0.102, -0.004),
    _Slice(0.40, 0.142, 0.098, 0.002),
    _Slice(0.50, 0.138, 0.097, 0.005),
    _Slice(0.60, 0.142, 0.101, 0.008),
    _Slice(0.70, 0.150, 0.107, 0.010),
    _Slice(0.79, 0.158, 0.108, 0.008),
    _Slice(0.88, 0.162, 0.099, 0.002),
    _Slice(0.96, 0.155, 0.082, -0.006),
    _Slice(1.03, 0.128, 0.064, -0.012),
)
_TRUNK_KNOTS = (0.0, 0.57, 0.87, 1.0)  # heights of the hips, two joints of the spine, shoulders
_TRUNK_AXES = ((0.15, "Hips"), (0.40, "LowerBack"), (0.70, "Spine"), (9.0, "Spine1"))
_COLUMNS = 6  # spheres across the trunk
# Left, up, forward from the joint of the head, and radius: skull, face, chin.
_HEAD = (
    (0.014, 0.128, -0.022, 0.078, "upper"),
    (0.016, 0.120, 0.012, 0.074, "upper"),
    (0.012, 0.105, -0.030, 0.074, "upper"),
    (0.014, 0.070, 0.022, 0.066, "lower"),
    (0.012, 0.040, 0.034, 0.052, "lower"),
    (0.014, 0.055, -0.020, 0.066, "lower"),
)


@dataclass(frozen=True, eq=False)
class Spheres:
    """Spheres around a skeleton, and its joints.

    Attributes
    ----------
    weights : ndarray of shape (S, J)
        Of the joints in each centre; metres per unit of the skeleton are multiplied in.
    anchors : ndarray of shape (S,)
        The joint in whose axes each centre has an offset.
    offsets : ndarray of shape (S, 3)
        Metres.
    radii : ndarray of shape (S,)
        Metres. The last 16 are joints, with radius zero.
    parts : ndarray of shape (S,)
        Labels.
    metres : float
        Per unit of the skeleton.
    stature : float
        Height of the person, in metres.
    """

    weights: Array
    anchors: NDArray[np.intp]
    offsets: Array
    radii: Array
    parts: NDArray[np.uint8]
    metres: float
    stature: float

    def place(self, poses: Poses) -> tuple[Array, Array]:
        """Centres of the spheres, (T, S - 16, 3), and joints, (T, 16, 3), in metres."""
        turned = np.einsum("tsij,sj->tsi", poses.rotations[:, self.anchors], self.offsets)
        points = np.einsum("sj,tjk->tsk", self.weights, poses.positions) + turned
        return points[:, : -len(JOINTS)], points[:, -len(JOINTS) :]

    def resize(self, stature: float, girth: float = 1.0) -> Spheres:
        """A body of another height, in metres, and another thickness, relative to this one."""
        share = stature / self.stature
        wider = np.array([girth * share, share, girth * share])
        return replace(
            self,
            weights=self.weights * share,
            offsets=self.offsets * wider,
            radii=self.radii * (girth * share),
            metres=self.metres * share,
            stature=stature,
        )


def build_spheres(skeleton: Skeleton) -> Spheres:
    """Build a slim body of 1.75 m around a skeleton with the names of joints of MotionBuilder.

    Parameters
    ----------
    skeleton : Skeleton
        Of a person who faces z with y up where all angles are zero.

    Examples
    --------
    >>> from posterity import vision
    >>> body = vision.bodies.build_spheres(vision.datasets.motions()[0].motion.skeleton)
    >>> len(body.radii), round(float(body.resize(1.6, 1.2).radii.max()), 3)
    (272, 0.118)
    """
    metres = _STATURE / _measure_stature(skeleton)
    places, radii, parts, anchors, offsets = zip(*_list_spheres(), strict=True)
    weights = np.zeros((len(places), len(skeleton.names)))
    for row, place in zip(weights, places, strict=True):
        for name, weight in place.items():
            row[skeleton.number_of(name)] += weight * metres
    return Spheres(
        weights,
        np.array([skeleton.number_of(name) for name in anchors]),
        np.array(offsets),
        np.array(radii),
        np.array(parts, dtype=np.uint8),
        metres,
        _STATURE,
    )


def _blend(first: Place, second: Place, share: float) -> Place:
    """A point between two."""
    names = {**first, **second}
    return {
        name: (1.0 - share) * first.get(name, 0.0) + share * second.get(name, 0.0) for name in names
    }


def _list_limbs() -> Iterator[_Limb]:
    for side in ("left", "right"):
        yield from _list_arm(side)
        yield from _list_leg(side)
    shoulders = {"LeftArm": 0.5, "RightArm": 0.5}
    yield _Limb(shoulders, {"Head": 1.0}, (0.062, 0.054, 0.054), ("neck",), 6)


def _list_arm(side: str) -> Iterator[_Limb]:
    joint = side.capitalize()
    shoulder, elbow = {f"{joint}Arm": 1.0}, {f"{joint}ForeArm": 1.0}
    wrist, inner = {f"{joint}Hand": 1.0}, _blend({"Spine1": 1.0}, {f"{joint}Arm": 1.0}, 0.62)
    own, lower = f"upper arm {side}", f"lower arm {side}"
    bent = f"elbow {side}"
    fingers = _blend(elbow, wrist, 1.62)
    thumb = _blend(wrist, {f"{joint[0]}Thumb end": 1.0}, 1.7)
    yield _Limb(inner, shoulder, (0.068, 0.066, 0.062), (f"shoulder {side}",), 5)
    yield _Limb(shoulder, elbow, (0.060, 0.055, 0.048, 0.042),
                (f"shoulder {side}", own, own, own, bent), 13)  # fmt: skip
    yield _Limb(elbow, wrist, (0.042, 0.044, 0.036, 0.028),
                (bent, lower, lower, lower, f"wrist {side}"), 12)  # fmt: skip
    yield _Limb(wrist, fingers, (0.028, 0.036, 0.036, 0.028, 0.016), (f"hand {side}",), 9)
    yield _Limb(wrist, thumb, (0.024, 0.017, 0.012), (f"hand {side}",), 4)


def _list_leg(side: str) -> Iterator[_Limb]:
    joint = side.capitalize()
    hip, knee = {f"{joint}UpLeg": 1.0}, {f"{joint}Leg": 1.0}
    ankle, toes = {f"{joint}Foot": 1.0}, {f"{joint}ToeBase": 1.0}
    tip = _blend(toes, {f"{joint}ToeBase end": 1.0}, 1.15)
    heel = _blend(_blend(knee, ankle, 1.08), toes, -0.22)
    upper, lower, bent = f"upper leg {side}", f"lower leg {side}", f"knee {side}"
    yield _Limb(hip, knee, (0.094, 0.088, 0.074, 0.060),
                (upper, upper, upper, upper, bent), 14)  # fmt: skip
    yield _Limb(knee, ankle, (0.058, 0.060, 0.048, 0.037),
                (bent, lower, lower, lower, f"ankle {side}"), 15)  # fmt: skip
    yield _Limb(heel, toes, (0.036, 0.042, 0.040), (f"foot {side}",), 7)
    yield _Limb(toes, tip, (0.040, 0.030, 0.022), (f"foot {side}",), 4)


def _list_joints() -> Iterator[Place]:
    """The points of ``JOINTS`` but the head, which has an offset."""
    yield {"Neck1": 0.5, "Head": 0.5}
    places = {
        "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand", "hand": "",
        "knee": "Leg", "ankle": "Foot", "foot": "ToeBase",
    }  # fmt: skip
    for name in JOINTS[2:]:
        kind, side = name.split(" ")
        joint = side.capitalize()
        if kind == "hand":
            yield _blend({f"{joint}ForeArm": 1.0}, {f"{joint}Hand": 1.0}, 1.3)
        else:
            yield {f"{joint}{places[kind]}": 1.0}


class _Sphere(NamedTuple):
    """A sphere at a point, beside which it has an offset in the axes of a joint; metres."""

    place: Place
    radius: float = 0.0
    part: int = 0
    anchor: str = "Hips"
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _list_spheres() -> Iterator[_Sphere]:
    """Spheres of the limbs, the trunk and the head, and then the joints."""
    for limb in _list_limbs():
        knots = np.linspace(0.0, 1.0, len(limb.radii))
        for share in (np.arange(limb.n) + 0.5) / limb.n:
            radius = float(np.interp(share, knots, limb.radii))
            part = PARTS.index(limb.parts[int(share * len(limb.parts))])
            yield _Sphere(_blend(limb.start, limb.end, share), radius, part)
    yield from _list_trunk()
    for left, up, forward, radius, level in _HEAD:
        for side, sign in (("left", 1.0), ("right", -1.0)):
            part = PARTS.index(f"{level} head {side}")
            yield _Sphere({"Head": 1.0}, radius, part, "Head", (sign * left, up, forward))
    yield _Sphere({"Head": 1.0}, anchor="Head", offset=(0.0, 0.09, 0.0))
    yield from map(_Sphere, _list_joints())


def _list_trunk() -> Iterator[_Sphere]:
    points: tuple[Place, ...] = (
        {"LeftUpLeg": 0.5, "RightUpLeg": 0.5},
        {"Spine": 1.0},
        {"Spine1": 1.0},
        {"LeftArm": 0.5, "RightArm": 0.5},
    )
    for height, half_width, radius, forward in _TRUNK:
        k = min(int(np.searchsorted(_TRUNK_KNOTS, height, side="right")) - 1, 2)
        share = (height - _TRUNK_KNOTS[k]) / (_TRUNK_KNOTS[k + 1] - _TRUNK_KNOTS[k])
        place = _blend(points[k], points[k + 1], share)
        anchor = next(name for top, name in _TRUNK_AXES if height < top)
        level = "upper" if height > 0.5 else "lower"
        for across in np.linspace(-1.0, 1.0, _COLUMNS):
            part = PARTS.index(f"{level} torso {'left' if across > 0.0 else 'right'}")
            left = float(across) * (half_width - radius)
            yield _Sphere(place, radius, part, anchor, (left, 0.0, forward))


def _measure_stature(skeleton: Skeleton) -> float:
    """The height of a standing person, in units of the skeleton."""
    names = (*(f"Left{bone}" for bone in _CHAIN), *_SPINE)
    lengths = [np.linalg.norm(skeleton.offsets[skeleton.number_of(name)]) for name in names]
    return _BEYOND_CHAIN * float(np.sum(lengths))
