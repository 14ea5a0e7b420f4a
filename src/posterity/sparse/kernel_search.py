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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.sparse import vector_prices
from posterity.sparse.class_normals import ClassNormals
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
class LearnedVectors:
    """A kernel with its sparse model, and the criterion by which kernels are compared."""

    kernel: kernels.Kernel
    chosen: Chosen
    fit: LaplaceFit | ClassNormals | None  # None: in normal noise
    criterion: float
    bounds_reached: tuple[optimize.ReachedBound, ...] = ()

    @property
    def fitted(self) -> Fitted:
        """As an engine returns it."""
        return self.chosen, self.fit


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

    many = part(MANY_ROWS)
    best = many.refine_parameters(many.refine_octave(part(_FEW_ROWS).scan_octaves()))
    if many.engine is not engine:
        best = part(n).fit_at(best.kernel.theta)
    reached = many.bounds_reached(best)
    return replace(keep_if_earned(engine, best), bounds_reached=reached)


def fit_given_kernel(engine: Engine, kernel: kernels.Kernel) -> LearnedVectors:
    """The vectors of a kernel whose parameters are all set."""
    fitted = engine.select(kernel, None, coarse=False)
    return keep_if_earned(engine, _score_kernel(kernel, fitted))


@dataclass(frozen=True)
class _KernelSearch:
    """Fits at log parameters."""

    engine: KernelEngine
    start_search: kernels.Kernel
    bounds: Array  # (P, 2), log
    moving: NDArray[np.bool_]  # (P,)

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
    ) -> LearnedVectors:
        """The model of the kernel there, of which so many length scales left the others."""
        kernel = self.start_search.with_theta(theta) if len(theta) else self.start_search
        return _score_kernel(kernel, self.engine.select(kernel, start, coarse=coarse), n_untied)

    def shift_octaves(self, octaves: float) -> Array:
        """Log parameters with all length scales longer by so many octaves, within bounds."""
        theta = self.start_search.theta + np.log(2.0) * octaves * self.is_length
        return np.clip(theta, *self.bounds.T)

    def scan_octaves(self) -> float:
        """The octaves from the start of the best length scales; the nearest of equal ones."""
        if not np.any(self.is_length):
            return 0.0
        tried: dict[float, LearnedVectors] = {}
        for octaves in _OCTAVES[::-1]:  # narrow kernels are dear: they keep the most vectors
            tried[float(octaves)] = self.fit_at(self.shift_octaves(octaves), coarse=True)
            if fall_behind(list(tried.values())):
                break
        nearest_first = sorted(tried, key=abs)
        best = take_simplest([tried[octaves] for octaves in nearest_first])
        return next(octaves for octaves in nearest_first if tried[octaves] is best)

    def refine_octave(self, octave: float) -> LearnedVectors:
        """The best place, by steps that are halved once neither side is better."""
        known = {octave: self.fit_at(self.shift_octaves(octave))}
        if not np.any(self.is_length) or fall_short(self.engine, known[octave]):
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

    def refine_parameters(self, best: LearnedVectors) -> LearnedVectors:
        """Climbs with fixed vectors, and a new choice of vectors after each, while that is better.

        Where one length scale is all there is, steps have found its place: a climb narrows it, to
        suit the vectors at hand.
        """
        n_lengths = int(np.sum(self.is_length))
        if n_lengths == np.sum(self.moving) == 1 or fall_short(self.engine, best):
            return best
        for _ in range(_ROUNDS):
            with linalg.limit_threads(len(best.chosen.places)):
                start = self._climb_from(best)
            if start is None:
                return best
            found = self.fit_at(*start, n_untied=max(0, n_lengths - 1))
            if not found.criterion > best.criterion + _LEAST_GAIN:
                return best
            best = found
        return best

    def _climb_from(self, best: LearnedVectors) -> tuple[Array, Chosen] | None:
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

    def bounds_reached(self, best: LearnedVectors) -> tuple[optimize.ReachedBound, ...]:
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


def _score_kernel(kernel: kernels.Kernel, fitted: Fitted, n_untied: int = 0) -> LearnedVectors:
    """A kernel of which so many length scales left the others."""
    cost = COST * (fitted[0].n_precisions + n_untied)
    return LearnedVectors(kernel, *fitted, fitted[0].value - cost)


def keep_if_earned(engine: Engine, found: LearnedVectors) -> LearnedVectors:
    """What was found; nothing at all, where vectors do not earn their cost."""
    chosen, fit = fit_nothing(engine, found.kernel)
    earned = vector_prices.surplus(found.chosen.value - chosen.value, found.chosen.n_precisions)
    if earned < engine.outputs.price(found.fitted):
        return LearnedVectors(found.kernel, chosen, fit, chosen.value)
    return found


def fit_nothing(engine: Engine, kernel: kernels.Kernel) -> Fitted:
    """The model that has no vectors, because there are none to choose from."""
    no_column = engine.confine(np.empty(0, dtype=np.intp))
    chosen, fit = no_column.select(kernel, None, coarse=True)
    reason = "no vectors raise the evidence by as much as they cost"
    return replace(chosen, stop_reason=reason), fit


def fall_short(engine: Engine, found: LearnedVectors) -> bool:
    """Whether vectors fall short by far of what they have to earn, so that none will be kept.

    Where rows tell nothing of each other, as a few hundred do of a thousand columns, nearly
    every row becomes a vector, at any width, and each width takes as long as it can.
    """
    gained = found.chosen.value - fit_nothing(engine, found.kernel)[0].value
    return vector_prices.is_hopeless(gained, found.chosen.n_precisions)


def fall_behind(found: Sequence[LearnedVectors]) -> bool:
    """Whether the last two had more vectors than the best, and did far worse.

    A narrower kernel has still more.
    """
    best = max(found, key=lambda one: one.criterion)
    most, least = best.chosen.n_precisions, best.criterion - vector_prices.HOPELESS
    worse = (one.chosen.n_precisions > most and one.criterion < least for one in found[-2:])
    return len(found) > 1 and all(worse)


def take_simplest(found: Sequence[LearnedVectors]) -> LearnedVectors:
    """Choose the fewest vectors among those about as good as the best, and then the best."""
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
