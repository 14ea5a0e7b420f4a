"""One joint normal over many rows, with their covariances."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.distributions import base, parameters
from posterity.distributions.base import Distribution
from posterity.distributions.normal import Normal

_LOG_2PI = float(np.log(2.0 * np.pi))
_ROUND_OFF = 1e-8
_BLOCK = 256


@dataclass(frozen=True, repr=False, eq=False)
class MultivariateNormal(Distribution):
    """A joint normal prediction of n rows, or K independent ones.

    Quantiles, intervals and the CRPS are those of the rows one by one: ask ``marginals()``.

    Parameters
    ----------
    location : array-like of shape (n,) or (n, K)
        Means.
    covariance : array-like of shape (n, n) or (K, n, n)
        Symmetric, positive semi-definite; one for all K outputs or one each.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> prediction = distributions.MultivariateNormal([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]])
    >>> prediction.standard_deviation().round(3)
    array([1.414, 1.414])
    >>> float(prediction.logpdf([0.0, 1.0]).round(3))
    -2.387
    >>> prediction.sample(5, rng=np.random.default_rng(0)).shape
    (5, 2)
    """

    location: Array
    covariance: Array

    def __init__(self, location: ArrayLike, covariance: ArrayLike) -> None:
        m = parameters.check_finite("location", location)
        C = parameters.check_finite("covariance", covariance)
        _check_shapes(m.shape, C.shape)
        for matrix in C.reshape(-1, *C.shape[-2:]):
            _check_symmetric(matrix)
        object.__setattr__(self, "location", np.broadcast_to(m, m.shape))
        object.__setattr__(self, "covariance", np.broadcast_to(C, C.shape))

    def mean(self) -> Array:
        return self.location.copy()

    def variance(self) -> Array:
        """Variance of each row, shape (n,) or (n, K)."""
        diagonal = np.diagonal(self.covariance, axis1=-2, axis2=-1)
        rows = linalg.nonnegative(diagonal.T, float(np.max(diagonal, initial=0.0)))
        shared = rows.ndim < self.location.ndim
        return np.broadcast_to(rows[:, None] if shared else rows, self.shape).copy()

    def marginals(self) -> Normal:
        """The rows one by one, each with its own normal."""
        return Normal(self.location, self.standard_deviation())

    def logpdf(self, y: ArrayLike) -> Array:
        """Joint log density of all rows, one per output: () or (K,).

        Leading axes of y beyond those of the batch list several points.
        """
        n = self.shape[0]
        R = self._by_output(np.asarray(y, dtype=np.float64) - self.location)
        values = [
            -0.5 * linalg.quadratic_form(L, r.reshape(-1, n).T).reshape(r.shape[:-1])
            - 0.5 * (n * _LOG_2PI + linalg.log_determinant(L))
            for L, r in zip(self._factors, R, strict=True)
        ]
        return values[0] if self.location.ndim == 1 else np.stack(values, axis=-1)

    def pdf(self, y: ArrayLike) -> Array:
        """Joint density of all rows, one per output."""
        return np.exp(self.logpdf(y))

    def log_prob(self, y: ArrayLike) -> Array:
        """Joint log density of all rows, one per output: the same as ``logpdf``."""
        return self.logpdf(y)

    def entropy(self) -> Array:
        """Joint entropy of all rows, one per output: () or (K,)."""
        constant = 0.5 * self.shape[0] * (1.0 + _LOG_2PI)
        values = np.array([constant + 0.5 * linalg.log_determinant(L) for L in self._factors])
        return values[0] if self.location.ndim == 1 else values

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        Z = self._by_output(rng.standard_normal(base.draw_shape(shape, self.shape)))
        draws = [z @ root.T for z, root in zip(Z, self._roots, strict=True)]
        noise = draws[0] if self.location.ndim == 1 else np.stack(draws, axis=-1)
        return self.location + noise

    def __getitem__(self, index: Any) -> MultivariateNormal:
        rows = np.arange(self.shape[0])[index]
        if rows.ndim != 1:
            raise TypeError(
                "A joint prediction is indexed by a slice or a list of rows; for single rows index "
                "marginals()."
            )
        return MultivariateNormal(
            self.location[rows], self.covariance[..., rows[:, None], rows[None, :]]
        )

    def _by_output(self, values: Array) -> list[Array]:
        """One array (..., n) per output."""
        if self.location.ndim == 1:
            return [values]
        return [values[..., k] for k in range(self.location.shape[1])]

    def _per_output(self, matrices: list[Array]) -> list[Array]:
        """One matrix per output, the same for all where the covariance is shared."""
        n_outputs = 1 if self.location.ndim == 1 else self.location.shape[1]
        return matrices if len(matrices) == n_outputs else matrices * n_outputs

    @functools.cached_property
    def _matrices(self) -> list[Array]:
        """The distinct covariance matrices."""
        return list(self.covariance.reshape(-1, *self.covariance.shape[-2:]))

    @functools.cached_property
    def _factors(self) -> list[Array]:
        """Cholesky factors: a density needs a covariance of full rank."""
        return self._per_output([linalg.cholesky(C) for C in self._matrices])

    @functools.cached_property
    def _roots(self) -> list[Array]:
        """Roots F with F F^T = covariance; draws also exist where the covariance is singular."""
        return self._per_output([_root_of_covariance(C) for C in self._matrices])


def _root_of_covariance(C: Array) -> Array:
    """F with F F^T = C: the Cholesky factor, or from singular vectors where C is singular."""
    try:
        return linalg.cholesky(C, max_jitter=0.0)
    except linalg.NotPositiveDefiniteError:
        U, s, Vt = linalg.thin_svd(C)
    negative = (np.sum(U * Vt.T, axis=0) < 0.0) & (s > _ROUND_OFF * s[0])
    if np.any(negative):
        raise linalg.NotPositiveDefiniteError(
            f"The covariance has the negative eigenvalue {-np.max(s[negative]):.2e}, and "
            f"{s[0]:.2e} as its largest; no normal distribution has such a covariance."
        )
    return U * np.sqrt(s)


def _check_shapes(location: tuple[int, ...], covariance: tuple[int, ...]) -> None:
    """(n,) with (n, n), or (n, K) with (n, n) or (K, n, n)."""
    n, outputs = location[:1], location[1:]
    fits = covariance in (n + n, outputs + n + n)
    if len(location) not in (1, 2) or not fits:
        raise ValueError(
            f"location has shape {location} and covariance {covariance}; n rows need (n,) and "
            "(n, n), or for K outputs (n, K) and (n, n) or (K, n, n)."
        )


def _check_symmetric(C: Array) -> None:
    """Check symmetry block by block, so that no second matrix of this size is needed."""
    tolerance = _ROUND_OFF * np.max(np.abs(np.diagonal(C)), initial=0.0)
    for i in range(0, len(C), _BLOCK):
        rows = slice(i, i + _BLOCK)
        difference = np.abs(C[rows] - C[:, rows].T)
        if np.any(difference > tolerance):
            j, k = np.unravel_index(np.argmax(difference), difference.shape)
            raise ValueError(
                f"covariance is not symmetric: {C[i + j, k]:g} at ({i + j}, {k}) but "
                f"{C[k, i + j]:g} at ({k}, {i + j})."
            )
