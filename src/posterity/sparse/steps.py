"""Add, re-estimate, delete: the compiled steps of the sequential maximisation.  [TF 2003]

Columns are seen through moments only: A = Z^T B Z, and b = Z^T B Y for K targets. Prior precisions
h are in units of the noise, infinite where a column is out. With t = 1 / (h + s), one column gains

    0.5 * (K log(1 - s t) + sum_k q_k^2 t)            where the noise is known,
    0.5 * (K log(1 - s t) - n sum_k log(1 - u_k t))   where it is learned, u_k = q_k^2 / E_k,

for its sparsity s and qualities q beside the other columns, and the sum of squares E_k that these
leave. Learned noise E_k / n is then at its best for every h, not only after an alternation.
Each step is the best that any one column offers and costs O(w m), for m columns of w that are in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

KNOWN, LEARNED, CURVED = 0, 1, 2
"""The noise is known, or learned; CURVED: known, and B depends on the mode that a column moves."""
DEPENDENT = 1e-11
"""Of its own square: what is left of a column that other columns can replace."""
_NEWTON_STEPS = 60
_BISECTIONS = 80
_CLOSE = 1e-12
_LEAST = 1e-13  # precision, of the square of a column
_NEAR = 1e-9
_NO_TIE = 1.0 + 1e-6
_FARTHEST = 60.0  # in log h


class CandidateColumn(NamedTuple):
    """One column beside the others, whose u_k are at hand: (K,); (1,), sum q_k^2, in known noise.

    Arrays are not part of it: numba counts references to an array in a tuple at every call.
    """

    kind: int
    K: int
    n: float
    s: float
    largest: float  # t: a precision is no smaller than what rounding leaves of the column


class StepState(NamedTuple):
    """Columns, and the posterior of the weights of those that are in; changed in place."""

    kind: int
    n: float
    nu: float
    among: int  # columns that were to choose from; 0: a choice costs nothing
    A: Array  # (w, w)
    fixed: NDArray[np.bool_]  # (w,) not moved
    n_offsets: int
    floor: Array  # (K,) of E
    h: Array  # (w,)
    order: NDArray[np.intp]  # (room,) which columns are in, m of them
    Sigma: Array  # (room, room), in that order
    Mu: Array  # (room, K)
    S: Array  # (w,)
    Q: Array  # (w, K)
    E: Array  # (K,)


@compilation.compile_at_first_call
def _fill_qualities(kind: int, Q: Array, j: int, sigma: float, E: Array, u: Array) -> int:
    """Set u from row j of Q: qualities of a column that is out, or means of one in; return K.

    One that is in has the posterior variance sigma, one that is out has 0. Where B is curved, the
    second of a row is what the evidence gains by the move of the mode.
    """
    scale = 1.0 if sigma == 0.0 else 1.0 / sigma
    K = Q.shape[1]
    if kind == LEARNED:
        for k in range(K):
            q2 = (Q[j, k] * scale) ** 2
            u[k] = q2 / (E[k] + q2 * sigma)
        return K
    if kind == CURVED:
        u[0] = scale * scale * Q[j, 0] * (Q[j, 0] + 2.0 * Q[j, 1])
        return 1
    u[0] = 0.0
    for k in range(K):
        u[0] += (Q[j, k] * scale) ** 2
    return K


@compilation.compile_at_first_call
def _gain(c: CandidateColumn, u: Array, t: float) -> float:
    """Gain of a column at t = 1 / (h + s) over having it out."""
    if t == 0.0:
        return 0.0
    value = c.K * math.log1p(-c.s * t)
    if c.kind != LEARNED:
        return 0.5 * (value + u[0] * t)
    for k in range(c.K):
        value -= c.n * math.log1p(-u[k] * t)
    return 0.5 * value


@compilation.compile_at_first_call
def _slope(c: CandidateColumn, u: Array, t: float) -> float:
    """Derivative of the gain in t, times 2 (1 - s t); it falls with t."""
    if c.kind != LEARNED:
        return (1.0 - c.s * t) * u[0] - c.K * c.s
    value = 0.0
    for k in range(c.K):
        value += u[k] / (1.0 - u[k] * t)
    return (1.0 - c.s * t) * c.n * value - c.K * c.s


@compilation.compile_at_first_call
def _best_without_prior(c: CandidateColumn, u: Array) -> float:
    """The best t where nothing but the data speaks of h; 0 where the column is better out."""
    if _slope(c, u, 0.0) <= 0.0:
        return 0.0
    if c.kind != LEARNED:
        return min((1.0 - c.K * c.s / u[0]) / c.s, c.largest)
    if c.K == 1:
        return min((c.n * u[0] - c.s) / (u[0] * (c.n - 1.0) * c.s), c.largest)
    # From where the noise of now has it. The slope is concave in t, so that Newton's method comes
    # to the right of the root at once, and never leaves that side again.
    t = (1.0 - c.K * c.s / (c.n * float(np.sum(u)))) / c.s
    for _ in range(_NEWTON_STEPS):
        value, derivative = -c.K * c.s, 0.0
        for k in range(c.K):
            u_k = min(u[k], (1.0 - _CLOSE) * c.s)
            r = 1.0 / (1.0 - u_k * t)
            value += c.n * u_k * (1.0 - c.s * t) * r
            derivative += c.n * u_k * (u_k - c.s) * r * r
        step = value / derivative
        t = min(t - step, c.largest)
        if abs(step) <= _NEAR * t:
            break
    return max(t, 0.0)


@compilation.compile_at_first_call
def penalty(h: float, nu: float) -> float:
    """What the prior of a precision adds to the evidence, at most 0."""
    return 0.0 if nu == 0.0 else 0.5 * nu * (math.log(h) - h + 1.0)


@compilation.compile_at_first_call
def _best_of_column(c: CandidateColumn, u: Array, nu: float) -> tuple[float, float]:
    """The best t of one column, 0 for out, and what it gains there."""
    t = _best_without_prior(c, u)
    if nu == 0.0:
        return t, _gain(c, u, t)
    x = 0.0 if t == 0.0 else math.log(1.0 / t - c.s)
    x = _find_stationary(c, u, nu, x)
    t = min(1.0 / (math.exp(x) + c.s), c.largest)
    value = _gain(c, u, t) + penalty(1.0 / t - c.s, nu)
    return (t, value) if value > 0.0 else (0.0, 0.0)


@compilation.compile_at_first_call
def _log_slope(c: CandidateColumn, u: Array, nu: float, x: float) -> float:
    """Twice the derivative of gain and penalty in x = log h."""
    h = math.exp(x)
    t = 1.0 / (h + c.s)
    return -t * _slope(c, u, t) + nu * (1.0 - h)


@compilation.compile_at_first_call
def _find_stationary(c: CandidateColumn, u: Array, nu: float, x: float) -> float:
    """The stationary log h that one reaches from x going up, by doubling steps and bisection."""
    direction = 1.0 if _log_slope(c, u, nu, x) > 0.0 else -1.0
    step, end = 0.5, x
    while abs(end) < _FARTHEST and _log_slope(c, u, nu, end) * direction > 0.0:
        x, end = end, end + direction * step
        step *= 2.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (x + end)
        if _log_slope(c, u, nu, middle) * direction > 0.0:
            x = middle
        else:
            end = middle
    return 0.5 * (x + end)


@compilation.compile_at_first_call
def gains(kind: int, S: Array, Q: Array, E: Array, n: float, nu: float) -> Array:
    """What each column that is out would gain at its best."""
    found, u = np.zeros(len(S)), np.empty(len(E))
    for j in range(len(S)):
        if S[j] > 0.0:
            K = _fill_qualities(kind, Q, j, 0.0, E, u)
            found[j] = _best_of_column(
                CandidateColumn(kind, K, n, S[j], (1.0 - _CLOSE) / S[j]), u, nu
            )[1]
    return found


@compilation.compile_at_first_call
def take_steps(state: StepState, m: int, tol: float, max_steps: int) -> tuple[int, float]:
    """Take steps that gain more than ``tol``; there must be room for as many more columns.

    Returns the number of steps, and what they gained.
    """
    place = np.full(len(state.S), -1)
    for i in range(m):
        place[state.order[i]] = i
    e, v = np.empty(len(state.S)), np.empty(len(state.order))
    total = 0.0
    for steps in range(max_steps):
        gain, j, t, s = _best_offer(state, place, m, tol)
        if j < 0:
            return steps, total
        total += gain
        h = np.inf if t == 0.0 else 1.0 / t - s
        if place[j] < 0:
            _add_column(state, j, t, m, e, v)
            place[j] = m
            m += 1
        else:
            _move_column(state, place[j], h, m, e, v)
            if t == 0.0:
                m -= 1
                _close_gap(state, place[j], m)
                place[state.order[place[j]]] = place[j]
                place[j] = -1
        state.h[j] = h
    return max_steps, total


@compilation.compile_at_first_call
def _price(among: int, m: int) -> float:
    """What one more than m columns costs."""
    return math.log((among - m) / (m + 1.0)) if 2 * (m + 1) <= among else 0.0


@compilation.compile_at_first_call
def _best_offer(
    state: StepState, place: NDArray[np.intp], m: int, tol: float
) -> tuple[float, int, float, float]:
    """The column whose move gains most, if more than ``tol``: gain, column or -1, its t and s."""
    A, S, Q, E, Sigma, Mu = state.A, state.S, state.Q, state.E, state.Sigma, state.Mu
    best, chosen, t, s = tol, -1, 0.0, 0.0
    u, m = np.empty(len(E)), m - state.n_offsets
    price, refund = _price(state.among, m), _price(state.among, m - 1)
    for j in range(len(place)):
        i = place[j]
        if state.fixed[j] or (i < 0 and S[j] <= DEPENDENT * A[j, j]):
            continue
        sigma = 0.0 if i < 0 else Sigma[i, i]
        h = state.h[j]
        s_j = S[j] if i < 0 else max(1.0 / sigma - h, 1e-16 * h)
        K = _fill_qualities(state.kind, Q if i < 0 else Mu, j if i < 0 else i, sigma, E, u)
        column = CandidateColumn(state.kind, K, state.n, s_j, 1.0 / (s_j + _LEAST * A[j, j]))
        t_j, gain = _best_of_column(column, u, state.nu)
        if i < 0:
            gain -= price
        else:
            if gain < refund:
                t_j, gain = 0.0, refund
            gain -= _gain(column, u, sigma) + penalty(h, state.nu)
        # A copy of a column that is in can only do again what that one can do.
        if gain > best * (_NO_TIE if i < 0 else 1.0):
            best, chosen, t, s = gain, j, t_j, s_j
    return best, chosen, t, s


@compilation.compile_at_first_call
def _add_column(state: StepState, j: int, sigma: float, m: int, e: Array, v: Array) -> None:
    """A column comes in with posterior variance sigma."""
    A, order, Sigma, Mu, Q = state.A, state.order, state.Sigma, state.Mu, state.Q
    for r in range(len(e)):
        e[r] = A[j, r]
    for i in range(m):
        along = 0.0
        for l in range(m):
            along += Sigma[i, l] * A[j, order[l]]
        v[i] = along
        _subtract(e, along, A[order[i]])
    for i in range(m):
        _subtract(Sigma[i, :m], -sigma * v[i], v[:m])
        Sigma[i, m] = Sigma[m, i] = -sigma * v[i]
    Sigma[m, m] = sigma
    order[m] = j
    for k in range(Q.shape[1]):
        mu = sigma * Q[j, k]
        _subtract(Mu[:m, k], mu, v[:m])
        Mu[m, k] = mu
        state.E[k] = max(state.E[k] - mu * Q[j, k], state.floor[k])
        _subtract(Q[:, k], mu, e)
    for r in range(len(e)):
        state.S[r] -= sigma * e[r] * e[r]


@compilation.compile_at_first_call
def _move_column(state: StepState, i: int, h: float, m: int, e: Array, v: Array) -> None:
    """The precision of the column in place i changes; infinite: the column goes out."""
    A, order, Sigma, Mu, Q = state.A, state.order, state.Sigma, state.Mu, state.Q
    sigma, change = Sigma[i, i], h - state.h[order[i]]
    kappa = 1.0 / sigma if h == np.inf else change / (1.0 + sigma * change)
    for r in range(len(e)):
        e[r] = 0.0
    for l in range(m):
        v[l] = Sigma[l, i]
        _subtract(e, -v[l], A[order[l]])
    for l in range(m):
        _subtract(Sigma[l, :m], kappa * v[l], v[:m])
    for k in range(Q.shape[1]):
        mu = Mu[i, k]
        _subtract(Mu[:m, k], kappa * mu, v[:m])
        state.E[k] += kappa * mu * mu
        _subtract(Q[:, k], -kappa * mu, e)
    for r in range(len(e)):
        state.S[r] += kappa * e[r] * e[r]


@compilation.compile_at_first_call
def _subtract(y: Array, a: float, x: Array) -> None:
    """y -= a x, in place."""
    for r in range(len(y)):
        y[r] -= a * x[r]


@compilation.compile_at_first_call
def _close_gap(state: StepState, i: int, last: int) -> None:
    """The last column takes the place of one that has gone."""
    Sigma, Mu = state.Sigma, state.Mu
    state.order[i] = state.order[last]
    for k in range(Mu.shape[1]):
        Mu[i, k] = Mu[last, k]
    for l in range(last):
        Sigma[i, l] = Sigma[l, i] = Sigma[last, l]
    Sigma[i, i] = Sigma[last, last]
