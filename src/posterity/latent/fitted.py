"""Records of fits of latent variable models."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import distributions
from posterity.arrays import Array
from posterity.kernels import Kernel
from posterity.latent.gplvm import Descent, MapFit, VariationalFit


@dataclass(frozen=True)
class OutputFrame:
    """The origin and the unit of each column.

    Examples
    --------
    >>> frame = OutputFrame.from_rows(np.array([[1.0, 5.0], [3.0, np.nan]]), standardize=False)
    >>> frame.to_model_units(np.array([[2.0, 6.0]]))
    array([[0., 1.]])
    """

    centre: Array  # (D,)
    scale: Array  # (D,)

    @classmethod
    def from_rows(cls, X: Array, *, standardize: bool) -> OutputFrame:
        """From rows whose missing values are NaN; a column without any value is refused."""
        empty = np.flatnonzero(np.all(np.isnan(X), axis=0))
        if empty.size:
            raise ValueError(
                f"Column {empty[0]} of X has no value at all, so that nothing can be learned of "
                "it: leave it out."
            )
        rows = np.ascontiguousarray(X)  # sums are then the same whatever the order in memory
        centre = np.nanmean(rows, axis=0)
        if not standardize:
            return cls(centre, np.ones(X.shape[1]))
        scale = np.nanstd(rows, axis=0)
        # What rounding leaves of a constant column is no unit.
        constant = scale <= 10.0 * np.finfo(np.float64).eps * np.abs(centre)
        return cls(centre, np.where(constant, 1.0, scale))

    def to_model_units(self, X: Array) -> Array:
        """Rows in the units of the model."""
        return np.ascontiguousarray((X - self.centre) / self.scale)

    def to_distribution(self, mean: Array, variance: Array) -> distributions.Normal:
        """From the units of the model to those of the columns."""
        return distributions.Normal(mean * self.scale + self.centre, np.sqrt(variance) * self.scale)

    def fill_missing(self, rows: Array, mean: Array, variance: Array) -> distributions.Normal:
        """Rows with their missing values predicted, and what is known kept with deviation zero."""
        missing, guess = np.isnan(rows), self.to_distribution(mean, variance)
        return distributions.Normal(
            np.where(missing, guess.mean(), rows),
            np.where(missing, guess.standard_deviation(), 0.0),
        )

    def log_units(self, Y: Array) -> Array:
        """The loss of each row's log density by the change of units, (n,)."""
        return ~np.isnan(Y) @ np.log(self.scale)


class RowsSeen:
    """Rows that a model was fitted to, which keep their places when they are asked for again.

    Examples
    --------
    >>> seen = RowsSeen(np.array([[1.0, np.nan], [3.0, 4.0]]))
    >>> seen.find_places(np.array([[3.0, 4.0], [5.0, 6.0], [1.0, np.nan]]))
    array([ 1, -1,  0])
    """

    def __init__(self, Y: Array) -> None:
        self._Y = Y

    @functools.cached_property
    def _numbers(self) -> dict[int, int]:
        """The number of the first row with each hash."""
        return {
            hash(row.tobytes()): i
            for i, row in reversed(list(enumerate(_normalize_bytes(self._Y))))
        }

    def __getstate__(self) -> dict[str, Array]:
        """The rows alone: hashes of bytes are others in another process."""
        return {"_Y": self._Y}

    def find_places(self, Y: Array) -> NDArray[np.intp]:
        """The number of the equal row for each row, -1 where no row is equal.

        The rows that were fitted, in their order, are each themselves, though some may be equal.
        """
        if Y.shape == self._Y.shape and np.array_equal(Y, self._Y, equal_nan=True):
            return np.arange(len(Y))
        found = [self._numbers.get(hash(row.tobytes()), -1) for row in _normalize_bytes(Y)]
        places = np.array(found, dtype=np.intp)
        known = places >= 0
        known[known] = np.all(
            _normalize_bytes(Y[known]) == _normalize_bytes(self._Y[places[known]]), axis=1
        )
        return np.where(known, places, -1)


def _normalize_bytes(Y: Array) -> Array:
    """Rows in which equal values are equal bytes: one zero, and infinity for what is missing."""
    return np.ascontiguousarray(np.where(np.isnan(Y), np.inf, Y) + 0.0)


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
