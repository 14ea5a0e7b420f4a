"""Animate a person who walks: an SVG file that moves by itself, or a GIF file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import files
from posterity.arrays import Array
from posterity.displays.style import COLORS

_NEAR, _FAR, _MIDDLE, _GROUND = COLORS["blue"], "#8FB8D6", "#1F5F8B", COLORS["grey"]
_STATURE = 1.75  # metres, of a person with limbs of the widths below
_HEAD = 0.105  # metres
_TRUNK = 0.21
_SMOOTH = 3  # pixels of a drawing for each of a GIF, along either side
_MARGIN = 0.09  # of the height of a picture
# Joints at both ends, and width in metres; of either side.
_LIMBS = (
    ("UpLeg", "Leg", 0.17),
    ("Leg", "Foot", 0.12),
    ("Foot", "ToeBase", 0.095),
    ("ToeBase", "ToeBase end", 0.075),
    ("Arm", "ForeArm", 0.11),
    ("ForeArm", "Hand", 0.085),
    ("Hand", "HandIndex1 end", 0.07),
)
_CORNERS = ("LeftUpLeg", "RightUpLeg", "RightArm", "LeftArm")


@dataclass(frozen=True, eq=False)
class _Stroke:
    """A line or a polygon of some width in every frame; pixels."""

    points: Array  # (T, P, 2)
    width: float
    color: str

    @property
    def is_filled(self) -> bool:
        return self.points.shape[1] > 2


@dataclass(frozen=True, eq=False)
class WalkAnimation:
    """A person of thick limbs, seen by the camera of the poses, on a ground that moves.

    Parameters
    ----------
    poses : array of shape (T, J, 3)
        Joints relative to the hips: right, down and forward, in metres.
    joint_names : tuple of str
        Names of the joints, as in files of MotionBuilder.
    interval : float, default=0.04
        Seconds between frames.
    height : int, default=360
        Height of the picture in pixels.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.walkers(1, step=5)
    >>> animation = vision.displays.WalkAnimation(walk.poses, walk.joint_names, interval=1 / 3)
    >>> animation.to_svg().count("<animate ")
    18
    """

    poses: ArrayLike
    joint_names: Sequence[str] = field(repr=False)
    interval: float = 0.04
    height: int = 360

    def __post_init__(self) -> None:
        shape = np.shape(self.poses)
        if len(shape) != 3 or shape[1:] != (len(self.joint_names), 3) or not shape[0]:
            raise ValueError(
                f"poses must have the shape (T, {len(self.joint_names)}, 3), one joint for each "
                f"name, not {shape}."
            )
        needed = {*_CORNERS, "Head", "Neck1"} | {
            f"{side}{end}" for side in ("Left", "Right") for limb in _LIMBS for end in limb[:2]
        }
        missing = sorted(needed - set(self.joint_names))
        if missing:
            raise ValueError(f"There is no joint {missing[0]!r}, so a person cannot be drawn.")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an animated file, ``.svg`` or ``.gif``; GIF files are written by Pillow."""
        place = files.check_path(path)
        if place.suffix.lower() not in (".svg", ".gif"):
            raise ValueError(f"{place} must end in .svg or .gif.")
        with files.replace_atomically(place) as file:
            if place.suffix.lower() == ".svg":
                file.write(self.to_svg().encode())
            else:
                self._write_gif(file)

    def to_svg(self) -> str:
        """Return the animation as the text of an SVG file; no script is needed to play it."""
        strokes, ground, marks = self._draw()
        duration = f"{len(np.asarray(self.poses)) * self.interval:.3f}s"
        x0, y0, width, height = self._find_frame()
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{x0:.0f} {y0:.0f} {width:.0f} {height:.0f}" role="img">'
        )
        lines = [head, "<title>A person who walks</title>"]
        lines.append(f'<rect x="{x0:.0f}" y="{y0:.0f}" width="100%" height="100%" fill="white"/>')
        lines += [_format_stroke(stroke, duration) for stroke in strokes]
        dash = f"{0.6 * marks.gap:.1f} {0.4 * marks.gap:.1f}"
        moves = _animate("stroke-dashoffset", [f"{-shift:.1f}" for shift in marks.shifts], duration)
        lines.append(
            f'<line x1="{x0:.0f}" x2="{x0 + width:.0f}" y1="{ground:.1f}" y2="{ground:.1f}" '
            f'stroke="{_GROUND}" stroke-width="3" stroke-dasharray="{dash}">{moves}</line>'
        )
        return "\n".join([*lines, "</svg>", ""])

    def draw_frames(self) -> list[Any]:
        """Return the frames as images of Pillow."""
        from PIL import Image, ImageDraw

        strokes, ground, marks = self._draw()
        x0, y0, width, height = self._find_frame()
        size = round(width), round(height)
        frames = []
        for t in range(len(np.asarray(self.poses))):
            large = Image.new("RGB", (size[0] * _SMOOTH, size[1] * _SMOOTH), "white")
            pen = ImageDraw.Draw(large)
            for stroke in strokes:
                _draw_stroke(pen, stroke, (stroke.points[t] - (x0, y0)) * _SMOOTH)
            left = marks.shifts[t] % marks.gap - marks.gap
            for start in np.arange(left, width, marks.gap):
                ends = start, ground - y0, start + 0.6 * marks.gap, ground - y0
                pen.line([_SMOOTH * v for v in ends], fill=_GROUND, width=3 * _SMOOTH)
            frames.append(large.resize(size, Image.Resampling.LANCZOS))
        return frames

    def _write_gif(self, file: Any) -> None:
        frames = self.draw_frames()
        first, *others = [frame.quantize(32) for frame in frames]
        milliseconds = max(20, round(1000.0 * self.interval))
        first.save(
            file, format="GIF", save_all=True, append_images=others, duration=milliseconds, loop=0
        )

    def _find_frame(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the picture; the hips are about the origin."""
        return -0.45 * self.height, -0.55 * self.height, 0.9 * self.height, float(self.height)

    def _draw(self) -> tuple[list[_Stroke], float, _Marks]:
        """Strokes from the farthest to the nearest, the height of the ground, and its marks."""
        where = self._stand_on_ground()
        stature = float(np.ptp(where[..., 1], axis=1).max()) / 0.93  # from toes to the head's joint
        scale = (1.0 - 2.0 * _MARGIN) * self.height / max(stature, 1e-6)
        size = scale * stature / _STATURE
        flat = where[..., :2] * scale
        # The middle of the body is in the middle of the picture.
        flat[..., 1] -= 0.5 * (flat[..., 1].max() + flat[..., 1].min()) - 0.04 * self.height
        strokes = self._list_strokes(flat, where[..., 2], size)
        feet = [self._find(f"{side}ToeBase") for side in ("Left", "Right")]
        ground = float(flat[:, feet, 1].max()) + 0.06 * size
        return strokes, ground, _Marks.from_feet(flat[:, feet], self.height)

    def _stand_on_ground(self) -> Array:
        """Poses whose lowest joint is as low in every frame."""
        where = np.array(self.poses, dtype=np.float64)
        where[..., 1] -= where[..., 1].max(axis=1, keepdims=True)
        return where

    def _list_strokes(self, flat: Array, depth: Array, size: float) -> list[_Stroke]:
        sides = sorted(
            ("Left", "Right"), key=lambda side: -depth[:, self._find(f"{side}Arm")].mean()
        )
        far, near = sides
        neck, head = flat[:, self._find("Neck1")], flat[:, self._find("Head")]
        up = (head - neck) / np.maximum(np.linalg.norm(head - neck, axis=1, keepdims=True), 1e-9)
        middle = head + 0.6 * _HEAD * size * up
        trunk = flat[:, [self._find(name) for name in _CORNERS]]
        return [
            *self._list_limbs(flat, far, size, _FAR),
            _Stroke(np.stack([neck, head], axis=1), 0.1 * size, _MIDDLE),
            _Stroke(np.stack([middle, middle + 0.01 * up], axis=1), 2.0 * _HEAD * size, _MIDDLE),
            _Stroke(trunk, _TRUNK * size, _MIDDLE),
            *self._list_limbs(flat, near, size, _NEAR),
        ]

    def _list_limbs(self, flat: Array, side: str, size: float, color: str) -> list[_Stroke]:
        return [
            _Stroke(
                flat[:, [self._find(f"{side}{a}"), self._find(f"{side}{b}")]], width * size, color
            )
            for a, b, width in _LIMBS
        ]

    def _find(self, name: str) -> int:
        return list(self.joint_names).index(name)


@dataclass(frozen=True, eq=False)
class _Marks:
    """Marks on the ground, which moves as the foot that stands on it."""

    shifts: Array  # (T + 1,); after the last frame comes the first
    gap: float

    @classmethod
    def from_feet(cls, feet: Array, height: float) -> _Marks:
        """From feet (T, 2, 2): the lower one stands. In a loop, whole gaps pass."""
        lower = np.argmax(feet[:, :, 1], axis=1)
        after = np.roll(feet[:, :, 0], -1, axis=0)
        steps = (after - feet[:, :, 0])[np.arange(len(feet)), lower]
        shifts = np.concatenate([[0.0], np.cumsum(steps)])
        total = abs(shifts[-1])
        gap = total / max(1.0, round(total / (0.25 * height))) if total > 1.0 else 0.25 * height
        return cls(shifts, gap)


def _draw_stroke(pen: Any, stroke: _Stroke, points: Array) -> None:
    """Draw a line with round ends, or a polygon with round corners."""
    width, around = stroke.width * _SMOOTH, [tuple(point) for point in points]
    if stroke.is_filled:
        pen.polygon(around, fill=stroke.color)
        around.append(around[0])
    pen.line(around, fill=stroke.color, width=max(1, round(width)))
    for x, y in around:
        r = 0.5 * width
        pen.ellipse((x - r, y - r, x + r, y + r), fill=stroke.color)


def _format_stroke(stroke: _Stroke, duration: str) -> str:
    values = [" ".join(f"{x:.1f},{y:.1f}" for x, y in points) for points in stroke.points]
    fill = stroke.color if stroke.is_filled else "none"
    kind = "polygon" if stroke.is_filled else "polyline"
    return (
        f'<{kind} points="{values[0]}" fill="{fill}" stroke="{stroke.color}" '
        f'stroke-width="{stroke.width:.1f}" stroke-linecap="round" stroke-linejoin="round">'
        f"{_animate('points', [*values, values[0]], duration)}</{kind}>"
    )


def _animate(name: str, values: Sequence[str], duration: str) -> str:
    """An animation without end."""
    listed = ";".join(values)
    return (
        f'<animate attributeName="{name}" dur="{duration}" repeatCount="indefinite" '
        f'values="{listed}"/>'
    )
