"""Checks of the times and groups that make rows frames of motions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm import Path


def check_path(
    kernel: kernels.Kernel | None, times: ArrayLike | None, groups: ArrayLike | None, n_rows: int
) -> Path | None:
    """Return the motion, or None without dynamics; default times are 0, 1, 2, ... per group."""
    if kernel is None:
        if times is not None or groups is not None:
            raise ValueError(
                "times and groups say how latent points move, but the model has no dynamics: pass "
                "dynamics=kernels.RBF(), or leave them out."
            )
        return None
    if not isinstance(kernel, kernels.Kernel):
        raise TypeError(f"dynamics={kernel!r} must be a kernel over time, or None.")
    codes = np.zeros(n_rows, dtype=np.intp) if groups is None else check_groups(groups, n_rows)
    return Path(kernel, _check_times(times, codes, n_rows), codes)


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """A code for each row, from any names of groups."""
    names = np.asarray(groups)
    if names.shape != (n_rows,):
        raise ValueError(f"groups has shape {names.shape}; expected ({n_rows},), one for each row.")
    missing = [i for i, name in enumerate(names.tolist()) if name is None or name != name]
    if missing:
        raise ValueError(f"groups has no value in row {missing[0]}; every row is of one group.")
    return np.unique(names, return_inverse=True)[1].astype(np.intp)


def _check_times(times: ArrayLike | None, codes: NDArray[np.intp], n_rows: int) -> Array:
    if times is None:
        counted = np.empty(n_rows)
        for code in np.unique(codes):
            rows = codes == code
            counted[rows] = np.arange(np.sum(rows))
        return counted
    seen = np.asarray(times, dtype=np.float64)
    if seen.shape != (n_rows,) or not np.all(np.isfinite(seen)):
        raise ValueError(f"times must be {n_rows} finite numbers, one for each row.")
    return seen
