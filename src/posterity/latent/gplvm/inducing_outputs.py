"""Outputs of many latent points, seen through M inducing points: the collapsed bound.

Missing outputs cost nothing that is known: columns that miss the same rows are summed up together,
each such group over the rows that it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.inference import observations as inducing_observed
from posterity.inference.observations import Observations
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import outputs
from posterity.process import kernel_blocks
from posterity.process.inducing import rows


class InducingOutputs:
    """A lower bound of sum_d log N(y_d | 0, K_X + noise), of the outputs that are there.  [TI 9]

    Its own numbers are the log parameters of the kernel, the log noise variance where that is
    learned, and the inducing points, row by row.

    Parameters
    ----------
    Y : array (N, D)
        About zero; NaN where an output is missing.
    kernel : Kernel
        Where to start.
    kernel_bounds : array (P, 2)
        Of its log parameters.
    noise_variance : float
        Where to start, or given.
    noise_bounds : (float, float), or None
        None: given, not learned.
    Z : array (M, Q)
        Inducing points to start from.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> kernel, bounds = kernels.RBF(1.0).search_start(X)
    >>> term = InducingOutputs(np.sin(X), kernel, bounds, 0.1, (1e-6, 1e2), X[::4])
    >>> value, dX, own = term(X, term.start)
    >>> round(value, 2), dX.shape, own.shape
    (-5.29, (20, 1), (7,))
    """

    def __init__(
        self,
        Y: Array,
        kernel: kernels.Kernel,
        kernel_bounds: Array,
        noise_variance: float,
        noise_bounds: tuple[float, float] | None,
        Z: Array,
    ) -> None:
        self.kernel, self.kernel_bounds, self.Z = kernel, kernel_bounds, Z
        self.noise_variance, self.noise_bounds = noise_variance, noise_bounds
        self.n_outputs = Y.shape[1]
        self._groups = outputs.group_columns(Y)

    @property
    def start(self) -> Array:
        """Its own numbers to start from, (P,)."""
        return np.concatenate([self.kernel.theta, self._log_noise, self.Z.ravel()])

    @property
    def limits(self) -> Array:
        """Between which its numbers stay, (P, 2); points go where they like."""
        noise = np.log([] if self.noise_bounds is None else self.noise_bounds).reshape(-1, 2)
        points = np.tile([-np.inf, np.inf], (self.Z.size, 1))
        return np.vstack([self.kernel_bounds, noise, points])

    @property
    def names(self) -> list[str]:
        """Names of its parameters."""
        M, Q = self.Z.shape
        points = [f"inducing point {m}, dimension {q}" for m in range(M) for q in range(Q)]
        return self.kernel.names + ["noise_variance"] * len(self._log_noise) + points

    def read_parameters(self, own: Array) -> tuple[kernels.Kernel, float, Array]:
        """Kernel, noise variance and inducing points at its own numbers."""
        P = len(self.kernel.theta)
        Z = own[len(own) - self.Z.size :].reshape(self.Z.shape)
        noise = self.noise_variance if self.noise_bounds is None else float(np.exp(own[P]))
        return self.kernel.with_theta(own[:P]), noise, Z

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The bound, all constants included, and its gradients in X and in ``own``."""
        learned = len(self._log_noise)
        value, dX, dZ = 0.0, np.zeros_like(X), np.zeros_like(self.Z)
        d_theta, d_noise = np.zeros(len(self.kernel.theta)), np.zeros(learned)
        with linalg.limit_threads(len(self.Z)):
            for group, summary in self._summaries(X, own):
                theta, points, inputs = summary.pulled_back_to_inputs()
                value += summary.log_bound()
                d_theta += theta
                d_noise += summary.noise_slope()
                dZ += points
                dX[group.rows] += inputs
        return value, dX, np.concatenate([d_theta, d_noise, dZ.ravel()])

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """As Gauss and Newton take it."""
        kernel, noise, Z = self.read_parameters(own)
        for group, summary in self._summaries(X, own):
            hold = PointCurvature.by_points(X[group.rows], Z, kernel, noise, summary)
            hold.add_to(H, group.rows)

    def decoder(self, X: Array, own: Array) -> InducingDecoder:
        """The process given the outputs at latent points X, as far as the points carry it."""
        kernel, noise, Z = self.read_parameters(own)
        with linalg.limit_threads(len(Z)):
            found = list(self._summaries(X, own))
            parts = tuple(Part(group.columns, s.L_B, s.m) for group, s in found)
            return InducingDecoder(kernel, noise, Z, found[0][1].L, parts, self.n_outputs)

    @property
    def _log_noise(self) -> Array:
        return np.log([] if self.noise_bounds is None else [self.noise_variance])

    def _summaries(
        self, X: Array, own: Array
    ) -> Iterator[tuple[outputs.ObservedGroup, rows.BoundTerms]]:
        """The posterior from the rows of each group; all share the factor of K_uu."""
        carrier, L = rows.InducingNoise(*self.read_parameters(own)), None
        for group in self._groups:
            held = inducing_observed.HeldRows(X[group.rows], Observations.from_targets(group.Y))
            summary = rows.BoundTerms.sum_rows(carrier, held, L)
            L = summary.L
            yield group, summary


@dataclass(frozen=True)
class Part:
    """The likelihood of v = L^-1 u given the rows of a group, for its columns."""

    columns: NDArray[np.intp]
    L_B: Array  # (M, M), lower factor of the posterior precision of v
    m: Array  # (M, K), posterior means of v


@dataclass(frozen=True)
class InducingDecoder:
    """f given u, averaged over the posterior of u; outputs that missed other rows know less."""

    kernel: kernels.Kernel
    noise_variance: float
    Z: Array  # (M, Q)
    L: Array  # (M, M), lower factor of K_uu
    parts: tuple[Part, ...]
    n_outputs: int

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the D noise-free functions at points X (n, Q)."""
        mean, variance = np.empty((2, len(X), self.n_outputs))
        with linalg.limit_threads(len(self.Z)):
            for i in inducing_observed.cut_rows(len(X), len(self.Z), X):
                a, unseen = self._project(X[i], self.kernel(X[i], self.Z))
                for part in self.parts:
                    b = linalg.solve_lower(part.L_B, a)
                    mean[i, part.columns] = a.T @ part.m
                    variance[i, part.columns] = (unseen + np.sum(b * b, axis=0))[:, None]
        return LatentMarginals(mean, variance)

    def log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density (n,) of the outputs of each row that are not NaN, and its gradient."""
        value, gradient = np.empty(len(X)), np.empty_like(X)
        with linalg.limit_threads(len(self.Z)):
            for i in inducing_observed.cut_rows(len(X), len(self.Z), X):
                value[i], gradient[i] = self._log_density(X[i], Y[i])
        return value, gradient

    def _log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """The same of one block of rows."""
        tangent = self.kernel.tangent(X, self.Z)
        a, unseen = self._project(X, tangent.value)
        value, da, dk = np.zeros(len(X)), np.zeros_like(a), np.zeros(len(X))
        for part in self.parts:
            b = linalg.solve_lower(part.L_B, a)
            s = unseen + np.sum(b * b, axis=0) + self.noise_variance
            density, d_mean, ds = outputs.log_normal(Y[:, part.columns], a.T @ part.m, s)
            value += density
            dk += ds
            da += part.m @ d_mean.T
            da += 2.0 * ds * (linalg.solve_lower_transposed(part.L_B, b) - a)
        G = linalg.solve_lower_transposed(self.L, da).T
        return value, tangent.inputs(G) + self.kernel.diag_pullback_inputs(X, dk)

    def _project(self, X: Array, K: Array) -> tuple[Array, Array]:
        """a = L^-1 K_uf (M, n), and the prior variance that u does not carry (n,)."""
        a, prior = linalg.solve_lower(self.L, K.T), self.kernel.diag(X)
        return a, linalg.nonnegative(prior - np.sum(a * a, axis=0), prior)


_OUTPUTS = 16  # principal ones; those of the most slope, and each costs a pass over the kernel


class WhitenedProcess(Protocol):
    """The posterior of v = L^-1 u, the values of a process at the points that carry it."""

    @property
    def L(self) -> Array:
        """(M, M), lower factor of K_uu."""

    @property
    def L_B(self) -> Array:
        """(M, M), lower factor of the posterior precision of v."""

    @property
    def m(self) -> Array:
        """(M, D), posterior means of v."""


@dataclass(frozen=True)
class PointCurvature:
    """Derivatives of a process in its latent points.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> hold = PointCurvature.from_outputs(X, X, kernels.Linear(1.0), 0.1)
    >>> H = np.zeros((2, 1, 2, 1))
    >>> hold.add_to(H, np.arange(2))
    >>> H.reshape(2, 2).round(3)
    array([[8.264, 0.   ],
           [0.   , 0.751]])
    """

    P: Array  # (N, N), C^-1
    J: Array  # (N, Q, D), slopes of the means

    @classmethod
    def from_outputs(
        cls, X: Array, Y: Array, kernel: kernels.Kernel, noise_variance: float
    ) -> PointCurvature:
        """From outputs Y (N, D) at latent points X."""
        L = linalg.cholesky_in_place(kernel_blocks.with_diagonal(kernel(X), noise_variance))
        J = _slopes(kernel.tangent(X, X), linalg.solve_cholesky(L, Y), len(X))
        return cls(linalg.inverse_from_cholesky(L), J)

    @classmethod
    def by_points(
        cls, X: Array, Z: Array, kernel: kernels.Kernel, noise_variance: float, v: WhitenedProcess
    ) -> PointCurvature:
        """From a process that points Z carry: C = K_fu K_uu^-1 K_uf + noise."""
        tangent = kernel.tangent(X, Z)
        V = linalg.solve_lower(v.L_B, linalg.solve_lower(v.L, tangent.value.T))
        P = (np.eye(len(X)) - V.T @ V / noise_variance) / noise_variance  # [GPML A.9]
        J = _slopes(tangent, linalg.solve_lower_transposed(v.L, principal_outputs(v.m)), len(X))
        return cls(P, J)

    def add_to(self, H: Array, rows: NDArray[np.intp]) -> None:
        """H (N, Q, N, Q), with this at some rows, in place."""
        Q = self.J.shape[1]
        for q in range(Q):
            for p in range(Q):
                H[rows[:, None], q, rows, p] += self.P * (self.J[:, q] @ self.J[:, p].T)

    def add_to_outputs(self, across: Array, back: Array, outputs: Array) -> None:
        """The same where outputs may move, too: they are off by what they do less J dX.

        Blocks (N, Q, N, D), (N, D, N, Q) and (N, D, N, D), in place.
        """
        for d in range(self.J.shape[2]):
            outputs[:, d, :, d] += self.P
            for q in range(self.J.shape[1]):
                tied = self.J[:, q, d, None] * self.P
                across[:, q, :, d] -= tied
                back[:, d, :, q] -= tied.T


def principal_outputs(Y: Array) -> Array:
    """The first principal components of outputs Y (N, D), which have most of the slopes."""
    U, s, _ = linalg.thin_svd(Y)
    return U[:, :_OUTPUTS] * s[:_OUTPUTS]


def _slopes(tangent: kernels.Tangent, weights: Array, n: int) -> Array:
    """d/dx of k(x, Z) w at n points, for each column w of the weights (M, D): (n, Q, D)."""
    shape = (n, len(weights))
    each = (np.ascontiguousarray(np.broadcast_to(w, shape)) for w in weights.T)
    return np.stack([tangent.inputs(G) for G in each], axis=2)
