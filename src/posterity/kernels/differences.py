"""Central differences, for kernels that do not know their own derivatives."""

from collections.abc import Callable

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace

_STEP = 1e-5  # leaves errors near 1e-10: half from curvature, half from rounding


def differentiate_in_parameters(
    values: Callable[[Array], DeviceArray], theta: Array, G: DeviceArray
) -> Array:
    """dL/dtheta, (P,), given G = dL/dvalues(theta)."""
    steps = _STEP * np.eye(len(theta))
    return np.array([_slope(values(theta + h), values(theta - h), G) for h in steps])


def differentiate_in_inputs(
    values: Callable[[DeviceArray], DeviceArray], X: DeviceArray, G: DeviceArray
) -> DeviceArray:
    """dL/dX, (N, D), given G = dL/dvalues(X), (N, M), of which row n depends on row n of X."""
    xp = namespace(X)
    scale = xp.maximum(xp.max(xp.abs(X), axis=0), xp.asarray(1e-3))
    columns = []
    for d in range(X.shape[1]):
        h = _STEP * float(scale[d])
        above, below = (xp.asarray(X, copy=True) for _ in range(2))
        above[:, d] += h
        below[:, d] -= h
        columns.append(xp.sum(G * (values(above) - values(below)), axis=1) / (2.0 * h))
    return xp.stack(columns, axis=1)


def _slope(above: DeviceArray, below: DeviceArray, G: DeviceArray) -> float:
    return float(namespace(G).sum(G * (above - below))) / (2.0 * _STEP)
