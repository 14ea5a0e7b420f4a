"""Precisions of the columns in use where the objective of a sparse model is level in their logs.

For one latent value, together with the parameters of its likelihood. A choice of columns polishes
its precisions; a classifier ends with those under a prior whose large weights are Cauchy's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import linalg, optimize, priors
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.problem import LEAST_PRECISION, Chosen, PrecisionPrior, SparseModel

_LEVEL = 1e-4  # slope in a log at which the precisions are at their best
_POLISHING_STEPS = 50
_LONGEST = 2.0  # step, in logs
_LEAST_CURVATURE = 1e-2  # of the largest
_WEAK = 0.1  # how well the data determine a weight of which they may know nothing
_CAUCHY = 1.0  # degrees of freedom: the smallest of any Student-t that is commonly used


def least_precision(targets: RowTargets) -> float:
    """The least precision of a weight of two classes; other latent values have units."""
    return LEAST_PRECISION if targets.are_classes and targets.n_outputs == 1 else 0.0


def polish_precisions(
    model: SparseModel, prior: priors.Sparse, bounds: Array, least_gain: float = 0.0
) -> SparseModel:
    """The precisions and the likelihood's theta where the objective is level in all their logs.

    Columns stay as they are, but for those without which the objective is larger. ``bounds`` (P, 2)
    are those of theta, equal where it is held. A positive ``least_gain`` ends it earlier.
    """
    with linalg.limit_threads(model.fit.problem.design.n_columns):
        best = level_precisions(model, prior, bounds, least_gain)
        while len(best.places):
            determined = 1.0 - best.precision * _weight_variances(best)
            weakest = int(np.argmin(determined))
            if determined[weakest] > _WEAK:
                break
            fewer = _drop_column(best, weakest, prior)
            if fewer.value <= best.value:
                break
            best = level_precisions(fewer, prior, bounds, least_gain)
    return best


def level_precisions(
    model: SparseModel, prior: PrecisionPrior, bounds: Array, least_gain: float = 0.0
) -> SparseModel:
    """The same columns, by BFGS."""
    m, free = len(model.places), bounds[:, 0] < bounds[:, 1]
    if not m + np.sum(free):
        return model
    highest = [model]

    def objective(x: Array) -> tuple[float, Array]:
        # Sought from the best mode so far: of several modes, steps ever shorter find the same.
        new = _model_at(model, x, free, prior, highest[0].fit.weights.W)
        if new.value > highest[0].value:
            highest[0] = new
        return -new.value, -_objective_slope(new, free, prior)

    theta, least = (
        model.fit.problem.targets.likelihood.theta,
        least_precision(model.fit.problem.targets),
    )
    with np.errstate(divide="ignore"):
        low = np.log(np.minimum(model.precision, least))
    optimize.minimise_bfgs(
        objective,
        np.append(np.log(model.precision), theta[free]),
        bounds=[(x, np.inf) for x in low] + [(low, high) for low, high in bounds[free]],
        inverse_hessian=_inverse_hessian(model, prior, int(np.sum(free))),
        longest_step=_LONGEST,
        max_iter=_POLISHING_STEPS,
        tol=_LEVEL,
        least_gain=least_gain,
        announce=False,
    )
    return highest[0]


def _model_at(
    model: SparseModel, x: Array, free: NDArray[np.bool_], prior: PrecisionPrior, start: Array
) -> SparseModel:
    """The same columns at other precisions and another theta."""
    p, m = model.fit.problem, len(model.places)
    likelihood = p.targets.likelihood
    theta = likelihood.theta
    theta[free] = x[m:]
    targets = (
        replace(p.targets, likelihood=likelihood.with_parameters(theta))
        if free.any()
        else p.targets
    )
    return SparseModel.from_columns(model.places, np.exp(x[:m]), p.design, targets, prior, start)


def _objective_slope(model: SparseModel, free: NDArray[np.bool_], prior: PrecisionPrior) -> Array:
    """Slope of the objective in the logs of the precisions and in theta."""
    in_precision = model.fit.precision_gradient()[:, 0] + prior.penalty_slope(model.precision)
    in_theta = model.fit.gradient()[1][free] if free.any() else np.empty(0)
    return np.append(in_precision, in_theta)


def largest_slope(model: SparseModel, prior: priors.Sparse) -> float:
    """The largest slope of the objective in the log of a precision that is free to follow it."""
    none = np.zeros(len(model.fit.problem.targets.likelihood.names), dtype=np.bool_)
    if not len(model.places):
        return 0.0
    slope = _objective_slope(model, none, prior)
    held = (model.precision <= (1.0 + 1e-9) * least_precision(model.fit.problem.targets)) & (
        slope < 0.0
    )
    return float(np.max(np.abs(slope[~held]), initial=0.0))


def _drop_column(model: SparseModel, i: int, prior: priors.Sparse) -> SparseModel:
    """The model that lacks one of its columns."""
    p = model.fit.problem
    others = np.delete(np.arange(p.design.n_columns), i)
    return SparseModel.from_columns(
        np.delete(model.places, i),
        np.delete(model.precision, i),
        p.design.select_columns(others),
        p.targets,
        prior,
        model.fit.weights.W[others],
    )


def _weight_variances(model: SparseModel) -> Array:
    """Posterior variances of the weights, (m,)."""
    m = len(model.places)
    return np.einsum("mjmj->m", model.fit.covariance[:m, :, :m, :])


def _inverse_hessian(model: SparseModel, prior: PrecisionPrior, n_theta: int) -> Array:
    """Inverse Hessian of minus the objective in log h, rows curved as now; in theta, a guess."""
    m, h, mu = len(model.places), model.precision, model.fit.weights.W[: len(model.places), 0]
    Sigma = model.fit.covariance[:m, 0, :m, 0]
    along = np.outer(mu, mu) * Sigma + 0.5 * Sigma**2
    H = -np.outer(h, h) * along
    i = np.arange(m)
    H[i, i] += 0.5 * h * (mu**2 + Sigma[i, i] + prior.degrees_at(h))
    inverse = np.eye(m + n_theta) / model.fit.problem.targets.total_weight
    if m:
        values, V = linalg.symmetric.eigh(H)
        bounded = np.maximum(np.abs(values), _LEAST_CURVATURE * np.max(np.abs(values)))
        inverse[:m, :m] = (V / bounded) @ V.T
    return inverse


@dataclass(frozen=True)
class CauchyTails:
    """A sparse prior of at least one degree of freedom where a precision is below one.

    Where columns tell two classes apart, the evidence is level in ever larger weights, and says
    nothing of how certain a prediction is. Weights of classes have a unit, though: a latent value
    of ten is near certainty. Under this prior large weights are those of a Cauchy distribution of
    unit scale, for columns of unit variance; smaller ones may have any size.

    Examples
    --------
    >>> tails = CauchyTails(priors.Sparse())
    >>> [round(tails.log_density_of_choice(h), 2) for h in ([0.01], [1.0], [100.0])]
    [-1.81, 0.0, 0.0]
    """

    prior: priors.Sparse

    def log_density_of_choice(self, h: ArrayLike) -> float:
        """What the prior of all precisions adds to the evidence."""
        more = self.degrees_at(h) - self.prior.degrees_of_freedom
        x = np.minimum(h, 1.0)
        return self.prior.log_density_of_choice(h) + 0.5 * float(
            np.sum(more * (np.log(x) - x + 1.0))
        )

    def penalty_slope(self, h: ArrayLike) -> Array:
        """Derivative of the total in the log of each precision."""
        return np.asarray(0.5 * self.degrees_at(h) * (1.0 - np.asarray(h)))

    def degrees_at(self, h: ArrayLike) -> Array:
        """Degrees of freedom of the prior of a precision h."""
        nu = self.prior.degrees_of_freedom
        return np.where(np.asarray(h) < 1.0, max(nu, _CAUCHY), nu)


def learn_proper_precisions(
    chosen: Chosen, fit: LaplaceFit, prior: priors.Sparse
) -> tuple[Chosen, LaplaceFit]:
    """The same columns, at the precisions of largest posterior.

    Parameters
    ----------
    chosen : Chosen
    fit : LaplaceFit
        Of one latent value, at the precisions of ``chosen``.
    prior : Sparse
        By which the columns were chosen.
    """
    p, tails = fit.problem, CauchyTails(prior)
    model = SparseModel.from_columns(
        chosen.places, chosen.precision, p.design, p.targets, tails, fit.weights.W
    )
    held = np.zeros((len(p.targets.likelihood.names), 2))
    with linalg.limit_threads(p.design.n_columns):
        best = level_precisions(model, tails, held)
    return replace(chosen, precision=best.precision), best.fit
