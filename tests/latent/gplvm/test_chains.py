"""Hypotheses of frames that follow each other are weighed by sums over all sequences."""

import itertools

import numpy as np
from scipy import stats

from posterity import kernels
from posterity.latent.gplvm import row_outputs
from posterity.latent.gplvm.row_outputs import RowHypotheses


def test_weights_are_sums_over_all_sequences():
    rng = np.random.default_rng(0)
    row = np.array([0, 0, 1, 1, 1, 2, 3, 3])
    point, spread = rng.normal(size=(8, 2)), rng.uniform(0.01, 0.2, size=(8, 2))
    weight = rng.uniform(0.1, 1.0, size=8)
    weight /= np.bincount(row, weight)[row]
    covariance = spread[:, :, None] * np.eye(2)
    found = RowHypotheses(row, weight, point, covariance, point, point)
    times, kernel = np.array([0.3, 0.0, 0.7, 0.5]), kernels.RBF(0.4)
    answer = row_outputs.weigh_by_motion(found, kernel, times, np.zeros(4, dtype=int))

    order = np.argsort(times)
    totals = np.zeros(8)
    for choice in itertools.product(*(np.flatnonzero(row == frame) for frame in order)):
        p = np.prod(weight[list(choice)])
        for k, (a, b) in enumerate(itertools.pairwise(choice)):
            gap = times[order[k + 1]] - times[order[k]]
            r = np.exp(-0.5 * (gap / 0.4) ** 2)
            moved = np.sqrt(1.0 - r**2 + r**2 * spread[a] + spread[b])
            alone = np.sqrt(1.0 + spread[b])
            p *= np.prod(stats.norm.pdf(point[b], r * point[a], moved))
            p /= np.prod(stats.norm.pdf(point[b], 0.0, alone))
        totals[list(choice)] += p
    np.testing.assert_allclose(answer.weight, totals / np.bincount(row, totals)[row], rtol=1e-10)


def test_motions_do_not_speak_for_each_other():
    row, one = np.array([0, 0, 1]), np.full((3, 1, 1), 0.01)
    point = np.array([[-1.0], [1.0], [1.0]])
    found = RowHypotheses(row, np.array([0.5, 0.5, 1.0]), point, one, point, point)
    answer = row_outputs.weigh_by_motion(found, kernels.RBF(0.4), np.zeros(2), np.array([0, 1]))
    np.testing.assert_array_equal(answer.weight, found.weight)
