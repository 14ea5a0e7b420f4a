"""Clusters of rows in the feature space of a kernel: k-means that sees K alone.  [DGK]

The centre of a cluster is the weighted mean of the features of its rows, and the squared distance
of row i from centre c is K_ii - 2 (K P)_ic + (P^T K P)_cc, where column c of P has the weights of
the rows of c, to sum one: one product a step.

Searches start at eigenvectors or at rows that are far apart. Single rows are moved last, where that
lowers the inertia: moving one row also moves the two centres, which k-means leaves out of account.
It stops where this still descends, often far above, most of all where rows are hardly alike. Where
no single move descends, no step of k-means does. [DGK]

Letters: K (N, N) kernel matrix of centred features, w (N,) weights, P (N, C) weights of rows in
centres, R (N, C) squared distances of rows from centres; of single moves, s (C,) weights of
clusters, U (C, N) weighted sums of K over the rows of a cluster, q (C,) weighted sums of U over
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.linalg import indicators, leading, products

_ROUNDING = 1e-13  # of the largest squared length
_NEGATIVE = 1e-8  # of the same; half the digits of a double
_LEAST_GAIN = 1e-12  # of the same, of a single move

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Clusters:
    """The cluster of each row, and how well that fits."""

    labels: Labels  # (N,)  numbered in the order of their first rows
    P: Array  # (N, C)
    norms: Array  # (C,)  squared lengths of centres
    inertia: float  # weighted sum of squared distances of rows from their centres
    path: tuple[float, ...]  # the inertia at the start and after each step
    converged: bool

    def nearest(self, K: Array, means: Array) -> Labels:
        """The clusters (n,) of rows with kernel values K (n, N) to the training rows.

        The features of K need not be centred; ``means`` (N,) is what centring took off.
        """
        return np.argmin(self.norms + 2.0 * (means @ self.P) - 2.0 * (K @ self.P), axis=1)


def find_clusters(
    K: Array,
    w: Array,
    n_clusters: int,
    *,
    n_restarts: int = 10,
    max_iter: int = 300,
    rng: np.random.Generator,
) -> Clusters:
    """The best of several searches: one from eigenvectors, the others from rows drawn far apart.

    Parameters
    ----------
    K : array (N, N)
        Of centred features.
    w : array (N,)
        How often each row counts, > 0.
    n_clusters : int
        At most N.
    n_restarts : int, default=10
        How many searches.
    max_iter : int, default=300
        The most steps of one, and the most sweeps of single moves after them.
    rng : Generator
        Draws the rows to start from.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> found = find_clusters(X @ X.T, np.ones(4), 2, rng=np.random.default_rng(0))
    >>> found.labels, round(found.inertia, 6)
    (array([0, 0, 1, 1]), 1.0)
    """
    if n_clusters == 1:
        return move_to_nearest(K, w, np.zeros(len(w), dtype=np.intp))
    best = _search(K, w, start_from_eigenvectors(K, n_clusters), max_iter)
    for _ in range(n_restarts - 1):
        labels = start_from_rows(K, w, n_clusters, rng)
        best = min(best, _search(K, w, labels, max_iter), key=lambda end: end.inertia)
    return _merge_equal_clusters(K, w, best)


def _merge_equal_clusters(K: Array, w: Array, found: Clusters) -> Clusters:
    """With clusters made one whose centres are the same, as where rows do not differ."""
    G = found.P.T @ products.product(K, np.asfortranarray(found.P))
    lengths = np.diagonal(G)
    apart = lengths[:, None] + lengths - 2.0 * G > _ROUNDING * float(np.diagonal(K).max())
    np.fill_diagonal(apart, False)
    first = np.argmin(apart, axis=1)
    if np.array_equal(first, np.arange(len(first))):
        return found
    return move_to_nearest(K, w, first[found.labels])


def _search(K: Array, w: Array, start: Labels, max_iter: int) -> Clusters:
    """Steps that move all rows, then moves of single ones, which may go further."""
    first = move_to_nearest(K, w, start, max_iter=max_iter)
    labels = improve_by_moves(K, w, first.labels, max_sweeps=max_iter)
    if np.array_equal(labels, first.labels):
        return first
    last = move_to_nearest(K, w, labels, max_iter=max_iter)
    return replace(last, path=first.path + last.path)


def move_to_nearest(K: Array, w: Array, labels: Labels, *, max_iter: int = 300) -> Clusters:
    """From given clusters, move rows to the nearest centre until none moves.

    Every step lowers the inertia. A cluster that loses all its rows is given the row that is
    farthest from its own centre, which lowers it too.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> move_to_nearest(X @ X.T, np.ones(4), np.array([0, 1, 1, 1])).labels
    array([0, 0, 1, 1])
    """
    n_clusters, rounding = int(labels.max()) + 1, _ROUNDING * float(np.diagonal(K).max())
    now, path, converged = labels, list[float](), False
    while not converged and len(path) <= max_iter:
        P, norms, R = _measure_clusters(K, w, now, n_clusters)
        path.append(float(w @ R[np.arange(len(w)), now]))
        following = _refill_empty(_move_rows(R, now, rounding), R, w, rounding)
        converged = bool(np.array_equal(following, now))
        now = following if len(path) <= max_iter else now
    present, order = np.unique(now, return_index=True)
    kept = present[np.argsort(order)]
    place = np.zeros(n_clusters, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    return Clusters(place[now], P[:, kept], norms[kept], path[-1], tuple(path), converged)


def _measure_clusters(
    K: Array, w: Array, labels: Labels, n_clusters: int
) -> tuple[Array, Array, Array]:
    """Weights of rows in centres, squared lengths of centres, distances of rows from centres."""
    P = np.zeros((len(w), n_clusters), order="F")
    P[np.arange(len(w)), labels] = w
    weight = P.sum(axis=0)
    P /= np.where(weight > 0.0, weight, 1.0)
    KP = products.product(K, P)
    norms = np.where(weight > 0.0, np.einsum("nc,nc->c", P, KP), np.inf)
    R = norms - 2.0 * KP
    R += np.diagonal(K)[:, None]
    if R.min() < -_NEGATIVE * float(np.diagonal(K).max()):
        raise ValueError(
            "A squared distance in the feature space is negative by more than rounding: the kernel "
            "is not positive semi-definite on these rows, and kernels.check_positive_definite "
            "tells where; or rows lie so far from the origin that digits are lost: subtract their "
            "mean first."
        )
    return P, norms, np.maximum(R, 0.0, out=R)


def _move_rows(R: Array, labels: Labels, rounding: float) -> Labels:
    """The nearest centre of each row; its present one where rounding decides."""
    rows = np.arange(len(R))
    best = R.argmin(axis=1)
    return np.where(R[rows, labels] - R[rows, best] > rounding, best, labels)


def _refill_empty(labels: Labels, R: Array, w: Array, rounding: float) -> Labels:
    """With the farthest rows in clusters of their own, where clusters would be empty."""
    counts = np.bincount(labels, minlength=R.shape[1])
    away = R[np.arange(len(R)), labels]
    filled = labels.copy()
    for c in np.flatnonzero(counts == 0):
        far = int(np.argmax(w * away * (counts[filled] > 1)))
        if counts[filled[far]] > 1 and away[far] > rounding:
            counts[filled[far]] -= 1
            filled[far], away[far], counts[c] = c, 0.0, 1
    return filled


def start_from_eigenvectors(K: Array, n_clusters: int) -> Labels:
    """The clusters nearest to the solution of the problem without its whole numbers.

    Indicators of clusters of the least inertia span nearly the leading eigenvectors of the centred
    K and the constant vector. [DGK]

    Parameters
    ----------
    K : array (N, N)
        Of centred features.
    n_clusters : int
        At most N.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> labels = start_from_eigenvectors(X @ X.T, 2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    _, V = leading.leading_eigenpairs(K, n_clusters - 1)
    constant = np.full(len(K), 1.0 / math.sqrt(len(K)))
    return indicators.find_row_groups(np.column_stack([constant, V]))


def start_from_rows(K: Array, w: Array, n_clusters: int, rng: np.random.Generator) -> Labels:
    """Clusters about rows drawn with probability proportional to their distance from earlier ones.

    Of a few rows drawn each time, the one is taken that leaves the least inertia (k-means++). There
    are fewer clusters where fewer rows differ.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> labels = start_from_rows(X @ X.T, np.ones(4), 2, np.random.default_rng(0))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    n_draws = 2 + int(math.log(n_clusters))
    labels = np.zeros(len(w), dtype=np.intp)
    left = _distances_from(K, rng.choice(len(w), size=1, p=w / w.sum()))[0]
    for c in range(1, n_clusters):
        share = w * left
        if not share.sum() > 0.0:
            break
        drawn = rng.choice(len(w), size=n_draws, p=share / share.sum())
        nearer = np.minimum(_distances_from(K, drawn), left)
        best = int(np.argmin(nearer @ w))
        labels[nearer[best] < left] = c
        left = nearer[best]
    return labels


def _distances_from(K: Array, some: Labels) -> Array:
    """Squared distances (m, N) of all rows from some."""
    diagonal = np.diagonal(K)
    R = np.maximum(diagonal + diagonal[some][:, None] - 2.0 * K[some], 0.0)
    R[np.arange(len(some)), some] = 0.0
    return R


def improve_by_moves(K: Array, w: Array, labels: Labels, *, max_sweeps: int = 300) -> Labels:
    """The labels after sweeps over the rows, each moved where that gains most, until none gains.

    No cluster is emptied.

    Examples
    --------
    >>> X = np.array([[-1.0], [0.0], [0.0], [1.0], [1.1]])
    >>> improve_by_moves(X @ X.T, np.ones(5), np.array([0, 0, 0, 0, 1]))
    array([0, 0, 0, 1, 1])
    """
    now, n_clusters = labels.copy(), int(labels.max()) + 1
    M = np.zeros((len(w), n_clusters), order="F")
    M[np.arange(len(w)), labels] = w
    U = np.ascontiguousarray(products.product(K, M).T)
    s, q = M.sum(axis=0), np.einsum("nc,cn->c", M, U)
    counts = np.bincount(labels, minlength=n_clusters)
    least = _LEAST_GAIN * float(np.diagonal(K).max())
    for _ in range(max_sweeps):
        if not _sweep(K, w, now, counts, U, s, q, least):
            break
    return now


@compilation.compile_at_first_call
def _sweep(
    K: Array,
    w: Array,
    labels: Labels,
    counts: Labels,
    U: Array,
    s: Array,
    q: Array,
    least: float,
) -> int:
    """Each row once, in order; how many moved. All but K, w and least change in place."""
    n_moves = 0
    for i in range(len(w)):
        a = labels[i]
        if counts[a] == 1:
            continue
        best, gain = a, least
        leave = s[a] / (s[a] - w[i]) * _distance(K[i, i], U[a, i], s[a], q[a])
        for c in range(len(s)):
            if c == a or s[c] == 0.0:
                continue
            join = s[c] / (s[c] + w[i]) * _distance(K[i, i], U[c, i], s[c], q[c])
            if w[i] * (leave - join) > gain:
                best, gain = c, w[i] * (leave - join)
        if best != a:
            q[a] += w[i] * (w[i] * K[i, i] - 2.0 * U[a, i])
            q[best] += w[i] * (w[i] * K[i, i] + 2.0 * U[best, i])
            s[a] -= w[i]
            s[best] += w[i]
            counts[a] -= 1
            counts[best] += 1
            U[a] -= w[i] * K[i]
            U[best] += w[i] * K[i]
            labels[i] = best
            n_moves += 1
    return n_moves


@compilation.compile_at_first_call(inline="always")
def _distance(k: float, u: float, s: float, q: float) -> float:
    """Squared distance of a row from a centre."""
    return k - 2.0 * u / s + q / (s * s)
