"""Silhouettes as numbers: histograms of shape contexts, and distances to the outline.

A shape context counts the points of a contour around one of them, in rings of growing width and
sectors. A codebook of typical contexts turns the contour of a mask into one histogram, to which
each point gives its vote, spread over similar codes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, compilation, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.vision import masks
from posterity.vision.masks import Mask, list_masks

_NEAREST, _FURTHEST = 0.125, 2.0  # radii of the inmost and outmost ring, in median distances
_MOST_CONTEXTS = 40_000  # from which codes are learned


def describe_points(points: ArrayLike, n_radii: int = 5, n_angles: int = 12) -> Array:
    """Shape contexts of points: the share of the others in each ring and sector.

    Parameters
    ----------
    points : array (n, 2)
        Row and column.
    n_radii, n_angles : int
        Number of rings and of sectors. Radii grow in equal ratios, from an eighth of the median
        distance between points to twice it; the disc inside belongs to the first ring, and points
        beyond are left out.

    Returns
    -------
    array (n, n_radii * n_angles)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> describe_points(square, n_radii=1, n_angles=4)[0].round(2)
    array([0.  , 0.  , 0.67, 0.33])
    """
    places = np.ascontiguousarray(points, dtype=np.float64)
    contexts = np.zeros((len(places), n_radii * n_angles))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    scale = float(np.median(distances))
    if not scale > 0.0:
        raise ValueError("A contour must have an extent; all of its points are one.")
    _count_points(places, scale, n_radii, n_angles, contexts)
    return contexts


@declare_parameters
class ShapeContexts(TransformerMixin, BaseEstimator):
    """Histograms of the shape contexts of masks over a codebook of typical ones.

    Parameters
    ----------
    n_codes : int, default=100
        Number of typical contexts, and of columns.
    n_points : int, default=200
        Number of points on a contour.
    n_radii, n_angles : int, default=5 and 12
        Number of rings and sectors of a context.
    softness : float, default=1.0
        Width over which a point spreads its vote, in units of the typical distance between a
        context and its nearest code.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the search for codes.

    Attributes
    ----------
    codes_ : ndarray of shape (n_codes, n_radii * n_angles)
        Roots of typical contexts: distances between roots are those of Hellinger.
    width_ : float
        Width of votes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> from posterity.vision import ShapeContexts
    >>> masks = vision.datasets.bodies(6, noise=False).parts < 255
    >>> model = ShapeContexts(n_codes=20).fit(masks)
    >>> histograms = model.transform(masks)
    >>> histograms.shape, np.round(histograms.sum(axis=1), 6).max()
    ((6, 20), np.float64(1.0))
    """

    n_codes: int = field(default=100, kw_only=False)
    n_points: int = 200
    n_radii: int = 5
    n_angles: int = 12
    softness: float = 1.0
    random_state: Any = 0

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Learn the codes.

        Parameters
        ----------
        X : array (N, H, W), or iterable of arrays (H, W)
            Masks, of any sizes: booleans, or zero outside of the figure.
        y : ignored
        """
        n_codes = validation.check_count(self.n_codes, "n_codes", least=2)
        rng = arrays.generator(self.random_state)
        contexts = np.concatenate([self._describe(mask) for mask in masks.list_masks(X)])
        if len(contexts) < n_codes:
            raise ValueError(
                f"{len(contexts)} points of contours are too few for n_codes={n_codes}."
            )
        if len(contexts) > _MOST_CONTEXTS:
            contexts = contexts[rng.choice(len(contexts), _MOST_CONTEXTS, replace=False)]
        search = MiniBatchKMeans(n_codes, n_init=1, random_state=int(rng.integers(1 << 31)))
        search.fit(contexts)
        self.codes_ = np.asarray(search.cluster_centers_, dtype=np.float64)
        nearest = np.sqrt(np.median(find_squares(contexts, self.codes_).min(axis=1)))
        self.width_ = validation.check_positive(self.softness, "softness") * float(nearest)
        return self

    def transform(self, X: Iterable[Any]) -> Array:
        """Histograms, (N, n_codes); each sums to one."""
        check_is_fitted(self, "codes_")
        rows = [self._count_votes(self._describe(mask)) for mask in masks.list_masks(X)]
        return np.array(rows).reshape(-1, len(self.codes_))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns."""
        check_is_fitted(self, "codes_")
        return np.array([f"context{k}" for k in range(len(self.codes_))], dtype=object)

    def check_consistency(self) -> None:
        """Check fitted attributes that were read from a file."""
        if not hasattr(self, "codes_"):  # a setting of another model
            return
        size = self.n_radii * self.n_angles
        validation.require_array(self.codes_, "codes_", np.float64, (None, size))
        validation.require_positive(self.width_, "width_")

    def _describe(self, mask: Any) -> Array:
        points = masks.sample_contour(
            mask, validation.check_count(self.n_points, "n_points", least=8)
        )
        return np.sqrt(describe_points(points, self.n_radii, self.n_angles))

    def _count_votes(self, contexts: Array) -> Array:
        squares = find_squares(contexts, self.codes_)
        votes = softmax(-0.5 * squares / self.width_**2, axis=1)
        return np.asarray(votes.mean(axis=0))


def find_squares(a: Array, b: Array) -> Array:
    """Squared distances between rows, (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> find_squares(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[25.]])
    """
    squares = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2.0 * (a @ b.T)
    return np.maximum(squares, 0.0)


@compilation.compile_at_first_call
def _count_points(
    points: Array, scale: float, n_radii: int, n_angles: int, contexts: Array
) -> None:
    n = len(points)
    per_ring = n_radii / math.log(_FURTHEST / _NEAREST)
    per_sector = n_angles / (2.0 * math.pi)
    for i in range(n):
        counted = 0
        for j in range(n):
            down, right = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
            distance = math.sqrt(down * down + right * right) / scale
            if i == j or distance > _FURTHEST:
                continue
            ring = 0
            if distance > _NEAREST:
                ring = min(int(per_ring * math.log(distance / _NEAREST)), n_radii - 1)
            angle = math.atan2(down, right) + math.pi
            sector = min(int(per_sector * angle), n_angles - 1)
            contexts[i, ring * n_angles + sector] += 1.0
            counted += 1
        if counted > 0:
            for k in range(n_radii * n_angles):
                contexts[i, k] /= counted


CELLS = (24, 18)
"""Rows and columns of the grid."""

_POINTS = 5  # along either side of a cell
_MARGIN = 0.05  # of the height of the grid, above and below a person
_REACH = 0.055  # of the height of a person: distances beyond are cut off
_MOST_ROWS = 240  # of a person: larger masks are reduced first
_LEAST_ROWS = 3  # of a person
_PAD = 2


def measure_masks(X: Any) -> Array:
    """Signed distances to the outlines of silhouettes, (N, 432).

    Each silhouette is scaled to the same height and centred by its mean column, so that its place
    and its size in the image do not matter. Distances are positive inside, in units of the height,
    and cut off at 0.055; each number is the mean over a cell of a grid of 24 x 18.

    Parameters
    ----------
    X : array of shape (H, W) or (N, H, W), or sequence of arrays (H, W)
        Masks: other than zero where the person is.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((60, 40), dtype=bool)
    >>> mask[10:50, 15:25] = True
    >>> measured = measure_masks([mask, np.roll(mask, 5, axis=1)])
    >>> measured.shape, bool(np.allclose(measured[0], measured[1]))
    ((2, 432), True)
    """
    people = [_check_person(mask, k) for k, mask in enumerate(list_masks(X))]
    if not people:
        raise ValueError("There are no masks.")
    return np.stack([_measure_mask(mask) for mask in people])


def _check_person(mask: Mask, number: int) -> Mask:
    """Refuse a silhouette of fewer than three rows of pixels."""
    if np.count_nonzero(mask.any(axis=1)) < _LEAST_ROWS:
        raise ValueError(f"Mask {number} shows no person: fewer than three of its rows are set.")
    return mask


def _measure_mask(mask: NDArray[np.bool_]) -> Array:
    person = _cut_out(mask)
    height = len(person) - 2 * _PAD
    rows, columns = _place_points(person, height)
    distance = ndimage.distance_transform_edt(person) - ndimage.distance_transform_edt(~person)
    # Beyond the cut the distance to its edge is added.
    inside = [np.clip(x, 0, n - 1) for x, n in zip((rows, columns), person.shape, strict=True)]
    beyond = np.hypot(*(x - near for x, near in zip((rows, columns), inside, strict=True)))
    values = ndimage.map_coordinates(distance, inside, order=1) - beyond
    short = np.clip(values / height, -_REACH, _REACH)
    shape = CELLS[0], _POINTS, CELLS[1], _POINTS
    return short.reshape(shape).mean(axis=(1, 3)).ravel() / _REACH


def _cut_out(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The person with a narrow frame, of 240 rows at most."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    person = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    step = -(-len(person) // _MOST_ROWS)
    if step > 1:
        short = [(0, -n % step) for n in person.shape]
        blocks = np.pad(person, short)
        shape = blocks.shape[0] // step, step, blocks.shape[1] // step, step
        person = blocks.reshape(shape).mean(axis=(1, 3)) >= 0.5
    return np.pad(person, _PAD)


def _place_points(person: NDArray[np.bool_], height: int) -> tuple[Array, Array]:
    """Rows and columns of the points of the grid in the cut, each (120, 90)."""
    n_rows, n_columns = (cells * _POINTS for cells in CELLS)
    pixels = height / (n_rows * (1.0 - 2.0 * _MARGIN))  # between two points
    share = person.sum(axis=0) / person.sum()
    middle = share @ np.arange(person.shape[1])
    rows = _PAD - 0.5 + (np.arange(n_rows) + 0.5 - _MARGIN * n_rows) * pixels
    columns = middle + (np.arange(n_columns) + 0.5 - 0.5 * n_columns) * pixels
    grid = np.meshgrid(rows, columns, indexing="ij")
    return grid[0], grid[1]
