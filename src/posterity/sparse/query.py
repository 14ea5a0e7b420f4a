"""A column of its own for each query: what sparse kernel models do not know far from their vectors.

The columns of a sparse model vanish far from all relevance vectors, and with them its doubt. With
one more column, centred at the query, a model doubts there as much as it did anywhere before the
data [RQ 4]. Near the rows these have told what that column is worth, and next to nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays, kernels, linalg
from posterity.arrays import Array
from posterity.inference.conjugate.linear import WeightPosterior
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.variational import NearestNormal
from posterity.linalg import eigen
from posterity.sparse.class_normals import ClassNormals

_BLOCK_VALUES = 1 << 21  # queries meet the rows 16 MiB at a time


@dataclass(frozen=True)
class QueryColumn:
    """A normal posterior of weights, ready for one more column with a weight for each of J values.

    The weights have a normal prior, and the rows curve as minus the Hessian of their log likelihood
    says: exactly for normal noise, otherwise at the mode or on average over the posterior.
    """

    kernel: kernels.Kernel
    rows: Any  # N of them
    share: Array | None  # (N,), in the mean that columns are measured from; None: from zero
    A: Array  # (N, p), the columns of the model
    L: Array  # (p J, p J), L L^T = prior precision + A^T B A, a column's J weights together
    B: Array  # (N, J, J), minus the Hessian of the log likelihood
    G: Array  # (N, J, K), its gradient, for each of K outputs that share all else
    prior_variance: float  # of the function, averaged over the rows

    @classmethod
    def from_normal(
        cls,
        kernel: kernels.Kernel,
        rows: Any,
        columns: Array,
        Y: Array,
        weights: Array,
        posterior: WeightPosterior,
        *,
        centred: bool,
    ) -> QueryColumn:
        """Build the column for normal noise, in units of which the variance then changes.

        Parameters
        ----------
        kernel : Kernel
        rows : array of shape (N, D), or N objects
        columns : array of shape (N, m)
            ``kernel(rows, vectors)``.
        Y : array of shape (N, K)
        weights : array of shape (N,)
            Over the noise variances where these are known.
        posterior : WeightPosterior
            Of the weights of these columns; its prior variances are its noise variances.
        centred : bool
            Whether there is an offset.
        """
        p = posterior.problem
        A = (columns - p.center) / p.scale
        L = linalg.cholesky(A.T @ (weights[:, None] * A) + np.eye(A.shape[1]), max_jitter=0.0)
        R = Y - p.target_center - A @ (posterior.coef * p.scale[:, None])
        share = weights / np.sum(weights)
        return cls(
            kernel,
            rows,
            share if centred else None,
            A,
            L,
            weights[:, None, None],
            (weights[:, None] * R)[:, None, :],
            float(np.sum(share @ (A * A))),
        )

    @classmethod
    def from_fit(
        cls,
        kernel: kernels.Kernel,
        rows: Any,
        A: Array,
        fit: LaplaceFit | NearestNormal | ClassNormals,
        *,
        centred: bool,
    ) -> QueryColumn:
        """Build the column for any likelihood, whose outputs are contrasts of latent values.

        Parameters
        ----------
        kernel : Kernel
        rows : array of shape (N, D), or N objects
        A : array of shape (N, p)
            The design of the fit: its columns, then that of the offset if there is one.
        fit : LaplaceFit, NearestNormal or ClassNormals
            Rows curve as they do at the mode, or on average over the normal.
        centred : bool
            Whether columns are measured about their weighted mean.
        """
        prior, t, J = fit.problem.prior, fit.problem.targets, fit.problem.shape[1]
        weights = np.ones(len(A)) if t.weights is None else t.weights
        share = weights / np.sum(weights)
        slope, curvature = fit.slope_and_curvature(A)
        variances = np.mean(1.0 / prior.precision_per_weight(J), axis=1)
        return cls(
            kernel,
            rows,
            share if centred else None,
            A,
            fit.L,
            curvature,
            slope[:, :, None],
            float(share @ (A[:, : prior.n_weights] ** 2) @ variances),
        )

    def changes(self, queries: Any, A: Array) -> tuple[Array, Array]:
        """What the columns of the queries add to the mean and to the covariance there.

        Parameters
        ----------
        queries : array of shape (n, D), or n objects
        A : array of shape (n, p)
            The columns of the model at the queries.

        Returns
        -------
        mean : array of shape (n, J, K)
        covariance : array of shape (n, J, J)
        """
        n, (_, J, K) = len(A), self.G.shape
        mean, covariance = np.zeros((n, J, K)), np.zeros((n, J, J))
        if self.prior_variance > 0.0:
            for block in self._blocks(n):
                few = kernels.rows.slice_rows(queries, block.start, block.stop)
                mean[block], covariance[block] = self._changes(few, A[block])
        return mean, covariance

    def _blocks(self, n: int) -> Iterator[slice]:
        N, J, _ = self.B.shape
        size = max(1, _BLOCK_VALUES // (N * J))
        return (slice(i, min(i + size, n)) for i in range(0, n, size))

    def _changes(self, queries: Any, A: Array) -> tuple[Array, Array]:
        """Changes of mean and covariance at a block of b queries."""
        Z = _to_host(self.kernel(self.rows, queries))  # (N, b)
        own = _to_host(self.kernel.diag(queries))
        if self.share is not None:
            center = self.share @ Z
            Z, value = Z - center, own - center
        else:
            value = own
        V, U = self._whiten_columns(Z), self._whiten_queries(A)
        J = V.shape[2]
        E = value[:, None, None] * np.eye(J) - np.einsum("pbj,pbk->bjk", U, V, optimize=True)
        S = np.einsum("nb,njk->bjk", Z * Z, self.B, optimize=True)
        S -= np.einsum("pbj,pbk->bjk", V, V, optimize=True)
        Q = np.einsum("nb,njk->bjk", Z, self.G, optimize=True)
        C = _posterior_covariance(S, self._variance(own))
        return E @ (C @ Q), E @ C @ np.swapaxes(E, 1, 2)

    def _variance(self, own: Array) -> Array:
        """Prior variance of the weights, with which queries vary as rows do on average."""
        v = np.zeros_like(own)
        return np.divide(self.prior_variance, own * own, out=v, where=own != 0.0)

    def _whiten_columns(self, Z: Array) -> Array:
        """L^-1 A^T B Z, (p J, b, J): the columns as the model sees them."""
        (_, p), (_, b), J = self.A.shape, Z.shape, self.B.shape[1]
        T = np.empty((p, J, b, J))
        for j in range(J):
            for k in range(J):
                T[:, j, :, k] = (self.A * self.B[:, j, k, None]).T @ Z
        return linalg.solve_lower(self.L, T.reshape(p * J, b * J)).reshape(p * J, b, J)

    def _whiten_queries(self, A: Array) -> Array:
        """L^-1 of the rows that make latent values of weights, (p J, b, J)."""
        (b, p), J = A.shape, self.B.shape[1]
        T = A.T[:, None, :, None] * np.eye(J)[:, None, :]
        return linalg.solve_lower(self.L, T.reshape(p * J, b * J)).reshape(p * J, b, J)


def _posterior_covariance(S: Array, v: Array) -> Array:
    """Return (I / v + S)^-1, (b, J, J); rounding does not make S negative."""
    F, variance = eigen.semidefinite_factors(S), v[:, None, None]
    R = eigen.semidefinite_factors(np.eye(S.shape[1]) + variance * (F @ np.swapaxes(F, 1, 2)))
    inverse = R / np.sum(R * R, axis=1)[:, None, :]  # the columns of R are eigenvectors
    return variance * (inverse @ np.swapaxes(inverse, 1, 2))


def _to_host(values: Any) -> Array:
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)
