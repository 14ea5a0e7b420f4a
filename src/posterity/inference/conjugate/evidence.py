"""Choose the noise and prior variance of a linear model by the marginal likelihood.

The evidence of a decoupled problem costs O(r) once the decomposition is there, so its global
maximum can be afforded: at each ratio rho = tau2 / sigma2 the best noise variance has a closed
form, which leaves one dimension; that is scanned on a grid and the best cell is searched on the
analytic derivative to full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.inference.conjugate.linear import LinearProblem

_STEP = np.log(10.0) / 8.0  # eight grid points a decade: the evidence varies over e-folds
_PIECE_VALUES = 1 << 20  # the grid is scanned 8 MiB at a time


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
