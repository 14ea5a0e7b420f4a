"""The columns of largest evidence in normal noise, known or learned, from any number of candidates.

The best of the candidates join the columns in use; the sequential steps add, re-estimate and delete
among these until nothing gains; then all candidates are looked at again. Every step climbs the same
objective. It has many local maxima where columns are alike, as those of smooth kernels are: a climb
in noise known to be smaller than what was learned lets columns in that lead to better ones. Where
columns explain something only together, no one of them gains, and the noise has to be far smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.sparse import sequential, vector_prices
from posterity.sparse.normal_columns import BlockProducts, NoiseModel, NormalTargets, WorkingColumns
from posterity.sparse.problem import COST, Chosen, Places, SparseProblem
from posterity.sparse.sequential import KNOWN, LEARNED

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
_FEW_VALUES = 1_500_000  # of a block, whose own products are then cheaper at once than in pieces


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
    with linalg.limit_threads(0 if search.has_few_values else candidates.n_rows):
        best = search.start(start, noise)
        if K:
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

    @property
    def has_few_values(self) -> bool:
        """Whether all products of candidates are known at once, and threads are not worthwhile."""
        return self.candidates.n_rows * self.candidates.n_columns <= _FEW_VALUES

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
        """The end of the path, or where there is no hope that its columns will be kept."""
        end = point
        for further in self.path(point, noise, tol):
            end = further
            if self.is_hopeless(end, noise):
                break
        return end

    def is_hopeless(self, point: SearchPoint, noise: NoiseModel) -> bool:
        """Whether columns that have to earn their cost fall far short of it.

        Where rows tell nothing of each other nearly each becomes a vector, for a part of a nat.
        """
        m = len(point.columns)
        if not (self.problem.must_earn and m):
            return False
        none = self.evaluate(point.columns.with_precisions(np.full(m, np.inf)), noise, 0)
        return vector_prices.is_hopeless(point.value - none.value, m)

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
        learned = NoiseModel.for_learning(len(self.targets.unit))
        if self.is_hopeless(point, learned):
            return point
        best, cooler = self._climb_from_cold(point, tol) if limit else point, 0
        for _ in range(limit):
            expensive = len(best.columns) * len(self.targets.unit) > _EXPENSIVE
            if expensive or cooler == len(_COOLER) or best.n_iter >= self.problem.max_iter:
                break
            again = self._climb_through_noise(
                best, _COOLER[cooler] * self._learned_noise(best), tol
            )
            if again.value > best.value + _WORTHWHILE and not self.is_hopeless(again, learned):
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
        """Climb in noise known to be that, and then in learned noise."""
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
        return BlockProducts(block, self.targets, at_once=self.has_few_values)


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
