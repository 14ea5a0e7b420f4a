"""Loss |r|^p with an L_q penalty, by Newton steps on a smoothed loss.

At r = 0 the curvature of |r|^p is zero or infinite unless p = 2, so (r^2 + e^2)^(p/2) is minimised
instead and e lowered step by step, each solution starting the next. Every step solves a problem of
weighted least squares with the penalty in it, through its Gram matrix; the offset is eliminated by
centring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity.arrays import Array
from posterity.linear.penalized import descent
from posterity.linear.penalized.problem import PenalizedPoint, PenalizedRows

_EPS = float(np.finfo(np.float64).eps)
_ON_THE_WAY = 1e-7
_INNER_TOL = 1e-12
_INNER_SWEEPS = 25
_MAX_DAMPINGS = 30
_DAMPING = 4.0
_MAX_SMALL = 5
_SUFFICIENT = 1e-3  # of the decrease that the model predicts


@dataclass(frozen=True)
class AnnealingSchedule:
    """How the smoothing is lowered, and when to stop."""

    factor: float  # from each width to the next
    smoothing: float  # of the objective: what the last width may add to it
    tol: float  # of the objective, at the last width; those before it are only approached
    max_iter: int  # steps in all
    max_iter_each: int  # steps at one width


def anneal_smoothing(
    rows: PenalizedRows, start: PenalizedPoint, schedule: AnnealingSchedule
) -> PenalizedPoint:
    """Minimise with the loss smoothed less and less, from the spread of y (one) downwards."""
    point, e, at_last = start, 1.0, False
    while not at_last and point.n_iter < schedule.max_iter:
        e_last = _smoothing_width(rows, point, schedule.smoothing)
        at_last = e <= 2.0 * e_last  # which moves a little with every point
        point = descend_smoothed(
            rows,
            e,
            point,
            tol=schedule.tol if at_last else max(schedule.tol, _ON_THE_WAY),
            max_iter=min(schedule.max_iter - point.n_iter, schedule.max_iter_each),
        )
        e = max(schedule.factor * e, e_last)
    return replace(point, converged=point.converged and at_last)


def _smoothing_width(rows: PenalizedRows, point: PenalizedPoint, smoothing: float) -> float:
    """The smoothing e that adds about this part of the objective to it; for p < 1, more."""
    if not 1.0 <= rows.p <= 2.0:
        return float(np.sqrt(smoothing)) * rows.spread(point)
    value = rows.objective(point.w, rows.residual(point.w, point.b))
    return float((smoothing * value / rows.v.sum()) ** (1.0 / rows.p))


def descend_smoothed(
    rows: PenalizedRows, e: float, start: PenalizedPoint, *, tol: float, max_iter: int
) -> PenalizedPoint:
    """Minimise the objective smoothed by e until a step promises less than tol of it.

    Where rounding keeps a step from what it promises, several small gains in a row end it too.
    """
    w, b, k_first, n_small = start.w, start.b, 0, 0
    r = rows.residual(w, b)
    value = rows.objective(w, r, e)
    for n_iter in range(start.n_iter + 1, start.n_iter + max_iter + 1):
        model = _QuadraticLoss.from_rows(rows, e, r)
        for k in range(k_first, _MAX_DAMPINGS):
            w_new, b_step, promised = model.step(rows, w, _DAMPING**k)
            r_new = rows.residual(w_new, b + b_step)
            gain = value - rows.objective(w_new, r_new, e)
            if gain >= _SUFFICIENT * max(promised, 0.0) - 8.0 * _EPS * value:
                break
        else:
            return PenalizedPoint(w, b, n_iter, True)
        w, b, r, value, k_first = w_new, b + b_step, r_new, value - gain, max(k - 1, 0)
        n_small = n_small + 1 if gain <= tol * value else 0
        if n_small == _MAX_SMALL or (k == 0 and promised <= tol * value):
            return PenalizedPoint(w, b, n_iter, True)
    return PenalizedPoint(w, b, start.n_iter + max_iter, False)


@dataclass(frozen=True)
class _QuadraticLoss:
    """sum_n omega_n (rho_n - z_n.d - beta)^2, the loss near a point, the offset eliminated."""

    G: Array  # (M, M)
    c: Array  # (M,)
    total: float
    z_mean: Array  # (M,)
    rho_mean: float
    weight: float

    @classmethod
    def from_rows(cls, rows: PenalizedRows, e: float, r: Array) -> _QuadraticLoss:
        curvature, rho = _curvature_and_ratio(rows.p, e, r)
        omega = 0.5 * rows.v * curvature
        weight = float(omega.sum())
        z_mean = omega @ rows.Z / weight if rows.offset else np.zeros(rows.Z.shape[1])
        rho_mean = float(omega @ rho) / weight if rows.offset else 0.0
        root = np.sqrt(omega)
        A = root[:, None] * (rows.Z - z_mean)
        t = root * (rho - rho_mean)
        return cls(A.T @ A, A.T @ t, float(t @ t), z_mean, rho_mean, weight)

    def step(self, rows: PenalizedRows, w: Array, damping: float) -> tuple[Array, float, float]:
        """New weights, step of the offset, and by how much the model says the objective falls."""
        G, c = damping * self.G, self.c + damping * (self.G @ w)
        total = self.total / damping + float(w @ (self.c + c))
        problem = descent.LqProblem(
            G, c, max(total, 0.0), 0.5 * rows.penalty, rows.q, np.diagonal(G) > 0.0
        )
        w_new = descent.descend_coordinates(problem, w, tol=_INNER_TOL, max_iter=_INNER_SWEEPS).w
        d = w_new - w
        b_step = self.rho_mean / damping - float(self.z_mean @ d)
        fall = 2.0 * self.c @ d - d @ G @ d + self.weight * self.rho_mean**2 / damping
        fall += rows.penalty @ (np.abs(w) ** rows.q - np.abs(w_new) ** rows.q)
        return w_new, b_step if rows.offset else 0.0, float(fall)


def _curvature_and_ratio(p: float, e: float, r: Array) -> tuple[Array, Array]:
    """Curvature of the smoothed loss and slope / curvature: Newton's, or the majoriser's if p < 1.

    Below p = 1 the loss is concave away from zero; the parabola that touches it at r and lies above
    it everywhere takes the place of Newton's.
    """
    s = r**2 + e**2
    if p < 1.0:
        return p * s ** (0.5 * p - 1.0), r
    convex = (p - 1.0) * r**2 + e**2
    return p * s ** (0.5 * p - 2.0) * convex, r * s / convex
