"""The search for the largest evidence over log parameters, which all models share.

Climbs of many rows start on a few hundred of them, and only the best goes on with eight times as
many, until it has all: a step on an eighth of the rows costs a five-hundredth, and the last steps
are few. Few rows, or few steps, may point to the wrong one of two maxima; so the problem's own
start goes on beside a better one while it leads elsewhere and is not far behind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from posterity import linalg, optimize
from posterity.arrays import Array

LEAST_GAIN = 1e-5  # nats: little, because valleys of the evidence are long and flat
_FLAT = 0.1  # of the least gain, for e times a parameter: there is nothing left to gain
_LONGEST = 2.0  # step, in log parameters: a factor of seven
_FEW_ROWS = 500
_GROWTH = 8
_MUCH_WORK = 2000.0  # rows times parameters, from which more is asked of a step
_MOST_GAIN = 0.2  # nats that are asked of a step at most: half a nat is one deviation
_RACE = 10  # iterations on all rows, after which of two climbs the better goes on alone
_COARSE = 100.0  # times as much gain is asked for while there are more rows to come
_PROBES = 20  # iterations from each of several starts
_SAME = 0.1  # nats: climbs that end closer than this are at one maximum
_TIE = 1e-3  # nats, within which climbs to one maximum may end in any order
_BEHIND = 50.0  # nats, that a start does not make up
_SPREAD = 1.0  # standard deviation of restarts in log parameters
_KEY_ROWS = 200  # that tell the columns from each other
NO_SEARCH = optimize.Optimum(
    np.empty(0), np.nan, np.empty(0), 0, "every parameter was given", converged=True
)

Objective = Callable[[Array], tuple[float, Array]]
L = TypeVar("L")
L_co = TypeVar("L_co", covariant=True)


class EvidenceProblem(Protocol[L_co]):
    """A problem that is searched by stages: log parameters, on ever more rows."""

    @property
    def start(self) -> Array:
        """The log parameters to start from, (P,)."""

    @property
    def limits(self) -> Array:
        """Their log bounds, (P, 2)."""

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""

    @property
    def n_rows(self) -> int:
        """The number N of rows."""

    @property
    def n_unknown(self) -> int:
        """The number of parameters that are searched."""
        return len(self.start)

    def resolution(self, theta: Array) -> float:
        """The change of the log evidence below which rounding hides it; zero unless known."""
        del theta
        return 0.0

    def objective(self) -> Objective:
        """Minus the log evidence and its gradient; infinite where neither exists."""

    def check_room(self) -> None:
        """Refuse rows for which there is not enough memory, before anything is computed."""

    def describe(self, best: optimize.Optimum, probes: Array) -> L_co:
        """Describe what was learned, given the optimum and the log evidence of the first steps."""

    def select_rows(self, rows: NDArray[np.intp]) -> Self:
        """The same problem on these rows."""

    def draw_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """All rows, so that any first few of them stand for all."""
        return rng.permutation(self.n_rows)

    def ease_start(self, theta: Array) -> Array | None:
        """A point to try next if the evidence at theta cannot be computed; None: there is none."""
        del theta
        return None

    def explain_no_start(self, theta: Array) -> str:
        """Why the search cannot start, in a sentence."""


S = TypeVar("S", bound=EvidenceProblem[Any])


def negate_evidence(evidence: Objective) -> Objective:
    """Minus a log evidence and its gradient: infinite where a covariance has no factor."""
    last: list[tuple[Array, tuple[float, Array]]] = []  # asked for again as a search begins

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        if last and np.array_equal(last[0][0], theta):
            return last[0][1]
        try:
            value, gradient = evidence(theta)
            result = -value, -gradient
        except linalg.NotPositiveDefiniteError:
            result = np.inf, np.zeros_like(theta)
        last[:] = [(theta.copy(), result)]
        return result

    return value_and_gradient


def climb_evidence(
    objective: Objective,
    start: Array,
    *,
    limits: Array,
    names: Sequence[str],
    max_iter: int,
    least_gain: float = LEAST_GAIN,
    inverse_hessian: Array | None = None,
    announce: bool = True,
) -> optimize.Optimum:
    """Minimise minus a log evidence over log parameters (P,) between limits (P, 2), by BFGS.

    Where no parameter is free there is nothing to search.

    Examples
    --------
    >>> bowl = lambda x: (float(x @ x), 2.0 * x)
    >>> limits = np.array([[1.0, 3.0]])
    >>> end = climb_evidence(bowl, np.array([2.0]), limits=limits, names=["a"], max_iter=9)
    >>> end.x, end.bounds_reached[0].name
    (array([1.]), 'a')
    """
    if not len(start):
        return NO_SEARCH
    options = _describe_climb(limits, names, least_gain)
    return optimize.minimise_bfgs(
        objective,
        start,
        inverse_hessian=inverse_hessian,
        max_iter=max_iter,
        announce=announce,
        **options,
    )


def _describe_climb(limits: Array, names: Sequence[str], least_gain: float) -> dict[str, Any]:
    """The settings of BFGS that climbs of log evidences share."""
    return {
        "bounds": [(low, high) for low, high in limits],
        "names": names,
        "longest_step": _LONGEST,
        "tol": _FLAT * least_gain,
        "least_gain": least_gain,
    }


def maximise_evidence(
    problem: EvidenceProblem[L],
    *,
    starts: Sequence[Array] = (),
    max_iter: int = 200,
    n_jobs: int | None = None,
    rng: np.random.Generator,
    announce: bool = True,
    few_rows: int | None = None,
    least_gain: float = LEAST_GAIN,
) -> L:
    """Climb a little from every start, on 500 rows, or ``few_rows``, where there are twice as many.

    Only the best goes on, and the problem's own start while it may still be better: which basin is
    the deepest shows in the first steps, but not always. A climb ends where steps gain less than
    ``least_gain``, in nats.
    """
    if not len(problem.start):
        return problem.describe(NO_SEARCH, np.empty(0))
    problem.check_room()  # the first stages need little of it
    stages = list(_stages(problem, rng, few_rows))
    best, own, probes = _make_start(problem.start), None, []  # type: Any, Any, list[Any]
    if len(starts):
        probes = _probe_starts(stages, list(starts), min(_PROBES, max_iter), n_jobs)
        best = min(probes, key=lambda probe: probe.value)
        own = None if best is probes[0] else probes[0]
    n_before = stages[0].n_rows
    for stage in stages:
        n = stage.n_rows
        gain = least_gain if stage is problem else _COARSE * LEAST_GAIN
        costly = least_gain * (n * len(best.x) / _MUCH_WORK) ** 2
        gain = max(gain, min(costly, _MOST_GAIN))
        climb = functools.partial(_climb, stage, gain=gain, announce=announce)
        if own is not None and stage is problem and len(stages) > 1:
            best = _race(climb, best, own, min(_RACE, max_iter), n / n_before)
            own, n_before = None, n
        if stage is problem or not best.converged or stage is not stages[0]:
            best = climb(best, max_iter=max_iter, grown=n / n_before)  # else climbed as a probe
        if own is not None:
            ceiling = best.value + _BEHIND
            own = climb(own, max_iter=max_iter, grown=n / n_before, probing=True, ceiling=ceiling)
            best, own = _rank(best, own)
        n_before = n
    return problem.describe(best, -np.array([probe.value for probe in probes]))


def _race(
    climb: Callable[..., optimize.Optimum],
    best: optimize.Optimum,
    own: optimize.Optimum,
    max_iter: int,
    grown: float,
) -> optimize.Optimum:
    """The better of two climbs after a few steps on all rows, each of which takes long."""
    ends = [climb(c, max_iter=max_iter, grown=grown, probing=True) for c in (best, own)]
    return min(ends, key=lambda end: end.value)


def _rank(
    best: optimize.Optimum, own: optimize.Optimum
) -> tuple[optimize.Optimum, optimize.Optimum | None]:
    """The better of two climbs, and the other where it is elsewhere and not far behind."""
    if own.value < best.value - _TIE:
        best, own = own, best
    return best, own if _SAME < own.value - best.value < _BEHIND else None


def _probe_starts(
    stages: Sequence[S], starts: list[Array], max_iter: int, n_jobs: int | None
) -> list[optimize.Optimum]:
    """Take a few steps from the problem's own start and from others, on its first rows.

    Where more rows are to come, the other climbs begin with the curvature at the end of the first.
    """
    few, gain = stages[0], _COARSE * LEAST_GAIN
    points = list(map(_make_start, [few.start, *starts]))
    ends = []
    if len(stages) > 1:
        ends = [_climb(few, points.pop(0), max_iter, gain, probing=True)]
        points = [replace(p, inverse_hessian=ends[0].inverse_hessian) for p in points]
    tasks = (joblib.delayed(_climb)(few, p, max_iter, gain, probing=True) for p in points)
    return [*ends, *joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)]


def _make_start(point: Array) -> optimize.Optimum:
    return optimize.Optimum(point, np.inf, 0.0 * point, 0, "not begun", converged=False)


def _stages(problem: S, rng: np.random.Generator, few_rows: int | None = None) -> Iterator[S]:
    """The problem on more and more of its rows, each part within the next, and on all."""
    n, size = problem.n_rows, few_rows or _FEW_ROWS
    order = problem.draw_order(rng) if n >= 2 * size else np.arange(n)
    while n >= 2 * size:
        yield problem.select_rows(np.sort(order[:size]))
        size *= _GROWTH
    yield problem


def draw_random_starts(
    problem: EvidenceProblem[Any], count: int, rng: np.random.Generator
) -> list[Array]:
    """Points about the start, within bounds; where a column stands does not matter to them."""
    low, high = problem.limits.T
    noise = rng.standard_normal((count, len(low)))
    if count:
        noise = noise[:, _number_by_slope(problem)]
    return list(np.clip(problem.start + _SPREAD * noise, low, high))


def _number_by_slope(problem: EvidenceProblem[Any]) -> NDArray[np.intp]:
    """A number for each parameter: those that differ in their columns only sorted by their slopes.

    Slopes at the start, on a few rows, do not depend on the order of columns.
    """
    stems = np.array([re.sub(r"\[\d+\]", "", name) for name in problem.names])
    numbers = np.arange(len(stems))
    if len(set(stems)) < len(stems):
        some = np.linspace(0, problem.n_rows - 1, min(problem.n_rows, _KEY_ROWS)).astype(np.intp)
        few = problem.select_rows(some)
        slopes = few.objective()(few.start)[1]
        for stem in set(stems):
            alike = np.flatnonzero(stems == stem)
            numbers[alike[np.argsort(slopes[alike], kind="stable")]] = alike
    return numbers


def _climb(
    problem: EvidenceProblem[Any],
    start: optimize.Optimum,
    max_iter: int,
    gain: float,
    *,
    grown: float = 1.0,
    announce: bool = True,
    probing: bool = False,
    ceiling: float = np.inf,
) -> optimize.Optimum:
    """Climb from the end of another climb, with what it learned of the curvature.

    A log evidence curves in proportion to the rows it is of, which have grown by a factor. A probe
    leads nowhere from a point without evidence, or with a value above the ceiling, and is not
    announced.
    """
    H = start.inverse_hessian
    with linalg.threads.limit_threads(problem.n_rows):
        objective = problem.objective()
        try:
            x = _find_feasible(problem, objective, start.x)
        except linalg.NotPositiveDefiniteError as error:
            if not probing:
                raise
            return replace(start, value=np.inf, stop_reason=str(error))
        if (value := objective(x)[0]) > ceiling:
            return replace(start, value=value)
        gain = max(gain, problem.resolution(x))
        return optimize.minimise_bfgs(
            objective,
            x,
            inverse_hessian=None if H is None else H / grown,
            max_iter=max_iter,
            announce=announce and not probing,
            **_describe_climb(problem.limits, problem.names, gain),
        )


def _find_feasible(problem: EvidenceProblem[Any], objective: Objective, start: Array) -> Array:
    """The start, or the nearest at which there is an evidence."""
    theta = np.clip(start, *problem.limits.T)
    while not np.isfinite(objective(theta)[0]):
        eased = problem.ease_start(theta)
        if eased is None:
            raise linalg.NotPositiveDefiniteError(problem.explain_no_start(theta))
        theta = eased
    return theta
