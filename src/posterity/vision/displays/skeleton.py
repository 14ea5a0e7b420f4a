"""Plot joints of a body, how sure their positions are, and the cycle of a walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from posterity import linalg, vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.linalg import eigen
from posterity.vision import images
from posterity.vision.bodies import BONES, Camera
from posterity.vision.displays.boxes import draw_image

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SkeletonDisplay:
    """Joints, the bones between them, and how sure their positions are.

    Parameters
    ----------
    positions : array of shape (J, 2) or (J, 3)
        Columns and rows in an image; or right, down and forward in space. NaN: not found.
    bones : tuple of pairs of int
        Joints to connect by a line.
    probability : array of shape (J,), optional
        Probability that a joint is where it is drawn.
    covariance : array of shape (J, d, d), optional
        Covariance of each position, drawn as an ellipse.
    names : tuple of str
        Names of the joints, if they have any.
    image : array of shape (H, W) or (H, W, 3), uint8, optional
        Image below the joints.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> arm = np.array([[0.0, 0.0, 2.0], [0.0, 0.3, 2.0], [0.2, 0.5, 1.9]])
    >>> display = vision.displays.SkeletonDisplay.from_positions(arm, [(0, 1), (1, 2)])
    >>> display.project().round(1).tolist()
    [[0.0, 0.0], [0.0, 0.3], [0.2, 0.5]]
    >>> display.project(turn=90.0).round(1)[2].tolist()
    [1.9, 0.5]
    """

    positions: Array
    bones: tuple[tuple[int, int], ...]
    probability: Array | None = None
    covariance: Array | None = None
    names: tuple[str, ...] = field(default=(), repr=False)
    image: NDArray[np.uint8] | None = field(default=None, repr=False)

    @classmethod
    def from_positions(
        cls,
        positions: ArrayLike,
        bones: Sequence[tuple[int, int]],
        *,
        probability: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
        names: Sequence[str] = (),
        image: Any = None,
    ) -> SkeletonDisplay:
        """Take positions that are known or predicted.

        Parameters
        ----------
        positions : array-like of shape (J, 2) or (J, 3)
            Columns and rows in an image; or right, down and forward in space.
        bones : sequence of pairs of int
            Joints to connect by a line; for a skeleton, each joint and its parent.
        probability, covariance : array-like of shape (J,) and (J, d, d), optional
            How sure the positions are.
        names : sequence of str
            Names of the joints.
        image : array of shape (H, W) or (H, W, 3), optional
            Image below the joints, which are then in pixels.
        """
        where = np.asarray(positions, dtype=np.float64)
        if where.ndim != 2 or where.shape[1] not in (2, 3):
            raise ValueError(f"positions must have the shape (J, 2) or (J, 3), not {where.shape}.")
        n, d = where.shape
        shown = None if image is None else images.to_pixels(image)
        pairs = tuple((int(a), int(b)) for a, b in bones)
        if any(not 0 <= joint < n for pair in pairs for joint in pair):
            raise ValueError(f"bones must name joints from 0 to {n - 1}.")
        p = _check_shape(probability, "probability", (n,))
        around = _check_shape(covariance, "covariance", (n, d, d))
        return cls(where, pairs, p, around, tuple(map(str, names)), shown)

    @classmethod
    def from_joints(
        cls,
        joints: vision.Joints,
        *,
        camera: Camera | None = None,
        image: Any = None,
        min_probability: float = 0.0,
    ) -> SkeletonDisplay:
        """Take joints found in a depth image.

        Parameters
        ----------
        joints : Joints
            Positions in space, and probabilities.
        camera : Camera, optional
            The camera of the image, such as ``model.find_camera(depth.shape)``: joints are then
            drawn in the image. None: in space.
        image : array of shape (H, W) or (H, W, 3), optional
            Image below the joints.
        min_probability : float, default=0.0
            Joints with a lower probability are left out.
        """
        keep = joints.probability >= min_probability
        where = np.where(keep[:, None], joints.positions, np.nan)
        if camera is not None:  # the middle of the first pixel of a plot is 0
            where = camera.find_pixels(where)[:, ::-1] - 0.5
        return cls.from_positions(
            where, BONES, probability=joints.probability, names=joints.names, image=image
        )

    def project(self, *, turn: float = 0.0) -> Array:
        """Return joints in the plane of the drawing, (J, 2): right and down.

        Parameters
        ----------
        turn : float, default=0.0
            Degrees by which the viewer walks around joints in space, to the right of the camera: 90
            shows the left side of a person who faces the camera.
        """
        return self.positions @ self._find_view(turn).T

    def plot(
        self,
        ax: Axes | None = None,
        *,
        turn: float = 0.0,
        color: str = COLORS["amber"],
        show_probabilities: bool = True,
        coverage: float = 0.9,
        label: str | None = None,
    ) -> Axes:
        """Draw bones, joints, probabilities and ellipses, over the image if there is one.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        turn : float, default=0.0
            View of joints in space, as in :meth:`project`.
        color : str, default=amber
            Colour; joints of low probability are drawn small, and their bones faint.
        show_probabilities : bool, default=True
            Whether to write the probability beside each joint.
        coverage : float, default=0.9
            Probability that an ellipse contains its joint.
        label : str, optional
            Entry of the legend.
        """
        axes = axes_or_new(ax)
        if self.image is None:
            _show_space(axes)
        else:
            draw_image(axes, self.image)
        places, known = self.project(turn=turn), self._find_known()
        sure = np.ones(len(places)) if self.probability is None else self.probability
        for a, b in self.bones:
            if known[a] and known[b]:
                alpha = float(np.clip(min(sure[a], sure[b]), 0.15, 1.0))
                axes.plot(*places[[a, b]].T, color=color, lw=2.2, alpha=alpha, zorder=2.5)
        self._draw_ellipses(axes, places, self._find_view(turn), coverage, color)
        shown: dict[str, Any] = {"color": color, "edgecolors": "white", "zorder": 3, "label": label}
        sizes = 12.0 + 30.0 * sure[known]
        axes.scatter(places[known, 0], places[known, 1], s=sizes, linewidths=0.8, **shown)
        if show_probabilities and self.probability is not None:
            self._write_probabilities(axes, places)
        return axes

    def _find_known(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.positions).all(axis=1))

    def _find_view(self, turn: float) -> Array:
        """The two axes of the drawing, (2, d)."""
        if self.positions.shape[1] == 2:
            return np.eye(2)
        angle = np.deg2rad(turn)
        return np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0]])

    def _draw_ellipses(
        self, axes: Axes, places: Array, view: Array, coverage: float, color: str
    ) -> None:
        if self.covariance is None:
            return
        corner = np.linspace(0.0, 2.0 * np.pi, 60)
        circle = np.sqrt(chi2.ppf(coverage, 2)) * np.stack([np.cos(corner), np.sin(corner)])
        factors = eigen.semidefinite_factors(view @ self.covariance @ view.T)
        for joint in np.flatnonzero(self._find_known()):
            outline = places[joint][:, None] + factors[joint] @ circle
            axes.fill(*outline, facecolor=color, alpha=0.25, lw=0)

    def _write_probabilities(self, axes: Axes, places: Array) -> None:
        assert self.probability is not None
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "zorder": 4}
        box = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75}
        for joint in np.flatnonzero(self._find_known()):
            text = f"{100 * self.probability[joint]:.0f}"
            place = tuple(places[joint])
            axes.annotate(text, place, xytext=(4, 3), bbox=box, annotation_clip=True, **style)


def _show_space(axes: Axes) -> None:
    """Show space in metres, with down below."""
    axes.set_aspect("equal")
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def _check_shape(values: ArrayLike | None, name: str, shape: tuple[int, ...]) -> Array | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {array.shape}.")
    return array


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
