"""Widths of bands for groups of rows that were not seen, learned by leaving groups out.

Rows of one group are alike: a process that has seen a walk knows the next frame of it, and less of
the next walk. The noise of a fit says nothing of that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.latent.gplvm.latent_fit import LatentPointFit, MapFit, Placed
from posterity.latent.gplvm.row_outputs import find_hypotheses

_FOLDS = 5
_ROWS = 2000  # at most, that values are hidden of


def compute_widening(
    fitted: LatentPointFit, groups: NDArray[np.intp], hidden: NDArray[np.bool_], X: Array
) -> Array:
    """The factor of the variance of each value, (n, D), for rows of groups not seen.

    Groups are left out in five parts. Their rows hide what rows to be filled in do not have, in
    turn, and are filled in by the process given all other rows; the mean square of the errors, in
    deviations, is what the variance lacked. Every group counts as much, long or short, and errors
    count for a point by how much of the function there is known from where they were made: the
    squared correlation. One group more has the errors of all, and one has errors of one deviation.

    Parameters
    ----------
    fitted : LatentPointFit
    groups : array (N,)
        Of the rows that were fitted.
    hidden : array (n, D) of bool
        What is missing in the rows that are to be filled in.
    X : array (n, Q)
        Where these are.
    """
    parts = [
        rows
        for rows in _split_groups(groups, _FOLDS)
        if not np.isnan(np.delete(fitted.Y, rows, axis=0)).all(0).any()
    ]
    made = [_measure_errors(fitted, groups, rows, hidden) for rows in parts]
    if not made:
        return np.ones(hidden.shape)
    places, squares, weights = (np.concatenate(part) for part in zip(*made, strict=True))
    known = weights[:, None] * ~np.isnan(squares)
    weighed = np.where(known > 0.0, weights[:, None] * squares, 0.0)
    everywhere = (np.sum(weighed, axis=0) + 1.0) / (np.sum(known, axis=0) + 1.0)
    R = _squared_correlation(fitted, X, places)
    return (R @ weighed + everywhere) / (R @ known + 1.0)


def measure_left_out_noise(
    fitted: MapFit, Y: Array, groups: NDArray[np.intp], size: float = 1.0
) -> Array:
    """Root mean square error (D,) of any outputs Y (N, D) of rows of groups left out.

    Their latent points are known, and the process is given the outputs of all other rows, ``size``
    times as large: what is left is the noise of a column as a group not seen has it. There are two
    groups at least.
    """
    errors, scaled = [], replace(fitted, Y=size * Y)
    for rows in _split_groups(groups, len(np.unique(groups))):
        rest = scaled.condition_on(np.setdiff1d(np.arange(len(Y)), rows))
        errors.append(Y[rows] - rest.decoder.latent(fitted.X[rows]).mean / size)
    return np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0))


def locate_left_out(fitted: MapFit, groups: NDArray[np.intp], Y: Array) -> Array:
    """Find the latent points (N, Q) of rows Y (N, D), each by means of other groups.

    Y has NaN where an output is not seen. Groups are left out in ten parts at most; there are two
    groups at least. A row has the highest of its maxima.
    """
    codes, points = np.unique(groups), np.empty_like(fitted.X)
    for part in np.array_split(codes, min(len(codes), 2 * _FOLDS)):
        is_out = np.isin(groups, part)
        rest = fitted.condition_on(np.flatnonzero(~is_out))
        found = find_hypotheses(rest.decoder, Y[is_out], candidates=rest.X)
        points[is_out] = found.point[found.list_best()]
    return points


def _measure_errors(
    fitted: LatentPointFit,
    groups: NDArray[np.intp],
    rows: NDArray[np.intp],
    hidden: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """The places found for rows left out, squared errors in deviations, and weights.

    Errors are NaN where nothing was hidden, or there was nothing to hide.
    """
    rest = fitted.condition_on(np.setdiff1d(np.arange(len(groups)), rows))
    Y = fitted.Y[rows]
    hides = np.resize(hidden[hidden.any(axis=1)], Y.shape)
    path = None if fitted.path is None else fitted.path.select_rows(rows)
    seen = np.where(hides, np.nan, Y)
    found = rest.locate(seen, path)
    is_free = np.full(len(Y), path is None)
    mean, variance = rest.decode_rows(seen, Placed(found.mean, found.covariance), is_free)
    squares = (Y - mean) ** 2 / (variance + rest.decoder.noise_variance)
    _, which, sizes = np.unique(groups[rows], return_inverse=True, return_counts=True)
    return found.mean, np.where(hides, squares, np.nan), 1.0 / sizes[which]


def _squared_correlation(fitted: LatentPointFit, X: Array, Z: Array) -> Array:
    """Squared correlation (n, m) of the function at X and at Z."""
    scale = np.outer(fitted.kernel.diag(X), fitted.kernel.diag(Z))
    return fitted.kernel(X, Z) ** 2 / np.maximum(scale, np.finfo(np.float64).tiny)


def _split_groups(groups: NDArray[np.intp], n_folds: int) -> list[NDArray[np.intp]]:
    """The rows of each part of the groups; whole groups, as many as there is time for."""
    codes, sizes = np.unique(groups, return_counts=True)
    if len(codes) < 2:
        return []
    order = np.random.default_rng(0).permutation(len(codes))
    affordable = order[np.cumsum(sizes[order]) <= max(_ROWS, sizes[order[0]])]
    parts = [codes[affordable[i::n_folds]] for i in range(min(n_folds, len(affordable)))]
    return [np.flatnonzero(np.isin(groups, part)) for part in parts]
