"""The loops of :mod:`radial`, compiled: each function does all rows, or one, in memory it is given.

Loops run along memory and do not add up within a vector, so that they compile to vector
instructions without leave to reorder sums. The exponential of the C library is called for one
number at a time and takes four times as long as the one here.
"""

from __future__ import annotations

import math

import numpy as np

from posterity import compilation
from posterity.arrays import Array

_LOG2_E = 1.4426950408889634
_LOG_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # its leading bits, and the rest
_ROUNDER = 1.5 * 2.0**52  # added, the last bits of the sum hold the nearest whole number
_LEAST = -708.0  # below, exp is no normal number
_C = tuple(1.0 / math.factorial(k) for k in range(14))


@compilation.compile_at_first_call
def exponentiate(x: Array, powers: Array) -> None:
    """Replace each x <= 0 by exp(x), to one unit of the last digit; by about 1e-308 below -708.

    exp(x) = 2^k exp(r), where k is whole and r, between -log(2) / 2 and log(2) / 2, small enough
    for a Taylor polynomial. Three loops without branches, each of which compiles to vector
    instructions; ``powers`` is memory of the size of x.
    """
    for i in range(x.size):
        t = max(x[i], _LEAST)
        powers[i] = t * _LOG2_E + _ROUNDER
        k = powers[i] - _ROUNDER
        r = (t - k * _LOG_2[0]) - k * _LOG_2[1]
        p = _C[13] * r + _C[12]
        p = ((p * r + _C[11]) * r + _C[10]) * r + _C[9]
        p = ((p * r + _C[8]) * r + _C[7]) * r + _C[6]
        p = ((p * r + _C[5]) * r + _C[4]) * r + _C[3]
        x[i] = ((p * r + _C[2]) * r + 1.0) * r + 1.0
    bits = powers.view(np.int64)
    for i in range(bits.size):
        bits[i] = (bits[i] + 1023) << 52  # k as the exponent of a double: 2^k
    for i in range(x.size):
        x[i] *= powers[i]


@compilation.compile_at_first_call
def first(m: Array, S: Array, Zt: Array, l2: Array, psi1: Array) -> None:
    """psi1 of all rows."""
    powers = np.empty(Zt.shape[1])
    for n in range(m.shape[0]):
        e = psi1[n]
        e[:] = 0.0
        for q in range(m.shape[1]):
            c1 = 1.0 / (l2[q] + S[n, q])
            e -= 0.5 * np.log1p(S[n, q] / l2[q])
            for k in range(e.size):
                a = Zt[q, k] - m[n, q]
                e[k] -= 0.5 * c1 * a * a
        exponentiate(e, powers)


@compilation.compile_at_first_call
def _pairs(
    m: Array, S: Array, Zt: Array, l2: Array, apart: Array, a: Array, u: Array, e: Array
) -> None:
    """a (Q, M), and the logarithm e of psi2 of each pair, of one row."""
    u[:] = 0.0
    shift = 0.0
    for q in range(m.size):
        c2 = 1.0 / (l2[q] + 2.0 * S[q])
        shift -= 0.5 * np.log1p(2.0 * S[q] / l2[q])
        for k in range(u.size):
            a[q, k] = Zt[q, k] - m[q]
            u[k] -= 0.25 * c2 * a[q, k] * a[q, k]
    start = 0
    for i in range(u.size):
        row = e[start : start + i + 1]
        for k in range(i + 1):
            row[k] = shift + u[i] + u[k] - apart[start + k]
        for q in range(m.size):
            t = -0.5 * a[q, i] / (l2[q] + 2.0 * S[q])
            for k in range(i + 1):
                row[k] += t * a[q, k]
        start += i + 1


@compilation.compile_at_first_call
def second(
    m: Array, S: Array, Zt: Array, l2: Array, apart: Array, weights: Array, packed: Array
) -> None:
    """Add psi2 of all rows to ``packed`` (G, M (M + 1) / 2); ``weights`` (N, G)."""
    a, u = np.empty_like(Zt), np.empty(Zt.shape[1])
    e, powers = np.empty_like(apart), np.empty_like(apart)
    for n in range(m.shape[0]):
        _pairs(m[n], S[n], Zt, l2, apart, a, u, e)
        exponentiate(e, powers)
        for g in range(weights.shape[1]):
            w = weights[n, g]
            if w != 0.0:
                total = packed[g]
                for k in range(e.size):
                    total[k] += w * e[k]


@compilation.compile_at_first_call
def pull_back(
    m: Array,
    S: Array,
    Zt: Array,
    l2: Array,
    apart: Array,
    V: Array,
    weights: Array,
    H: Array,
    values: Array,
    m_slope: Array,
    S_slope: Array,
    Zt_slope: Array,
    log_lengths: Array,
    through: Array,
) -> None:
    """Write or add to the last six arguments what all rows say."""
    n_points = Zt.shape[1]
    a, Wa, u, y = np.empty_like(Zt), np.empty_like(Zt), np.empty(n_points), np.empty(n_points)
    e, powers, H_n = np.empty_like(apart), np.empty_like(apart), np.empty_like(apart)
    v, W = np.empty((1, n_points)), np.empty((n_points, n_points))
    for n in range(m.shape[0]):
        if n == 0 or np.any(weights[n] != weights[n - 1]):
            _combine(weights[n], H, H_n)
        first(m[n : n + 1], S[n : n + 1], Zt, l2, v)
        v[0] *= V[n]
        _pairs(m[n], S[n], Zt, l2, apart, a, u, e)
        exponentiate(e, powers)
        for k in range(e.size):
            e[k] *= H_n[k]
            through[k] += e[k]
        _spread(e, a, W, y, Wa)
        values[n, 0], values[n, 1] = np.sum(v), np.sum(y)
        _slopes(S[n], l2, a, v[0], y, Wa, values[n], m_slope[n], S_slope[n], Zt_slope, log_lengths)


@compilation.compile_at_first_call
def _slopes(
    S: Array,
    l2: Array,
    a: Array,
    v: Array,
    y: Array,
    Wa: Array,
    values: Array,
    m_slope: Array,
    S_slope: Array,
    Zt_slope: Array,
    log_lengths: Array,
) -> None:
    """The gradients of one row: v = V psi1, y and Wa sums of W = H psi2 and of a W.

    v1 and v2 are sums of v times a and a^2, w1 and w2 those of W times (a + a') / 2 and its square.
    """
    for q in range(S.size):
        c1, c2 = 1.0 / (l2[q] + S[q]), 1.0 / (l2[q] + 2.0 * S[q])
        v1, v2, w1, w2 = 0.0, 0.0, 0.0, 0.0
        for k in range(y.size):
            d, both = a[q, k], y[k] * a[q, k] + Wa[q, k]
            v1 += v[k] * d
            v2 += v[k] * d * d
            w1 += y[k] * d
            w2 += 0.5 * d * both
            Zt_slope[q, k] -= c1 * v[k] * d + c2 * both
        m_slope[q] = c1 * v1 + 2.0 * c2 * w1
        S_slope[q] = 0.5 * c1 * (c1 * v2 - values[0]) + c2 * (2.0 * c2 * w2 - values[1])
        log_lengths[q] += c1 * (l2[q] * c1 * v2 + S[q] * values[0])
        log_lengths[q] += 2.0 * c2 * (l2[q] * c2 * w2 + S[q] * values[1])


@compilation.compile_at_first_call
def _combine(weights: Array, H: Array, H_n: Array) -> None:
    """sum_g w_g H_g."""
    H_n[:] = 0.0
    for g in range(weights.size):
        w = weights[g]
        if w != 0.0:
            for k in range(H_n.size):
                H_n[k] += w * H[g, k]


@compilation.compile_at_first_call
def _spread(packed: Array, a: Array, W: Array, y: Array, Wa: Array) -> None:
    """The symmetric W (M, M) of a lower triangle, its sums y (M,), and Wa (Q, M) = a W."""
    start = 0
    for i in range(y.size):
        for k in range(i + 1):
            W[i, k] = packed[start + k]
            W[k, i] = packed[start + k]
        start += i + 1
    y[:], Wa[:] = 0.0, 0.0
    for i in range(y.size):
        for k in range(y.size):
            y[k] += W[i, k]
        for q in range(a.shape[0]):
            t = a[q, i]
            for k in range(y.size):
                Wa[q, k] += t * W[i, k]
