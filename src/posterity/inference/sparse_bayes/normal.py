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
from numpy.typing import NDArray

from posterity import designs, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import sequential
from posterity.inference.sparse_bayes.chosen import COST, Chosen
from posterity.inference.sparse_bayes.sequential import LEARNED
from posterity.inference.sparse_bayes.working import Noise, Targets, View, Working

_SHORTLIST = 80  # columns that join at a time
_COOLER = (0.6, 0.3)  # of the noise that was learned
_COOL_TOL = 150.0  # nats over the number of rows, while the noise is not yet what it will be
_MOST_COOL_TOL = 0.3
_EXPLAINED = 0.1  # of the targets' mean square: where less is left, columns were found
_COLD = 0.02  # of the targets' mean square
_COLD_COLUMNS = 100  # which is enough for a start
_REHEATS = 9
_DEAR = 5000  # weights, from which there are no more reheats
_WORTHWHILE = 1.0  # gain of a reheat, for another one
_STREAMED_TOL = 2e-6  # a row: what is not worth another pass over the columns


def select_normal(
    candidates: designs.Candidates,
    Y: Array,
    weights: Array | None = None,
    *,
    centred: bool,
    noise_variance: Array | None = None,
    prior: priors.Sparse,
    start: Chosen | None = None,
    reheats: int | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
) -> Chosen:
    """Choose columns, and the precisions of their weights, by evidence.

    Parameters
    ----------
    candidates : Candidates
        Standardised with the same weights, and about their mean where ``centred``.
    Y : array of shape (N, K)
        Outputs, which share the columns. One that does not vary is left out, also of the value,
        where the noise is learned.
    weights : array of shape (N,), optional
        How often each row counts.
    centred : bool
        Whether there is an offset, which takes one row's worth of each output.
    noise_variance : array of shape (K,), optional
        Known; learned by default.
    prior : Sparse
        Of the weights.
    start : Chosen, optional
        Where to begin, such as the result for a similar kernel; with no column by default.
    reheats : int, optional
        How often to look for a better maximum, at most, where the noise is learned; by default 9
        where the candidates are held, and 0 where they are streamed.
    tol : float
        The least gain, in nats of each output, for which a column moves. Where columns are
        streamed it is at least 2e-6 of the number of rows.
    max_iter : int
        How often candidates join, at most.
    """
    targets = Targets.of(Y, weights, centred=centred, noise_variance=noise_variance)
    K = len(targets.unit)
    noise = Noise.learned(K) if noise_variance is None else Noise.known(np.ones(K))
    search = Search(candidates, targets, prior, max_iter)
    best = search.start(start, noise)
    if K:
        best = search.climb(best, noise, tol * K)
        limit = (_REHEATS if candidates.is_held else 0) if reheats is None else reheats
        best = search.reheat(best, limit, tol * K) if noise.kind == LEARNED else best
    return _chosen(best, targets.log_alone(noise.kind), best.n_iter < max_iter)


@dataclass(frozen=True)
class Point:
    """Columns in use, the objective there, and how often candidates have joined on the way."""

    columns: Working
    value: float  # without the constants of the targets
    n_iter: int


@dataclass(frozen=True)
class Search:
    """Candidates, what they are to explain, and the ways up."""

    candidates: designs.Candidates
    targets: Targets
    prior: priors.Sparse
    max_iter: int

    def start(self, chosen: Chosen | None, noise: Noise) -> Point:
        """Columns chosen before that still vary, or none."""
        places = np.empty(0, dtype=np.intp) if chosen is None else chosen.places
        h = np.empty(0) if chosen is None else chosen.precision
        block = self.candidates.chosen(places)
        columns = Working.of(block, np.where(block.varies, h, np.inf), self.targets)
        return self.point(columns.at(columns.h), noise, 0)

    def point(self, columns: Working, noise: Noise, n_iter: int) -> Point:
        """The value of columns that are all in."""
        value = sequential.evidence(noise.moments(columns, self.targets), columns.h)
        return Point(columns, value + self.prior.total(columns.h), n_iter)

    def climb(self, point: Point, noise: Noise, tol: float, most: float = np.inf) -> Point:
        """The end of the path, or where it comes to have the most columns that it may."""
        end = point
        for further in self.path(point, noise, tol):
            end = further
            if len(end.columns) >= most:
                break
        return end

    def path(self, point: Point, noise: Noise, tol: float) -> Iterator[Point]:
        """Better and better points, until no candidate gains more than tol."""
        if not self.candidates.n_columns:
            return
        if self.candidates.is_held:
            yield from self._path_within(self._held, point, noise, tol, tol)
            return
        least = max(tol, _STREAMED_TOL * self.targets.n)
        end, before, bar = point, -np.inf, 10.0 * least
        while end.value > before + 10.0 * least and end.n_iter < self.max_iter:
            before = end.value
            for block in self.candidates.blocks():
                view = View(block, self.targets)
                for further in self._path_within(view, end, noise, least, bar):
                    yield further
                    end = further
            bar = least

    def reheat(self, point: Point, limit: int, tol: float) -> Point:
        """Climb in smaller noise, learn the noise again, as long as that leads higher."""
        best, cooler = self._from_cold(point, tol) if limit else point, 0
        for _ in range(limit):
            dear = len(best.columns) * len(self.targets.unit) > _DEAR
            if dear or cooler == len(_COOLER) or best.n_iter >= self.max_iter:
                break
            again = self._reheated(best, _COOLER[cooler] * self._left(best), tol)
            if again.value > best.value + _WORTHWHILE:
                best, cooler = again, 0
            else:
                best, cooler = replace(best, n_iter=again.n_iter), cooler + 1
        return best

    def _from_cold(self, point: Point, tol: float) -> Point:
        """The end of a climb that began in hardly any noise, where that earns its columns."""
        left = self._left(point)
        if point.n_iter >= self.max_iter or np.all(left <= _EXPLAINED):
            return point
        again = self._reheated(point, np.minimum(left, _COLD), tol, _COLD_COLUMNS)
        more = max(0, len(again.columns) - len(point.columns))
        if again.value > point.value + _WORTHWHILE + COST * more:
            return again
        return replace(point, n_iter=again.n_iter)

    def _left(self, point: Point) -> Array:
        """The noise that was learned, (K,), in units of the targets' mean squares."""
        return point.columns.noise_variance(self.targets)

    def _reheated(self, point: Point, variance: Array, tol: float, most: float = np.inf) -> Point:
        """By way of noise known to be that."""
        known, K = Noise.known(variance), len(variance)
        start = self.point(point.columns, known, point.n_iter)
        hot = self.climb(start, known, K * min(_COOL_TOL / self.targets.n, _MOST_COOL_TOL), most)
        learned = Noise.learned(K)
        return self.climb(self.point(hot.columns, learned, hot.n_iter), learned, tol)

    def _path_within(
        self, view: View, point: Point, noise: Noise, tol: float, bar: float
    ) -> Iterator[Point]:
        """The part of the path that one block offers, by candidates that gain more than the bar."""
        end = point
        while end.n_iter < self.max_iter:
            gains = view.gains(end.columns, noise, self.prior)
            working = view.beside(end.columns, _best(gains, bar))
            moments = noise.moments(working, self.targets)
            steps = sequential.maximise(moments, working.h, self.prior, tol=tol)
            further = self.point(working.at(steps.h), noise, end.n_iter + 1)
            if further.value <= end.value:
                return
            yield further
            end = further

    @cached_property
    def _held(self) -> View:
        return View(next(self.candidates.blocks()), self.targets)


def _best(gains: Array, bar: float) -> NDArray[np.intp]:
    """The columns that gain most, and more than the bar."""
    order = np.argsort(-gains, kind="stable")[:_SHORTLIST]
    return order[gains[order] > bar]


def _chosen(point: Point, constant: float, converged: bool) -> Chosen:
    found, reason = point.columns, "no column gains more than the tolerance"
    if not converged:
        reason = f"candidates joined {point.n_iter} times, the most that max_iter allows"
    elif not len(found):
        reason = "no column gains anything: the data prefer no weights"
    return Chosen(
        places=found.places,
        precision=found.h,
        center=found.center,
        scale=found.scale,
        value=point.value + constant,
        n_iter=point.n_iter,
        stop_reason=reason,
        converged=converged,
    )
