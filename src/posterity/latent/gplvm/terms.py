"""Terms of the log density of latent points, each with parameters of its own.

The most probable latent points maximise such a sum: the log likelihood of the outputs under the
process, and the log prior of the points.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals

_LOG_2PI = math.log(2.0 * math.pi)


class Term(Protocol):
    """A log density that depends on latent points X (N, Q) and on P numbers of its own."""

    @property
    def start(self) -> Array:
        """Its own numbers to start from, (P,); positive ones as their logarithms."""

    @property
    def limits(self) -> Array:
        """Between which its numbers stay, (P, 2)."""

    @property
    def names(self) -> list[str]:
        """Names of its parameters."""

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The log density, all constants included, and its gradients in X and in ``own``.

        Raises ``linalg.NotPositiveDefiniteError`` where it does not exist, to rounding.
        """

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """Add what is known of minus the second derivatives in X to H (N, Q, N, Q), in place.

        It is semidefinite, and need not be all: a search is the faster for it, its end the same.
        """


class Decoder(Protocol):
    """From latent points to outputs: a process, conditioned on the rows it was fitted to."""

    @property
    def noise_variance(self) -> float:
        """Variance of an output about the function."""

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the D noise-free functions at points X (n, Q)."""

    def log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density (n,) of the outputs of each row that are not NaN, and its gradient (n, Q).

        Outputs are independent given X, with the predictive variance and the noise.
        """


class OutputTerm(Term, Protocol):
    """The term of the outputs, which can be conditioned on them."""

    def decoder(self, X: Array, own: Array) -> Decoder:
        """The process given the outputs at latent points X."""


class LatentPrior(Term, Protocol):
    """A prior of latent points, before any output is seen."""

    def divergence(self, m: Array, S: Array, own: Array) -> tuple[float, Array, Array, Array]:
        """KL of independent normals (means m, variances S, each (N, Q)) from this prior.

        With its gradients in m, in S and in ``own``.
        """


class StandardNormalPrior:
    """Every coordinate of every latent point is standard normal."""

    start = np.empty(0)
    limits = np.empty((0, 2))

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """sum log N(x | 0, 1)."""
        return -0.5 * (float(np.sum(X * X)) + X.size * _LOG_2PI), -X, own

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """One, of every coordinate."""
        np.einsum("iqiq->iq", H)[...] += 1.0

    def divergence(self, m: Array, S: Array, own: Array) -> tuple[float, Array, Array, Array]:
        """KL = 1/2 sum (S + m^2 - 1 - log S).  [TL]"""
        value = 0.5 * float(np.sum(S + m * m - 1.0 - np.log(S)))
        return value, m, 0.5 * (1.0 - 1.0 / S), own


class Volume:
    """The log volume of sets of latent points that have a given spread.

    The most probable coordinates of a normal cloud are all zero, for it is densest there: a kernel
    that may shorten its length scale lets the points shrink, without any information about them.
    The most probable spread is one. With X = 1 m^T + H S^1/2, S the scatter of the points about
    their mean m, they have the volume |S|^(N - Q - 2)/2 dS dH dm, and this is its logarithm: with
    it, a search finds the most probable spread and the most probable place of the points in a cloud
    of that spread.

    Points of rows without any value are not of the cloud: nothing holds them, so that they would
    be moved far away to let all others shrink. ``rows`` (N,) says which have values; None: all.
    """

    start = np.empty(0)
    limits = np.empty((0, 2))

    def __init__(self, rows: NDArray[np.bool_] | None = None) -> None:
        self.names: list[str] = []
        self._rows = slice(None) if rows is None or rows.all() else rows

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """(N - Q - 2) / 2 log |S / N|, up to a constant of N and Q."""
        points, slope = X[self._rows], np.zeros_like(X)
        N, Q = points.shape
        freedom = max(0, N - Q - 2)
        if not freedom:
            return 0.0, slope, own
        C = points - points.mean(axis=0)
        L = linalg.cholesky(C.T @ C / N, max_jitter=0.0)
        slope[self._rows] = freedom * (linalg.solve_cholesky(L, C.T).T / N)
        return 0.5 * freedom * linalg.log_determinant(L), slope, own

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """None: it is convex as often as concave, and small beside the others."""
