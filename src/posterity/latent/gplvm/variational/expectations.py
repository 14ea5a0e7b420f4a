"""Averages of a kernel over uncertain inputs: in closed form where it has one, else by cubature."""

from __future__ import annotations

from posterity import kernels
from posterity.latent.gplvm.variational import closed_form, cubature, statistics
from posterity.latent.gplvm.variational.statistics import (
    KernelStatistics,
    NormalPoints,
    StatisticSlopes,
    Weighting,
)


def compute_statistics(kernel: kernels.Kernel, points: NormalPoints) -> KernelStatistics:
    """psi0, psi1 and psi2 of a kernel.

    In closed form for RBF, Linear, Constant and White, scaled or added up, with one RBF at most.

    Examples
    --------
    >>> import numpy as np
    >>> points = NormalPoints(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))
    >>> averages = compute_statistics(kernels.RBF(1.0), points)
    >>> averages.psi1.round(4), averages.psi2.round(4)
    (array([[0.7071]]), array([[[0.5774]]]))
    """
    read = statistics.read_kernel(kernel, points.m.shape[1])
    if read is None:
        return cubature.compute_statistics(kernel, points)
    return closed_form.compute_statistics(read, points)


def pull_back(kernel: kernels.Kernel, points: NormalPoints, given: Weighting) -> StatisticSlopes:
    """Gradients of a linear function of the averages that :func:`compute_statistics` returns."""
    read = statistics.read_kernel(kernel, points.m.shape[1])
    if read is None:
        return cubature.pull_back(kernel, points, given)
    found = closed_form.pull_back(read, points, given)
    return StatisticSlopes(
        found.value, found.m, found.S, found.Z, statistics.gather_gradient(kernel, found.parts)
    )
