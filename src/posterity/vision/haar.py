"""Haar features of windows: weighted sums of neighbouring rectangles.  [P9 9.10]

A window is divided by the standard deviation of its first plane, so that contrast does not matter;
all features but plain sums have weights that cancel, so that brightness does not matter either.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.trees.families import family
from posterity.vision import integrals

# Rectangles of each kind in units of a cell: top, left, height, width, weight.
_KINDS = (
    ((0, 0, 1, 2, -1), (0, 1, 1, 1, 2)),  # left and right
    ((0, 0, 2, 1, -1), (1, 0, 1, 1, 2)),  # above and below
    ((0, 0, 1, 3, -1), (0, 1, 1, 1, 3)),  # a vertical line
    ((0, 0, 3, 1, -1), (1, 0, 1, 1, 3)),  # a horizontal line
    ((0, 0, 2, 2, -1), (0, 0, 1, 1, 2), (1, 1, 1, 1, 2)),  # a checkerboard
    ((0, 0, 3, 3, -1), (1, 1, 1, 1, 9)),  # a point and its surroundings
    ((0, 0, 1, 4, -1), (0, 1, 1, 2, 2)),  # a broad vertical line
    ((0, 0, 4, 1, -1), (1, 0, 2, 1, 2)),  # a broad horizontal line
    ((0, 0, 1, 1, 1),),  # a plain sum
)
_PLAIN = len(_KINDS) - 1
_CELLS = np.array([kind[0][2:4] for kind in _KINDS])  # high and wide
MOST_RECTANGLES = 3
_LEAST_AREA = 4  # pixels of a cell: fewer are noise

Rectangles = NDArray[np.int32]
"""Plane, top, left, height, width and weight of up to three rectangles, (n, 3, 6); the weight of
those that are not there is zero."""


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Windows in the form in which features are fastest to compute."""

    sums: integrals.Sums  # (P, h + 1, w + 1, N)
    scale: NDArray[np.float32]  # (N,), one over area times standard deviation

    def __len__(self) -> int:
        return len(self.scale)

    @classmethod
    def from_pixels(cls, windows: Any) -> WindowRows:
        """Sum pixels of (N, h, w) or (N, P, h, w) windows."""
        pixels = check_windows(windows)
        n, _, height, width = pixels.shape
        first = pixels[:, 0].reshape(n, height * width).astype(np.int64)
        sums, squares = first.sum(axis=1), (first * first).sum(axis=1)
        spread = np.sqrt(np.maximum(first.shape[1] * squares - sums * sums, 1).astype(np.float64))
        return cls(integrals.integrate_windows(pixels), (1.0 / spread).astype(np.float32))

    def contrast(self) -> Array:
        """Standard deviation of the first plane of each window, (N,)."""
        _, height, width, _ = self.sums.shape
        return 1.0 / (self.scale.astype(np.float64) * (height - 1) * (width - 1))

    def append(self, other: WindowRows) -> WindowRows:
        """These windows and then the others."""
        return WindowRows(
            np.concatenate([self.sums, other.sums], axis=3),
            np.concatenate([self.scale, other.scale]),
        )

    def take(self, places: NDArray[Any]) -> WindowRows:
        """Some of the windows."""
        return WindowRows(np.take(self.sums, places, axis=3), self.scale[places])


@dataclass(frozen=True, eq=False)
class HaarFeatures(family.Family):
    """Differences of sums over neighbouring rectangles of a window.

    A row is a window, (h, w) or (P, h, w) of uint8, and a test six integers: kind, plane, top,
    left, and height and width of a cell. The kinds are left and right halves, upper and lower
    halves, lines, a checkerboard, a point and its surroundings and, on planes after the first, a
    plain sum.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import HaarFeatures
    >>> windows = np.zeros((2, 4, 4), dtype=np.uint8)
    >>> windows[0, :, 2:] = 200  # bright on the right
    >>> windows[1, 2:] = 200  # bright below
    >>> features = HaarFeatures().adapt_to(windows)
    >>> halves = np.array([[[0, 0, 0, 0, 4, 2], [1, 0, 0, 0, 2, 4]]], dtype=np.int32)
    >>> nodes = np.zeros(2, dtype=np.int32)
    >>> features.respond(windows, np.arange(2, dtype=np.int32), halves, nodes)
    array([[1., 0.],
           [0., 1.]])
    """

    is_of_columns: ClassVar[bool] = False

    shape: tuple[int, int, int] | None = field(default=None)
    """Planes, height and width of a window, learned."""

    first_plane: int = 0
    """Features of planes before this one are left out; it still says the contrast."""

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows the size of windows."""
        del weights
        return replace(self, shape=_find_shape(X))

    def prepare_rows(self, X: Any) -> WindowRows:
        """Integral images of the windows."""
        rows = X if isinstance(X, WindowRows) else WindowRows.from_pixels(X)
        if _find_shape(rows) != self._known():
            raise ValueError(
                f"These windows have the shape {_find_shape(rows)} (planes, height, width), but "
                f"the features are of windows of {self._known()}."
            )
        return rows

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """Features of random kind, size and place."""
        planes, height, width = self._known()
        n = n_nodes * n_tests
        plane = rng.integers(self.first_plane, planes, size=n)
        kind = rng.integers(_PLAIN + (plane > 0))
        cells = _CELLS[kind]
        most = np.maximum(np.array([height, width]) // cells, 1)
        size = 1 + rng.integers(most)
        small = size.prod(axis=1) < _LEAST_AREA
        size[small] = np.minimum(most[small], 2)
        place = rng.integers(np.maximum([height, width] - cells * size, 0) + 1)
        tests = np.column_stack([kind, plane, place, size]).astype(np.int32)
        return tests.reshape(n_nodes, n_tests, 6)

    def catalogue(self) -> family.Tests:
        """Every feature whose cell has at least four pixels, (J, 6)."""
        planes, height, width = self._known()
        found = []
        for plane, kind in itertools.product(range(self.first_plane, planes), range(_PLAIN + 1)):
            if kind == _PLAIN and plane == 0:
                continue
            down, across = _CELLS[kind]
            for h in range(1, height // down + 1):
                for w in range(1, width // across + 1):
                    if h * w >= _LEAST_AREA:
                        tops, lefts = height - down * h + 1, width - across * w + 1
                        y, x = np.divmod(np.arange(tops * lefts, dtype=np.int32), lefts)
                        own = np.broadcast_to([kind, plane], (len(y), 2))
                        size = np.broadcast_to([h, w], (len(y), 2))
                        found.append(np.column_stack([own, y, x, size]))
        return np.concatenate(found).astype(np.int32)

    def respond(
        self, rows: Any, places: family.Places, tests: family.Tests, which: family.Places
    ) -> Array:
        """Features of windows over area times standard deviation, (K, m)."""
        prepared = self.prepare_rows(rows)
        n_nodes, n_tests, _ = tests.shape
        rectangles = find_rectangles(tests.reshape(n_nodes * n_tests, 6))
        answers = np.empty((n_tests, len(places)))
        _answer(
            prepared.sums,
            prepared.scale,
            places,
            rectangles.reshape(n_nodes, n_tests, MOST_RECTANGLES, 6),
            which,
            answers,
        )
        return answers

    def default_tests(self) -> int:
        """A thousand: most features are useless."""
        return 1000

    def check_consistency(self) -> None:
        """Raise ValueError unless the size of windows is three positive integers."""
        if self.shape is None:
            return
        validation.require(
            isinstance(self.shape, tuple) and len(self.shape) == 3,
            "the shape of windows must be planes, height and width.",
        )
        for size in self.shape:
            validation.require_count(size, "the shape of windows", least=1)
        validation.require_within(np.array([self.first_plane]), "first_plane", 0, self.shape[0])

    def check_tests(self, tests: family.Tests) -> None:
        """Raise ValueError unless all rectangles lie within the window."""
        planes, height, width = self._known()
        validation.require_array(tests, "tests", np.int32, (None, 6))
        names = ("kinds", "planes", "tops", "left sides", "heights", "widths")
        bounds = (len(_KINDS), planes, height, width, height + 1, width + 1)
        for k, (name, end) in enumerate(zip(names, bounds, strict=True)):
            validation.require_within(tests[:, k], f"the {name} of features", int(k > 3), end)
        ends = tests[:, 2:4] + _CELLS[tests[:, 0]] * tests[:, 4:6]
        validation.require(
            bool(np.all(ends <= [height, width])), "a feature reaches beyond its window."
        )

    def _known(self) -> tuple[int, int, int]:
        if self.shape is None:
            raise ValueError("These HaarFeatures have seen no windows yet: use adapt_to(windows).")
        return self.shape


def find_rectangles(tests: family.Tests) -> Rectangles:
    """The rectangles of features, with weights.

    Parameters
    ----------
    tests : array (n, 6)
        Kind, plane, top, left, and height and width of a cell.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import haar
    >>> haar.find_rectangles(np.array([[0, 0, 3, 4, 5, 6]]))[0, :2]
    array([[ 0,  3,  4,  5, 12, -1],
           [ 0,  3, 10,  5,  6,  2]], dtype=int32)
    """
    parts = np.zeros((len(_KINDS), MOST_RECTANGLES, 5), dtype=np.int32)
    for kind, rectangles in enumerate(_KINDS):
        parts[kind, : len(rectangles)] = rectangles
    mine = parts[tests[:, 0]]
    found = np.zeros((len(tests), MOST_RECTANGLES, 6), dtype=np.int32)
    found[:, :, 0] = tests[:, None, 1]
    found[:, :, 1:3] = tests[:, None, 2:4] + mine[:, :, 0:2] * tests[:, None, 4:6]
    found[:, :, 3:5] = mine[:, :, 2:4] * tests[:, None, 4:6]
    found[:, :, 5] = mine[:, :, 4]
    return found


def check_windows(windows: Any) -> integrals.Pixels:
    """Return windows as (N, P, h, w); raise ValueError unless they are uint8 of that form."""
    pixels = np.asarray(windows)
    if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4) or 0 in pixels.shape[1:]:
        raise ValueError(
            "Windows must be an array of uint8, (N, height, width) or (N, planes, height, width), "
            f"not {pixels.dtype} of the shape {pixels.shape}."
        )
    return pixels[:, None] if pixels.ndim == 3 else pixels


def _find_shape(X: Any) -> tuple[int, int, int]:
    """Planes, height and width of windows."""
    if isinstance(X, WindowRows):
        planes, height, width, _ = X.sums.shape
        return planes, height - 1, width - 1
    _, planes, height, width = check_windows(X).shape
    return planes, height, width


@compilation.compile_at_first_call
def _answer(
    sums: integrals.Sums,
    scale: NDArray[np.float32],
    places: family.Places,
    rectangles: Rectangles,
    which: family.Places,
    answers: Array,
) -> None:
    for k in range(answers.shape[0]):
        for i in range(answers.shape[1]):
            n, total = places[i], 0
            for r in range(MOST_RECTANGLES):
                box = rectangles[which[i], k, r]
                plane, y, x, h, w, weight = box[0], box[1], box[2], box[3], box[4], box[5]
                if weight != 0:
                    part = sums[plane, y + h, x + w, n] - sums[plane, y, x + w, n]
                    total += weight * (part - sums[plane, y + h, x, n] + sums[plane, y, x, n])
            answers[k, i] = np.float32(total) * scale[n]
