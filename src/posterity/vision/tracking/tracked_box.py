"""What a tracker says about a frame: the box, how sure it is, and whether the object is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from posterity import linalg
from posterity.arrays import Array
from posterity.vision import images
from posterity.vision.integrals import Pixels

_SEEN, _HIDDEN = np.array([0, 170, 60]), np.array([230, 60, 0])  # colours


@dataclass(frozen=True, eq=False)
class TrackedBox:
    """Box of an object in a frame.

    Attributes
    ----------
    box : array of shape (4,)
        Left, top, right and bottom in pixels; the first pixel reaches from 0 to 1.
    covariance : array of shape (3, 3)
        Covariance of the middle, x and y in pixels, and of the logarithm of the size.
    probability : float
        Probability that the object is seen in this frame.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TrackedBox
    >>> found = TrackedBox(
    ...     np.array([10.0, 20.0, 30.0, 50.0]), np.diag([4.0, 9.0, 0.01]), 0.97
    ... )
    >>> found.center, found.radii(0.9).round(1)
    (array([20., 35.]), array([6.4, 4.3]))
    """

    box: Array
    covariance: Array
    probability: float

    @property
    def center(self) -> Array:
        """Middle of the box, x and y."""
        return 0.5 * (self.box[:2] + self.box[2:])

    def radii(self, coverage: float = 0.9) -> Array:
        """Return the half axes, longest first, of the ellipse that holds the middle."""
        return np.asarray(np.hypot(*self._get_axes(coverage)))

    def ellipse(self, coverage: float = 0.9, n_points: int = 60) -> Array:
        """Return points (n_points, 2) of the ellipse that holds the middle."""
        angles = np.linspace(0.0, 2.0 * np.pi, n_points)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        return np.asarray(self.center + (self._get_axes(coverage) @ circle).T)

    def find_coverage(self, point: Array) -> float:
        """Return the coverage of the ellipse on whose edge a point, x and y, lies."""
        L = linalg.cholesky(self.covariance[:2, :2])
        z = linalg.solve_lower(L, np.asarray(point, dtype=np.float64) - self.center)
        return float(stats.chi2.cdf(z @ z, 2))

    def draw(self, image: Any, coverage: float = 0.9) -> Pixels:
        """Return a copy of the image in colour with the box, the ellipse and the probability.

        Parameters
        ----------
        image : array (H, W) or (H, W, 3)
            The frame.
        coverage : float, default=0.9
            Probability that the middle is inside the ellipse.
        """
        from PIL import Image, ImageDraw

        picture = Image.fromarray(images.to_color(image).copy())
        pen, line = ImageDraw.Draw(picture), max(1, round(min(picture.size) / 200))
        color = tuple((self.probability * _SEEN + (1.0 - self.probability) * _HIDDEN).astype(int))
        x0, y0, x1, y1 = map(float, self.box)
        pen.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), outline=color, width=line)
        points = self.ellipse(coverage)
        pen.line([tuple(map(float, point)) for point in points], fill=color, width=line)
        pen.text((x0 + line + 1, y0 + line), f"{self.probability:.2f}", fill=color)
        return np.asarray(picture)

    def _get_axes(self, coverage: float) -> Array:
        """Return the half axes as columns."""
        U, s, _ = linalg.thin_svd(self.covariance[:2, :2])
        return np.asarray(U * np.sqrt(s * stats.chi2.ppf(coverage, 2)))
