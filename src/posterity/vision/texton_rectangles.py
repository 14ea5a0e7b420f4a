"""Tests of a segmenter: how often a texton occurs in a rectangle beside a pixel.  [P9 9.12.3]

Images are divided into square cells of a few pixels, and rectangles have whole cells. What is kept
of an image are the cells in which each texton occurs; its integral image is summed when a test asks
for it, in a few microseconds, and stays in the processor's cache while all pixels of the image
answer. So memory does not grow with the number of textons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, trees, validation
from posterity.trees.families.family import Places, Tests
from posterity.vision import base

FULL = 4095
"""The answer where a texton fills a rectangle, and one after the lowest row or last column."""

_CODES = 255
_N_PLACES = 48  # cuts of rows and columns of the image
_N_SHARES = 40  # about so many cuts of shares of a rectangle, evenly in logarithms
_PLACE_TESTS = 0.06  # of all tests, those that ask for row or column
_CENTERED = 0.25  # of all rectangles, those around the pixel itself
_SHARING = 8  # tests of a draw that share a texton, whose integral image is then summed once
_ROUNDING = 1e-9
_Arrays = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class TextonPixels:
    """Cells of images, and where in the images textons occur.

    Attributes
    ----------
    cells : ndarray of shape (n,), int32
        Number of a cell in its image, row by row, for each sample of each texton.
    begins : ndarray of shape (I, K + 1), int64
        Where the cells of each texton of each image begin.
    grids : ndarray of shape (I, 3), int32
        Rows and columns of cells of each image, and samples of a full cell.
    pixels : ndarray of shape (N, 3), int32
        Image, row and column of cells.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TextonPixels
    >>> textons = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> pixels = TextonPixels.from_maps([textons], 2, side=2)
    >>> len(pixels), pixels.cells
    (2, array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32))
    """

    cells: NDArray[np.int32]
    begins: NDArray[np.int64]
    grids: NDArray[np.int32]
    pixels: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, places: NDArray[Any]) -> TextonPixels:
        """Some of the pixels of the same images."""
        return replace(self, pixels=self.pixels[places])

    @classmethod
    def from_maps(cls, maps: Sequence[NDArray[Any]], n_textons: int, *, side: int) -> TextonPixels:
        """All cells of an image.

        Parameters
        ----------
        maps : sequence of arrays (h, w)
            Textons of samples of the image; several maps have different textons.
        n_textons : int
            Number of textons K in all maps.
        side : int
            Samples along the side of a cell.
        """
        height, width = maps[0].shape
        rows, columns = -(-height // side), -(-width // side)
        own = (np.arange(height) // side)[:, None] * columns + np.arange(width) // side
        keys = [one.astype(np.int64) * (rows * columns) + own for one in maps]
        textons, cells = np.divmod(np.sort(np.concatenate(keys, axis=None)), rows * columns)
        counts = np.bincount(textons, minlength=n_textons)
        pixels = np.column_stack(np.divmod(np.arange(rows * columns), columns))
        return cls(
            cells.astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)])[None],
            np.array([[rows, columns, side * side]], dtype=np.int32),
            np.pad(pixels, ((0, 0), (1, 0))).astype(np.int32),
        )

    @classmethod
    def join(cls, parts: Sequence[TextonPixels]) -> TextonPixels:
        """The pixels of several sets, images numbered through."""
        ends = np.cumsum([0, *(len(part.cells) for part in parts)])
        first = np.cumsum([0, *(len(part.grids) for part in parts)])
        pixels = [part.pixels + np.array([first[k], 0, 0]) for k, part in enumerate(parts)]
        return cls(
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.begins + ends[k] for k, part in enumerate(parts)]),
            np.concatenate([part.grids for part in parts]),
            np.concatenate(pixels).astype(np.int32),
        )

    def unpack(self) -> _Arrays:
        """Return the arrays that compiled code reads."""
        return self.cells, self.begins, self.grids, self.pixels


@dataclass(frozen=True, eq=False)
class TextonRectangles(trees.Family):
    """Tests q[x; t, r]: the share of rectangle r, moved to pixel x, in which texton t is.

    Parts of a rectangle beyond the image count as without the texton. A few tests ask for the row
    or column of the pixel instead, as shares of the image. A test is five integers: texton, and
    first and last row and column of cells, relative to the pixel, the last ones exclusive; textons
    K and K + 1 stand for row and column. Answers are whole numbers from 0 to 4095.

    Parameters
    ----------
    n_textons : int
        Number of textons K.
    reach : int, default=25
        Cells from a pixel to the farthest centre of a rectangle, and the largest side of one.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TextonPixels, TextonRectangles
    >>> textons = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> pixels = TextonPixels.from_maps([textons], 2, side=2)
    >>> right = np.array([[[1, 0, 1, 1, 2]]], dtype=np.int32)  # texton 1 in the cell to the right
    >>> nodes = np.zeros(2, dtype=np.int32)
    >>> TextonRectangles(2).respond(pixels, np.arange(2, dtype=np.int32), right, nodes)
    array([[4095.,    0.]])
    """

    is_of_columns: ClassVar[bool] = False

    n_textons: int = 1
    reach: int = 25

    def prepare_rows(self, X: TextonPixels) -> base.CodedPixels:
        """Pixels that answer with codes."""
        return base.CodedPixels(X)

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> Tests:
        """Rectangles of log-uniform sides, anywhere within reach or around the pixel."""
        n, r = n_nodes * n_tests, self.reach
        textons = np.repeat(rng.integers(self.n_textons, size=-(-n // _SHARING)), _SHARING)[:n]
        places = rng.random(n) < _PLACE_TESTS
        textons[places] = self.n_textons + rng.integers(2, size=int(np.sum(places)))
        sides = np.floor(np.exp(rng.uniform(0.0, np.log(r + 1.0), (n, 2)))).astype(np.int64)
        centers = rng.integers(-r, r + 1, size=(n, 2))
        centers[rng.random(n) < _CENTERED] = 0
        first = centers - sides // 2
        tests = np.column_stack([textons, first, first + sides])
        tests[places, 1:] = 0
        return tests.astype(np.int32).reshape(n_nodes, n_tests, 5)

    def respond(self, rows: Any, places: Places, tests: Tests, which: Places) -> NDArray[Any]:
        """Shares in 1 / 4095, or their codes, (K, m)."""
        coded = isinstance(rows, base.CodedPixels)
        pixels = rows.pixels if coded else rows
        table = _CODE_OF_ANSWER if coded else _ANSWER_ITSELF
        answers = np.empty((tests.shape[1], len(places)), dtype=np.int16)
        if len(tests) == 1:
            self._answer(pixels, places, tests[0], table, answers)
        else:
            for node in np.unique(which):
                own = np.flatnonzero(which == node)
                part = np.empty((tests.shape[1], len(own)), dtype=np.int16)
                self._answer(pixels, places[own], tests[node], table, part)
                answers[:, own] = part
        return answers.astype(np.uint8 if coded else np.float64)

    def _answer(
        self,
        pixels: TextonPixels,
        places: Places,
        tests: Tests,
        table: NDArray[np.int16],
        answers: NDArray[np.int16],
    ) -> None:
        order = np.argsort(tests[:, 0], kind="stable")
        _answer_tests(pixels.unpack(), places, tests, order, self.n_textons, table, answers)

    def cuts(self, tests: Tests) -> NDArray[np.float64]:
        """Even ones of rows and columns, and ever wider ones of shares, (n, 255)."""
        return _CUTS[(tests[:, 0] >= self.n_textons).astype(np.intp)]

    def default_tests(self) -> int:
        """Return 400: few of all tests are useful."""
        return 400

    def check_consistency(self) -> None:
        """Raise ValueError unless there are textons and a reach."""
        validation.require_count(self.n_textons, "n_textons", least=1)
        validation.require_count(self.reach, "reach", least=1)

    def check_tests(self, tests: Tests) -> None:
        """Raise ValueError unless these are rectangles of known textons, (n, 5)."""
        validation.require_array(tests, "tests", np.int32, (None, 5))
        validation.require_within(tests[:, 0], "textons of tests", 0, self.n_textons + 2)
        far = 2 * self.reach + 2
        validation.require_within(tests[:, 1:], "sides of rectangles", -far, far + 1)
        rectangles = tests[tests[:, 0] < self.n_textons]
        has_area = bool(np.all(rectangles[:, 1:3] < rectangles[:, 3:5]))
        validation.require(has_area, "a rectangle has no area.")


def _make_cuts() -> NDArray[np.float64]:
    """Thresholds between codes, for shares of rectangles and for rows and columns, (2, 255).

    They lie between whole numbers, so that no answer is equal to one.
    """
    cuts = np.full((2, _CODES), np.inf)
    shares = np.unique(np.rint(np.geomspace(1.0, FULL, _N_SHARES))) - 0.5
    places = np.rint(np.linspace(0.0, FULL, _N_PLACES + 2)[1:-1]) + 0.5
    cuts[0, : len(shares)], cuts[1, : len(places)] = shares, places
    return cuts


_CUTS = _make_cuts()
_CODE_OF_ANSWER = np.stack(
    [np.searchsorted(own, np.arange(FULL + 1)).astype(np.int16) for own in _CUTS]
)
_ANSWER_ITSELF = np.tile(np.arange(FULL + 1, dtype=np.int16), (2, 1))


@compilation.compile_at_first_call
def _answer_tests(
    rows: _Arrays,
    places: Places,
    tests: NDArray[np.int32],
    order: NDArray[np.int64],
    n_textons: int,
    table: NDArray[np.int16],
    answers: NDArray[np.int16],
) -> None:
    """Answers of pixels, one image after the other, and in it one texton after the other."""
    cells, begins, grids, pixels = rows
    sums = np.zeros(1, dtype=np.int32)
    first = 0
    while first < len(places):
        image, last = pixels[places[first], 0], first + 1
        while last < len(places) and pixels[places[last], 0] == image:
            last += 1
        height, width, n_samples = grids[image, 0], grids[image, 1], grids[image, 2]
        at = pixels[places[first:last], 1:]
        if len(sums) < (height + 1) * (width + 1):
            sums = np.zeros((height + 1) * (width + 1), dtype=np.int32)
        known = -1
        for k in order:
            texton, out = tests[k, 0], answers[k, first:last]
            if texton >= n_textons:
                axis = texton - n_textons
                _answer_places(at[:, axis], grids[image, axis], table[1], out)
                continue
            own = cells[begins[image, texton] : begins[image, texton + 1]]
            if len(own) == 0:
                out[:] = table[0, 0]
                continue
            if texton != known:
                sum_cells(own, height, width, sums)
                known = texton
            _answer_test(sums, height, width, n_samples, at, tests[k], table[0], out)
        first = last


@compilation.compile_at_first_call
def _answer_places(
    at: NDArray[np.int32], extent: int, table: NDArray[np.int16], out: NDArray[np.int16]
) -> None:
    """Rows or columns of cells as shares of the image."""
    for m in range(len(at)):
        out[m] = table[(2 * at[m] + 1) * FULL // (2 * extent)]


@compilation.compile_at_first_call
def _answer_test(
    sums: NDArray[np.int32],
    height: int,
    width: int,
    n_samples: int,
    at: NDArray[np.int32],
    test: NDArray[np.int32],
    table: NDArray[np.int16],
    out: NDArray[np.int16],
) -> None:
    """Shares of one rectangle beside each cell of an image."""
    top, left, bottom, right = test[1], test[2], test[3], test[4]
    scale, stride = FULL / ((bottom - top) * (right - left) * n_samples), width + 1
    for m in range(len(at)):
        y, x = at[m, 0], at[m, 1]
        # Signed, every index would be asked for its sign.
        above = np.uint64(min(max(y + top, 0), height) * stride)
        below = np.uint64(min(max(y + bottom, 0), height) * stride)
        before = np.uint64(min(max(x + left, 0), width))
        after = np.uint64(min(max(x + right, 0), width))
        count = sums[below + after] - sums[above + after] - sums[below + before]
        count += sums[above + before]
        out[m] = table[np.uint64(count * scale + _ROUNDING)]


@compilation.compile_at_first_call
def sum_cells(cells: NDArray[np.int32], height: int, width: int, sums: NDArray[np.int32]) -> None:
    """Write the integral image of how often cells occur, (height + 1) x (width + 1)."""
    stride = width + 1
    for i in range((height + 1) * stride):
        sums[i] = 0
    for cell in cells:
        sums[(cell // width + 1) * stride + cell % width + 1] += 1
    for y in range(1, height + 1):  # down first, which is many columns at a time
        above, own = sums[(y - 1) * stride : y * stride], sums[y * stride : (y + 1) * stride]
        for x in range(stride):
            own[x] += above[x]
    for y in range(1, height + 1):
        own, total = sums[y * stride : (y + 1) * stride], np.int32(0)
        for x in range(stride):
            total += own[x]
            own[x] = total
