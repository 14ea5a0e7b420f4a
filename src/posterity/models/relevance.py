"""Which inputs a kernel found to make no difference, in the units of the targets."""

import numpy as np

from posterity import kernels
from posterity.arrays import DeviceArray, namespace

_SHARE = 0.1**2  # of the variance of the targets
_PLACES = (0.29, 0.5, 0.77, 1.0)  # along a column, so that no period fits between them all
_ROWS = 8


def irrelevant(kernel: kernels.Kernel, X: DeviceArray, variance: float) -> list[int]:
    """Columns along which the function is expected to change by a tenth of the targets at most.

    What it may change by tells, not its length scale: a straight line is a very long and very
    large RBF.
    """
    n, D = X.shape
    some = kernels.rows.chosen(X, np.unique(np.linspace(0, n - 1, _ROWS).astype(np.intp)))
    return [d for d in range(D) if _change(kernel, X, some, d) < _SHARE * variance]


def _change(kernel: kernels.Kernel, X: DeviceArray, some: DeviceArray, d: int) -> float:
    """The largest expected square of a difference that moving along column d makes."""
    xp = namespace(X)
    low, high = xp.min(X[:, d]), xp.max(X[:, d])
    is_d = xp.zeros_like(some[0, :])
    is_d[d] = 1.0
    rest = some * (1.0 - is_d)
    start, *stops = (rest + (low + f * (high - low)) * is_d for f in (0.0, *_PLACES))
    return max(_difference(kernel, start, stop) for stop in stops)


def _difference(kernel: kernels.Kernel, A: DeviceArray, B: DeviceArray) -> float:
    """The largest variance of f(a) - f(b) over pairs of rows, without what is white."""
    xp = namespace(A)
    k_a, k_b, k_ab = (xp.linalg.diagonal(kernel(x, z)) for x, z in ((A, A), (B, B), (A, B)))
    return float(xp.max(k_a + k_b - 2.0 * k_ab))
