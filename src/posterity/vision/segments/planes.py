"""Numbers of every pixel of an image: colour, texture and contrast, and its straight lines.

Pixels of an edge that touch and whose gradients point alike are one line. Lines of a scene that are
parallel in space and lie level meet at the height of the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity.arrays import Array
from posterity.vision import filters, images
from posterity.vision.integrals import Pixels

_N_BINS = 8  # of directions, between 0 and 180 degrees
_LEAST_GRADIENT = 2.0  # units of lightness per pixel
_LEAST_LENGTH = 0.04  # of the diagonal of the image
_STRAIGHT = 0.02  # largest ratio of the variances across and along a line
_LEVEL, _VERTICAL = np.deg2rad(8.0), np.deg2rad(80.0)  # angles of lines from the horizontal
_MOST_LINES = 150  # that are paired: the longest
_N_HEIGHTS = 60  # places of the horizon that are compared
_HORIZON_MEAN, _HORIZON_STD = 0.5, 0.18  # before any line is seen, in heights of the image
_VOTE_WIDTH = 0.04  # blur of votes for a height, in heights of the image
_VOTE_STRENGTH = 6.0  # how many votes weigh as much as the prior


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of an image.

    Attributes
    ----------
    owner : array (H, W) of int
        Number of the line that a pixel belongs to, and -1 for pixels of no line.
    centre : array (L, 2)
        Row and column of the middle of each line.
    angle : array (L,)
        Angle from the horizontal, between -pi / 2 and pi / 2; positive lines fall to the right.
    length : array (L,)
        In pixels.
    horizon : float
        Estimated row of the horizon, in heights of the image.
    horizon_std : float
        Its standard deviation.
    """

    owner: NDArray[np.int64]
    centre: Array
    angle: Array
    length: Array
    horizon: float
    horizon_std: float

    @property
    def is_level(self) -> NDArray[np.bool_]:
        """Lines that are horizontal in the image."""
        return np.abs(self.angle) < _LEVEL

    @property
    def is_vertical(self) -> NDArray[np.bool_]:
        """Lines that are vertical in the image."""
        return np.abs(self.angle) > _VERTICAL

    def find_crossings(self) -> Array:
        """Column at which each line, lengthened, meets the horizon, in widths; NaN if level."""
        height, width = self.owner.shape
        slope = np.tan(np.where(self.is_level, np.nan, self.angle))
        return (self.centre[:, 1] + (self.horizon * height - self.centre[:, 0]) / slope) / width


def find_lines(light: NDArray[np.float32]) -> Lines:
    """Find the straight lines of an image of lightness (H, W), 0 to 100.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import planes
    >>> wall = np.zeros((60, 80), dtype=np.float32)
    >>> wall[:, 40:] = 50.0
    >>> found = planes.find_lines(wall)
    >>> len(found.length), round(float(np.rad2deg(abs(found.angle[0]))))
    (1, 90)
    """
    down, right = (ndimage.gaussian_filter(light, 1.0, order=order) for order in ((1, 0), (0, 1)))
    strength = np.hypot(down, right)
    # A line runs across its gradient; its angle is that of the gradient turned by 90 degrees.
    direction = np.mod(np.arctan2(right, -down), np.pi)
    keep = _find_ridges(strength, down, right)
    owner, centre, angle, length = _join_pixels(keep, direction, strength)
    horizon, spread = _estimate_horizon(centre, angle, length, owner.shape)
    return Lines(owner, centre, angle, length, horizon, spread)


def _find_ridges(
    strength: NDArray[np.float32], down: NDArray[np.float32], right: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Pixels whose gradient is at least that of both neighbours along it."""
    padded = np.pad(strength, 1)
    norm = np.maximum(strength, 1e-6)
    dy, dx = np.rint(down / norm).astype(np.int64), np.rint(right / norm).astype(np.int64)
    y, x = np.arange(strength.shape[0])[:, None], np.arange(strength.shape[1])
    before, after = padded[y + 1 - dy, x + 1 - dx], padded[y + 1 + dy, x + 1 + dx]
    ridge: NDArray[np.bool_] = (
        (strength >= before) & (strength > after) & (strength > _LEAST_GRADIENT)
    )
    return ridge


def _join_pixels(
    keep: NDArray[np.bool_], direction: NDArray[np.float32], strength: NDArray[np.float32]
) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Lines of pixels that touch; bins of directions overlap by half and longer lines win."""
    height, width = keep.shape
    pixels = np.flatnonzero(keep)
    y, x = pixels // width, pixels % width
    found = []
    for shift in (0.0, 0.5):
        bins = np.floor(direction.ravel()[pixels] * (_N_BINS / np.pi) + shift).astype(int) % _N_BINS
        found.append(_label_by_bin(keep.shape, pixels, bins))
    pieces = np.concatenate([found[0], found[1] + found[0].max(initial=-1) + 1])
    yy, xx = np.tile(y, 2).astype(float), np.tile(x, 2).astype(float)
    centre, angle, length, straight = _fit_lines(pieces, yy, xx)
    long = straight & (length >= _LEAST_LENGTH * np.hypot(height, width))
    n = len(pixels)
    size = np.where(long, length, -1.0)
    first, second = pieces[:n], pieces[n:]
    best = np.where(size[second] > size[first], second, first) if n else first
    best = np.where(size[best] > 0.0, best, -1) if n else best
    used, number = np.unique(best[best >= 0], return_inverse=True)
    owner = np.full(keep.size, -1)
    owner[pixels[best >= 0]] = number
    return owner.reshape(keep.shape), centre[used], angle[used], length[used]


def _label_by_bin(
    shape: tuple[int, ...], pixels: NDArray[np.int64], bins: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of the connected piece of one bin that each pixel belongs to."""
    piece = np.empty(len(pixels), dtype=np.int64)
    n = 0
    for k in range(_N_BINS):
        own = bins == k
        mask = np.zeros(shape, dtype=bool)
        mask.ravel()[pixels[own]] = True
        labels, n_found = ndimage.label(mask, structure=np.ones((3, 3)))
        piece[own] = labels.ravel()[pixels[own]] - 1 + n
        n += n_found
    return piece


def _fit_lines(
    piece: NDArray[np.int64], y: Array, x: Array
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Principal axis of each piece: middle, angle, length, and whether it is straight."""
    n = int(piece.max(initial=-1)) + 1
    count = np.bincount(piece, minlength=n).astype(float)

    def mean(values: Array) -> Array:
        return np.bincount(piece, values, n) / count

    cy, cx = mean(y), mean(x)
    vy, vx, cov = (
        mean((y - cy[piece]) ** 2),
        mean((x - cx[piece]) ** 2),
        mean((y - cy[piece]) * (x - cx[piece])),
    )
    root = np.hypot(0.5 * (vx - vy), cov)
    along, across = 0.5 * (vx + vy) + root, 0.5 * (vx + vy) - root
    angle = 0.5 * np.arctan2(2.0 * cov, vx - vy)
    length = np.sqrt(12.0 * along)  # of a uniform line with this variance
    # A staircase of pixels has a variance of about 1/12 across it.
    return np.column_stack([cy, cx]), angle, length, across < _STRAIGHT * along + 0.2


def _estimate_horizon(
    centre: Array, angle: Array, length: Array, shape: tuple[int, ...]
) -> tuple[float, float]:
    """Mean and standard deviation of the row of the horizon, in heights.

    Each pair of lines that are not parallel votes for the height at which they meet, by the product
    of their lengths; the votes are blurred, and multiply a normal prior.
    """
    grid = (np.arange(_N_HEIGHTS) + 0.5) / _N_HEIGHTS * 1.4 - 0.2
    log_p = -0.5 * ((grid - _HORIZON_MEAN) / _HORIZON_STD) ** 2
    meeting, weight = _pair_lines(centre, angle, length, shape)
    if len(meeting):
        kernel = np.exp(-0.5 * ((grid[:, None] - meeting) / _VOTE_WIDTH) ** 2)
        votes = kernel @ weight
        log_p = log_p + np.log1p(_VOTE_STRENGTH * votes)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = float(p @ grid)
    return mean, float(np.sqrt(p @ (grid - mean) ** 2))


def _pair_lines(
    centre: Array, angle: Array, length: Array, shape: tuple[int, ...]
) -> tuple[Array, Array]:
    """Heights at which pairs of slanted lines meet, and how much each counts."""
    slanted = np.flatnonzero((np.abs(angle) < _VERTICAL) & (np.abs(angle) > 0.25 * _LEVEL))
    slanted = slanted[np.argsort(-length[slanted])][:_MOST_LINES]
    i, j = np.triu_indices(len(slanted), 1)
    i, j = slanted[i], slanted[j]
    slope = np.tan(angle)
    difference = np.sin(angle[i] - angle[j])
    apart = np.abs(difference) > np.sin(np.deg2rad(10.0))
    i, j = i[apart], j[apart]
    x = (centre[j, 0] - centre[i, 0] + slope[i] * centre[i, 1] - slope[j] * centre[j, 1]) / (
        slope[i] - slope[j]
    )
    y = centre[i, 0] + slope[i] * (x - centre[i, 1])
    weight = length[i] * length[j] / (shape[0] ** 2 + shape[1] ** 2)
    return y / shape[0], weight


Plane = NDArray[np.float32]

_SCALES = (1.0, 2.0, 4.0)  # pixels, of derivatives
_DIRECTIONS = ("vertical", "falling", "level", "rising")  # edges, not gradients
_STRIP = 0.08  # of the image, at its top and bottom
N_HUES, N_SATURATIONS = 6, 3

TEXTURE_NAMES = tuple(
    f"{kind} of {scale:g} pixels"
    for scale in _SCALES
    for kind in ("edges", *(f"{direction} edges" for direction in _DIRECTIONS), "spots")
)
"""Planes of texture."""

CONTEXT_NAMES = tuple(
    f"{name} less that {place}"
    for place in ("above", "below", "at the top", "at the bottom")
    for name in ("L*", "a*", "b*", "edges")
)
"""Planes of contrast within a column."""


@dataclass(frozen=True, eq=False)
class ImagePlanes:
    """Numbers of every pixel of an image.

    Attributes
    ----------
    color : array (6, H, W)
        L*, a*, b*, hue, saturation and value.
    texture : array (T, H, W)
        Strengths of derivatives at several scales and in four directions, and of Laplacians.
    context : array (K, H, W)
        Differences of L*, a*, b* and fine texture to the means above and below in the column, and
        to the strips at the top and the bottom of the image.
    hue_bin, texture_bin : array (H, W) of int
        Bin of hue and saturation; filter that answers most strongly.
    lines : Lines
        Straight lines.
    """

    color: Plane
    texture: Plane
    context: Plane
    hue_bin: NDArray[np.int64]
    texture_bin: NDArray[np.int64]
    lines: Lines

    def average_image(self) -> NDArray[np.float32]:
        """Mean L*, a*, b*, hue and saturation of the image, and of edges at each scale."""
        step = len(TEXTURE_NAMES) // len(_SCALES)
        return np.concatenate([self.color[:5].mean((1, 2)), self.texture[::step].mean((1, 2))])


def compute_planes(image: Pixels) -> ImagePlanes:
    """Compute the planes of an image (H, W, 3) of uint8.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import planes
    >>> image = np.full((20, 30, 3), (0, 0, 255), dtype=np.uint8)
    >>> planes.compute_planes(image).color[:, 0, 0].round(1)
    array([  32.3,   79.2, -107.9,    0.7,    1. ,    1. ], dtype=float32)
    """
    share = image.astype(np.float32) / np.float32(255.0)
    hsv = np.moveaxis(images.import_skimage("color").rgb2hsv(share), -1, 0)
    lab = np.moveaxis(filters.convert_to_lab(image), -1, 0)
    light = np.ascontiguousarray(lab[0])
    texture = _filter_light(light)
    hue = np.minimum((hsv[0] * N_HUES).astype(np.int64), N_HUES - 1)
    saturation = np.minimum((hsv[1] * N_SATURATIONS).astype(np.int64), N_SATURATIONS - 1)
    return ImagePlanes(
        np.concatenate([lab, hsv]),
        texture,
        _compare_columns(np.concatenate([lab, texture[:1]])),
        hue * N_SATURATIONS + saturation,
        np.argmax(texture / texture.mean(axis=(1, 2), keepdims=True).clip(1e-6), axis=0),
        find_lines(light),
    )


def _filter_light(light: Plane) -> Plane:
    """Strengths of gradients, also by direction, and of Laplacians: (6 x scales, H, W)."""
    found, n = [], len(_DIRECTIONS)
    for scale in _SCALES:
        down, right = (
            scale * ndimage.gaussian_filter(light, scale, order=order) for order in ((1, 0), (0, 1))
        )
        strength = np.hypot(down, right)
        angle = np.mod(np.arctan2(down, right), np.pi)
        bins = np.floor(angle * (n / np.pi) + 0.5).astype(np.int64) % n
        found.append(strength)
        found += [strength * (bins == k) for k in range(n)]
        found.append(np.abs(scale**2 * ndimage.gaussian_laplace(light, scale)))
    return np.stack(found).astype(np.float32)


def _compare_columns(planes: Plane) -> Plane:
    """Differences to means above, below, and to the strips at top and bottom: (4 C, H, W)."""
    height = planes.shape[1]
    total = np.cumsum(planes, axis=1, dtype=np.float64)
    n = np.arange(1, height + 1)[:, None]
    above = total / n
    below = (total[:, -1:] - total + planes) / (height + 1 - n)
    strip = max(int(_STRIP * height), 1)
    width = max(int(_STRIP * planes.shape[2]), 1)
    edges = [
        ndimage.uniform_filter1d(part.mean(axis=1), 2 * width + 1, axis=1)[:, None]
        for part in (planes[:, :strip], planes[:, -strip:])
    ]
    return np.concatenate([planes - other for other in (above, below, *edges)]).astype(np.float32)
