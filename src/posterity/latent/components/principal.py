"""Principal axes as a model: coordinates, the way back, and the density of a row.  [TB 4]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.designs.moments import Centred
from posterity.latent.components.evidence import Spectrum

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Principal:
    """A mean, orthonormal axes as rows, and the variances along them and beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components.principal import Principal
    >>> from posterity.latent.components.evidence import Spectrum
    >>> spectrum = Spectrum(np.array([9.0, 1.0]), 0.0, 50.0, 2)
    >>> model = Principal(np.zeros(2), np.array([[0.6, 0.8]]), spectrum)
    >>> Z, distances = model.coordinates_and_residuals(np.array([[3.0, 4.0], [-0.8, 0.6]]))
    >>> Z.round(12) + 0.0, distances.round(12)
    (array([[5.], [0.]]), array([0., 1.]))
    """

    mean: Array  # (D,)
    axes: Array  # (k, D)
    spectrum: Spectrum

    @property
    def variances(self) -> Array:
        """Along the axes, (k,)."""
        return self.spectrum.variances[: len(self.axes)]

    @property
    def noise_variance(self) -> float:
        """The mean variance along the directions beyond the axes."""
        return self.spectrum.noise_variance(len(self.axes))

    @property
    def has_density(self) -> bool:
        """Whether every direction has some variance."""
        k, D = self.axes.shape
        return bool(np.all(self.variances > 0.0)) and (k == D or self.noise_variance > 0.0)

    def coordinates(self, X: Array) -> Array:
        """The rows along the axes, (n, k)."""
        return Centred(X, self.mean, None).times(self.axes.T)

    def rows_at(self, Z: Array) -> Array:
        """The rows at these coordinates, (n, D)."""
        X = Z @ self.axes
        X += self.mean
        return X

    def coordinates_and_residuals(self, X: Array) -> tuple[Array, Array]:
        """The coordinates, and the squared distance of each row from the plane of the axes."""
        Z, distances = np.empty((len(X), len(self.axes))), np.empty(len(X))
        for rows, A in Centred(X, self.mean, None).row_blocks():
            Z[rows] = A @ self.axes.T
            A -= Z[rows] @ self.axes
            distances[rows] = np.einsum("ij,ij->i", A, A)
        return Z, distances

    def log_density(self, X: Array) -> Array:
        """log N(x | mean, C) with one variance beyond the axes, for O(n D k) operations."""
        k, D = self.axes.shape
        Z, distances = self.coordinates_and_residuals(X)
        log_det = float(np.sum(np.log(self.variances)))
        squares = (Z * Z) @ (1.0 / self.variances)
        if k < D:
            v = self.noise_variance
            log_det += (D - k) * float(np.log(v))
            squares += distances / v
        return -0.5 * (D * _LOG_2PI + log_det + squares)
