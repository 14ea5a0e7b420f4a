"""What bounds do to a search: which variables they hold, and what to call those."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array


def at_bounds(
    x: Array, bounds: Sequence[tuple[float, float]] | None, names: Sequence[str] | None
) -> tuple[str, ...]:
    """The names of the parameters that ended on a bound, and which."""
    if bounds is None:
        return ()
    called = names if names is not None else [f"parameter {i}" for i in range(len(x))]
    ends = [(("lower", low), ("upper", high)) for low, high in bounds]
    return tuple(
        f"{name} ({which})"
        for name, value, pair in zip(called, x, ends, strict=True)
        for which, end in pair
        if value == end
    )


def pressed(x: Array, g: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Which variables are at a bound that the value falls beyond, given the gradient g."""
    return ((x <= low) & (g > 0.0)) | ((x >= high) & (g < 0.0))
