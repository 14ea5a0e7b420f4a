"""Averages of exp(-r^2 / 2) over normal inputs, in closed form.  [TL Sec 3.2]

Letters: l2 squared lengths, a = z_m - m_n, and for each row and column c1 = 1 / (l2 + S),
c2 = 1 / (l2 + 2 S). Then psi1 = sqrt(prod l2 c1) exp(-1/2 sum c1 a^2), and of two points
psi2 = sqrt(prod l2 c2) exp(-sum c2 (a + a')^2 / 4 - sum (z - z')^2 / (4 l2)).

A pair of points is one number of a packed lower triangle. What it needs of its Q columns is the
product a.a' alone, so that a row costs Q M^2 / 2 multiplications and M^2 / 2 exponentials; its
adjoint computes them again rather than keep N M^2 numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.latent.gplvm.variational import radial_rows
from posterity.latent.gplvm.variational.statistics import NormalPoints

T = TypeVar("T")

_PAIRS = 1 << 19  # of rows and two points, in one block: some milliseconds' work
_BLOCKS = 16  # at most, for each has sums of its own


@dataclass(frozen=True)
class RadialSlopes:
    """sum V psi1 and sum H psi2, row by row, and the gradients of both together."""

    first: Array  # (N,)
    second: Array  # (N,)
    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    log_lengths: Array  # (Q,)


def first_moment(points: NormalPoints, l2: Array) -> Array:
    """psi1, (N, M)."""
    _check_shapes(points, l2)
    psi1 = np.empty((len(points.m), len(points.Z)))
    radial_rows.first(_plain(points.m), _plain(points.S), _columns(points.Z), l2, psi1)
    return psi1


def second_moment(points: NormalPoints, l2: Array) -> Array:
    """psi2, (G, M, M)."""
    _check_shapes(points, l2)
    m, S, weights = _plain(points.m), _plain(points.S), _columns(points.weights)
    Zt, apart = _columns(points.Z), _packed_distances(points.Z, l2)

    def block(rows: slice) -> Array:
        packed = np.zeros((len(points.weights), len(apart)))
        radial_rows.second(m[rows], S[rows], Zt, l2, apart, weights[rows], packed)
        return packed

    return _unpack(np.sum(_over_rows(block, points), axis=0), len(points.Z))


def pull_back(points: NormalPoints, l2: Array, V: Array, H: Array) -> RadialSlopes:
    """The adjoint of psi1, given V (N, M), and of psi2, given a symmetric H (G, M, M)."""
    _check_shapes(points, l2)
    G, M = len(points.weights), len(points.Z)
    validation.require_array(V, "V", np.float64, (len(points.m), M))
    validation.require_array(H, "H", np.float64, (G, M, M))
    means, variances, weights = _plain(points.m), _plain(points.S), _columns(points.weights)
    Z, Zt, apart = points.Z, _columns(points.Z), _packed_distances(points.Z, l2)
    V_plain, H_packed = _plain(V), _plain(H[:, *_lower(len(Z))])

    def block(rows: slice) -> tuple[Array, ...]:
        m, S = means[rows], variances[rows]
        sums = np.empty((len(m), 2)), np.empty_like(m), np.empty_like(m)
        totals = np.zeros_like(Zt), np.zeros_like(l2), np.zeros_like(apart)
        given = V_plain[rows], weights[rows], H_packed
        radial_rows.pull_back(m, S, Zt, l2, apart, *given, *sums, *totals)
        return *sums, *totals

    blocks = zip(*_over_rows(block, points), strict=True)
    values, m, S, Zt_slope, log_lengths, through = blocks
    both = np.concatenate(values)
    W = _unpack(np.sum(through, axis=0)[None], len(Z))[0]  # sum_n H psi2 of each pair
    moved = np.sum(W, axis=1)[:, None] * Z - W @ Z
    return RadialSlopes(
        both[:, 0],
        both[:, 1],
        np.concatenate(m),
        np.concatenate(S),
        np.sum(Zt_slope, axis=0).T - moved / l2,
        np.sum(log_lengths, axis=0) + np.sum(Z * moved, axis=0) / l2,
    )


def _check_shapes(points: NormalPoints, l2: Array) -> None:
    """Raise ValueError unless shapes agree, which compiled loops would not notice."""
    Q = len(l2)
    for name, A in (("means", points.m), ("variances", points.S)):
        validation.require_array(A, f"{name} of latent points", np.float64, (len(points.m), Q))
    validation.require_array(points.Z, "inducing points", np.float64, (None, Q))
    validation.require_array(points.weights, "weights", np.float64, (None, len(points.m)))


def _over_rows(block: Callable[[slice], T], points: NormalPoints) -> list[T]:
    """The results of a function for each block of rows; blocks do not depend on threads."""
    n, m = len(points.m), len(points.Z)
    size = max(1, 2 * _PAIRS // (m * (m + 1)), -(-n // _BLOCKS))
    slices = [slice(i, min(i + size, n)) for i in range(0, max(1, n), size)]
    if points.n_jobs == 1 or len(slices) == 1:
        return [block(rows) for rows in slices]
    with futures.ThreadPoolExecutor(points.n_jobs) as pool:
        return list(pool.map(block, slices))


def _plain(A: Array) -> Array:
    """In C order and writable: the loops are compiled anew for any other kind of array."""
    return np.require(A, requirements=["C", "W"])


def _columns(A: Array) -> Array:
    return np.array(A.T, order="C")


def _packed_distances(Z: Array, l2: Array) -> Array:
    """sum (z - z')^2 / (4 l2) of each pair."""
    i, j = _lower(len(Z))
    return np.sum((Z[i] - Z[j]) ** 2 / (4.0 * l2), axis=1)


def _unpack(packed: Array, n: int) -> Array:
    """Symmetric matrices (G, n, n) from their lower triangles."""
    full = np.empty((len(packed), n, n))
    i, j = _lower(n)
    full[:, i, j] = packed
    full[:, j, i] = packed
    return full


@functools.lru_cache(maxsize=16)
def _lower(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of a packed lower triangle, row by row."""
    return np.tril_indices(n)
