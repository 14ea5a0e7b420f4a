"""The variances along the principal axes of rows, and what a number of axes leaves over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posterity.arrays import Array
from posterity.latent.components import evidence


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of the covariance of N rows of D columns: all of them, or the largest.

    Parameters
    ----------
    variances : array of shape (r,)
        The largest eigenvalues of the sample covariance (of N - 1 degrees of freedom), decreasing.
    unexplained : float
        The sum of the others; 0 where those of `variances` are all that can differ from zero.
    count : float
        N, the sum of the weights.
    n_features : int
        D.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components.spectrum import Spectrum
    >>> spectrum = Spectrum(np.array([4.0, 1.0]), 1.0, 100.0, 4)
    >>> spectrum.total, spectrum.noise_variance(1), spectrum.enough_for(0.8)
    (6.0, 0.6666666666666666, 2)
    """

    variances: Array
    unexplained: float
    count: float
    n_features: int

    @property
    def total(self) -> float:
        """The sum of the variances of all columns."""
        return float(self.variances.sum()) + self.unexplained

    @cached_property
    def shares(self) -> Array:
        """What each axis has of the total; zero where nothing varies."""
        return self.variances / self.total if self.total > 0.0 else np.zeros_like(self.variances)

    @cached_property
    def log_evidences(self) -> Array:
        """The evidence of 0, 1, ..., r axes; see :mod:`posterity.latent.components.evidence`."""
        return evidence.log_evidences(self, np.arange(len(self.variances) + 1))

    def log_evidence(self, k: int) -> float:
        """The evidence of k axes alone, which is much cheaper."""
        return float(evidence.log_evidences(self, np.array([k]))[0])

    def noise_variance(self, k: int) -> float:
        """The mean variance of the directions beyond the first k; 0 if k is all of them.

        It is the most likely one of D - k directions, whether or not rows reach them. [TB 8]
        """
        if k >= self.n_features:
            return 0.0
        rest = float(self.variances[k:].sum()) + self.unexplained
        return rest / (self.n_features - k)

    def enough_for(self, share: float) -> int:
        """The least number of axes that have this share of the total; one where nothing varies."""
        if self.total == 0.0:
            return 1
        reached = np.cumsum(self.shares)
        return min(int(np.searchsorted(reached, share)) + 1, len(reached))
