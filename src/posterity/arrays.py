"""Which array library and which device we are on.

Everything above this room that is written with ``namespace(x)`` runs unchanged on NumPy, PyTorch
and CuPy arrays, and leaves them on the device where it found them.
"""

import numbers
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array: TypeAlias = NDArray[np.float64]
"""A float64 NumPy array. A trailing comment gives its shape: N rows, D inputs, M features."""

DeviceArray: TypeAlias = Any
"""An array of any supported library, on any device."""


def namespace(*arrays: DeviceArray) -> Any:
    """The array-API namespace the arrays share; an error where they are of two libraries."""
    return array_api_compat.array_namespace(*arrays)


def to_numpy(x: DeviceArray) -> NDArray[Any]:
    """The same numbers as a NumPy array, copied from the device where that is necessary."""
    if array_api_compat.is_cupy_array(x):
        return x.get()
    if array_api_compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    return np.asarray(x)


def generator(random_state: Any) -> np.random.Generator:
    """One Generator from a seed, a Generator, a RandomState or None.

    Examples
    --------
    >>> float(generator(0).random()) == float(generator(0).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, numbers.Integral):
        return np.random.default_rng(int(random_state))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
