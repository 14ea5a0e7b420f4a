"""Rows whose features are nearest to given points of a kernel's feature space.

A point sum_i G_i phi(x_i) has in general no row of which it is the feature. The nearest one
minimises k(x, x) - 2 sum_i G_i k(x, x_i), to a constant. The fixed-point iteration that is usual
for this problem [MIK] belongs to one kernel, is slow where its length scale is short, and need not
descend where weights are negative; a quasi-Newton method reaches the same rows for any kernel.

Letters: X (N, D) training rows, Z (n, D) rows sought, G (n, N) weights, T (n, k) scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, optimize
from posterity.arrays import Array
from posterity.kernels import distances
from posterity.latent.components import kernel as kernel_components

_BLOCK_VALUES = 1 << 20  # rows sought meet the training rows 8 MiB at a time
_NEIGHBOURS = 5
_AS_GOOD_AS_EQUAL = 1e-12
_MEMORY = 8  # steps
_FIRST_STEP = 0.1  # at most, of the spread of the rows


def find_preimages(
    kernel: kernels.Kernel,
    X: Array,
    components: kernel_components.KernelComponents,
    T: Array,
    *,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> optimize.ManyOptima:
    """The rows whose features are nearest to the points with scores T, some at a time.

    Parameters
    ----------
    kernel, X, components
        A kernel, the training rows (N, D), and their components.
    T : array (n, k)
        At least one row.
    max_iter, tol
        As for :func:`find_nearest`, in units of the features' variance.

    Examples
    --------
    >>> from posterity.latent.components import decompose_kernel, fill_kernel_matrix
    >>> X, kernel = np.array([[0.0], [1.0], [3.0]]), kernels.Linear(1.0)
    >>> components = decompose_kernel(fill_kernel_matrix(kernel, X))
    >>> find_preimages(kernel, X, components, components.scores).x.round(6)
    array([[0.],
           [1.],
           [3.]])
    """
    step = max(1, _BLOCK_VALUES // len(X))
    found = [
        find_nearest(
            kernel,
            X,
            components.expansion(some),
            _starts(X, components.scores, some),
            size=components.total_variance,
            max_iter=max_iter,
            tol=tol,
        )
        for some in (T[i : i + step] for i in range(0, len(T), step))
    ]
    return optimize.ManyOptima.concatenate(found)


def find_nearest(
    kernel: kernels.Kernel,
    X: Array,
    G: Array,
    starts: tuple[Array, ...],
    *,
    size: float,
    max_iter: int = 200,
    tol: float = 1e-6,
) -> optimize.ManyOptima:
    """The rows whose features are nearest to the points sum_i G_ni phi(x_i).

    Parameters
    ----------
    kernel : Kernel
    X : array (N, D)
    G : array (n, N)
    starts : arrays (n, D)
        Of which each row takes the best.
    size : float
        The squared distance in feature space that counts as one.
    max_iter : int
    tol : float
        A row has converged when moving by the spread of X along the slope would gain no more than
        this part of ``size``.

    Returns
    -------
    optima : ManyOptima
        ``value`` is the squared distance less that of the point from the origin, over ``size``.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.5]])
    >>> mean = np.full((1, 3), 1.0 / 3.0)
    >>> find_nearest(kernels.Linear(1.0), X, mean, (X[:1],), size=1.0).x.round(6)
    array([[1.5]])
    """
    distance = _Distance(kernel, X, G, size)
    everyone = np.arange(len(G))
    scaled = np.stack([(start - distance.centre) / distance.unit for start in starts])
    values, slopes = map(np.stack, zip(*(distance(u, everyone) for u in scaled), strict=True))
    best = np.argmin(values, axis=0)
    slope = slopes[best, everyone]
    steepness = np.sqrt(np.einsum("nd,nd->n", slope, slope))
    end = optimize.minimise_many(
        distance,
        scaled[best, everyone],
        memory=_MEMORY,
        first_step=np.minimum(steepness, _FIRST_STEP),
        max_iter=max_iter,
        tol=tol,
    )
    return optimize.ManyOptima(distance.to_units(end.x), end.value, end.converged, end.n_iter)


class _Distance:
    """k(x, x) - 2 sum_i G_i k(x, x_i) over ``size``, of rows in units of the spread of X."""

    def __init__(self, kernel: kernels.Kernel, X: Array, G: Array, size: float) -> None:
        self._kernel, self._X, self._G, self._size = kernel, X, G, size
        self.centre = X.mean(axis=0)
        self.unit = float(np.sqrt(np.sum(X.var(axis=0)))) or 1.0

    def to_units(self, u: Array) -> Array:
        """Rows in the units of X."""
        return self.centre + self.unit * u

    def __call__(self, u: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        Z = self.to_units(u)
        G = self._G if len(which) == len(self._G) else self._G[which]
        tangent = self._kernel.tangent(Z, self._X)
        value = self._kernel.diag(Z) - 2.0 * np.einsum("nm,nm->n", G, tangent.value)
        slope = self._kernel.diag_pullback_inputs(Z, np.ones(len(Z))) - 2.0 * tangent.inputs(G)
        return value / self._size, (self.unit / self._size) * slope


def _starts(X: Array, scores: Array, T: Array) -> tuple[Array, Array]:
    """For each row of T, the training row of the nearest scores, and a weighted mean of a few."""
    m = min(_NEIGHBOURS, len(X))
    R = distances.squared_distances(T, scores)
    near = np.argpartition(R, m - 1, axis=1)[:, :m]
    r = np.take_along_axis(R, near, axis=1)
    first = X[near[np.arange(len(T)), r.argmin(axis=1)]]
    farthest = r.max(axis=1, keepdims=True)
    w = 1.0 / (r + np.where(farthest > 0.0, _AS_GOOD_AS_EQUAL * farthest, 1.0))
    total = w.sum(axis=1, keepdims=True)  # zero where distances are too large to be numbers
    return first, np.einsum("nm,nmd->nd", w / np.where(total > 0.0, total, 1.0), X[near])
