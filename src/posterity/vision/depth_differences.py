"""Differences of depth around a pixel: the tests of body parts.

A test looks at two points beside a pixel and subtracts their depths. The points are at fixed
distances in space, so that a person answers alike from near and far.
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

FAR = 10_000
"""Depth in millimetres of what is beyond the body or the edge of the image."""

_NEAREST = 100  # millimetres: readings below are errors
_FINE, _N_FINE = 8, 60  # millimetres between cuts near zero, and how many there are on each side
_CODES = 255
_Arrays = tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class DepthPixels:
    """Pixels of depth images, each image cut out where it has readings.

    Attributes
    ----------
    depth : ndarray of shape (n,), uint16
        Millimetres, one image after another; 10,000 where there is no reading.
    images : ndarray of shape (I, 3), int64
        Where each image begins, its height and its width.
    focal_lengths : ndarray of shape (I,)
        In pixels.
    corners : ndarray of shape (I, 2), int32
        Row and column where each image was cut out.
    pixels : ndarray of shape (N, 3), int32
        Image, row and column in the image that was cut out.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import DepthPixels
    >>> image = np.zeros((4, 6))
    >>> image[1:3, 2] = 1.5
    >>> len(DepthPixels.from_image(image, 6.0))
    2
    """

    depth: NDArray[np.uint16]
    images: NDArray[np.int64]
    focal_lengths: NDArray[np.float64]
    corners: NDArray[np.int32]
    pixels: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.pixels)

    @classmethod
    def from_image(cls, depth: NDArray[Any], focal_length: float) -> DepthPixels:
        """All pixels of an image that have a reading.

        Parameters
        ----------
        depth : array (H, W)
            Metres. Readings are between 0.1 and 10; all else is not a reading.
        focal_length : float
            In pixels.

        Examples
        --------
        >>> import numpy as np
        >>> image = np.zeros((4, 6))
        >>> image[1:3, 2] = 1.5
        >>> pixels = DepthPixels.from_image(image, 6.0)
        >>> len(pixels), pixels.corners, pixels.depth
        (2, array([[1, 2]], dtype=int32), array([1500, 1500], dtype=uint16))
        """
        image = np.asarray(depth, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            whole = np.rint(1000.0 * image)
            seen = (whole >= _NEAREST) & (whole < FAR)
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        if not len(rows):
            rows = columns = np.zeros(1, dtype=np.int64)
        box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        cut = np.where(seen[box], whole[box], FAR).astype(np.uint16)
        where = np.argwhere(seen[box]).astype(np.int32)
        return cls(
            cut.ravel(),
            np.array([[0, *cut.shape]], dtype=np.int64),
            np.array([focal_length], dtype=np.float64),
            np.array([[rows[0], columns[0]]], dtype=np.int32),
            np.column_stack([np.zeros(len(where), dtype=np.int32), where]),
        )

    @classmethod
    def join(cls, parts: Sequence[DepthPixels]) -> DepthPixels:
        """The pixels of several sets, images numbered through."""
        begins = np.cumsum([0, *(len(part.depth) for part in parts)])
        first = np.cumsum([0, *(len(part.images) for part in parts)])
        images = [part.images + np.array([begins[k], 0, 0]) for k, part in enumerate(parts)]
        pixels = [part.pixels + np.array([first[k], 0, 0]) for k, part in enumerate(parts)]
        return cls(
            np.concatenate([part.depth for part in parts]),
            np.concatenate(images),
            np.concatenate([part.focal_lengths for part in parts]),
            np.concatenate([part.corners for part in parts]),
            np.concatenate(pixels).astype(np.int32),
        )

    def take(self, places: NDArray[np.intp]) -> DepthPixels:
        """Some of the pixels of the same images."""
        return replace(self, pixels=self.pixels[places])

    def unpack(self) -> _Arrays:
        """Return the arrays that compiled code reads."""
        return self.depth, self.images, self.focal_lengths, self.pixels

    def read_depths(self) -> NDArray[np.uint16]:
        """Depth of each pixel in millimetres, (N,)."""
        begin, _, width = self.images[self.pixels[:, 0]].T
        return self.depth[begin + self.pixels[:, 1] * width + self.pixels[:, 2]]

    def positions(self) -> NDArray[np.int32]:
        """Row and column of each pixel in the image before it was cut out, (N, 2)."""
        return self.pixels[:, 1:] + self.corners[self.pixels[:, 0]]


@dataclass(frozen=True, eq=False)
class DepthDifferences(trees.Family):
    """Tests q[x; u, v] = d(x + u / d(x)) - d(x + v / d(x)), d being depth at a pixel.  [SHO 1]

    Displacements u and v are distances in space. Beyond the body and the image, the depth is 10 m.
    The length of a displacement is drawn log-uniformly, so that tests see details and the whole
    body; in three of ten tests the second point is the pixel itself. Answers are in millimetres.

    Parameters
    ----------
    nearest, reach : float, default=0.015 and 1.0
        Range of the length of displacements, in metres.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import DepthDifferences, DepthPixels
    >>> image = np.zeros((4, 6))
    >>> image[1:3, 2:4] = 1.5, 1.6
    >>> pixels = DepthPixels.from_image(image, 6.0)
    >>> right = np.array([[[0, 400, 0, 0]]], dtype=np.int16)  # 0.4 m: 1.6 pixels
    >>> nodes = np.zeros(4, dtype=np.int32)
    >>> DepthDifferences().respond(pixels, np.arange(4, dtype=np.int32), right, nodes)
    array([[8500., 8400., 8500., 8400.]])
    """

    is_of_columns: ClassVar[bool] = False

    nearest: float = 0.015
    reach: float = 1.0

    def __post_init__(self) -> None:
        if not 0.001 <= self.nearest < self.reach <= 10.0:
            raise ValueError(
                f"The length of displacements must be a range between 0.001 and 10 m, not from "
                f"{self.nearest} to {self.reach}."
            )

    def prepare_rows(self, X: Any) -> base.CodedPixels:
        """Pixels that answer with codes."""
        return base.CodedPixels(X)

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> Tests:
        """Pairs of displacements (down, right, down, right), in whole millimetres."""
        shape = (n_nodes, n_tests, 2)
        length = 1000.0 * self.nearest * (self.reach / self.nearest) ** rng.random(shape)
        angle = rng.uniform(-np.pi, np.pi, shape)
        length[..., 1] *= rng.random(shape[:2]) >= 0.3
        offsets = np.stack([length * np.sin(angle), length * np.cos(angle)], axis=-1)
        return np.rint(offsets).astype(np.int16).reshape(n_nodes, n_tests, 4)

    def respond(self, rows: Any, places: Places, tests: Tests, which: Places) -> NDArray[Any]:
        """Differences in millimetres, or their codes, (K, m)."""
        if not isinstance(rows, base.CodedPixels):
            return super().respond(rows, places, tests, which)
        codes = np.empty((tests.shape[1], len(places)), dtype=np.uint8)
        _encode_answers(rows.pixels.unpack(), places, tests, which, _CODE_OF_DIFFERENCE, codes)
        return codes

    def compile_answer(self) -> Any:
        """The difference of one pixel."""
        return answer_test

    def unpack_rows(self, rows: DepthPixels) -> _Arrays:
        """Return the arrays that compiled code reads."""
        return rows.unpack()

    def cuts(self, tests: Tests) -> NDArray[np.float64]:
        """The same for all tests, (n, 255)."""
        return np.broadcast_to(_CUTS, (len(tests), len(_CUTS)))

    def default_tests(self) -> int:
        """Return 100: few of all tests are useful."""
        return 100

    def check_consistency(self) -> None:
        """Raise ValueError unless displacements have a range."""
        for name in ("nearest", "reach"):
            validation.require_positive(getattr(self, name), name)
        self.__post_init__()

    def check_tests(self, tests: Tests) -> None:
        """Raise ValueError unless these are pairs of displacements within 10 m, (n, 4)."""
        validation.require_array(tests, "tests", np.int16, (None, 4))
        validation.require_within(tests, "tests", -FAR, FAR + 1)


def _make_cuts() -> NDArray[np.float64]:
    """Thresholds between codes: evenly spaced near zero, then ever wider, and +inf.

    They lie between whole millimetres, so that no answer is equal to one.
    """
    even = _FINE * np.arange(_N_FINE + 1.0)
    wider = np.geomspace(even[-1], FAR, _CODES // 2 - _N_FINE)[1:]
    positive = np.rint(np.concatenate([even, wider])) + 0.5
    cuts = np.concatenate([-positive[::-1], positive])
    return np.concatenate([cuts, np.full(_CODES - len(cuts), np.inf)])


_CUTS = _make_cuts()
_CODE_OF_DIFFERENCE = np.searchsorted(_CUTS, np.arange(-FAR, FAR + 1)).astype(np.uint8)


@compilation.compile_at_first_call
def answer_test(rows: _Arrays, place: int, test: NDArray[np.int16]) -> int:
    """The difference of depth that a pixel has for one test, in millimetres."""
    depth, images, focal_lengths, pixels = rows
    # Entry by entry: a line of an array would be counted as in use each time.
    image, row, column = pixels[place, 0], pixels[place, 1], pixels[place, 2]
    begin, height, width = images[image, 0], images[image, 1], images[image, 2]
    scale = focal_lengths[image] / depth[begin + row * width + column]
    first = probe_depth(depth, begin, height, width, row, column, scale, test[0], test[1])
    second = probe_depth(depth, begin, height, width, row, column, scale, test[2], test[3])
    return first - second


@compilation.compile_at_first_call
def _encode_answers(
    rows: _Arrays,
    places: Places,
    tests: NDArray[np.int16],
    which: Places,
    code_of_difference: NDArray[np.uint8],
    codes: NDArray[np.uint8],
) -> None:
    """As ``answer_test``, of many tests; what depends on the pixel alone is computed once."""
    depth, images, focal_lengths, pixels = rows
    for m in range(len(places)):
        image, row, column = pixels[places[m]]
        begin, height, width = images[image]
        scale = focal_lengths[image] / depth[begin + row * width + column]
        asked = tests[which[m]]
        for k in range(len(asked)):
            test = asked[k]
            first = probe_depth(depth, begin, height, width, row, column, scale, test[0], test[1])
            second = probe_depth(depth, begin, height, width, row, column, scale, test[2], test[3])
            codes[k, m] = code_of_difference[first - second + FAR]


@compilation.compile_at_first_call(inline="always")
def probe_depth(
    depth: NDArray[np.uint16],
    begin: int,
    height: int,
    width: int,
    row: int,
    column: int,
    scale: float,
    down: int,
    right: int,
) -> int:
    """The depth beside a pixel, by an offset times pixels per millimetre there."""
    # Truncation of what is not negative is the floor, and faster.
    j = int(row + 0.5 + scale * down + 65536.0) - 65536
    i = int(column + 0.5 + scale * right + 65536.0) - 65536
    if j < 0 or i < 0 or j >= height or i >= width:
        return FAR
    return int(depth[begin + j * width + i])
