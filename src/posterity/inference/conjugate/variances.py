"""Variances of a linear model: the best by the evidence, and points to average over.

The evidence of a decoupled problem costs O(r) once the decomposition is there, so its global
maximum can be afforded: at each ratio rho = tau2 / sigma2 the best noise variance has a closed
form, which leaves one dimension; that is scanned on a grid and the best cell is searched on the
analytic derivative to full precision.

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
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp

from posterity import optimize
from posterity.arrays import Array
from posterity.inference.conjugate.linear import LinearProblem
from posterity.linalg import eigen

_STEP = np.log(10.0) / 8.0  # eight grid points a decade: the evidence varies over e-folds
_PIECE_VALUES = 1 << 20  # the grid is scanned 8 MiB at a time
_SHAPE = 0.25  # of the beta prior: nearly flat in u, and proper
_END = 100.0  # of |u|, where the prior has fallen by 25 nats
_POINT_STEP = 0.5  # the evidence varies over e-folds
_NEGLIGIBLE = 30.0  # nats below the largest density
_N_FINE = 128  # points of a grid between ends that are known
_N_POINTS = 7  # of Gauss's rule: probabilities are right to 1e-3
_WIDTH = 4.0  # of a change of u that saturates predictions
_FEWEST_FREE = 3.0  # degrees of freedom


@dataclass(frozen=True)
class LearnedVariances:
    """The variances that the data find most probable, one pair an output."""

    noise_variance: Array  # (K,)
    prior_variance: Array  # (K,)
    log_evidence: Array  # (K,)
    at_floor: NDArray[np.bool_]  # (K,), whether the noise is lost in the rounding of the targets
    stop_reason: str

    @property
    def bounds_reached(self) -> tuple[optimize.ReachedBound, ...]:
        """Variances that the data want to be none: limits of the model, beyond which is nothing."""
        found = {"prior_variance": self.prior_variance == 0.0, "noise_variance": self.at_floor}
        return tuple(
            optimize.ReachedBound(name, "lower", float(np.min(getattr(self, name))), rise=0.0)
            for name, which in found.items()
            if np.any(which)
        )


def compute_log_evidence(problem: LinearProblem, sigma2: Array, tau2: Array) -> Array:
    """log p(y) of each output with weights and offset integrated out, all constants included.

    Equals the dense log N(y | mean, tau2 Z Z' + sigma2 I + offset) [P8 8.15]. ``sigma2`` and
    ``tau2`` broadcast against shape (..., K).
    """
    p = problem
    v = sigma2[..., None, :] + tau2[..., None, :] * p.s[:, None] ** 2  # (..., r, K)
    offset = np.log1p(p.total * p.offset_variance / sigma2)
    quadratic = np.sum(p.T**2 / v, axis=-2) + p.residual / sigma2
    log_det = (p.count - len(p.s)) * np.log(sigma2) + np.sum(np.log(v), axis=-2) + offset
    return -0.5 * (p.count * np.log(2.0 * np.pi) + p.log_noise + log_det + quadratic)


def maximise_evidence(
    problem: LinearProblem,
    *,
    noise_variance: float | None = None,
    prior_variance: float | None = None,
) -> LearnedVariances:
    """The variances, of those not given, that maximise the evidence of each output.  [P8 8.2.2]"""
    if noise_variance is not None and prior_variance is not None:
        sigma2, tau2 = (
            _log_constant(problem, noise_variance),
            _log_constant(problem, prior_variance),
        )
        reason = "both variances were given"
    elif prior_variance is None:
        sigma2, tau2, reason = _learn_ratio(problem, noise_variance)
    else:
        sigma2, tau2, reason = _learn_noise(problem, prior_variance)
    at_floor = (sigma2 <= problem.floor) & (noise_variance is None)
    value = compute_log_evidence(problem, sigma2, tau2)
    return LearnedVariances(sigma2, tau2, value, at_floor, reason)


def maximise_noise(problem: LinearProblem, rho: Array) -> Array:
    """The noise variance that maximises the evidence when the prior variance is rho times it.

    Setting the derivative to zero gives N x^2 + ((N - 1) a - Q) x - Q a = 0, with a the prior
    variance of the offset times the total weight and Q the penalised sum of squares.
    """
    p = problem
    Q = compute_penalised_squares(problem, rho)
    a = p.total * p.offset_variance
    b = (p.count - 1.0) * a - Q
    root = np.hypot(b, 2.0 * np.sqrt(p.count) * np.sqrt(Q) * np.sqrt(a))
    with np.errstate(divide="ignore", invalid="ignore"):  # the branch not taken may be 0 / 0
        sigma2 = np.where(b > 0.0, 2.0 * Q * (a / (b + root)), (root - b) / (2.0 * p.count))
    return np.maximum(sigma2, p.floor)


def compute_penalised_squares(problem: LinearProblem, rho: Array) -> Array:
    """The least value of |y - Z w|^2 + |w|^2 / rho for each output; rho is (..., K)."""
    shrunk = problem.T**2 / (1.0 + rho[..., None, :] * problem.s[:, None] ** 2)
    return np.sum(shrunk, axis=-2) + problem.residual


def maximise_tied_variances(problem: LinearProblem, penalty: float) -> tuple[Array, Array]:
    """Noise and prior variance at the joint maximum when prior = noise / penalty.  [J 21]"""
    rho = _log_constant(problem, 1.0 / penalty)
    n_weights = len(problem.scale)
    squares = compute_penalised_squares(problem, rho)
    sigma2 = np.maximum(squares / (problem.count + n_weights), problem.floor)
    return sigma2, rho * sigma2


def _learn_ratio(problem: LinearProblem, given: float | None) -> tuple[Array, Array, str]:
    """Learn the prior variance, and the noise variance with it unless it is given."""

    def path(log_rho: Array) -> tuple[Array, Array]:
        rho = np.exp(log_rho)
        sigma2 = maximise_noise(problem, rho) if given is None else np.full_like(rho, given)
        return sigma2, rho * sigma2

    lam = problem.s[problem.s > 0.0] ** 2
    if not lam.size:
        sigma2, tau2 = path(np.full(problem.residual.shape, -np.inf))
        return sigma2, tau2, "the features are constant: the data prefer no weights"
    # From weights that explain nothing to noise at the rounding of the targets.
    grid = np.arange(np.log(1e-8 / lam.max()), np.log(1e32 / lam.min()), _STEP)
    log_rho, reason = _maximise_along_path(problem, path, _d_log_prior, grid)
    nothing = path(np.full_like(log_rho, -np.inf))  # rho = 0: no weights at all
    none_better = compute_log_evidence(problem, *nothing) >= compute_log_evidence(
        problem, *path(log_rho)
    )
    log_rho = np.where(none_better, -np.inf, log_rho)
    if none_better.any():
        reason = "the data prefer no weights: prior variance at zero"
    elif reason == "upper":
        reason = "the rows are fitted exactly: noise variance at its lower bound"
    return *path(log_rho), reason


def _learn_noise(problem: LinearProblem, prior_variance: float) -> tuple[Array, Array, str]:
    """Learn the noise variance at a given prior variance."""
    tau2 = _log_constant(problem, prior_variance)

    def path(log_sigma2: Array) -> tuple[Array, Array]:
        return np.exp(log_sigma2), np.broadcast_to(tau2, log_sigma2.shape)

    everything = np.maximum(compute_penalised_squares(problem, np.zeros_like(tau2)), problem.floor)
    low, high = np.log(problem.floor.min()), np.log(10.0 * everything.max())
    log_sigma2, reason = _maximise_along_path(
        problem, path, _d_log_noise, np.arange(low, high, _STEP)
    )
    at_floor = "the rows are fitted exactly: noise variance at its lower bound"
    return *path(log_sigma2), at_floor if reason == "lower" else reason


def _maximise_along_path(
    problem: LinearProblem,
    path: Callable[[Array], tuple[Array, Array]],
    derivative: Callable[[LinearProblem, Array, Array], Array],
    grid: Array,
) -> tuple[Array, str]:
    """The maximum of the evidence along a path, for each output; and whether it is at an end."""
    r, K = problem.T.shape
    points = np.broadcast_to(grid[:, None], (len(grid), K))
    n_pieces = 1 + len(grid) * r * K // _PIECE_VALUES
    pieces = np.array_split(points, n_pieces)
    values = np.concatenate([compute_log_evidence(problem, *path(piece)) for piece in pieces])
    best = np.argmax(values, axis=0)
    lower, upper = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    top = optimize.maximise_between(lambda u: derivative(problem, *path(u)), lower, upper)
    if np.any(best == 0):
        return top, "lower"
    return top, "upper" if np.any(best == len(grid) - 1) else "maximum of the evidence"


def _d_log_prior(problem: LinearProblem, sigma2: Array, tau2: Array) -> Array:
    """Derivative of the evidence in log tau2."""
    signal = tau2 * problem.s[:, None] ** 2
    v = sigma2 + signal
    return 0.5 * np.sum(signal / v * (problem.T**2 / v - 1.0), axis=0)


def _d_log_noise(problem: LinearProblem, sigma2: Array, tau2: Array) -> Array:
    """Derivative of the evidence in log sigma2."""
    p = problem
    v = sigma2 + tau2 * p.s[:, None] ** 2
    a = p.total * p.offset_variance
    spectral = np.sum(sigma2 / v * (p.T**2 / v - 1.0), axis=0)
    rest = p.residual / sigma2 - (p.count - len(p.s)) + a / (sigma2 + a)
    return 0.5 * (spectral + rest)


def _log_constant(problem: LinearProblem, value: float) -> Array:
    return np.full(len(problem.residual), float(value))


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

    grid = np.arange(-_END, _END + _POINT_STEP, _POINT_STEP)[:, None]
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
