"""Points of the variances of a linear model over which its predictions are averaged.

At a ratio rho of prior to noise variance, with a flat offset and p(sigma2) proportional to
1 / sigma2, the noise variance is integrated out in closed form. What remains is one dimension: the
evidence of rho costs O(r), so its posterior is known on a grid, and Gauss's rule for that posterior
integrates over it with a few points.

The coordinate is u = log(rho t), with t the mean squared length of a row of features: exp(u) is the
variance that weights explain over that of the noise. Its share of both, 1 / (1 + exp(-u)), is
Beta(1/4, 1/4) before the data, whatever their units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, logsumexp

from posterity.arrays import Array
from posterity.inference.conjugate.evidence import compute_log_evidence, compute_penalised_squares
from posterity.inference.conjugate.linear import LinearProblem
from posterity.linalg import eigen

_SHAPE = 0.25  # of the beta prior: nearly flat in u, and proper
_END = 100.0  # of |u|, where the prior has fallen by 25 nats
_STEP = 0.5  # the evidence varies over e-folds
_NEGLIGIBLE = 30.0  # nats below the largest density
_N_FINE = 128  # points of a grid between ends that are known
_N_POINTS = 7  # of Gauss's rule: probabilities are right to 1e-3
_WIDTH = 4.0  # of a change of u that saturates predictions
_FEWEST_FREE = 3.0  # degrees of freedom
_PIECE_VALUES = 1 << 20  # the grid is evaluated 8 MiB at a time


@dataclass(frozen=True)
class VariancePoints:
    """G points of the variances of each output, with their posterior weights.

    With finite degrees of freedom the noise variance is integrated out at each point, prior
    variance in proportion, and ``noise_variance`` is the squared scale of its Student-t.
    """

    noise_variance: Array  # (G, K)
    prior_variance: Array  # (G, K)
    log_weights: Array  # (G, K)
    degrees_of_freedom: float  # inf: the variances at a point are known
    is_noise_known: bool
    log_evidence: Array  # (K,), of the rows at all points, up to a constant of these rows


def find_variance_points(
    problem: LinearProblem,
    *,
    noise_variance: float | None,
    prior_variance: float | None,
    n_chosen: int = 0,
    n_points: int = _N_POINTS,
) -> VariancePoints | None:
    """Points of the variances that are not given; None where there is nothing to average over.

    ``n_chosen`` is as in ``integrate_noise``, where the noise variance is not given.
    """
    if noise_variance is None and prior_variance is None:
        return _find_ratio_points(problem, n_chosen, n_points)
    if noise_variance is not None and prior_variance is not None:
        return None
    unit = _signal_unit(problem)

    def path(u: Array) -> tuple[Array, Array]:
        if noise_variance is not None:
            return np.full_like(u, noise_variance), np.exp(u) * (noise_variance / unit)
        tau2 = np.full_like(u, prior_variance)
        return np.maximum(np.exp(-u) * tau2 * unit, problem.floor), tau2

    def log_evidence(u: Array) -> Array:
        return compute_log_evidence(problem, *path(u))

    u, log_w, total = _find_points(problem, log_evidence, n_points)
    return VariancePoints(*path(u), log_w, np.inf, noise_variance is not None, total)


def integrate_noise(
    problem: LinearProblem,
    rho: Array,
    log_weights: Array | None = None,
    log_evidence: Array | None = None,
    *,
    n_chosen: int = 0,
) -> VariancePoints | None:
    """Points at ratios rho (G, K), a single one if no weights are given.

    The noise variance has an inverse gamma posterior there; None where rows are too few for one.
    Every further number that was chosen for these rows takes a degree of freedom; at least three
    are left, with which predictions have a variance.
    """
    given = _count_degrees_of_freedom(problem)
    if given <= 0.0:
        return None
    nu = min(given, max(given - n_chosen, _FEWEST_FREE))
    scale = _noise_scale(problem, rho) * (given / nu)
    log_w = np.zeros_like(rho) if log_weights is None else log_weights
    total = _evidence_of_ratio(problem, rho)[0] if log_evidence is None else log_evidence
    return VariancePoints(scale, rho * scale, log_w, nu, False, total)


def _find_ratio_points(
    problem: LinearProblem, n_chosen: int, n_points: int
) -> VariancePoints | None:
    """Points of the ratio of both variances, if any feature varies and rows can tell."""
    p, unit = problem, _signal_unit(problem)
    if not p.rank or _count_degrees_of_freedom(p) <= 0.0:
        return integrate_noise(p, np.zeros((1, len(p.residual))))

    def log_evidence(u: Array) -> Array:
        return _evidence_of_ratio(p, np.exp(u) / unit)

    u, log_w, total = _find_points(p, log_evidence, n_points)
    return integrate_noise(p, np.exp(u) / unit, log_w, total, n_chosen=n_chosen)


def _evidence_of_ratio(problem: LinearProblem, rho: Array) -> Array:
    """Log evidence of ratios rho (..., K), the noise variance integrated out."""
    log_det = np.sum(np.log1p(rho[..., None, :] * problem.s[:, None] ** 2), axis=-2)
    nu = _count_degrees_of_freedom(problem)
    return np.asarray(-0.5 * (log_det + nu * np.log(_noise_scale(problem, rho))))


def _count_degrees_of_freedom(problem: LinearProblem) -> float:
    """Rows, less one where there is an offset, which is then flat."""
    return problem.count - bool(np.any(problem.offset_variance > 0.0))


def _noise_scale(problem: LinearProblem, rho: Array) -> Array:
    """Penalised sum of squares over degrees of freedom at ratios rho (..., K)."""
    squares = compute_penalised_squares(problem, rho)
    return np.maximum(squares / _count_degrees_of_freedom(problem), problem.floor)


def _signal_unit(problem: LinearProblem) -> float:
    """The mean squared length of a row of features, in units of its noise where that is known.

    1 where none varies.
    """
    return float(np.sum(problem.s**2)) / problem.count or 1.0


def _find_points(
    problem: LinearProblem, log_evidence: Callable[[Array], Array], n_points: int
) -> tuple[Array, Array, Array]:
    """Nodes u and log weights of Gauss's rule for the posterior of each output, (G, K) both.

    Also the log of the evidence averaged over the prior, (K,).
    """

    def log_density(u: Array) -> Array:
        n_pieces = 1 + u.size * len(problem.s) // _PIECE_VALUES
        values = [log_evidence(piece) for piece in np.array_split(u, n_pieces)]
        return np.concatenate(values) + _SHAPE * (u - 2.0 * np.logaddexp(0.0, u))

    grid = np.arange(-_END, _END + _STEP, _STEP)[:, None]
    u = np.repeat(grid, len(problem.residual), axis=1)
    values = log_density(u)
    for _ in range(2):  # the second is for posteriors that are narrow on the first grid
        u = _narrow_grid(u, values)
        values = log_density(u)
    rules = [_gauss_rule(*column, n_points) for column in zip(u.T, values.T, strict=True)]
    nodes, weights = (np.stack(part, axis=1) for part in zip(*rules, strict=True))
    total = logsumexp(values, axis=0) + np.log(u[1] - u[0]) - betaln(_SHAPE, _SHAPE)
    return nodes, np.log(weights), total


def _narrow_grid(u: Array, values: Array) -> Array:
    """A finer grid between the points at which the density of each output is negligible."""
    kept = values > values.max(axis=0) - _NEGLIGIBLE
    last, outputs = len(u) - 1, np.arange(u.shape[1])
    low = u[np.maximum(np.argmax(kept, axis=0) - 1, 0), outputs]
    high = u[np.minimum(last - np.argmax(kept[::-1], axis=0) + 1, last), outputs]
    return low + (high - low) * np.linspace(0.0, 1.0, _N_FINE)[:, None]


def _gauss_rule(u: Array, log_density: Array, n_points: int) -> tuple[Array, Array]:
    """Nodes and weights for one output.

    The rule is that of polynomials in tanh((u - mode) / 4): predictions, too, are smooth in it and
    have limits at both ends.
    """
    mode = u[np.argmax(log_density)]
    t = np.tanh((u - mode) / _WIDTH)
    density = np.exp(log_density - log_density.max())
    nodes, weights = eigen.gauss_rule_of_points(t, density, n_points)
    limit = 1.0 - np.finfo(np.float64).eps
    return mode + _WIDTH * np.arctanh(np.clip(nodes, -limit, limit)), weights
