"""A sum of small trees over features of a window, which rejects most windows early.

Trees are added one by one. A window is rejected as soon as its sum is below the bound of the last
tree, so that most windows cost a few features. A cascade of stages is the same with a sum that
starts again after each stage.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.vision import haar

_LARGEST_WINDOW = 512
_LARGEST_WEIGHT = 1000


@dataclass(frozen=True, eq=False)
class WindowSum:
    """Trees over features, and after each of them the least sum with which a window goes on.

    A node compares a feature, over area times standard deviation of the window, with a threshold:
    less is left. Children are numbers of nodes, or ``-1 - leaf``.
    """

    shape: tuple[int, int, int]  # planes, height, width of a window
    inset: int  # of the rectangle whose standard deviation counts, from each side
    least_contrast: float  # standard deviation of gray values below which nothing is found
    rectangles: haar.Rectangles  # (F, 3, 6)
    tilted: NDArray[np.bool_]  # (F,), by 45 degrees
    roots: NDArray[np.int32]  # (T,), first node of each tree
    features: NDArray[np.int32]  # (n,), of each node
    thresholds: NDArray[np.float32]  # (n,)
    children: NDArray[np.int32]  # (n, 2)
    leaves: Array  # values
    offset: float
    bounds: Array  # (T,), -inf: none
    restarts: NDArray[np.bool_]  # (T,), whether the sum starts again after the tree
    skips: bool  # whether a window after one that the first stage rejects is left out

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def n_head(self) -> int:
        """Number of trees that are asked in every window: those before the first useful bound."""
        bounded = np.flatnonzero(self.bounds > -np.inf)
        first = int(bounded[0]) + 1 if len(bounded) else len(self)
        return first if self.restarts.any() else min(len(self), max(first, HEAD))

    @functools.cached_property
    def corners(self) -> NDArray[np.int64]:
        """Corners of the rectangles of all nodes, (n, 3, 4, 3): plane, line and column."""
        mine = self.rectangles[self.features].reshape(-1, 6).astype(np.int64)
        tilted = np.repeat(self.tilted[self.features], 3)
        places = _list_corners(mine[:, 1:5], tilted)
        plane = np.where(tilted, self.shape[0], mine[:, 0])
        plane = np.broadcast_to(plane[:, None, None], (len(mine), 4, 1))
        return np.concatenate([plane, places], axis=2).reshape(-1, 3, 4, 3)

    def split_corners(self, stride: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Part, line and column of corners in integral images of a stride.

        Returns
        -------
        normal : array (3, 2, 4)
            Of the rectangle whose sums and squares say the contrast.
        nodes : array (3, n, 12)
            Of the rectangles of all nodes.
        """
        if stride not in self._split:
            _, height, width = self.shape
            edge = np.array([[self.inset, self.inset]] * 2).reshape(1, 4)
            edge[0, 2:] = [height - 2 * self.inset, width - 2 * self.inset]
            corners = _list_corners(edge, np.zeros(1, dtype=bool))[[0, 0]]
            planes = np.array([[0], [self.shape[0] + int(self.tilted.any())]])
            flat = self.corners.reshape(-1, 12, 3)
            self._split[stride] = (
                _split_columns(np.broadcast_to(planes, (2, 4)), corners, stride),
                _split_columns(flat[..., 0], flat[..., 1:], stride),
            )
        return self._split[stride]

    @functools.cached_property
    def _split(self) -> dict[int, tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        return {}  # the sizes of an image share them

    def check_consistency(self) -> None:
        """Raise ValueError unless compiled code can follow the numbers."""
        planes, height, width = self.shape
        for size in self.shape:
            validation.require_count(size, "shape")
        validation.require(max(height, width) <= _LARGEST_WINDOW, "the window is too large.")
        validation.require_within(np.array([self.inset]), "inset", 0, (min(height, width) + 1) // 2)
        F, n, T = len(self.rectangles), len(self.features), len(self.roots)
        validation.require_array(self.rectangles, "rectangles", np.int32, (F, 3, 6))
        validation.require_array(self.tilted, "tilted", np.bool_, (F,))
        validation.require_array(self.features, "features", np.int32, (n,))
        validation.require_array(self.thresholds, "thresholds", np.float32, (n,))
        validation.require_array(self.children, "children", np.int32, (n, 2))
        validation.require_array(self.roots, "roots", np.int32, (T,))
        validation.require_array(self.leaves, "leaves", np.float64, (None,))
        validation.require_array(self.bounds, "bounds", np.float64, (T,))
        validation.require_array(self.restarts, "restarts", np.bool_, (T,))
        validation.require_within(self.features, "features", 0, F)
        validation.require_within(self.roots, "roots", 0, n)
        validation.require_within(self.children, "children", -len(self.leaves), n)
        ahead = (self.children < 0) | (self.children > np.arange(n)[:, None])
        validation.require(bool(np.all(ahead)), "a node leads back to one before it.")
        inside = _lie_inside(self.rectangles, self.tilted, planes, height, width)
        validation.require(bool(np.all(inside)), "a rectangle reaches beyond the window.")


HEAD = 8


class CompiledSum(NamedTuple):
    """A sum with the places of corners in the integral images of one level."""

    normal: NDArray[np.uint32]  # (2, 4), corners of the sums and of the squares
    area: float
    least_contrast: float
    corners: NDArray[np.uint32]  # (n, 12)
    weights: NDArray[np.int32]  # (n, 3)
    roots: NDArray[np.int32]  # (T + 1,)
    thresholds: NDArray[np.float32]
    children: NDArray[np.int32]
    leaves: Array
    offset: float
    bounds: Array
    restarts: NDArray[np.bool_]
    n_head: int
    skips: bool


def compile_sum(cascade: WindowSum, sums_shape: tuple[int, ...]) -> CompiledSum:
    """Place the corners of all features in integral images.

    Parameters
    ----------
    cascade : WindowSum
        What is asked.
    sums_shape : tuple
        Shape of the result of :func:`integrals.integrate_planes`.
    """
    _, height, width = cascade.shape
    inset = cascade.inset
    normal, nodes = cascade.split_corners(sums_shape[1])
    return CompiledSum(
        _place_corners(normal, sums_shape),
        float((height - 2 * inset) * (width - 2 * inset)),
        cascade.least_contrast,
        _place_corners(nodes, sums_shape),
        cascade.rectangles[cascade.features, :, 5],
        np.append(cascade.roots, np.int32(len(cascade.features))),
        cascade.thresholds,
        cascade.children,
        cascade.leaves,
        cascade.offset,
        cascade.bounds,
        cascade.restarts,
        cascade.n_head,
        cascade.skips,
    )


def _list_corners(boxes: NDArray[np.int64], tilted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Corners (n, 4, 2) of boxes (top, left, height, width), whose sums have signs + - - +."""
    y, x, h, w = boxes.T
    straight = np.stack([(y, x), (y, x + w), (y + h, x), (y + h, x + w)], axis=0)
    turned = np.stack([(y, x), (y + h, x - h), (y + w, x + w), (y + w + h, x + w - h)], axis=0)
    return np.where(tilted, turned, straight).transpose(2, 0, 1)


def _split_columns(
    plane: NDArray[np.int64], corners: NDArray[np.int64], stride: int
) -> NDArray[np.uint32]:
    """Part, line and column of corners (..., 2) where columns are split by their remainder."""
    y, x = corners[..., 0], corners[..., 1]
    return np.stack([plane * stride + x % stride, y, x // stride]).astype(np.uint32)


def _place_corners(split: NDArray[np.uint32], sums_shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Find the corners of the window in the upper left in the flattened integral images."""
    _, _, lines, columns = sums_shape
    part, line, column = split
    return (part * np.uint32(lines) + line) * np.uint32(columns) + column


def _lie_inside(
    rectangles: haar.Rectangles, tilted: NDArray[np.bool_], planes: int, height: int, width: int
) -> NDArray[np.bool_]:
    """Whether all corners of each rectangle that counts lie within the window, (F,)."""
    flat = rectangles.reshape(-1, 6).astype(np.int64)
    plane, weight = flat[:, 0], flat[:, 5]
    sizes_fit = np.all((flat[:, 1:5] >= 0) & (flat[:, 1:5] <= _LARGEST_WINDOW), axis=1)
    corners = _list_corners(flat[:, 1:5], np.repeat(tilted, 3))
    inside = np.all((corners >= 0) & (corners <= [height, width]), axis=(1, 2))
    plane_fits = (plane >= 0) & (plane < np.where(np.repeat(tilted, 3), 1, planes))
    light = np.abs(weight) <= _LARGEST_WEIGHT
    fits = (weight == 0) | (sizes_fit & inside & plane_fits & light)
    return np.all(fits.reshape(-1, 3), axis=1)
