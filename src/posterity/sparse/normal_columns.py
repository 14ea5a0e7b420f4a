"""Outputs and columns in normal noise, and what the candidates of a block would add.

What a column that is out would add is known exactly from its products with the columns that are in,
through its sparsity S and qualities Q. ``BlockProducts`` keeps these products for a block of
candidates: so a column costs one pass over the block when it first comes in, and none afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.sparse import sequential
from posterity.sparse.problem import Places, SparseProblem
from posterity.sparse.sequential import Moments, PosteriorFactor

_ROOM = 64


@dataclass(frozen=True)
class NormalTargets:
    """K outputs, centred where the model has an offset, in units of their own."""

    WY: Array  # (N, K), times the weights
    weights: Array | None  # (N,); None: one each
    E: Array  # (K,): Y^T W Y
    n: float  # sum of the weights, less one for an offset
    unit: Array  # (K,), of the raw outputs

    @classmethod
    def from_outputs(
        cls, Y: Array, weights: Array | None, *, centred: bool, noise_variance: Array | None
    ) -> NormalTargets:
        """Centre outputs, in units of the known noise or else of their root mean square.

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

    def log_alone(self, kind: int) -> float:
        """What the outputs and their units add to the evidence of the sequential steps."""
        constant = -self.n * float(np.sum(np.log(self.unit)))
        if kind == sequential.LEARNED:
            return constant
        squares = float(np.sum(self.E))
        return constant - 0.5 * (squares + self.n * len(self.E) * np.log(2.0 * np.pi))

    def row_weights(self) -> Array:
        """Weight of each row, (N,)."""
        return np.ones(len(self.WY)) if self.weights is None else self.weights

    def weight_columns(self, Zt: Array) -> Array:
        """W Z, (N, k), of columns Z given as rows."""
        return Zt.T if self.weights is None else (Zt * self.weights).T


@dataclass(frozen=True)
class NoiseModel:
    """Known in the units of the targets, or learned."""

    kind: int
    variance: Array  # (K,); ones where it is learned

    @classmethod
    def for_learning(cls, n_outputs: int) -> NoiseModel:
        """Always at its best for the columns that are in."""
        return cls(sequential.LEARNED, np.ones(n_outputs))

    def moments(self, columns: WorkingColumns, targets: NormalTargets) -> Moments:
        """Columns as the sequential steps take them."""
        B = columns.B / np.sqrt(self.variance)
        E = targets.E if self.kind == sequential.LEARNED else None
        return Moments.from_products(columns.A, B, kind=self.kind, E=E, n=targets.n)


@dataclass(frozen=True)
class WorkingColumns:
    """Some columns, their moments, and the precisions h of their weights, infinite for out."""

    places: Places  # (w,)
    h: Array  # (w,)
    Zt: Array | None  # (w, N): standardised columns, as rows; None: their products are known
    A: Array  # (w, w): Z^T W Z
    B: Array  # (w, K): Z^T W Y
    center: Array  # (w,)
    scale: Array  # (w,)

    @classmethod
    def from_block(cls, block: CandidateBlock, h: Array, targets: NormalTargets) -> WorkingColumns:
        """The columns of a block."""
        Zt = np.ascontiguousarray(block.copy_to_host().T)
        A, B = Zt @ targets.weight_columns(Zt), Zt @ targets.WY
        return cls(block.places, h, Zt, A, B, block.center, block.scale)

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def factor(self) -> PosteriorFactor:
        """Factor of the posterior precision of the weights, all of them in."""
        return PosteriorFactor.from_precision(self.A + np.diag(self.h))

    def noise_variance(self, targets: NormalTargets) -> Array:
        """The best for these columns, (K,), all of them in."""
        E = targets.E - np.sum((self.factor.L_inverse @ self.B) ** 2, axis=0)
        return np.maximum(E, sequential.LEAST_NOISE * targets.E) / targets.n

    def with_precisions(self, h: Array) -> WorkingColumns:
        """Replace the precisions, and leave out the columns that are out."""
        i = np.flatnonzero(np.isfinite(h))
        if len(i) == len(h):
            return replace(self, h=h)
        A = self.A[np.ix_(i, i)]
        Zt = None if self.Zt is None else self.Zt[i]
        return WorkingColumns(self.places[i], h[i], Zt, A, self.B[i], self.center[i], self.scale[i])

    def join(self, other: WorkingColumns, G: Array) -> WorkingColumns:
        """Both, for G = Z^T W (the other's Z)."""
        return WorkingColumns(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.h, other.h]),
            None if self.Zt is None or other.Zt is None else np.concatenate([self.Zt, other.Zt]),
            np.block([[self.A, G], [G.T, other.A]]),
            np.concatenate([self.B, other.B]),
            np.concatenate([self.center, other.center]),
            np.concatenate([self.scale, other.scale]),
        )


class BlockProducts:
    """A block of candidates, and their products with every column that ever was in."""

    def __init__(
        self, block: CandidateBlock, targets: NormalTargets, *, at_once: bool = False
    ) -> None:
        self._block, self._targets = block, targets
        self._square = block.squares(targets.row_weights())
        self._B = block.project(targets.WY)
        self._row: dict[int, int] = {}  # of a place, in the products
        self._products = np.empty((_ROOM, len(block.places)))
        self._at_once = at_once  # all products of the block with itself
        if at_once:
            self._row = {int(place): i for i, place in enumerate(block.places)}
            Zt = np.ascontiguousarray(block.copy_to_host().T)
            self._products = Zt @ targets.weight_columns(Zt)

    def learn_products(self, columns: WorkingColumns) -> None:
        """Multiply the block with those of the columns that have not been in before."""
        new = [i for i, place in enumerate(columns.places) if int(place) not in self._row]
        if not new or columns.Zt is None:
            return
        first = len(self._row)
        self._row |= {int(columns.places[i]): first + j for j, i in enumerate(new)}
        self._products = _grow_rows(self._products, len(self._row))
        G = self._block.project(self._targets.weight_columns(columns.Zt[new]))
        self._products[first : len(self._row)] = G.T

    def products(self, columns: WorkingColumns) -> Array:
        """Z_in^T W Z, (m, b)."""
        self.learn_products(columns)
        return self._products[self._rows_of(columns)]

    def _rows_of(self, columns: WorkingColumns) -> Places:
        return np.array([self._row[int(place)] for place in columns.places], dtype=np.intp)

    def sparsity_and_quality(self, columns: WorkingColumns) -> tuple[Array, Array, Array]:
        """S (b,) and Q (b, K) of every column beside those that are in, and E (K,) that is left."""
        G, L_inverse = self.products(columns), columns.factor.L_inverse
        T, t = L_inverse @ G, L_inverse @ columns.B
        S = self._square - np.einsum("mb,mb->b", T, T)
        return S, self._B - T.T @ t, self._targets.E - np.sum(t * t, axis=0)

    def gains(self, columns: WorkingColumns, noise: NoiseModel, problem: SparseProblem) -> Array:
        """What each column of the block that is out would gain, (b,)."""
        S, Q, E = self.sparsity_and_quality(columns)
        free = self._block.varies & (sequential.DEPENDENT * self._square < S)
        free &= ~np.isin(self._block.places, columns.places)
        gains = np.zeros(len(S))
        gains[free] = sequential.gains(
            noise.kind,
            S[free],
            Q[free] / np.sqrt(noise.variance),
            E,
            self._targets.n,
            problem.prior,
            len(columns.places),
        )
        return gains

    def join_columns(self, columns: WorkingColumns, within: Places) -> WorkingColumns:
        """The columns in use, and some of the block that are out."""
        h, block = np.full(len(within), np.inf), self._block
        if self._at_once:
            A, B = self._products[np.ix_(within, within)], self._B[within]
            center, scale = block.center[within], block.scale[within]
            out = WorkingColumns(block.places[within], h, None, A, B, center, scale)
        else:
            out = WorkingColumns.from_block(block.select(within), h, self._targets)
        return columns.join(out, self._products[np.ix_(self._rows_of(columns), within)])


def _grow_rows(rows: Array, n_rows: int) -> Array:
    """The same array, or one of at least twice as many rows that begins with it."""
    if n_rows <= len(rows):
        return rows
    larger = np.empty((max(n_rows, 2 * len(rows)), rows.shape[1]))
    larger[: len(rows)] = rows
    return larger
