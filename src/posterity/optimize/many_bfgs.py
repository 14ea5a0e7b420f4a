"""BFGS on many small problems at once, which do not know of each other.

Every round evaluates one trial point of every problem that is not finished, in one call. What
becomes of a problem does not depend on which others are there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.optimize.many import Functions, ManyOptima, evaluated
from posterity.optimize.optimum import EPS

_SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
_SHORTENINGS = 30
_LEAST_CURVATURE = 1e-10
_NEXT_TO_FLAT = 100.0  # times the least gain, for one unit of a variable


def minimise_many_bfgs(
    value_and_gradient: Functions,
    X0: Array,
    *,
    first_step: float = 1.0,
    longest_step: float = np.inf,
    max_iter: int = 200,
    tol: float = 1e-6,
    least_gain: float = 0.0,
) -> ManyOptima:
    """Local minima of n functions of Q variables each, by BFGS.  [NW 6.1]

    Parameters
    ----------
    value_and_gradient : callable
        ``value_and_gradient(X, which)`` returns values (m,) and gradients (m, Q) of the functions
        number ``which`` (m,) at the rows of X (m, Q). A value that is not finite says that the row
        is outside the domain; the search then takes a shorter step.
    X0 : array (n, Q)
        The starts. A function that is not finite at its start stays there, not converged.
    first_step : float, default=1
        How long a step to try down the gradient, while nothing is known of the curvature.
    longest_step : float, default=inf
        The most that one variable may change in one step.
    max_iter : int, default=200
        For each function.
    tol : float, default=1e-6
        Converged when no entry of the gradient is larger.
    least_gain : float, default=0
        Converged, too, when two iterations in a row lower the value by less than this, or when no
        step lowers a value that is not exact, where the gradient is below a hundred times this.

    Examples
    --------
    >>> targets = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> def paraboloids(X, which):
    ...     R = X - targets[which]
    ...     return np.sum(R * R, axis=1), 2.0 * R
    >>> best = minimise_many_bfgs(paraboloids, np.zeros((2, 2)))
    >>> best.x.round(6), best.converged
    (array([[1., 2.], [3., 4.]]), array([ True, True]))
    """
    start, all_rows = np.asarray(X0, dtype=np.float64), np.arange(len(X0))
    f, g, inside = evaluated(value_and_gradient, start, all_rows)
    x, value = start.copy(), np.where(inside, f, np.inf)
    converged, n_iter = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=np.intp)
    least, steps = _Least(tol, least_gain), _Steps(value_and_gradient, first_step, longest_step)
    states = _States.at(all_rows[inside], x[inside], f[inside], g[inside], steps)
    while True:
        flat = least.reached(states)
        ended = flat | (states.n_iter >= max_iter) | (states.n_shorter > _SHORTENINGS)
        done = states.among(ended)
        x[done.which], value[done.which], n_iter[done.which] = done.x, done.f, done.n_iter
        converged[done.which] = flat[ended] | least.nearly(done)
        states = states.among(~ended)
        if not len(states.which):
            return ManyOptima(x, value, converged, n_iter)
        states = states.advanced(steps, least)


@dataclass(frozen=True)
class _Steps:
    """What is minimised, and how far to go at a time."""

    value_and_gradient: Functions
    first: float
    longest: float

    def along(self, d: Array, t: Array) -> Array:
        """No longer than the longest."""
        size = np.max(np.abs(d), axis=1, initial=0.0)
        return np.minimum(t, self.longest / np.where(size > 0.0, size, 1.0))


@dataclass(frozen=True)
class _Least:
    """What is too little to go on for."""

    slope: float
    gain: float

    def of(self, f: Array) -> Array:
        """The least gain, no less than what rounding of the value hides."""
        return np.maximum(self.gain, 10.0 * EPS * np.abs(f))

    def reached(self, states: _States) -> NDArray[np.bool_]:
        """Problems that are solved."""
        promise = 0.5 * np.einsum("ni,nij,nj->n", states.g, states.H, states.g)
        least = self.of(states.f)
        slow = (states.gain < 10.0 * least) | (states.n_shorter > 0)
        little = states.learned & slow & (promise < 0.1 * least)
        return (states.slope <= self.slope) | (states.n_poor >= 2) | little

    def nearly(self, states: _States) -> NDArray[np.bool_]:
        """Problems that no step helps, for their slope is that of rounding."""
        stuck = states.n_shorter > _SHORTENINGS
        return stuck & (states.slope <= _NEXT_TO_FLAT * self.gain)


@dataclass(frozen=True)
class _States:
    """Problems on their way: where each is, and the step that it tries next."""

    which: NDArray[np.intp]  # (m,)
    x: Array  # (m, Q)
    f: Array  # (m,)
    g: Array  # (m, Q)
    H: Array  # (m, Q, Q), inverse Hessians
    learned: NDArray[np.bool_]  # (m,), whether H says anything
    d: Array  # (m, Q), directions
    t: Array  # (m,), how far along them
    gain: Array  # (m,), of the last step
    n_poor: NDArray[np.intp]  # (m,), steps in a row that gained too little
    n_shorter: NDArray[np.intp]  # (m,), how often t was shortened
    n_iter: NDArray[np.intp]  # (m,)

    @classmethod
    def at(cls, which: NDArray[np.intp], x: Array, f: Array, g: Array, steps: _Steps) -> _States:
        """Starts."""
        m, Q = x.shape
        none, never = np.zeros(m, dtype=np.intp), np.zeros(m, dtype=bool)
        H, t, far = np.tile(np.eye(Q), (m, 1, 1)), np.full(m, steps.first), np.full(m, np.inf)
        return cls(which, x, f, g, H, never, _downhill(g), t, far, none, none, none)

    @property
    def slope(self) -> Array:
        """The largest entry of each gradient."""
        return np.max(np.abs(self.g), axis=1, initial=0.0)

    def among(self, chosen: NDArray[np.bool_]) -> _States:
        """Some of the problems."""
        return _States(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def advanced(self, steps: _Steps, least: _Least) -> _States:
        """Each problem one evaluation later."""
        tried = replace(self, t=steps.along(self.d, self.t))
        X = self.x + tried.t[:, None] * self.d
        f, g, inside = evaluated(steps.value_and_gradient, X, self.which)
        promised = tried.t * _dots(self.g, self.d)
        rise = np.where(inside, f - self.f, np.inf)
        # A full step that changes the value by no more than rounding is one to the bottom.
        rounding = np.where(self.n_shorter == 0, 10.0 * EPS * np.abs(self.f), 0.0)
        lower = rise <= _SUFFICIENT_DECREASE * promised + rounding
        moved, waiting = tried._moved(X, f, g, least), tried._shortened(rise, promised)
        return _either(lower, moved, waiting)

    def _moved(self, X: Array, f: Array, g: Array, least: _Least) -> _States:
        """At the trial points. Where the function curves down, on as before and twice as far."""
        s, y, gain = X - self.x, g - self.g, self.f - f
        sy = _dots(s, y)
        curved = sy > _LEAST_CURVATURE * np.sqrt(_dots(s, s) * _dots(y, y))
        H = np.where(curved[:, None, None], _updated(self.H, self.learned, s, y), self.H)
        d = -np.einsum("nij,nj->ni", H, g)
        sound = _dots(g, d) < 0.0  # always, but for rounding
        fresh = np.where(sound[:, None], d, _downhill(g))
        return replace(
            self,
            x=X,
            f=f,
            g=g,
            H=H,
            learned=(self.learned | curved) & sound,
            d=np.where(curved[:, None], fresh, self.d),
            t=np.where(curved, 1.0, 2.0 * self.t),
            gain=gain,
            n_poor=np.where(gain < least.of(f), self.n_poor + 1, 0),
            n_shorter=np.zeros_like(self.n_shorter),
            n_iter=self.n_iter + 1,
        )

    def _shortened(self, rise: Array, promised: Array) -> _States:
        """Where they were, to try the minimum of a parabola: a tenth if out of the domain."""
        beyond = rise - promised
        parabola = -0.5 * promised / np.where(beyond > 0.0, beyond, 1.0)
        t = self.t * np.clip(parabola, 0.1, 0.5)
        return replace(self, t=t, n_shorter=self.n_shorter + 1)


def _either(first: NDArray[np.bool_], one: _States, other: _States) -> _States:
    """The one where ``first``, the other elsewhere."""
    pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return _States(*(np.where(_beside(first, a), a, b) for a, b in pairs))


def _beside(chosen: NDArray[np.bool_], a: NDArray[np.generic]) -> NDArray[np.bool_]:
    """The mask of rows, shaped to broadcast against a."""
    return chosen.reshape(-1, *[1] * (a.ndim - 1))


def _updated(H: Array, learned: NDArray[np.bool_], s: Array, y: Array) -> Array:
    """Inverse Hessians that agree with the last steps; meaningless where those curve down."""
    sy, yy = (np.where(v > 0.0, v, 1.0) for v in (_dots(s, y), _dots(y, y)))
    scaled = (sy / yy)[:, None, None] * np.eye(s.shape[1])  # [NW 6.20]
    before = np.where(learned[:, None, None], H, scaled)
    Hy = np.einsum("nij,nj->ni", before, y)
    across = np.einsum("ni,nj->nij", s / sy[:, None], Hy)
    along = ((1.0 + _dots(y, Hy) / sy) / sy)[:, None, None] * np.einsum("ni,nj->nij", s, s)
    return before - across - np.swapaxes(across, 1, 2) + along  # [NW 6.17]


def _downhill(g: Array) -> Array:
    """Unit steps down the gradient."""
    size = np.sqrt(_dots(g, g))
    return -g / np.where(size > 0.0, size, 1.0)[:, None]


def _dots(a: Array, b: Array) -> Array:
    return np.einsum("ni,ni->n", a, b)
