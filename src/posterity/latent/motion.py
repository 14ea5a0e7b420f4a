"""Rows as frames of motions: when each was seen, and of which motion it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import kernels
from posterity.arrays import Array
from posterity.inference.gplvm import TrajectoryPrior


@dataclass(frozen=True)
class Path:
    """A kernel over time, and when each row was seen of which motion."""

    kernel: kernels.Kernel
    times: Array  # (N,)
    groups: NDArray[np.intp]  # (N,)

    def prior(self, X: Array) -> TrajectoryPrior:
        """Of latent points, from the kernel that suits points X best."""
        kernel, bounds = self.kernel.tuned(self.times[:, None])
        return TrajectoryPrior(kernel, bounds, self.times, self.groups).suited(X)

    def held(self) -> TrajectoryPrior:
        """Of latent points, the kernel kept as it is."""
        return TrajectoryPrior(self.kernel.fixed(), np.empty((0, 2)), self.times, self.groups)

    def among(self, rows: NDArray[np.intp]) -> Path:
        """Of some of the rows."""
        return Path(self.kernel, self.times[rows], self.groups[rows])


def path(
    kernel: kernels.Kernel | None, times: ArrayLike | None, groups: ArrayLike | None, n_rows: int
) -> Path | None:
    """None where rows are no frames; times are 0, 1, 2, ... in each group where not given."""
    if kernel is None:
        if times is not None or groups is not None:
            raise ValueError(
                "times and groups say how latent points move, but the model has no dynamics: pass "
                "dynamics=kernels.RBF(), or leave them out."
            )
        return None
    if not isinstance(kernel, kernels.Kernel):
        raise TypeError(f"dynamics={kernel!r} must be a kernel over time, or None.")
    codes = np.zeros(n_rows, dtype=np.intp) if groups is None else checked_groups(groups, n_rows)
    return Path(kernel, _checked_times(times, codes, n_rows), codes)


def checked_groups(groups: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """A code for each row, from any names of groups."""
    names = np.asarray(groups)
    if names.shape != (n_rows,):
        raise ValueError(f"groups has shape {names.shape}; expected ({n_rows},), one for each row.")
    missing = [i for i, name in enumerate(names.tolist()) if name is None or name != name]
    if missing:
        raise ValueError(f"groups has no value in row {missing[0]}; every row is of one group.")
    return np.unique(names, return_inverse=True)[1].astype(np.intp)


def _checked_times(times: ArrayLike | None, codes: NDArray[np.intp], n_rows: int) -> Array:
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
