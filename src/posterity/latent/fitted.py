"""Records of fits of latent variable models."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.kernels import Kernel
from posterity.latent.gplvm import Descent, MapFit, VariationalFit
from posterity.latent.output_frame import OutputFrame, RowsSeen

_EFFECTIVE = 1e-2  # relevance, in units of the largest, of a dimension that counts


@dataclass(frozen=True)
class FittedGPLVM:
    """A latent variable model in the units of its columns."""

    frame: OutputFrame
    groups: NDArray[np.intp] | None  # of the rows that were fitted
    model: MapFit | VariationalFit
    noise_variance: float | Array  # one for all columns, or (D,)
    relevances: Array  # (Q,)
    at_bounds: tuple[str, ...]

    @functools.cached_property
    def rows_seen(self) -> RowsSeen:
        """The rows that were fitted, to be found again."""
        return RowsSeen(self.model.Y)

    def outputs(self, Z: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of outputs at latent points Z, noise included."""
        decoder = self.model.decoder
        f = decoder.latent(Z)
        return f.mean, f.variance + decoder.noise_variance

    @property
    def embedding_variance(self) -> Array:
        """Variances of the latent points, (N, Q); of a variational fit only."""
        return self._require(VariationalFit).X_variance

    @property
    def effective_components(self) -> NDArray[np.intp]:
        """The dimensions that matter, the most relevant first."""
        order = np.argsort(-self.relevances, kind="stable")
        return order[self.relevances[order] > _EFFECTIVE]

    @property
    def log_posterior(self) -> float:
        """Log density of rows and latent points; of the most probable points only."""
        return self._require(MapFit).value - self._log_units

    @property
    def log_evidence(self) -> float:
        """A lower bound of the log density of the rows; of a variational fit only."""
        return self._require(VariationalFit).value - self._log_units

    @property
    def _log_units(self) -> float:
        return float(np.sum(self.frame.log_units(self.model.Y)))

    def _require(self, kind: type[MapFit] | type[VariationalFit]) -> MapFit | VariationalFit:
        if not isinstance(self.model, kind):
            raise AttributeError(f"The fit is not a {kind.__name__}.")
        return self.model


@dataclass(frozen=True)
class FittedHierarchy:
    """A hierarchy of latent spaces in the units of its columns."""

    frame: OutputFrame
    seen: RowsSeen
    descent: Descent
    embedding: Array  # (N, Q), root points
    part_embeddings: dict[str, Array]
    parts: dict[str, NDArray[np.intp]]
    kernels: dict[str, Kernel]
    noise_variances: dict[str, float | Array]
    root_kernel: Kernel
    path_kernel: Kernel | None
    log_posterior: float
    n_iter: int
    stop_reason: str
    at_bounds: tuple[str, ...]

    def outputs(self, R: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of outputs at root points R, noise included."""
        return self.descent.outputs(R)
