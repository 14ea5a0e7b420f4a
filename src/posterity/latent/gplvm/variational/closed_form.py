"""Averages of a kernel that is a sum of known parts: a radial one, a straight one, products."""

from __future__ import annotations

import numpy as np

from posterity.arrays import Array
from posterity.latent.gplvm.variational import radial
from posterity.latent.gplvm.variational.statistics import (
    KernelParts,
    KernelStatistics,
    NormalPoints,
    PartSlopes,
    Weighting,
)
from posterity.latent.gplvm.variational.straight import StraightTerms


def compute_statistics(parts: KernelParts, points: NormalPoints) -> KernelStatistics:
    """psi0, psi1, psi2."""
    p = points
    psi1 = np.zeros((len(p.m), len(p.Z)))
    psi2 = np.zeros((len(p.weights), len(p.Z), len(p.Z)))
    if parts.is_radial:
        psi1 += parts.signal * radial.first_moment(p, parts.lengths**2)
        psi2 += parts.signal**2 * radial.second_moment(p, parts.lengths**2)
    if parts.is_straight:
        straight = StraightTerms(parts, p)
        psi1 += straight.first()
        psi2 += straight.second()
        if parts.is_radial:
            psi2 += straight.cross_products()
    return KernelStatistics(p.weights @ _diagonal(parts, p), psi1, psi2)


def pull_back(parts: KernelParts, points: NormalPoints, given: Weighting) -> PartSlopes:
    """The adjoint of :func:`compute_statistics`."""
    found = _of_diagonal(parts, points, given.psi0 @ points.weights)
    V = given.psi1
    if parts.is_straight:
        straight = StraightTerms(parts, points)
        found = found + straight.pull_back(given.psi1, given.psi2)
        if parts.is_radial:
            crossed, more = straight.pull_back_crossed(given.psi2)
            found, V = found + crossed, V + more
    return found + _of_radial(parts, points, V, given.psi2) if parts.is_radial else found


def _diagonal(parts: KernelParts, points: NormalPoints) -> Array:
    """E k(x_n, x_n), (N,)."""
    constant = parts.signal + parts.offset + parts.white
    return constant + (points.m**2 + points.S) @ parts.slopes


def _of_diagonal(parts: KernelParts, points: NormalPoints, g: Array) -> PartSlopes:
    """The adjoint of the diagonal, given g (N,)."""
    total, squares = float(np.sum(g)), points.m**2 + points.S
    slope = KernelParts(total, np.zeros_like(parts.lengths), g @ squares, total, total)
    each = np.outer(g, parts.slopes)
    value, still = g * _diagonal(parts, points), np.zeros_like(points.Z)
    return PartSlopes(value, 2.0 * each * points.m, each, still, slope)


def _of_radial(parts: KernelParts, points: NormalPoints, V: Array, H: Array) -> PartSlopes:
    """The adjoint of the radial psi1, given V (N, M), and psi2, given H (G, M, M)."""
    s = parts.signal
    found = radial.pull_back(points, parts.lengths**2, s * V, s * s * H)
    signal = float(np.sum(found.first) + 2.0 * np.sum(found.second)) / s
    slope = KernelParts(signal, found.log_lengths, np.zeros_like(parts.slopes), 0.0, 0.0)
    return PartSlopes(found.first + found.second, found.m, found.S, found.Z, slope)
