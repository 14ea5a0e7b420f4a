"""Averages of a kernel over uncertain inputs: in closed form where it has one, else by cubature."""

from __future__ import annotations

from posterity import kernels
from posterity.inference.gplvm.variational import closed_form, cubature, parts
from posterity.inference.gplvm.variational.statistics import Points, Slopes, Statistics, Weighting


def statistics(kernel: kernels.Kernel, points: Points) -> Statistics:
    """psi0, psi1 and psi2 of a kernel.

    In closed form for RBF, Linear, Constant and White, scaled or added up, with one RBF at most.

    Examples
    --------
    >>> import numpy as np
    >>> points = Points(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))
    >>> averages = statistics(kernels.RBF(1.0), points)
    >>> averages.psi1.round(4), averages.psi2.round(4)
    (array([[0.7071]]), array([[[0.5774]]]))
    """
    read = parts.read(kernel, points.m.shape[1])
    if read is None:
        return cubature.statistics(kernel, points)
    return closed_form.statistics(read, points)


def pulled_back(kernel: kernels.Kernel, points: Points, given: Weighting) -> Slopes:
    """The adjoint of :func:`statistics`: a linear function of the averages, and its gradients."""
    read = parts.read(kernel, points.m.shape[1])
    if read is None:
        return cubature.pulled_back(kernel, points, given)
    found = closed_form.pulled_back(read, points, given)
    return Slopes(found.value, found.m, found.S, found.Z, parts.gathered(kernel, found.parts))
