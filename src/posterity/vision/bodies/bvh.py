"""Motion capture: files of the Biovision hierarchy (BVH), and where their joints are.

A file describes a skeleton, joint by joint, and then one row of positions and angles per frame.
Files come from anywhere, so nothing is allocated because a file asks for it: sizes are those of
what was read, within limits, and every error names the file and the line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posterity import files
from posterity.arrays import Array

_MOST_BYTES = 1 << 28
_MOST_JOINTS = 1000
_CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints, each fixed to its parent, and the channels that move them.

    Attributes
    ----------
    names : tuple of str
        Joints, parents before children. The end of a limb is named after its joint: "Head end".
    parents : ndarray of shape (J,)
        Parent of each joint; -1 for the root.
    offsets : ndarray of shape (J, 3)
        Position relative to the parent, in the parent's axes.
    owners : ndarray of shape (C,)
        The joint that each channel moves.
    kinds : tuple of str
        Channels such as "Xposition" and "Zrotation", in the order in which they apply.
    """

    names: tuple[str, ...]
    parents: NDArray[np.int32]
    offsets: Array
    owners: NDArray[np.int32]
    kinds: tuple[str, ...]

    def number_of(self, name: str) -> int:
        """The place of a joint among the names."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(
                f"The skeleton has no joint {name!r}; it has {', '.join(self.names)}."
            ) from None


@dataclass(frozen=True, eq=False)
class Motion:
    """A skeleton, and the values of its channels in each frame.

    Attributes
    ----------
    skeleton : Skeleton
        Joints and channels.
    values : ndarray of shape (T, C)
        Lengths in units of the file, angles in degrees.
    frame_time : float
        Seconds between frames.
    """

    skeleton: Skeleton
    values: Array
    frame_time: float


def read_bvh(path: str | os.PathLike[str]) -> Motion:
    """Read a motion capture file.

    Parameters
    ----------
    path : str or path
        A BVH file with one skeleton.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity.vision import bodies
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "nod.bvh"
    >>> _ = place.write_text(
    ...     "HIERARCHY\\nROOT Neck\\n{\\nOFFSET 0 0 0\\nCHANNELS 1 Xrotation\\nEnd Site\\n{\\n"
    ...     "OFFSET 0 2 0\\n}\\n}\\nMOTION\\nFrames: 2\\nFrame Time: 0.1\\n0\\n30\\n"
    ... )
    >>> motion = bodies.read_bvh(place)
    >>> motion.skeleton.names, motion.values.ravel()
    (('Neck', 'Neck end'), array([ 0., 30.]))
    """
    place = files.check_path(path)
    lines = _Lines(place)
    lines.expect("HIERARCHY")
    skeleton = _HierarchyReader(lines).read()
    return Motion(skeleton, *_read_frames(lines, len(skeleton.kinds)))


class _Lines:
    """The words of a file line by line, empty lines left out, and errors that name the line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise ValueError(
                f"{path} has {size:,} bytes; motion capture files of at most {_MOST_BYTES:,} bytes "
                "can be read. Split the recording."
            )
        self._lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        self._number = 0

    def next_words(self) -> list[str]:
        """The words of the next line that has some."""
        while self._number < len(self._lines):
            self._number += 1
            if words := self._lines[self._number - 1].split():
                return words
        raise self.error("the file ends too early")

    def is_at_end(self) -> bool:
        return not any(line.strip() for line in self._lines[self._number :])

    def expect(self, *beginning: str) -> list[str]:
        """The words after those with which the next line must begin."""
        words = self.next_words()
        if tuple(words[: len(beginning)]) != beginning:
            raise self.error(f"expected {' '.join(beginning)!r}, found {_quote_words(words)}")
        return words[len(beginning) :]

    def numbers(self, words: list[str], n: int) -> Array:
        """Words as n finite numbers."""
        if len(words) != n:
            raise self.error(f"expected {n} numbers, found {len(words)}")
        try:
            values = np.array(words, dtype=np.float64)
        except ValueError:
            raise self.error(f"expected numbers, found {_quote_words(words)}") from None
        if not np.isfinite(values).all():
            raise self.error("a number is not finite")
        return values

    def error(self, sentence: str) -> ValueError:
        return ValueError(f"{self._path}, line {max(self._number, 1)}: {sentence}.")


class _HierarchyReader:
    """Joints from the root down; ``stack`` holds the joints whose braces are open."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._names: list[str] = []
        self._parents: list[int] = []
        self._offsets: list[Array | None] = []
        self._owners: list[int] = []
        self._kinds: list[str] = []
        self._stack: list[int] = []

    def read(self) -> Skeleton:
        self._open_joint(self._lines.expect("ROOT"))
        while self._stack:
            self._read_line(self._lines.next_words())
        offsets = [offset for offset in self._offsets if offset is not None]
        return Skeleton(
            tuple(self._names),
            np.array(self._parents, dtype=np.int32),
            np.array(offsets),
            np.array(self._owners, dtype=np.int32),
            tuple(self._kinds),
        )

    def _read_line(self, words: list[str]) -> None:
        match words:
            case ["OFFSET", *rest]:
                self._offsets[self._stack[-1]] = self._lines.numbers(rest, 3)
            case ["CHANNELS", count, *kinds]:
                self._add_channels(count, kinds)
            case ["JOINT", *rest]:
                self._open_joint(rest)
            case ["End", *_]:
                self._open_joint([self._names[self._stack[-1]], "end"])
            case ["}"]:
                self._close_joint()
            case _:
                raise self._lines.error(
                    f"expected OFFSET, CHANNELS, JOINT, End Site or a brace, found "
                    f"{_quote_words(words)}"
                )

    def _open_joint(self, words: list[str]) -> None:
        name = " ".join(words)
        if not name:
            raise self._lines.error("the joint has no name")
        if name in self._names:
            raise self._lines.error(f"there are two joints named {name[:40]!r}")
        if len(self._names) == _MOST_JOINTS:
            raise self._lines.error(f"the skeleton has more than {_MOST_JOINTS} joints")
        self._lines.expect("{")
        self._names.append(name)
        self._parents.append(self._stack[-1] if self._stack else -1)
        self._offsets.append(None)
        self._stack.append(len(self._names) - 1)

    def _close_joint(self) -> None:
        joint = self._stack.pop()
        if self._offsets[joint] is None:
            raise self._lines.error(f"the joint {self._names[joint][:40]!r} has no OFFSET")

    def _add_channels(self, count: str, kinds: list[str]) -> None:
        joint = self._stack[-1]
        if joint in self._owners:
            raise self._lines.error("the joint has CHANNELS twice")
        if count != str(len(kinds)):
            raise self._lines.error(f"{_quote_words([count])} channels, but {len(kinds)} names")
        for kind in kinds:
            if kind not in _CHANNELS or kinds.count(kind) > 1:
                raise self._lines.error(
                    f"{_quote_words([kind])} is not a channel, or is there twice"
                )
        self._owners += [joint] * len(kinds)
        self._kinds += kinds


def _read_frames(lines: _Lines, n_channels: int) -> tuple[Array, float]:
    """The rows after MOTION, and the time between them."""
    lines.expect("MOTION")
    (n_frames,) = lines.numbers(lines.expect("Frames:"), 1)
    (frame_time,) = lines.numbers(lines.expect("Frame", "Time:"), 1)
    if n_frames < 1 or n_frames % 1 or frame_time <= 0.0:
        raise lines.error("the number of frames and the time between them must be positive")
    rows: list[Array] = []
    while len(rows) < n_frames:  # the file ends before a false number of frames fills the memory
        rows.append(lines.numbers(lines.next_words(), n_channels))
    if not lines.is_at_end():
        raise lines.error(f"there are more rows than the {len(rows)} frames")
    return np.array(rows), float(frame_time)


def _quote_words(words: list[str]) -> str:
    """Words as an error quotes them."""
    return repr(" ".join(words[:8])[:40])


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
    >>> from posterity.vision.bodies import bvh
    >>> arm = bvh.Skeleton(
    ...     ("elbow", "hand"), np.array([-1, 0], dtype=np.int32), np.eye(3)[:2] * 0.3,
    ...     np.zeros(1, dtype=np.int32), ("Zrotation",),
    ... )
    >>> motion = bvh.Motion(arm, np.array([[0.0], [90.0]]), 0.1)
    >>> bvh.place_joints(motion).positions[:, 1].round(6)
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
