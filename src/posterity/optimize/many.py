"""BFGS on many problems at once, each of which ends where it would end alone.

Every round evaluates one trial point of every problem that is not finished, in one call. What
becomes of a problem does not depend on which others are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.optimize.inverse_hessians import (
    FullInverses,
    InverseHessians,
    LastSteps,
    dot_rows,
)
from posterity.optimize.optimum import EPS

Functions: TypeAlias = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]
"""Values (m,) and gradients (m, Q) at points (m, Q) of the problems with these numbers (m,)."""

_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTENINGS = 30
_LEAST_CURVATURE = 1e-10
_NEXT_TO_FLAT = 100.0  # times the least gain, for one unit of a variable


@dataclass(frozen=True)
class ManyOptima:
    """The ends of n minimisations.

    Examples
    --------
    >>> from posterity import optimize
    >>> bowls = lambda X, which: (np.sum(X * X, axis=1), 2.0 * X)
    >>> best = optimize.minimise_many(bowls, np.array([[1.0, 2.0], [0.0, 0.0]]))
    >>> best.x.round(6) + 0.0, best.n_iter > 0
    (array([[0., 0.], [0., 0.]]), array([ True, False]))
    """

    x: Array  # (n, Q)
    value: Array  # (n,)
    converged: NDArray[np.bool_]  # (n,)
    n_iter: NDArray[np.intp]  # (n,)

    @classmethod
    def concatenate(cls, parts: Sequence[ManyOptima]) -> ManyOptima:
        """Put the problems of several parts together, one part after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def minimise_many(
    value_and_gradient: Functions,
    X0: Array,
    *,
    memory: int | None = None,
    first_step: float | Array = 1.0,
    longest_step: float = np.inf,
    max_iter: int = 200,
    tol: float = 1e-6,
    least_gain: float = 0.0,
) -> ManyOptima:
    """Minimise n functions of Q variables each, by BFGS.  [NW 6.1]

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(X, which)`` returns values (m,) and gradients (m, Q) of the functions
        number ``which`` (m,) at the rows of X (m, Q). A value that is not finite says that the row
        is outside the domain; the search then takes a shorter step.
    X0 : array (n, Q)
        The starts. A function that is not finite at its start stays there, not converged.
    memory : int, optional
        How many of the last steps to remember in place of an inverse Hessian (L-BFGS), for many
        variables. By default the inverse Hessian, Q x Q for each function.  [NW 7.2]
    first_step : float or array (n,), default=1
        How long a step to try down the gradient, while nothing is known of the curvature.
    longest_step : float, default=inf
        The most that one variable may change in one step.
    max_iter : int, default=200
        For each function.
    tol : float, default=1e-6
        Converged when the length of the gradient is at most this.
    least_gain : float, default=0
        Converged, too, when two iterations in a row lower the value by less than this, or when no
        step lowers a value that is not exact, where the gradient is below a hundred times this.

    Examples
    --------
    >>> targets = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> def paraboloids(X, which):
    ...     R = X - targets[which]
    ...     return np.sum(R * R, axis=1), 2.0 * R
    >>> best = minimise_many(paraboloids, np.zeros((2, 2)))
    >>> best.x.round(6), best.converged
    (array([[1., 2.], [3., 4.]]), array([ True, True]))
    """
    start, all_rows = np.asarray(X0, dtype=np.float64), np.arange(len(X0))
    f, g, inside = _evaluate(value_and_gradient, start, all_rows)
    x, value = start.copy(), np.where(inside, f, np.inf)
    converged, n_iter = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=np.intp)
    least = _StoppingRule(tol, least_gain)
    n, Q = x.shape
    hessians = LastSteps(n, Q, memory) if memory else FullInverses(n, Q)
    search = _ManySearch(value_and_gradient, hessians, longest_step, least)
    states = _ManyStates.start(all_rows, x, f, g, first_step).select(inside)
    while True:
        flat = least.find_reached(states)
        ended = flat | (states.n_iter >= max_iter) | (states.n_shorter > _SHORTENINGS)
        done = states.select(ended)
        x[done.which], value[done.which], n_iter[done.which] = done.x, done.f, done.n_iter
        converged[done.which] = flat[ended] | least.find_nearly_reached(done)
        states = states.select(~ended)
        if not len(states.which):
            return ManyOptima(x, value, converged, n_iter)
        states = search.advance(states)


def _evaluate(
    value_and_gradient: Functions, X: Array, which: NDArray[np.intp]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Values and gradients, zero outside the domain, and which rows are inside.

    A row is outside, too, where the square of its slope overflows.
    """
    f, g = value_and_gradient(X, which)
    inside = np.isfinite(f) & np.isfinite(dot_rows(g, g))
    return np.where(inside, f, 0.0), np.where(inside[:, None], g, 0.0), inside


@dataclass(frozen=True)
class _ManyStates:
    """Problems that are not finished: where each is, and the step that it tries next."""

    which: NDArray[np.intp]  # (m,)
    x: Array  # (m, Q)
    f: Array  # (m,)
    g: Array  # (m, Q)
    d: Array  # (m, Q), directions
    t: Array  # (m,), how far along them
    gain: Array  # (m,), of the last step
    promise: Array  # (m,), what a full step would gain by what is known; inf where nothing is
    n_poor: NDArray[np.intp]  # (m,), steps in a row that gained too little
    n_shorter: NDArray[np.intp]  # (m,), how often t was shortened
    n_iter: NDArray[np.intp]  # (m,)

    @classmethod
    def start(
        cls, which: NDArray[np.intp], x: Array, f: Array, g: Array, first_step: float | Array
    ) -> _ManyStates:
        """Problems that have not taken a step."""
        none, far = np.zeros(len(x), dtype=np.intp), np.full(len(x), np.inf)
        first = np.broadcast_to(first_step, len(x))
        return cls(which, x, f, g, _unit_descent(g), first, far, far, none, none, none)

    @property
    def slope(self) -> Array:
        """The length of each gradient."""
        return np.sqrt(dot_rows(self.g, self.g))

    def select(self, chosen: NDArray[np.bool_]) -> _ManyStates:
        """Select some of the problems."""
        return _ManyStates(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def replace_rows(self, chosen: NDArray[np.bool_], others: _ManyStates) -> _ManyStates:
        """Replace the states of the chosen problems."""
        columns = [getattr(self, field.name).copy() for field in fields(self)]
        for column, field in zip(columns, fields(self), strict=True):
            column[chosen] = getattr(others, field.name)
        return _ManyStates(*columns)


@dataclass(frozen=True)
class _StoppingRule:
    """The smallest slope and gain that are worth a further step."""

    slope: float
    gain: float

    def gain_at(self, f: Array) -> Array:
        """The least gain, but no less than what rounding of the value hides."""
        return np.maximum(self.gain, 10.0 * EPS * np.abs(f))

    def find_reached(self, states: _ManyStates) -> NDArray[np.bool_]:
        """Mask of the problems that are solved."""
        least = self.gain_at(states.f)
        slow = (states.gain < 10.0 * least) | (states.n_shorter > 0)
        little = slow & (states.promise < 0.1 * least)
        return (states.slope <= self.slope) | (states.n_poor >= 2) | little

    def find_nearly_reached(self, states: _ManyStates) -> NDArray[np.bool_]:
        """Mask of problems that no step improves, with a slope of rounding only."""
        stuck = states.n_shorter > _SHORTENINGS
        return stuck & (states.slope <= _NEXT_TO_FLAT * self.gain)


@dataclass(frozen=True)
class _ManySearch:
    """The functions, what is known of their curvature, and the limits of a step."""

    value_and_gradient: Functions
    hessians: InverseHessians
    longest: float
    least: _StoppingRule

    def advance(self, states: _ManyStates) -> _ManyStates:
        """Evaluate the trial point of each problem: it moves there, or tries a shorter step."""
        size = np.max(np.abs(states.d), axis=1, initial=0.0)
        t = np.minimum(states.t, self.longest / np.where(size > 0.0, size, 1.0))
        X = states.x + t[:, None] * states.d
        f, g, inside = _evaluate(self.value_and_gradient, X, states.which)
        promised = t * dot_rows(states.g, states.d)
        rise = np.where(inside, f - states.f, np.inf)
        # A full step that changes the value by no more than rounding is one to the bottom.
        rounding = np.where(states.n_shorter == 0, 10.0 * EPS * np.abs(states.f), 0.0)
        lower = rise <= _SUFFICIENT_DECREASE * promised + rounding
        shorter = replace(
            states, t=t * _shorten_by_parabola(rise, promised), n_shorter=states.n_shorter + 1
        )
        moved = self._move(replace(states, t=t).select(lower), X[lower], f[lower], g[lower])
        return shorter.replace_rows(lower, moved)

    def _move(self, states: _ManyStates, X: Array, f: Array, g: Array) -> _ManyStates:
        """States at the trial points. Where the function curves down: on, and twice as far."""
        s, y, gain = X - states.x, g - states.g, states.f - f
        curved = dot_rows(s, y) > _LEAST_CURVATURE * np.sqrt(dot_rows(s, s) * dot_rows(y, y))
        self.hessians.update(states.which[curved], s[curved], y[curved])
        d = -self.hessians.multiply(states.which, g)
        slope = dot_rows(g, d)
        sound = slope < 0.0  # always, but for rounding
        self.hessians.forget(states.which[~sound])
        fresh = np.where(sound[:, None], d, _unit_descent(g))
        known = self.hessians.learned[states.which]
        return replace(
            states,
            x=X,
            f=f,
            g=g,
            d=np.where(curved[:, None], fresh, states.d),
            t=np.where(curved, 1.0, 2.0 * states.t),
            gain=gain,
            promise=np.where(known, -0.5 * slope, np.inf),
            n_poor=np.where(gain < self.least.gain_at(f), states.n_poor + 1, 0),
            n_shorter=np.zeros_like(states.n_shorter),
            n_iter=states.n_iter + 1,
        )


def _shorten_by_parabola(rise: Array, promised: Array) -> Array:
    """The minimum of a parabola, between a tenth and a half: a tenth if out of the domain."""
    beyond = rise - promised
    return np.clip(-0.5 * promised / np.where(beyond > 0.0, beyond, 1.0), 0.1, 0.5)


def _unit_descent(g: Array) -> Array:
    """Unit steps down the gradient."""
    size = np.sqrt(dot_rows(g, g))
    return -g / np.where(size > 0.0, size, 1.0)[:, None]
