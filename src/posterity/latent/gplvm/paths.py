"""When rows were seen, and of which motion each is: latent points as draws of a process in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm.trajectories import TrajectoryPrior


@dataclass(frozen=True)
class Path:
    """A kernel over time, and when each row was seen of which motion."""

    kernel: kernels.Kernel
    times: Array  # (N,)
    groups: NDArray[np.intp]  # (N,)

    def start_prior(self, X: Array) -> TrajectoryPrior:
        """The prior of latent points, started from the kernel that suits points X best."""
        kernel, bounds = self.kernel.search_start(self.times[:, None])
        return TrajectoryPrior(kernel, bounds, self.times, self.groups).fit_start_to(X)

    def fixed_prior(self) -> TrajectoryPrior:
        """The prior of latent points with the kernel kept as it is."""
        return TrajectoryPrior(self.kernel.fixed(), np.empty((0, 2)), self.times, self.groups)

    def select_rows(self, rows: NDArray[np.intp]) -> Path:
        """The path of some of the rows."""
        return Path(self.kernel, self.times[rows], self.groups[rows])
