"""Plot the cycle of a walk in latent space, with the poses along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRAMES = 96  # of the curve
_SIZE = 0.42  # height of a figure, of the mean radius of the cycle
_OUTWARDS = 1.55  # where figures stand, in the same unit


@dataclass(frozen=True, eq=False)
class LatentCycleDisplay:
    """Frames of walks in the plane of their cycle, and poses around it.

    Parameters
    ----------
    frames : array of shape (N, 2)
        Latent points of the frames in the plane in which they spread most.
    groups : array of shape (N,)
        Walk of each frame.
    cycle : array of shape (T, 2)
        The mean cycle in the same plane.
    poses : array of shape (T, J, 3)
        Poses of the mean cycle.
    bones : tuple of pairs of int
        Joints to connect by a line.

    Examples
    --------
    >>> from posterity import vision
    >>> walk = vision.datasets.walkers(1, step=9)
    >>> model = vision.load_packaged("walking")
    >>> display = vision.displays.LatentCycleDisplay.from_estimator(model, walk.bones)
    >>> display.cycle.shape, display.poses.shape
    ((96, 2), (96, 38, 3))
    """

    frames: Array
    groups: NDArray[np.intp] = field(repr=False)
    cycle: Array
    poses: Array = field(repr=False)
    bones: tuple[tuple[int, int], ...] = field(repr=False)

    @classmethod
    def from_estimator(
        cls, model: vision.WalkingModel, bones: Sequence[tuple[int, int]]
    ) -> LatentCycleDisplay:
        """Take a fitted model whose motions repeat themselves.

        Parameters
        ----------
        model : WalkingModel
        bones : sequence of pairs of int
            Joints to connect by a line, such as those of ``vision.datasets.walkers()``.
        """
        points, poses = model.find_cycle(_FRAMES)
        centre = points.mean(axis=0)
        axes = linalg.thin_svd(points - centre)[2][:2]
        frames, cycle = ((X - centre) @ axes.T for X in (model.embedding_, points))
        return cls(frames, model.groups_, cycle, poses, tuple((int(a), int(b)) for a, b in bones))

    def plot(
        self, ax: Axes | None = None, *, n_poses: int = 8, color: str = COLORS["blue"]
    ) -> Axes:
        """Draw walks as thin lines, the mean cycle, and poses at equal times around it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        n_poses : int, default=8
            Number of poses.
        color : str, default=blue
            Colour of the cycle and of near limbs.
        """
        axes = axes_or_new(ax)
        for group in np.unique(self.groups):
            walk = self.frames[self.groups == group]
            axes.plot(*walk.T, color=COLORS["grey"], lw=0.7, alpha=0.6, zorder=1)
        closed = np.vstack([self.cycle, self.cycle[:1]])
        axes.plot(*closed.T, color=color, lw=2.5, zorder=2)
        radius = float(np.mean(np.linalg.norm(self.cycle, axis=1)))
        for k in range(n_poses):
            t = k * len(self.cycle) // n_poses
            self._draw_pose(axes, t, k / n_poses, radius, color)
        axes.set(aspect="equal", xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_visible(False)
        return axes

    def _draw_pose(self, axes: Axes, t: int, share: float, radius: float, color: str) -> None:
        """A figure on a ring about the cycle, in the order of time, tied to its point."""
        first = np.arctan2(*self.cycle[0, ::-1])
        turn = np.sum(_cross(self.cycle, np.roll(self.cycle, -1, axis=0)))
        angle = first + np.sign(turn) * 2.0 * np.pi * share
        ring = max(_OUTWARDS * radius, float(np.abs(self.frames).max()) + _SIZE * radius)
        place = ring * np.array([np.cos(angle), np.sin(angle)])
        pose = self.poses[t]
        flat = pose[:, :2] * [1.0, -1.0]
        scale = _SIZE * radius / np.ptp(flat[:, 1])
        where = place + (flat - 0.5 * (flat.max(axis=0) + flat.min(axis=0))) * scale * 1.6
        near = pose[:, 2].mean()
        for a, b in self.bones:
            is_far = 0.5 * (pose[a, 2] + pose[b, 2]) > near + 0.05
            shade = COLORS["sky"] if is_far else color
            order = 3 if is_far else 4
            axes.plot(*where[[a, b]].T, color=shade, lw=2.4, solid_capstyle="round", zorder=order)
        axes.plot(*np.array([self.cycle[t], 0.78 * place]).T, color=COLORS["grey"], lw=0.6, ls=":")
        axes.plot(*self.cycle[t], "o", color=color, ms=6, mec="white", zorder=3)


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
