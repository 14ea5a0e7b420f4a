"""Cascades in the XML files of OpenCV: Haar features, stumps or trees, both formats."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NoReturn

import numpy as np

from posterity.vision.windows.window_sum import WindowSum

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
