"""Kernel parameters of a sparse model, within its fit.

The evidence, maximised over one free precision for each vector, grows without end as a kernel
narrows: every vector brings a parameter of its own. So kernels are compared by the evidence less a
cost for each vector that is kept, what a parameter is worth that may lie in any of eighteen decades
and is found to within a factor of six. For a kernel that is given the evidence itself chooses the
vectors.

A scan finds the octave of the length scales, moved together, on a part of the rows where there are
many. Steps from the best find its place on all of them. Then vectors stay, and all parameters climb
with the precisions; vectors are chosen again from there, while that raises the criterion. Length
scales that part on the way are parameters, too: each but the first costs as much as a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.sparse import vector_prices
from posterity.sparse.engines import Engine, Fitted, KernelEngine
from posterity.sparse.problem import COST, Chosen

MANY_ROWS = 5000
"""From which a part of the rows finds the kernel, and all of them only its vectors."""

_FEW_ROWS = 1000  # for the scan
_OCTAVES = np.arange(-2.0, 2.75, 0.5)
_STEPS = (0.5, 0.25)  # octaves, from the best of the scan
_ROUNDS = 3  # of climbs at most: each is followed by a whole fit
_ITERATIONS = 30  # of a climb
_LEAST_GAIN = 1e-2  # nats
_LONGEST = 1.0  # step of a climb, in logs
_REACH = np.log(1e8)  # of a precision on either side of the number of rows
_LENGTH = "length_scale"
_AS_GOOD = 1.0  # nats: of kernels that differ by less, the one of the fewest vectors
_BISECTIONS = 8
_FEWEST_ROWS = 3.0  # that are left when all are counted less


@dataclass(frozen=True)
class ScannedWidth:
    """What one width of the scan was worth."""

    factor: float  # of the length scales at the start
    criterion: float
    n_vectors: int


@dataclass(frozen=True)
class LearnedVectors:
    """The kernel, its sparse model, and how they were found."""

    kernel: kernels.Kernel
    chosen: Chosen
    fit: LaplaceFit | None  # None: in normal noise
    criterion: float
    n_iter: int  # kernels that were fitted
    stop_reason: str
    scanned: tuple[ScannedWidth, ...] = ()
    rounds: tuple[float, ...] = ()  # the criterion after the steps, and after each climb
    bounds_reached: tuple[optimize.ReachedBound, ...] = ()


def learn_kernel(
    engine: KernelEngine, kernel: kernels.Kernel, *, rng: np.random.Generator
) -> LearnedVectors:
    """The kernel of the largest criterion among those that its free parameters allow.

    Parameters
    ----------
    engine : Engine
        On all rows.
    kernel : Kernel
        Parameters that are set are where a search starts; those held by ``kernel.fixed()`` stay.
    rng : Generator
        Draws the rows of the scan.
    """
    started, bounds = kernel.search_start(engine.rows)
    moving = _find_identified(started)
    if not np.any(moving):
        return fit_given_kernel(engine, started)
    n = kernels.rows.count_rows(engine.rows)
    order = rng.permutation(n)

    def part(size: int) -> _KernelSearch:
        of = engine if size >= n else engine.select_rows(np.sort(order[:size]))
        return _KernelSearch(of, started, bounds, moving)

    few, many, whole = part(_FEW_ROWS), part(MANY_ROWS), part(n)
    octave, scanned = few.scan_octaves()
    best = many.refine_octave(octave)
    best, rounds, reason = many.refine_parameters(best)
    if many.engine is not engine:
        best = whole.fit_at(best.kernel.theta)
    learned, reached = keep_if_earned(engine, best, reason), many.bounds_reached(best)
    n_fits = few.n_fits + many.n_fits + whole.n_fits
    found = replace(learned, n_iter=n_fits, scanned=scanned, rounds=rounds)
    return replace(found, bounds_reached=reached)


def fit_given_kernel(engine: Engine, kernel: kernels.Kernel) -> LearnedVectors:
    """The vectors of a kernel whose parameters are all set."""
    fitted = engine.select(kernel, None, coarse=False)
    return keep_if_earned(engine, _score_kernel(kernel, fitted), "every parameter was given")


@dataclass(frozen=True)
class ScoredKernel:
    """A kernel with its model."""

    kernel: kernels.Kernel
    fitted: Fitted
    criterion: float

    @property
    def chosen(self) -> Chosen:
        """Its vectors."""
        return self.fitted[0]


@dataclass
class _KernelSearch:
    """Fits at log parameters, counted."""

    engine: KernelEngine
    start_search: kernels.Kernel
    bounds: Array  # (P, 2), log
    moving: NDArray[np.bool_]  # (P,)
    n_fits: int = field(default=0, init=False)

    @property
    def is_length(self) -> NDArray[np.bool_]:
        """Which parameters the scan moves, (P,)."""
        names = np.array([_LENGTH in name for name in self.start_search.names], dtype=bool)
        return names & self.moving

    def fit_at(
        self,
        theta: Array,
        start: Chosen | None = None,
        *,
        coarse: bool = False,
        n_untied: int = 0,
    ) -> ScoredKernel:
        """The model of the kernel there, of which so many length scales left the others."""
        kernel = self.start_search.with_theta(theta) if len(theta) else self.start_search
        self.n_fits += 1
        return _score_kernel(kernel, self.engine.select(kernel, start, coarse=coarse), n_untied)

    def shift_octaves(self, octaves: float) -> Array:
        """Log parameters with all length scales longer by so many octaves, within bounds."""
        theta = self.start_search.theta + np.log(2.0) * octaves * self.is_length
        return np.clip(theta, *self.bounds.T)

    def scan_octaves(self) -> tuple[float, tuple[ScannedWidth, ...]]:
        """The octaves from the start of the best length scales; the nearest of equal ones."""
        if not np.any(self.is_length):
            return 0.0, ()
        table: list[ScannedWidth] = []
        for octaves in _OCTAVES[::-1]:  # narrow kernels are dear: they keep the most vectors
            found = self.fit_at(self.shift_octaves(octaves), coarse=True)
            m = len(found.chosen.places)
            table.append(ScannedWidth(float(2.0**octaves), found.criterion, m))
            highest = max(row.criterion for row in table)
            if all(_is_hopeless(row, table) for row in table[-2:]):
                break
        good = [row for row in table if row.criterion >= highest - _AS_GOOD]
        best = min(good, key=lambda row: (row.n_vectors, -row.criterion, abs(np.log(row.factor))))
        return float(np.log2(best.factor)), tuple(table)

    def refine_octave(self, octave: float) -> ScoredKernel:
        """The best place, by steps that are halved once neither side is better."""
        known = {octave: self.fit_at(self.shift_octaves(octave))}
        if not np.any(self.is_length) or self.is_hopeless(known[octave]):
            return known[octave]
        for step in _STEPS:
            place = octave
            while True:
                for near in (place - step, place + step):
                    if near not in known and self._is_within(near):
                        known[near] = self.fit_at(self.shift_octaves(near))
                octave = max(known, key=lambda at: known[at].criterion)
                if octave == place:
                    break
                place = octave
        return take_simplest(list(known.values()))

    def _is_within(self, octaves: float) -> bool:
        """Whether bounds let any length scale get there; not if it is wider than any of the scan.

        As a kernel widens it becomes a polynomial, and the evidence level without end.
        """
        if octaves > _OCTAVES[-1]:
            return False
        free = self.start_search.theta + np.log(2.0) * octaves * self.is_length
        return bool(np.any((self.shift_octaves(octaves) == free)[self.is_length]))

    def is_hopeless(self, found: ScoredKernel) -> bool:
        """Whether vectors fall short by far of what they have to earn, so that none will be kept.

        Where rows tell nothing of each other, as a few hundred do of a thousand columns, nearly
        every row becomes a vector, at any width, and each width takes as long as it can.
        """
        gained = found.chosen.value - fit_nothing(self.engine, found.kernel)[0].value
        return vector_prices.is_hopeless(gained, found.chosen.n_precisions)

    def refine_parameters(self, best: ScoredKernel) -> tuple[ScoredKernel, tuple[float, ...], str]:
        """Climbs with fixed vectors, and a new choice of vectors after each.

        Where one length scale is all there is, steps have found its place: a climb narrows it, to
        suit the vectors at hand.
        """
        rounds = [best.criterion]
        n_lengths = int(np.sum(self.is_length))
        if n_lengths == np.sum(self.moving) == 1:
            return best, tuple(rounds), "steps of either sign do not raise the criterion"
        if self.is_hopeless(best):
            return best, tuple(rounds), "vectors earn far less than they have to"
        for _ in range(_ROUNDS):
            with linalg.limit_threads(len(best.chosen.places)):
                start = self._climb_from(best)
            if start is None:
                return best, tuple(rounds), "there is no slope to climb"
            found = self.fit_at(start[0], start[1], n_untied=max(0, n_lengths - 1))
            if not found.criterion > best.criterion + _LEAST_GAIN:
                return best, tuple(rounds), "another choice of vectors did not raise the criterion"
            best = found
            rounds.append(best.criterion)
        return best, tuple(rounds), f"{_ROUNDS} rounds of climbs were made"

    def _climb_from(self, best: ScoredKernel) -> tuple[Array, Chosen] | None:
        """Log parameters and precisions of the largest evidence for the vectors of the best."""
        chosen = best.chosen
        climb = self.engine.climb(best.kernel, self.moving, best.fitted)
        if climb is None or not len(chosen.places):
            return None
        x = np.append(np.log(chosen.precision), best.kernel.theta[self.moving])
        top = optimize.minimise_bfgs(
            climb,
            x,
            bounds=self._search_bounds(np.log(chosen.precision)),
            longest_step=_LONGEST,
            max_iter=_ITERATIONS,
            least_gain=_LEAST_GAIN,
            announce=False,  # it is a budget
        )
        h, kernel = climb.decode(top.x)
        return kernel.theta, replace(chosen, precision=h)

    def bounds_reached(self, best: ScoredKernel) -> tuple[optimize.ReachedBound, ...]:
        """Parameters at a bound, and how the evidence of the vectors at hand rises beyond it."""
        theta, bounds, chosen = (best.kernel.theta, self.bounds, best.chosen)
        x = np.append(np.log(chosen.precision), theta[self.moving])
        held = np.any(theta[:, None] == bounds) and len(chosen.places)
        climb = self.engine.climb(best.kernel, self.moving, best.fitted) if held else None
        slope = np.zeros_like(theta)
        slope[self.moving] = 0.0 if climb is None else climb(x)[1][len(chosen.places) :]
        return optimize.find_reached_bounds(theta, slope, [*map(tuple, bounds)], best.kernel.names)

    def _search_bounds(self, log_h: Array) -> list[tuple[float, float]]:
        """Log bounds of precisions and of parameters."""
        middle = np.log(self.engine.outputs.total_weight)
        low, high = np.minimum(log_h, middle - _REACH), np.maximum(log_h, middle + _REACH)
        return [*zip(low, high, strict=True), *map(tuple, self.bounds[self.moving])]


def _score_kernel(kernel: kernels.Kernel, fitted: Fitted, n_untied: int = 0) -> ScoredKernel:
    """A kernel of which so many length scales left the others."""
    cost = COST * (fitted[0].n_precisions + n_untied)
    return ScoredKernel(kernel, fitted, fitted[0].value - cost)


def keep_if_earned(
    engine: Engine, found: ScoredKernel, reason: str, n_fits: int = 1
) -> LearnedVectors:
    """What was found, as it is told; nothing at all, where vectors do not earn their cost."""
    fitted, criterion, why = found.fitted, found.criterion, reason
    none = fit_nothing(engine, found.kernel)
    gained = fitted[0].value - none[0].value
    if vector_prices.surplus(gained, fitted[0].n_precisions) < engine.outputs.price(fitted):
        fitted, criterion = none, none[0].value
        why = none[0].stop_reason
    return LearnedVectors(found.kernel, *fitted, criterion, n_fits, why)


def fit_nothing(engine: Engine, kernel: kernels.Kernel) -> Fitted:
    """The model that has no vectors, because there are none to choose from."""
    no_column = engine.confine(np.empty(0, dtype=np.intp))
    chosen, fit = no_column.select(kernel, None, coarse=True)
    reason = "no vectors raise the evidence by as much as they cost"
    return replace(chosen, stop_reason=reason), fit


def _is_hopeless(row: ScannedWidth, table: list[ScannedWidth]) -> bool:
    """Whether more vectors than the best has do worse by far: a narrower kernel has still more."""
    best = max(table, key=lambda row: row.criterion)
    return (
        row.n_vectors > best.n_vectors and row.criterion < best.criterion - vector_prices.HOPELESS
    )


def take_simplest(found: Sequence[ScoredKernel]) -> ScoredKernel:
    """Of those about as good as the best, the one of the fewest vectors, and then the best."""
    highest = max(one.criterion for one in found)
    good = [one for one in found if one.criterion >= highest - _AS_GOOD]
    return min(good, key=lambda one: (one.chosen.n_precisions, -one.criterion))


def _find_identified(kernel: kernels.Kernel) -> NDArray[np.bool_]:
    """Which free parameters matter beside free precisions: not a factor of the whole kernel."""
    if not isinstance(kernel, kernels.Scaled):
        return np.ones(len(kernel.theta), dtype=bool)
    inner = _find_identified(kernel.kernel)
    return np.append(np.zeros(len(kernel.theta) - len(inner), dtype=bool), inner)


def limit_vectors(engine: Engine, learned: LearnedVectors, max_vectors: int) -> LearnedVectors:
    """What was learned if it has no more vectors, else a model of that kernel which has fewer.

    Where the evidence asks for more, all rows are counted less, as if some repeated what others
    say, until it asks for no more: fewer rows can tell fewer vectors apart, and those they choose
    are spread over what there is to explain. To stop choosing early instead would leave all vectors
    where the first residuals were largest. What is chosen then learns from all rows in full.
    """
    if len(learned.chosen.places) <= max_vectors:
        return learned
    chosen, fit = _choose_fewer(engine, learned.kernel, max_vectors)
    return replace(learned, chosen=chosen, fit=fit)


def _choose_fewer(engine: Engine, kernel: kernels.Kernel, max_vectors: int) -> Fitted:
    """As many vectors as are allowed, or about as many."""
    best: Chosen | None = None
    low, high = float(np.log(_FEWEST_ROWS / engine.outputs.total_weight)), 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        fewer, _fit = engine.reweight(float(np.exp(middle))).select(kernel, None, coarse=True)
        if len(fewer.places) > max_vectors:
            high = middle
        else:
            low = middle
            if best is None or len(fewer.places) >= len(best.places):
                best = fewer
    return fit_nothing(engine, kernel) if best is None else _fit_in_full(engine, kernel, best)


def _fit_in_full(engine: Engine, kernel: kernels.Kernel, fewer: Chosen) -> Fitted:
    """The same vectors, but for some that are not needed, with precisions that all rows ask for."""
    places = fewer.places
    start = replace(fewer, places=np.arange(len(places)))
    found, fit = engine.confine(places).select(kernel, start, coarse=False)
    reason = "as many vectors as max_vectors allows, or about as many"
    return replace(found, places=places[found.places], stop_reason=reason), fit
