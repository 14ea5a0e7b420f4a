"""The problem of Minkowski regression in standard units, and the way back to those of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity.arrays import Array

_EPS = float(np.finfo(np.float64).eps)
_EXACT = 1e-13


@dataclass(frozen=True)
class PenalizedPoint:
    """Weights and offset, and what it took to get there."""

    w: Array  # (M,)
    b: float
    n_iter: int = 0
    converged: bool = True


@dataclass(frozen=True)
class PenalizedRows:
    """sum_n v_n |y_n - z_n.w - b|^p + sum_m penalty_m |w_m|^q, and the rows it is of."""

    Z: Array  # (N, M)
    y: Array  # (N,)
    v: Array  # (N,)  all > 0
    penalty: Array  # (M,)
    p: float
    q: float
    offset: bool  # whether b is free; otherwise it is zero

    @property
    def is_penalised(self) -> bool:
        return bool(self.penalty.any())

    def residual(self, w: Array, b: float) -> Array:
        return self.y - self.Z @ w - b

    def clean_residual(self, w: Array, b: float) -> Array:
        """The residual, with rounding set to zero: |r|^p makes much of it where p < 1."""
        r = self.residual(w, b)
        size = np.abs(self.y) + np.abs(self.Z) @ np.abs(w) + abs(b)
        return np.where(np.abs(r) <= 16.0 * _EPS * size, 0.0, r)

    def loss(self, r: Array, e: float = 0.0) -> float:
        """sum_n v_n (r_n^2 + e^2)^(p/2)."""
        return float(self.v @ (np.hypot(r, e) if e > 0.0 else np.abs(r)) ** self.p)

    def objective(self, w: Array, r: Array, e: float = 0.0) -> float:
        return self.loss(r, e) + float(self.penalty @ np.abs(w) ** self.q)

    def spread(self, point: PenalizedPoint) -> float:
        """Root mean square residual."""
        r = self.residual(point.w, point.b)
        return float(np.sqrt(self.v @ r**2 / self.v.sum()))

    def is_exact(self, point: PenalizedPoint) -> bool:
        """Whether the residuals are only rounding, given columns and y of unit spread."""
        return self.spread(point) <= _EXACT * (1.0 + float(np.abs(point.w).sum()))


@dataclass(frozen=True)
class MinkowskiFit:
    """Minimising weights and offset in the units of the data, and how they were found.

    Examples
    --------
    >>> from posterity.linear.penalized import minimise_penalized
    >>> rng = np.random.default_rng(0)
    >>> fit = minimise_penalized(np.eye(3), np.ones(3), penalty=0.0, loss_power=1.0, rng=rng)
    >>> fit.converged, fit.stop_reason
    (True, 'the rows are fitted exactly')
    """

    weights: Array  # (M,)
    intercept: float
    objective: float
    noise_scale: float  # s of greatest likelihood, for noise proportional to exp(-|r / s|^p)
    n_iter: int
    stop_reason: str
    converged: bool


@dataclass(frozen=True)
class StandardUnits:
    """What columns and targets were shifted and then divided by."""

    z_center: Array  # (M,)
    z_scale: Array  # (M,)
    y_center: float
    y_scale: float

    def with_penalty(self, rows: PenalizedRows, *, standardize: bool) -> PenalizedRows:
        """The rows with a penalty on the weights of columns as given turned into standard units.

        With ``standardize`` it was meant for columns of unit spread, and only y has a unit.
        """
        in_y = rows.penalty * self.y_scale ** (rows.q - rows.p)
        return replace(rows, penalty=in_y if standardize else in_y * self.z_scale**-rows.q)

    def restore_units(
        self, rows: PenalizedRows, point: PenalizedPoint, stop_reason: str
    ) -> MinkowskiFit:
        """The fit in the units of the data, given the problem and its solution in standard ones."""
        informative = rows.Z.any(axis=0)
        weights = np.where(informative, point.w * (self.y_scale / self.z_scale), 0.0)
        r = rows.clean_residual(point.w, point.b)
        return MinkowskiFit(
            weights=weights,
            intercept=self.y_center + self.y_scale * point.b - float(self.z_center @ weights),
            objective=self.y_scale**rows.p * rows.objective(point.w, r),
            noise_scale=self._noise_scale(rows, r),
            n_iter=point.n_iter,
            stop_reason=stop_reason,
            converged=point.converged,
        )

    def _noise_scale(self, rows: PenalizedRows, r: Array) -> float:
        """Noise below the rounding of the targets could not be told from none."""
        floor = _EPS * (1.0 + abs(self.y_center) / self.y_scale)
        mean_loss = max(rows.loss(r) / float(rows.v.sum()), floor**rows.p)
        scale = self.y_scale * float(rows.p * mean_loss) ** (1.0 / rows.p)
        return max(scale, float(np.finfo(np.float64).tiny))


def standardise_rows(given: PenalizedRows) -> tuple[PenalizedRows, StandardUnits]:
    """The rows with columns and targets of unit spread, centred if there is an offset."""
    Z, z_center, z_scale = _standardise_columns(given.Z, given.v, given.offset)
    y, y_center, y_scale = _standardise_columns(given.y[:, None], given.v, given.offset)
    units = StandardUnits(z_center, z_scale, float(y_center[0]), float(y_scale[0]))
    return replace(given, Z=Z, y=y[:, 0]), units


def _standardise_columns(A: Array, v: Array, centred: bool) -> tuple[Array, Array, Array]:
    """Columns of unit root mean square, their centres and scales; constant ones become zero."""
    high, low = A.max(axis=0), A.min(axis=0)
    largest = np.maximum(np.abs(high), np.abs(low))
    empty = high - low <= 8.0 * _EPS * largest if centred else largest == 0.0
    center = v @ A / v.sum() if centred else np.zeros(A.shape[1])
    unit = np.where(empty, 1.0, np.maximum(high - center, center - low))
    B = (A - center) / unit
    B[:, empty] = 0.0
    root_mean_square = np.sqrt(np.einsum("n,nm,nm->m", v, B, B) / v.sum())
    B /= np.where(empty, 1.0, root_mean_square)
    return B, center, unit * np.where(empty, 1.0, root_mean_square)
