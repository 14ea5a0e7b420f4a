"""Columns in use and columns on offer, as a sparse model with normal noise sees them.

What a column that is out would add is known exactly from its products with the columns that are in,
through its sparsity S and qualities Q. A ``View`` of a block of candidates keeps these products: so
a column costs one pass over the block when it first comes in, and none afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.designs import candidates
from posterity.inference.sparse_bayes import sequential
from posterity.inference.sparse_bayes.sequential import Moments

_ROOM = 64


@dataclass(frozen=True)
class Targets:
    """K outputs, centred where the model has an offset, in units of their own."""

    WY: Array  # (N, K), times the weights
    weights: Array | None  # (N,); None: one each
    E: Array  # (K,): Y^T W Y
    n: float  # sum of the weights, less one for an offset
    unit: Array  # (K,), of the raw outputs

    @classmethod
    def of(
        cls, Y: Array, weights: Array | None, *, centred: bool, noise_variance: Array | None
    ) -> Targets:
        """In units of the known noise, or of their own root mean square where it is learned.

        In learned noise an output that does not vary says nothing of any column, and is left out;
        so are all of them where the rows count as one or less, and an offset takes that one.
        """
        w = np.ones(len(Y)) if weights is None else weights
        center = w @ Y / np.sum(w) if centred else np.zeros(Y.shape[1])
        residual = Y - center
        n = float(np.sum(w)) - float(centred)
        square = w @ (residual * residual)
        unit = np.sqrt(square / max(n, 1.0)) if noise_variance is None else np.sqrt(noise_variance)
        smallest = 8.0 * np.sqrt(len(Y)) * np.finfo(np.float64).eps * np.abs(center)
        told = (unit > smallest) & (n > 0.0)
        kept = told if noise_variance is None else np.ones(len(unit), dtype=np.bool_)
        Y_kept = residual[:, kept] / unit[kept]
        return cls(w[:, None] * Y_kept, weights, square[kept] / unit[kept] ** 2, n, unit[kept])

    @property
    def constant(self) -> float:
        """What the units add to the log evidence."""
        return -self.n * float(np.sum(np.log(self.unit)))

    def log_alone(self, kind: int) -> float:
        """What the outputs alone add to the evidence of the sequential steps."""
        if kind == sequential.LEARNED:
            return self.constant
        squares = float(np.sum(self.E))
        return self.constant - 0.5 * (squares + self.n * len(self.E) * np.log(2.0 * np.pi))

    def row_weights(self) -> Array:
        """(N,)."""
        return np.ones(len(self.WY)) if self.weights is None else self.weights

    def weighted(self, Zt: Array) -> Array:
        """W Z, (N, k), of columns Z given as rows."""
        return Zt.T if self.weights is None else (Zt * self.weights).T


@dataclass(frozen=True)
class Noise:
    """Known in the units of the targets, or learned."""

    kind: int
    variance: Array  # (K,); ones where it is learned

    @classmethod
    def known(cls, variance: Array) -> Noise:
        """Of K outputs."""
        return cls(sequential.KNOWN, variance)

    @classmethod
    def learned(cls, n_outputs: int) -> Noise:
        """Always at its best for the columns that are in."""
        return cls(sequential.LEARNED, np.ones(n_outputs))

    def moments(self, columns: Working, targets: Targets) -> Moments:
        """Columns as the sequential steps take them."""
        B = columns.B / np.sqrt(self.variance)
        E = targets.E if self.kind == sequential.LEARNED else None
        return Moments.of(columns.A, B, kind=self.kind, E=E, n=targets.n)


@dataclass(frozen=True)
class Working:
    """Some columns, their moments, and the precisions h of their weights, infinite for out."""

    places: NDArray[np.intp]  # (w,)
    h: Array  # (w,)
    Zt: Array  # (w, N): standardised columns, as rows
    A: Array  # (w, w): Z^T W Z
    B: Array  # (w, K): Z^T W Y
    center: Array  # (w,)
    scale: Array  # (w,)

    @classmethod
    def of(cls, block: candidates.Block, h: Array, targets: Targets) -> Working:
        """The columns of a block."""
        Zt = np.ascontiguousarray(block.host().T)
        A, B = Zt @ targets.weighted(Zt), Zt @ targets.WY
        return cls(block.places, h, Zt, A, B, block.center, block.scale)

    def __len__(self) -> int:
        return len(self.places)

    def noise_variance(self, targets: Targets) -> Array:
        """The best for these columns, (K,), all of them in."""
        L = linalg.cholesky(self.A + np.diag(self.h), max_jitter=0.0)
        E = targets.E - linalg.quadratic_form(L, self.B)
        return np.maximum(E, sequential.LEAST_NOISE * targets.E) / targets.n

    def at(self, h: Array) -> Working:
        """With other precisions, without the columns that are out."""
        i = np.flatnonzero(np.isfinite(h))
        if len(i) == len(h):
            return replace(self, h=h)
        A = self.A[np.ix_(i, i)]
        return Working(
            self.places[i], h[i], self.Zt[i], A, self.B[i], self.center[i], self.scale[i]
        )

    def beside(self, other: Working, G: Array) -> Working:
        """Both, for G = Z^T W (the other's Z)."""
        return Working(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.h, other.h]),
            np.concatenate([self.Zt, other.Zt]),
            np.block([[self.A, G], [G.T, other.A]]),
            np.concatenate([self.B, other.B]),
            np.concatenate([self.center, other.center]),
            np.concatenate([self.scale, other.scale]),
        )


class View:
    """A block of candidates, and their products with every column that ever was in."""

    def __init__(self, block: candidates.Block, targets: Targets) -> None:
        self._block, self._targets = block, targets
        self._square = block.squares(targets.row_weights())
        self._B = block.project(targets.WY)
        self._row: dict[int, int] = {}  # of a place, in the products
        self._products = np.empty((_ROOM, len(block.places)))

    def products(self, columns: Working) -> Array:
        """Z_in^T W Z, (m, b)."""
        new = [i for i, place in enumerate(columns.places) if int(place) not in self._row]
        if new:
            first = len(self._row)
            self._row |= {int(columns.places[i]): first + j for j, i in enumerate(new)}
            self._products = _with_room(self._products, len(self._row))
            G = self._block.project(self._targets.weighted(columns.Zt[new]))
            self._products[first : len(self._row)] = G.T
        return self._products[[self._row[int(place)] for place in columns.places]]

    def factors(self, columns: Working) -> tuple[Array, Array, Array]:
        """S (b,) and Q (b, K) of every column beside those that are in, and E (K,) that is left."""
        G = self.products(columns)
        L = linalg.cholesky(columns.A + np.diag(columns.h), max_jitter=0.0)
        # There are many more candidates than columns: a product with the inverse of a small factor
        # is two or three times faster than substitution.
        T = linalg.solve_lower(L, np.eye(len(L))) @ G
        mu = linalg.solve_cholesky(L, columns.B)
        S = self._square - np.einsum("mb,mb->b", T, T)
        return S, self._B - G.T @ mu, self._targets.E - np.sum(columns.B * mu, axis=0)

    def gains(self, columns: Working, noise: Noise, prior: priors.Sparse) -> Array:
        """What each column of the block that is out would gain, (b,)."""
        S, Q, E = self.factors(columns)
        free = self._block.varies & (sequential.DEPENDENT * self._square < S)
        free &= ~np.isin(self._block.places, columns.places)
        gains = np.zeros(len(S))
        gains[free] = sequential.gains(
            noise.kind,
            S[free],
            Q[free] / np.sqrt(noise.variance),
            E,
            self._targets.n,
            prior,
            len(columns.places),
        )
        return gains

    def beside(self, columns: Working, within: NDArray[np.intp]) -> Working:
        """The columns in use, and some of the block that are out."""
        block = self._block
        offered = candidates.Block(
            block.places[within],
            block.part(within),
            block.center[within],
            block.scale[within],
            block.varies[within],
        )
        out = Working.of(offered, np.full(len(within), np.inf), self._targets)
        return columns.beside(out, self.products(columns)[:, within])


def _with_room(rows: Array, n_rows: int) -> Array:
    """The same array, or one of at least twice as many rows that begins with it."""
    if n_rows <= len(rows):
        return rows
    larger = np.empty((max(n_rows, 2 * len(rows)), rows.shape[1]))
    larger[: len(rows)] = rows
    return larger
