"""The textbook's way to hidden precisions: all columns in, and every precision moved at once.

It climbs the objective of the sequential steps, so that the ends of both are alike; from the other
side, and at the cost of a factorisation of all columns. A step that would lower the objective is
shortened. A column goes when the objective is better without it, and comes back when it is not.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import priors
from posterity.arrays import Array

Places = NDArray[np.intp]

_LARGEST_STEP = 5.0  # in the log of a precision
_HALVINGS = 30
_EVEN_FACTOR = 4.0
_EVEN_STEPS = 20
_SOME_EFFECT = 0.5
_BARELY = 0.01  # of a weight's information: what data tell of one that is on its way out
_COMING_BACK = (1.0, 10.0, 100.0)  # times the precision that a simpler model of the rows likes best
_PRECISIONS = np.exp(np.arange(-16.0, 12.0, 0.25))  # in units of a sparsity
_DEPENDENT = 1e-11  # of its square: what is left of a column that others can replace


@dataclass(frozen=True)
class State:
    """The objective at some precisions, and where its stationary points are to be looked for."""

    h: Array  # (M,), infinite where a column is out
    value: float
    step: Array  # (M,), in log h, to where the fixed point asks; 0 where a column is out
    told: Array  # (M,), from 0 to 1: how much of a weight's information is the data's
    worth: Array  # (M,), what the objective loses, or so, without a column; infinite for one out


@dataclass(frozen=True)
class Climb:
    """Where the alternation ended."""

    state: State
    n_iter: int
    converged: bool

    @property
    def stop_reason(self) -> str:
        """In words."""
        if self.converged:
            return "no precision that moves, and no column that goes or comes, gains more than tol"
        return "the limit of iterations was reached"


class Model(abc.ABC):
    """An objective in the precisions of M columns."""

    prior: priors.Sparse

    @property
    @abc.abstractmethod
    def n_outputs(self) -> int:
        """How many weights share a precision."""

    @property
    @abc.abstractmethod
    def rounding(self) -> float:
        """A difference of the objective that means nothing."""

    @abc.abstractmethod
    def even(self) -> Array:
        """All columns in with one precision, of the right size; infinite for columns of no use."""

    @abc.abstractmethod
    def at(self, h: Array, near: State | None) -> State:
        """The objective at h; ``near`` is a state at precisions not far away."""

    @abc.abstractmethod
    def offers(self, state: State) -> tuple[Array, Array]:
        """s (M,) and u (M,) of the columns that are out, s = 0 for one that others replace.

        The evidence's derivative in 1 / h, at zero, is half of ``u - n_outputs * s``.
        """


def climb(model: Model, tol: float, max_iter: int) -> Climb:
    """Move all precisions to where they are stationary, until nothing gains more than ``tol``."""
    least = max(tol, model.rounding)
    now = _even(model)
    for i in range(max_iter):
        moved = _without(model, _moved(model, now), _BARELY)
        if moved.value - now.value <= least:
            rested = _with_another(model, _without(model, moved, np.inf), least)
            if rested.value - moved.value <= least:
                return Climb(rested, i + 1, converged=True)
            moved = rested
        now = moved
    return Climb(now, max_iter, converged=False)


def _even(model: Model) -> State:
    """The best precision that all columns can share, to a factor.

    Where there is little to explain that is a precision without end, from which none would ever
    come back: some column is to be of some effect.
    """
    best = model.at(model.even(), None)
    for factor in (1.0 / _EVEN_FACTOR, _EVEN_FACTOR):
        for _ in range(_EVEN_STEPS):
            further = model.at(factor * best.h, best)
            if not further.value > best.value or np.max(further.told, initial=0.0) < _SOME_EFFECT:
                break
            best = further
    return best


def _moved(model: Model, now: State) -> State:
    """Each precision goes uphill, so that a step short enough gains."""
    step = np.clip(now.step, -_LARGEST_STEP, _LARGEST_STEP)
    for _ in range(_HALVINGS):
        moved = model.at(now.h * np.exp(step), now)
        if moved.value >= now.value - model.rounding:
            return moved
        step = 0.5 * step
    return now


def _without(model: Model, now: State, told: float) -> State:
    """Without the columns that are better out, of those the data tell no more about than ``told``.

    While precisions are on their way, a column may be worth nothing only because of others that
    will go.
    """
    out = np.flatnonzero((now.worth <= 0.0) & (now.told <= told))
    worst_first = out[np.argsort(now.worth[out], kind="stable")]
    while len(worst_first):
        h = now.h.copy()
        h[worst_first] = np.inf
        fewer = model.at(h, now)
        if fewer.value >= now.value - model.rounding:
            return fewer
        worst_first = worst_first[: len(worst_first) // 2]
    return now


def _with_another(model: Model, now: State, tol: float) -> State:
    """With the column that gains most, if it gains more than ``tol``."""
    gain, precision = _best_return(model, *model.offers(now))
    gain -= model.prior.price(int(np.sum(np.isfinite(now.h))))
    if not np.max(gain, initial=0.0) > tol:
        return now
    best = int(np.argmax(gain))
    for factor in _COMING_BACK:
        h = now.h.copy()
        h[best] = factor * precision[best]
        more = model.at(h, now)
        if more.value - now.value > tol:
            return more
    return now


def _best_return(model: Model, s: Array, u: Array) -> tuple[Array, Array]:
    """What each column gains, about, with the best of some precisions; and that precision."""
    left = np.flatnonzero(s > 0.0)
    h = s[left, None] * _PRECISIONS
    t = 1.0 / (h + s[left, None])
    gains = 0.5 * (model.n_outputs * np.log(h * t) + u[left, None] * t) + model.prior.penalty(h)
    best = np.argmax(gains, axis=1)
    gain, precision = np.zeros(len(s)), np.full(len(s), np.inf)
    i = np.arange(len(left))
    gain[left], precision[left] = gains[i, best], h[i, best]
    return gain, precision


def distinct(A: Array) -> NDArray[np.bool_]:
    """Which columns, of products A = Z^T W Z, are neither zero nor the same as an earlier one."""
    size = np.sqrt(np.diagonal(A))
    found = size > 0.0
    for j in np.flatnonzero(found):
        if found[j]:
            same = A[j, j + 1 :] ** 2 >= (1.0 - _DEPENDENT) * (size[j] * size[j + 1 :]) ** 2
            found[j + 1 :] &= ~same
    return found


def left_over(S: Array, square: Array, h: Array) -> Array:
    """The sparsities S of columns that are out, 0 for those that are in or that others replace."""
    replaced = _DEPENDENT * square >= S
    return np.where(np.isfinite(h) | replaced, 0.0, S)


def of_all(n_columns: int, used: Places, values: Array, otherwise: float) -> Array:
    """Values of the columns in use, and one for all others, (M,)."""
    every = np.full(n_columns, otherwise)
    every[used] = values
    return every
