"""A sum of small trees over features of a window, which rejects most windows early.

Trees are added one by one. A window is rejected as soon as its sum is below the bound of the last
tree, so that most windows cost a few features. A cascade of stages is the same with a sum that
starts again after each stage, and is read from the XML files of OpenCV: Haar
features, stumps or trees, both formats.
"""

from __future__ import annotations

import functools
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

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


_LARGEST_FILE = 100_000_000  # bytes
_SLACK = np.float32(1e-5)  # that OpenCV takes from the threshold of a stage
_LEAST_CONTRAST = 10.0  # below which OpenCV looks at no window


def read_opencv_cascade(path: str | os.PathLike[str]) -> WindowSum:
    """Read a cascade of OpenCV.

    Parameters
    ----------
    path : str or path
        XML file of ``cv2.CascadeClassifier``, such as ``haarcascade_frontalface_default.xml``.
    """
    return _CascadeReader(path).read()


class _CascadeReader:
    """Collects the nodes of a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.rectangles: list[list[tuple[int, int, int, int, int, int]]] = []
        self.tilted: list[bool] = []
        self.features: list[int] = []
        self.thresholds: list[float] = []
        self.children: list[tuple[int, int]] = []
        self.leaves: list[float] = []
        self.roots: list[int] = []
        self.bounds: list[float] = []

    def read(self) -> WindowSum:
        """The whole cascade."""
        root = self._parse()
        cascade = root.find("cascade")
        try:
            if cascade is not None and cascade.find("stageType") is not None:
                size = self._read_new_format(cascade)
            else:
                size = self._read_old_format(root)
            return self._build(*size)
        except (AttributeError, ValueError, IndexError, KeyError) as error:
            self._refuse(f"it does not have the form of a cascade ({error})")

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self.path} cannot be read as a cascade of OpenCV: {why}.")

    def _parse(self) -> ElementTree.Element:
        if self.path.stat().st_size > _LARGEST_FILE:
            self._refuse("it is larger than 100 MB")
        text = self.path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            self._refuse("it declares entities, which such files do not")
        try:
            return ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            self._refuse(f"it is not valid XML ({error})")

    def _read_new_format(self, cascade: ElementTree.Element) -> tuple[int, int]:
        if (kind := _text(cascade, "featureType")) != "HAAR":
            self._refuse(f"its features are {kind}, and only HAAR is supported")
        for stage in _child(cascade, "stages"):
            for weak in _child(stage, "weakClassifiers"):
                numbers = _text(weak, "internalNodes").split()
                leaves = [float(np.float32(v)) for v in _text(weak, "leafValues").split()]
                nodes = [numbers[k : k + 4] for k in range(0, len(numbers), 4)]
                self._add_tree([(int(a), int(b), int(f), float(t)) for a, b, f, t in nodes], leaves)
            self._end_stage(float(_text(stage, "stageThreshold")))
        for feature in _child(cascade, "features"):
            self._add_feature(feature)
        return int(_text(cascade, "height")), int(_text(cascade, "width"))

    def _read_old_format(self, root: ElementTree.Element) -> tuple[int, int]:
        found = next((e for e in root if e.get("type_id") == "opencv-haar-classifier"), None)
        if found is None:
            self._refuse("it contains neither a cascade nor an opencv-haar-classifier")
        width, height = map(int, _text(found, "size").split())
        for stage in _child(found, "stages"):
            for tree in _child(stage, "trees"):
                nodes: list[tuple[int, int, int, float]] = []
                leaves: list[float] = []
                for node in tree:
                    sides = []
                    for side in ("left", "right"):
                        if (inner := node.find(f"{side}_node")) is not None:
                            sides.append(int(inner.text or ""))
                        else:
                            sides.append(-len(leaves))
                            leaves.append(float(np.float32(_text(node, f"{side}_val"))))
                    threshold = float(_text(node, "threshold"))
                    nodes.append((sides[0], sides[1], len(self.rectangles), threshold))
                    self._add_feature(_child(node, "feature"))
                self._add_tree(nodes, leaves)
            self._end_stage(float(_text(stage, "stage_threshold")))
        return height, width

    def _add_tree(self, nodes: list[tuple[int, int, int, float]], leaves: list[float]) -> None:
        """Nodes of a tree: children, where zero and less are leaves, feature and threshold."""
        first, first_leaf = len(self.features), len(self.leaves)
        self.roots.append(first)
        for left, right, feature, threshold in nodes:
            children = [c + first if c > 0 else -1 - (first_leaf - c) for c in (left, right)]
            self.children.append((children[0], children[1]))
            self.features.append(feature)
            self.thresholds.append(threshold)
        self.leaves += leaves
        self.bounds.append(-np.inf)

    def _end_stage(self, threshold: float) -> None:
        self.bounds[-1] = float(np.float32(threshold) - _SLACK)

    def _add_feature(self, feature: ElementTree.Element) -> None:
        rectangles = []
        for line in _child(feature, "rects"):
            x, y, w, h, weight = (float(v) for v in (line.text or "").split())
            if weight != round(weight):
                self._refuse(f"a rectangle has the weight {weight}, which is not an integer")
            rectangles.append((0, int(y), int(x), int(h), int(w), int(weight)))
        while len(rectangles) < 3:
            rectangles.append((0, 0, 0, 0, 0, 0))
        self.rectangles.append(rectangles)
        tilted = feature.find("tilted")
        self.tilted.append(tilted is not None and int(tilted.text or "0") != 0)

    def _build(self, height: int, width: int) -> WindowSum:
        bounds = np.array(self.bounds)
        cascade = WindowSum(
            shape=(1, height, width),
            inset=1,
            least_contrast=_LEAST_CONTRAST,
            rectangles=np.array(self.rectangles, dtype=np.int32).reshape(-1, 3, 6),
            tilted=np.array(self.tilted, dtype=np.bool_),
            roots=np.array(self.roots, dtype=np.int32),
            features=np.array(self.features, dtype=np.int32),
            thresholds=np.array(self.thresholds, dtype=np.float32),
            children=np.array(self.children, dtype=np.int32).reshape(-1, 2),
            leaves=np.array(self.leaves),
            offset=0.0,
            bounds=bounds,
            restarts=bounds > -np.inf,
            skips=True,
        )
        cascade.check_consistency()
        return cascade


def _child(element: ElementTree.Element, name: str) -> ElementTree.Element:
    found = element.find(name)
    if found is None:
        raise ValueError(f"<{element.tag}> has no <{name}>")
    return found


def _text(element: ElementTree.Element, name: str) -> str:
    return (_child(element, name).text or "").strip()
