"""Where the prior variance of weights is looked for, whatever the units of their columns.

Weights of variance tau2 give latent values of rows z the variance tau2 |z|^2, about which the
targets know something: its typical size, divided by the mean squared length of the rows, is the
scale of tau2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array

_DECADES = np.log(10.0) * np.arange(2.0, -4.5, -1.0)
_LOWEST, _HIGHEST = np.log(1e-12), np.log(1e8)
_SHORTEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class PriorRange:
    """Log prior variances to begin with, and between which to search.

    Examples
    --------
    >>> short, long = (PriorRange.from_scales(4.0, length2) for length2 in (2e-8, 2e8))
    >>> np.exp([short.start, long.start])
    array([2.e+08, 2.e-08])
    """

    start: float

    @classmethod
    def from_scales(cls, typical_variance: float, square_length: float) -> PriorRange:
        """From the typical variance of latent values, and the mean squared length of rows.

        Where all rows are zero, no prior variance matters, and one is as good as another.
        """
        length2 = square_length if square_length > _SHORTEST else 1.0
        return cls(float(np.log(typical_variance) - np.log(length2)))

    @property
    def scan(self) -> Array:
        """One log variance a decade, among which to begin."""
        return self.start + _DECADES

    @property
    def limits(self) -> tuple[float, float]:
        """Beyond them weights explain nothing, or the prior does not matter."""
        return self.start + _LOWEST, self.start + _HIGHEST
