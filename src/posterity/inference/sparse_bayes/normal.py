"""The columns of largest evidence in normal noise, known or learned, from any number of candidates.

The best of the candidates join the columns in use; the sequential steps add, re-estimate and delete
among these until nothing gains; then all candidates are looked at again. Every step climbs the same
objective. It has many local maxima where columns are alike, as those of smooth kernels are: a climb
in noise known to be smaller than what was learned lets columns in that lead to better ones. Where
columns explain something only together, no one of them gains, and the noise has to be far smaller.

What a column that is out would add is known exactly from its products with the columns that are in,
through its sparsity S and qualities Q. ``BlockProducts`` keeps these products for a block of
candidates: so a column costs one pass over the block when it first comes in, and none afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.inference.sparse_bayes import sequential
from posterity.inference.sparse_bayes.normal_targets import NormalTargets
from posterity.inference.sparse_bayes.problem import COST, Chosen, Places, SparseProblem
from posterity.inference.sparse_bayes.sequential import (
    KNOWN,
    LEARNED,
    Moments,
    PosteriorFactor,
)

_SHORTLIST = 80  # columns that join at a time
_COOLER = (0.6, 0.3)  # of the noise that was learned
_COOL_TOL = 150.0  # nats over the number of rows, while the noise is not yet what it will be
_MOST_COOL_TOL = 0.3
_EXPLAINED = 0.1  # of the targets' mean square: where less is left, columns were found
_COLD = 0.02  # of the targets' mean square
_COLD_COLUMNS = 100  # which is enough for a start
_LOST = 40.0  # nats below the best, from which a climb in smaller noise does not come back
_REHEATS = 9
_EXPENSIVE = 5000  # weights, from which there are no more reheats
_WORTHWHILE = 1.0  # gain of a reheat, for another one
_STREAMED_TOL = 2e-6  # a row: what is not worth another pass over the columns
_ROOM = 64
_FEW_VALUES = 600_000  # of a block, whose own products are then cheaper at once than in pieces


def select_normal(
    candidates: designs.CandidateColumns,
    Y: Array,
    weights: Array | None,
    problem: SparseProblem,
    *,
    noise_variance: Array | None = None,
    start: Chosen | None = None,
    reheats: int | None = None,
) -> Chosen:
    """Choose columns, and the precisions of their weights, by evidence.

    Parameters
    ----------
    candidates : Candidates
        Standardised with the same weights, and about their mean where there is an offset.
    Y : array of shape (N, K)
        Outputs, which share the columns. One that does not vary is left out, also of the value,
        where the noise is learned.
    weights : array of shape (N,), optional
        How often each row counts.
    problem : SparseProblem
        An offset takes one row's worth of each output. The tolerance is in nats of each output;
        where columns are streamed it is at least 2e-6 of the number of rows.
    noise_variance : array of shape (K,), optional
        Known; learned by default.
    start : Chosen, optional
        Where to begin, such as the result for a similar kernel; with no column by default.
    reheats : int, optional
        How often to look for a better maximum, at most, where the noise is learned; by default 9
        where the candidates are held, and 0 where they are streamed.
    """
    targets = NormalTargets.from_outputs(
        Y, weights, centred=problem.offset, noise_variance=noise_variance
    )
    K = len(targets.unit)
    tol = problem.tol * K
    noise = NoiseModel.for_learning(K) if noise_variance is None else NoiseModel(KNOWN, np.ones(K))
    search = _NormalSearch(candidates, targets, problem)
    best = search.start(start, noise)
    if K:
        with linalg.limit_threads(candidates.n_rows):
            best = search.climb(best, noise, tol)
            limit = (_REHEATS if candidates.is_held else 0) if reheats is None else reheats
            best = search.reheat(best, limit, tol) if noise.kind == LEARNED else best
    return _to_chosen(best, targets.log_alone(noise.kind), best.n_iter < problem.max_iter)


@dataclass(frozen=True)
class SearchPoint:
    """Columns in use, the objective there, and how often candidates have joined on the way."""

    columns: WorkingColumns
    value: float  # without the constants of the targets
    n_iter: int


@dataclass(frozen=True)
class _NormalSearch:
    """Candidates, what they are to explain, and the ways up."""

    candidates: designs.CandidateColumns
    targets: NormalTargets
    problem: SparseProblem

    def start(self, chosen: Chosen | None, noise: NoiseModel) -> SearchPoint:
        """Columns chosen before that still vary, or none."""
        places = np.empty(0, dtype=np.intp) if chosen is None else chosen.places
        h = np.empty(0) if chosen is None else chosen.precision
        block = self.candidates.take_columns(places)
        columns = WorkingColumns.from_block(block, np.where(block.varies, h, np.inf), self.targets)
        return self.evaluate(columns.with_precisions(columns.h), noise, 0)

    def evaluate(self, columns: WorkingColumns, noise: NoiseModel, n_iter: int) -> SearchPoint:
        """The value of columns that are all in."""
        moments = noise.moments(columns, self.targets)
        value = sequential.evidence(moments, columns.h, columns.factor.L)
        return SearchPoint(
            columns, value + self.problem.prior.log_density_of_choice(columns.h), n_iter
        )

    def climb(self, point: SearchPoint, noise: NoiseModel, tol: float) -> SearchPoint:
        """The end of the path."""
        end = point
        for further in self.path(point, noise, tol):
            end = further
        return end

    def path(self, point: SearchPoint, noise: NoiseModel, tol: float) -> Iterator[SearchPoint]:
        """Better and better points, until no candidate gains more than tol."""
        if not self.candidates.n_columns:
            return
        if self.candidates.is_held:
            yield from self._path_within(self._held_block, point, noise, tol, tol)
            return
        least = max(tol, _STREAMED_TOL * self.targets.n)
        end, before, bar = point, -np.inf, 10.0 * least
        while end.value > before + 10.0 * least and end.n_iter < self.problem.max_iter:
            before = end.value
            for block in self.candidates.blocks():
                view = BlockProducts(block, self.targets)
                for further in self._path_within(view, end, noise, least, bar):
                    yield further
                    end = further
            bar = least

    def reheat(self, point: SearchPoint, limit: int, tol: float) -> SearchPoint:
        """Climb in smaller noise, learn the noise again, as long as that leads higher."""
        best, cooler = self._climb_from_cold(point, tol) if limit else point, 0
        for _ in range(limit):
            expensive = len(best.columns) * len(self.targets.unit) > _EXPENSIVE
            if expensive or cooler == len(_COOLER) or best.n_iter >= self.problem.max_iter:
                break
            again = self._climb_through_noise(
                best, _COOLER[cooler] * self._learned_noise(best), tol
            )
            if again.value > best.value + _WORTHWHILE:
                best, cooler = again, 0
            else:
                best, cooler = replace(best, n_iter=again.n_iter), cooler + 1
        return best

    def _climb_from_cold(self, point: SearchPoint, tol: float) -> SearchPoint:
        """The end of a climb that began in hardly any noise, where that earns its columns."""
        left = self._learned_noise(point)
        if point.n_iter >= self.problem.max_iter or np.all(left <= _EXPLAINED):
            return point
        again = self._climb_through_noise(point, np.minimum(left, _COLD), tol, _COLD_COLUMNS)
        more = max(0, len(again.columns) - len(point.columns))
        if again.value > point.value + _WORTHWHILE + COST * more:
            return again
        return replace(point, n_iter=again.n_iter)

    def _learned_noise(self, point: SearchPoint) -> Array:
        """The noise that was learned, (K,), in units of the targets' mean squares."""
        return point.columns.noise_variance(self.targets)

    def _climb_through_noise(
        self, point: SearchPoint, variance: Array, tol: float, most: float = np.inf
    ) -> SearchPoint:
        """By way of noise known to be that."""
        known, K = NoiseModel(KNOWN, variance), len(variance)
        learned, again = NoiseModel.for_learning(K), point
        start = self.evaluate(point.columns, known, point.n_iter)
        for hot in self.path(start, known, K * min(_COOL_TOL / self.targets.n, _MOST_COOL_TOL)):
            again = self.evaluate(hot.columns, learned, hot.n_iter)
            if len(hot.columns) >= most or again.value < point.value - K * _LOST:
                break
        return again if again is point else self.climb(again, learned, tol)

    def _path_within(
        self, view: BlockProducts, point: SearchPoint, noise: NoiseModel, tol: float, bar: float
    ) -> Iterator[SearchPoint]:
        """The part of the path that one block offers, by candidates that gain more than the bar."""
        end = point
        while end.n_iter < self.problem.max_iter:
            view.learn_products(end.columns)  # the only large product of this loop
            with linalg.limit_threads(len(end.columns)):
                further = self._join_best(view, end, noise, tol, bar)
            if further.value <= end.value:
                return
            yield further
            end = further

    def _join_best(
        self, view: BlockProducts, end: SearchPoint, noise: NoiseModel, tol: float, bar: float
    ) -> SearchPoint:
        """The best columns of a block join; steps among them and those that are in."""
        gains = view.gains(end.columns, noise, self.problem)
        working = view.join_columns(end.columns, _best_columns(gains, bar))
        moments = noise.moments(working, self.targets)
        steps = sequential.maximise_evidence(
            moments, working.h, self.problem.prior, tol=tol, factor=end.columns.factor
        )
        return self.evaluate(working.with_precisions(steps.h), noise, end.n_iter + 1)

    @cached_property
    def _held_block(self) -> BlockProducts:
        block = next(self.candidates.blocks())
        few = self.candidates.n_rows * self.candidates.n_columns <= _FEW_VALUES
        return BlockProducts(block, self.targets, at_once=few)


def _best_columns(gains: Array, bar: float) -> Places:
    """The columns that gain most, and more than the bar."""
    order = np.argsort(-gains, kind="stable")[:_SHORTLIST]
    return order[gains[order] > bar]


def _to_chosen(point: SearchPoint, constant: float, converged: bool) -> Chosen:
    found, reason = point.columns, "no column gains more than the tolerance"
    if not converged:
        reason = f"candidates joined {point.n_iter} times, the most that max_iter allows"
    elif not len(found):
        reason = "no column gains anything: the data prefer no weights"
    where = (found.places, found.h, found.center, found.scale)
    return Chosen(*where, point.value + constant, point.n_iter, reason, converged)


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
        """Of the posterior precision of the weights, all of them in."""
        return PosteriorFactor.from_precision(self.A + np.diag(self.h))

    def noise_variance(self, targets: NormalTargets) -> Array:
        """The best for these columns, (K,), all of them in."""
        E = targets.E - np.sum((self.factor.L_inverse @ self.B) ** 2, axis=0)
        return np.maximum(E, sequential.LEAST_NOISE * targets.E) / targets.n

    def with_precisions(self, h: Array) -> WorkingColumns:
        """With other precisions, without the columns that are out."""
        i = np.flatnonzero(np.isfinite(h))
        if len(i) == len(h):
            return replace(self, h=h)
        A = self.A[np.ix_(i, i)]
        Zt = None if self.Zt is None else self.Zt[i]
        return WorkingColumns(
            self.places[i], h[i], Zt, A, self.B[i], self.center[i], self.scale[i]
        )

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
        return self._products[[self._row[int(place)] for place in columns.places]]

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
        return columns.join(out, self.products(columns)[:, within])


def _grow_rows(rows: Array, n_rows: int) -> Array:
    """The same array, or one of at least twice as many rows that begins with it."""
    if n_rows <= len(rows):
        return rows
    larger = np.empty((max(n_rows, 2 * len(rows)), rows.shape[1]))
    larger[: len(rows)] = rows
    return larger
