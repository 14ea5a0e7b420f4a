"""Which array library and which device we are on.

Everything above this room that is written with ``namespace(x)`` runs unchanged on NumPy, PyTorch
and CuPy arrays, and leaves them on the device where it found them.
"""

import functools
import importlib
import numbers
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array: TypeAlias = NDArray[np.float64]
"""A float64 NumPy array. A trailing comment gives its shape: N rows, D inputs, M features."""

DeviceArray: TypeAlias = Any
"""An array of any supported library, on any device."""

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def namespace(*arrays: DeviceArray) -> Any:
    """The array-API namespace the arrays share; an error where they are of two libraries."""
    if arrays and all(type(x) is np.ndarray for x in arrays):  # most calls, without their overhead
        return _numpy_namespace()
    return array_api_compat.array_namespace(*arrays)


@functools.cache
def _numpy_namespace() -> Any:
    return array_api_compat.array_namespace(np.empty(0))


def to_numpy(x: DeviceArray) -> NDArray[Any]:
    """The same numbers as a NumPy array, copied from the device where that is necessary."""
    if array_api_compat.is_cupy_array(x):
        return x.get()
    if array_api_compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    return np.asarray(x)


def free_memory(x: DeviceArray) -> int | None:
    """Bytes available for a new array on the device of x; None where that is unknown.

    What a library keeps in its pool without using it counts as available, and so does what the
    system keeps of files. Where a control group limits the process, that limit counts.

    Examples
    --------
    >>> room = free_memory(np.zeros(3))
    >>> room is None or room > 0
    True
    """
    if array_api_compat.is_cupy_array(x):
        return _free_for_cupy(x)
    if array_api_compat.is_torch_array(x) and x.device.type == "cuda":
        return _free_for_torch(x.device)
    on_host = array_api_compat.is_numpy_array(x) or str(array_api_compat.device(x)) == "cpu"
    return _free_on_host() if on_host else None


def is_collection(x: Any) -> bool:
    """Whether x is an array, a data frame or a bag of Dask; without importing Dask.

    Examples
    --------
    >>> is_collection(np.zeros(3))
    False
    """
    dask = sys.modules.get("dask")  # whoever has a collection has imported it
    return dask is not None and bool(dask.is_dask_collection(x))


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where values are missing: None, NaN, or the marker of a data frame library.

    Examples
    --------
    >>> is_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind in "fc":
        return ~np.isfinite(values)
    if values.dtype.kind in "biuUS":
        return np.zeros(values.shape, dtype=np.bool_)
    return np.array([v is None or not _equals_itself(v) for v in values.tolist()], dtype=np.bool_)


def _equals_itself(value: Any) -> bool:
    """Whether x == x: False for NaN, and for pandas.NA, which has no truth value."""
    try:
        return bool(value == value)
    except TypeError:
        return False


def generator(random_state: Any) -> np.random.Generator:
    """Make one Generator from a seed, a Generator, a RandomState or None.

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


def like(x: DeviceArray, values: NDArray[Any]) -> DeviceArray:
    """NumPy values as an array of the library, type and device of x."""
    if array_api_compat.is_numpy_array(x):
        return np.asarray(values, dtype=x.dtype)
    writable = values if values.flags.writeable else values.copy()  # PyTorch warns of others
    return namespace(x).asarray(writable, dtype=x.dtype, device=array_api_compat.device(x))


def like_index(x: DeviceArray, places: NDArray[Any]) -> DeviceArray:
    """Places as integers of the library and on the device of x."""
    integers = np.asarray(places, dtype=np.int64)
    if array_api_compat.is_numpy_array(x):
        return integers
    return namespace(x).asarray(integers, device=array_api_compat.device(x))


def to_device(x: NDArray[Any], device: str) -> DeviceArray:
    """The same numbers as a PyTorch tensor on the device named, such as "cuda"."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed: pip install 'posterity[gpu]'"
        ) from error
    try:
        return torch.asarray(x, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"PyTorch cannot use device={device!r} on this machine ({str(error).splitlines()[0]}). "
            "Name another, such as 'cpu' or 'cuda', or leave it None."
        ) from error


def exp_in_place(x: DeviceArray) -> DeviceArray:
    """exp(x), in the memory of x where its library can."""
    return np.exp(x, out=x) if array_api_compat.is_numpy_array(x) else namespace(x).exp(x)


def _free_for_torch(device: Any) -> int:
    cuda = importlib.import_module("torch").cuda
    free, _ = cuda.mem_get_info(device)
    return int(free + cuda.memory_reserved(device) - cuda.memory_allocated(device))


def _free_for_cupy(x: Any) -> int:
    cupy = importlib.import_module("cupy")
    with x.device:
        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())


def _free_on_host() -> int | None:
    """The least of the bytes that the system and the control groups of this process leave free."""
    available = _fields(_PROC / "meminfo").get("MemAvailable")
    system = _free_pages() if available is None else 1024 * available  # meminfo counts kilobytes
    rooms = [*_rooms_in_control_groups(), *(() if system is None else (system,))]
    return max(min(rooms), 0) if rooms else None


def _free_pages() -> int | None:
    """Free pages in bytes, for systems without /proc/meminfo."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _rooms_in_control_groups() -> Iterator[int]:
    """Bytes left to this process in its control group and in those around it, either version."""
    for line in _lines(_PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        inside = Path(path.lstrip("/"))
        for group in (inside, *inside.parents):
            if not controllers:
                yield from _room(_CGROUPS / group, "max", "current", "inactive_file")
            elif "memory" in controllers.split(","):
                folder = _CGROUPS / "memory" / group
                yield from _room(folder, "limit_in_bytes", "usage_in_bytes", "total_inactive_file")


def _room(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    """The limit less what is used, not counting files that are kept only because there is room."""
    top = "".join(_lines(folder / f"memory.{limit}"))
    used = "".join(_lines(folder / f"memory.{usage}"))
    if top.isdecimal() and used.isdecimal():
        yield int(top) - int(used) + _fields(folder / "memory.stat").get(cache, 0)


def _fields(path: Path) -> dict[str, int]:
    """The numbers in a file of lines such as ``MemAvailable:  1024 kB``, by name."""
    words = [line.replace(":", " ").split() for line in _lines(path)]
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdecimal()}


def _lines(path: Path) -> list[str]:
    """The lines of a system file; an empty list where it does not exist or cannot be read."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
