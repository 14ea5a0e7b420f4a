"""Linear regression with Minkowski loss |r|^p and penalty |w|^q, for all p > 0 and q > 0.

p = 2 fits the mean, p = 1 the median, p -> 0 the mode; q = 2 is ridge, q = 1 the Lasso, and q < 1
is sparser still. With p >= 1 and q >= 1 the objective is convex and its minimum is found. Otherwise
it has many local minima: several are found and the lowest is returned, which is often, but not
certainly, the lowest of all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.linear.penalized import paths, proximal_newton, vertices
from posterity.linear.penalized import problem as minkowski_problem
from posterity.linear.penalized.problem import MinkowskiFit, PenalizedPoint, PenalizedRows
from posterity.linear.penalized.proximal_newton import AnnealingSchedule

__all__ = ["MinkowskiFit", "minimise_penalized", "minimise_penalized_squares"]

_SMOOTHING = 1e-10  # relative error of the objective that the last smoothing may leave
_ROUGH = 1e-7
_EXCHANGE_VALUES = 1_000_000
CONVERGED = "the next step would lower the objective by less than the tolerance"
LOCAL = "local minimum: no row can be exchanged for a better one"
EXACT = "the rows are fitted exactly"


def minimise_penalized(
    Z: Array,
    y: Array,
    *,
    penalty: float | Array,
    rng: np.random.Generator,
    loss_power: float = 2.0,
    penalty_power: float = 1.0,
    sample_weight: Array | None = None,
    fit_intercept: bool = True,
    standardize: bool = False,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> MinkowskiFit:
    """Minimise sum_n weight_n |y_n - z_n.w - b|^p + sum_m penalty_m |w_m|^q over w and b.

    Multiplying y by a multiplies w and b by a, if the penalty is multiplied by a^(p-q).

    Parameters
    ----------
    Z : array of shape (N, M)
        Columns without spread get weight zero when there is an offset.
    y : array of shape (N,)
    penalty : float or array of shape (M,)
        One for all weights, or one each; >= 0. The offset is never penalised.
    rng : numpy.random.Generator
        Draws the random starts that p < 1 needs, and p = 1 with q < 1; not used otherwise.
    loss_power, penalty_power : float
        p and q, > 0.
    sample_weight : array of shape (N,), optional
        How often each row counts.
    fit_intercept : bool, default=True
        False: b is zero.
    standardize : bool, default=False
        Penalise the weights of columns divided by their standard deviation (by their root mean
        square without an offset).
    tol : float, default=1e-10
        Relative: of the objective, and of the weights times the norms of their columns.
    max_iter : int, default=1000
        Sweeps (p = 2), Newton steps (p >= 1) or passes over the rows that are met (p < 1).

    Examples
    --------
    >>> Z, y = np.zeros((5, 0)), np.array([0.0, 0.1, 1.0, 5.0, 9.0])
    >>> rng = np.random.default_rng(0)
    >>> for p in (2.0, 1.0, 0.1):
    ...     fit = minimise_penalized(Z, y, penalty=0.0, loss_power=p, rng=rng)
    ...     print(round(fit.intercept, 6))
    3.02
    1.0
    0.1
    """
    v = np.ones(len(y)) if sample_weight is None else sample_weight
    seen = v > 0.0
    given = PenalizedRows(
        Z=Z[seen],
        y=y[seen],
        v=v[seen],
        penalty=np.broadcast_to(np.asarray(penalty, dtype=np.float64), (Z.shape[1],)),
        p=float(loss_power),
        q=float(penalty_power),
        offset=fit_intercept,
    )
    standard, units = minkowski_problem.standardise_rows(given)
    rows = units.with_penalty(standard, standardize=standardize)
    return units.restore_units(rows, *_minimise_standardised(rows, tol, max_iter, rng))


def minimise_penalized_squares(
    statistics: designs.Statistics,
    *,
    penalty: float | Array,
    penalty_power: float = 1.0,
    fit_intercept: bool = True,
    standardize: bool = False,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> list[MinkowskiFit]:
    """The same with p = 2 for each target, from statistics of the rows instead of the rows.

    Examples
    --------
    >>> Z, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> fit, = minimise_penalized_squares(designs.Statistics.from_rows(Z, Y), penalty=2.0)
    >>> fit.weights.round(6), round(fit.intercept, 6)
    (array([1.5]), 1.5)
    """
    B, mean, total = (
        statistics.compute_centred_factor()
        if fit_intercept
        else statistics.compute_uncentred_factor()
    )
    if not len(B):
        B = np.zeros((1, B.shape[1]))  # a single row, about its own mean
    M, weight = statistics.n_features, total / len(B)
    A = B / np.sqrt(weight)  # rows that stand for all the others, each of this weight
    fits = []
    for k in range(M, A.shape[1]):
        given = PenalizedRows(
            Z=A[:, :M],
            y=A[:, k],
            v=np.full(len(A), weight),
            penalty=np.broadcast_to(np.asarray(penalty, dtype=np.float64), (M,)),
            p=2.0,
            q=float(penalty_power),
            offset=False,
        )
        standard, scales = minkowski_problem.standardise_rows(given)
        units = replace(scales, z_center=mean[:M], y_center=float(mean[k]))
        rows = units.with_penalty(standard, standardize=standardize)
        fits.append(units.restore_units(rows, *_minimise_squares(rows, tol, max_iter)))
    return fits


def _minimise_standardised(
    rows: PenalizedRows, tol: float, max_iter: int, rng: np.random.Generator
) -> tuple[PenalizedPoint, str]:
    """The minimum in standard units, from the solution of the same problem with p = 2."""
    squares, reason = _minimise_squares(rows, tol, max_iter)
    if rows.p == 2.0:
        return squares, reason
    if rows.is_exact(squares):
        return squares, EXACT
    start = PenalizedPoint(squares.w, squares.b)
    if rows.p < 1.0 or (rows.p == 1.0 and rows.q < 1.0 and rows.is_penalised):
        found, reached = _minimise_concave(rows, start, tol, max_iter, rng), LOCAL
    else:
        found, reached = _minimise_convex(rows, start, tol, max_iter), CONVERGED
    if rows.is_exact(found):
        return found, EXACT
    return found, reached if found.converged else paths.LIMIT


def _minimise_squares(rows: PenalizedRows, tol: float, max_iter: int) -> tuple[PenalizedPoint, str]:
    """The minimum of the same problem with p = 2; the rows are centred, so its offset is zero."""
    root = np.sqrt(rows.v)
    A, t = root[:, None] * rows.Z, root * rows.y
    if not rows.is_penalised:
        return PenalizedPoint(linalg.least_squares(A, t).solution, 0.0, 1), paths.CONVERGED
    found = paths.minimise_lq_squares(
        A.T @ A,
        A.T @ t,
        float(t @ t),
        penalty=rows.penalty,
        penalty_power=rows.q,
        tol=tol,
        max_iter=max_iter,
    )
    return PenalizedPoint(found.weights, 0.0, found.n_iter, found.converged), found.stop_reason


def _minimise_convex(
    rows: PenalizedRows, near: PenalizedPoint, tol: float, max_iter: int
) -> PenalizedPoint:
    """Loss convex: Newton steps; below q = 1 also from the solution without a penalty."""
    schedule = AnnealingSchedule(0.1, _SMOOTHING, tol, max_iter, max_iter_each=max_iter)
    found = proximal_newton.anneal_smoothing(rows, near, schedule)
    if rows.p == 1.0 and (rows.q == 1.0 or not rows.is_penalised):
        return _minimise_at_vertex(rows, found, max_iter)
    if rows.q >= 1.0 or not rows.is_penalised:
        return found
    plain = replace(rows, penalty=np.zeros_like(rows.penalty))
    free = proximal_newton.anneal_smoothing(plain, near, schedule)
    other = proximal_newton.anneal_smoothing(rows, replace(free, n_iter=0), schedule)
    return _select_best(rows, [found, other])


def _minimise_at_vertex(
    rows: PenalizedRows, found: PenalizedPoint, max_iter: int
) -> PenalizedPoint:
    """Piecewise linear: its minimum is a vertex, reached exactly unless there are too many rows."""
    N, M = rows.Z.shape
    if (N + M) * (M + 1) > _EXCHANGE_VALUES:
        return found
    problem, x = vertices.LinePieces.from_rows(rows), vertices.stack_unknowns(rows, found)
    vertex = vertices.exchange_rows(problem, x, max_iter=max_iter)
    return _select_best(rows, [found, vertex.to_point(rows)])


def _minimise_concave(
    rows: PenalizedRows, near: PenalizedPoint, tol: float, max_iter: int, rng: np.random.Generator
) -> PenalizedPoint:
    """Pieces concave: exchanges of rows, from p = 2, from p = 1 and from random rows."""
    median = _minimise_convex(replace(rows, p=1.0, q=max(rows.q, 1.0)), near, tol, max_iter)
    starts = [near, PenalizedPoint(median.w, median.b)]
    problem = vertices.LinePieces.from_rows(rows)
    x_starts = [vertices.stack_unknowns(rows, start) for start in starts]
    vertex = vertices.search_vertices(problem, x_starts, max_iter=max_iter, rng=rng).to_point(rows)
    if rows.q <= 1.0 or not rows.is_penalised:
        return vertex
    slow = AnnealingSchedule(0.5, _SMOOTHING, _ROUGH, max_iter, max_iter_each=10)
    annealed = [
        replace(proximal_newton.anneal_smoothing(rows, s, slow), converged=True) for s in starts
    ]
    return _select_best(
        rows, [vertex, *annealed]
    )  # a smooth penalty has minima that are no vertices


def _select_best(rows: PenalizedRows, points: list[PenalizedPoint]) -> PenalizedPoint:
    """The point of lowest objective, with the iterations of all."""
    best = min(points, key=lambda s: rows.objective(s.w, rows.clean_residual(s.w, s.b)))
    return replace(best, n_iter=sum(s.n_iter for s in points))
