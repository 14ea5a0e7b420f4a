"""Squared loss needs no rows: Lq regression from mergeable statistics.

The factor of the rows has their Gram matrix, so that its own rows are as good as theirs.
"""

from dataclasses import replace

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference import minkowski
from posterity.inference.minkowski import MinkowskiFit


def unit_penalties(
    statistics: designs.Statistics, penalty: float, penalty_power: float, *, fit_intercept: bool
) -> Array:
    """One penalty a weight, (M,), that act as one penalty on columns of unit variance."""
    B, _, total = statistics.centred() if fit_intercept else statistics.uncentred()
    spread = linalg.column_norms(B[:, : statistics.n_features]) / np.sqrt(total)
    return penalty * spread**penalty_power


def minimise_squares(
    statistics: designs.Statistics,
    *,
    penalty: Array,
    penalty_power: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> list[MinkowskiFit]:
    """The fit of each output at loss power 2, as :func:`minkowski.minimise` on all the rows."""
    B, mean, _ = statistics.centred() if fit_intercept else statistics.uncentred()
    M = statistics.n_features
    fits = []
    for y, center in zip(B[:, M:].T, mean[M:], strict=True):
        fit = minkowski.minimise(
            B[:, :M],
            y,
            penalty=penalty,
            penalty_power=penalty_power,
            fit_intercept=False,
            tol=tol,
            max_iter=max_iter,
            rng=rng,
        )
        rows_per_row = np.sqrt(len(B) / statistics.count)  # the scale is a mean over rows
        floor = np.finfo(float).eps * abs(center)
        fits.append(
            replace(
                fit,
                intercept=float(center - mean[:M] @ fit.weights),
                noise_scale=max(fit.noise_scale * rows_per_row, floor),
            )
        )
    return fits
