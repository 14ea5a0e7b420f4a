"""From outputs to latent points: what is asked of a latent variable model, and its fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import kernels, validation
from posterity.arrays import Array
from posterity.inference.gplvm import (
    ExactOutputs,
    FreePlacement,
    InducingOutputs,
    LatentPointProblem,
    LatentPrior,
    MappedPlacement,
    OutputTerm,
    Placement,
    PrincipalStart,
    StandardNormalPrior,
    TrajectoryPrior,
    Volume,
    compute_back_features,
    fill_missing_outputs,
    find_principal_start,
    fit_variational,
    maximise_latent_points,
)
from posterity.latent import motion
from posterity.latent.latent_fit import Fitted, MapFit, VariationalFit, conditioned
from posterity.models import given_noise

INFERENCES = ("map", "variational")
_NOISE_RANGE = (1e-6, 10.0)  # of the mean variance of the columns
_NOISE_START = {"map": 0.1, "variational": 0.01}
_CARRIERS = 50  # inducing points of the variational model, at most, where none are asked for
_FAINTEST = 1e-3  # deviation of a component, of the first's, that a length scale starts from


@dataclass(frozen=True)
class Plan:
    """What is asked of a latent variable model."""

    n_components: int
    kernel: kernels.Kernel | None
    noise_variance: float | None
    inference: str
    inducing_points: int | None
    back_constraints: Any  # bool, or a kernel over rows
    n_restarts: int
    max_iter: int
    n_jobs: int | None
    rng: np.random.Generator

    def __post_init__(self) -> None:
        validation.check_count(self.n_components, "n_components")
        validation.check_count(self.n_restarts, "n_restarts", least=0)
        validation.check_count(self.max_iter, "max_iter")
        if self.inducing_points is not None:
            validation.check_count(self.inducing_points, "inducing_points")
        if self.inference not in INFERENCES:
            raise ValueError(f"inference={self.inference!r} must be one of {INFERENCES}.")
        if not isinstance(self.back_constraints, bool | kernels.Kernel):
            raise TypeError(
                f"back_constraints={self.back_constraints!r} must be True, False or a kernel."
            )
        if self.back_constraints is not False and self.inference != "map":
            raise ValueError("back_constraints are for inference='map'.")

    @property
    def back_kernel(self) -> kernels.Kernel | None:
        """Over rows, where latent points are a function of them."""
        if isinstance(self.back_constraints, kernels.Kernel):
            return self.back_constraints
        return kernels.RBF() if self.back_constraints else None


def fit(plan: Plan, Y: Array, path: motion.Path | None) -> Fitted:
    """Of outputs in the units of the model, NaN where one is missing."""
    start = find_principal_start(Y, plan.n_components, plan.rng)
    outputs = _Outputs.of(plan, Y, start)
    if plan.inference == "variational":
        return _variational(plan, outputs, start, path)
    return _most_probable(plan, outputs, start, path)


@dataclass(frozen=True)
class _Outputs:
    """Outputs with the kernel and the noise to start from."""

    Y: Array
    kernel: kernels.Kernel
    kernel_bounds: Array
    noise_variance: float
    noise_bounds: tuple[float, float] | None

    @classmethod
    def of(cls, plan: Plan, Y: Array, start: PrincipalStart) -> _Outputs:
        size = float(np.nanmean(Y * Y)) or 1.0  # of outputs that are all alike: any unit will do
        kernel, bounds = _kernel(plan, start).tuned(start.X, variance=size)
        if plan.noise_variance is not None:
            noise = given_noise(plan.noise_variance)
            return cls(Y, kernel, bounds, noise, None)
        low, high = (share * size for share in _NOISE_RANGE)
        return cls(Y, kernel, bounds, _NOISE_START[plan.inference] * size, (low, high))

    @property
    def arguments(self) -> tuple[Array, kernels.Kernel, Array, float, tuple[float, float] | None]:
        """In the order in which every inference takes them."""
        return self.Y, self.kernel, self.kernel_bounds, self.noise_variance, self.noise_bounds


def _kernel(plan: Plan, start: PrincipalStart) -> kernels.Kernel:
    """As given; otherwise lengths that are in proportion to what each component explains."""
    if plan.kernel is not None:
        return plan.kernel
    if plan.inference == "map":
        return kernels.Scaled(kernels.RBF())
    share = start.deviations / max(float(start.deviations[0]), np.finfo(np.float64).tiny)
    return kernels.Scaled(kernels.RBF(tuple(1.0 / np.maximum(share, _FAINTEST))))


def _most_probable(
    plan: Plan, outputs: _Outputs, start: PrincipalStart, path: motion.Path | None
) -> MapFit:
    Y, prior = outputs.Y, _prior(path, start)
    term: OutputTerm
    if plan.inducing_points is None:
        term = ExactOutputs(*outputs.arguments)
    else:
        term = InducingOutputs(*outputs.arguments, _some_rows(start.X, plan))
    rows = Y if plan.back_kernel is None else fill_missing_outputs(Y, plan.n_components)
    placement = _placement(plan, rows)
    problem = LatentPointProblem((term, prior, Volume()), placement, int(np.sum(~np.isnan(Y))))
    starts = [start.X, *(start.near(plan.rng) for _ in range(plan.n_restarts))]
    learned = maximise_latent_points(problem, starts, max_iter=plan.max_iter, n_jobs=plan.n_jobs)
    own, own_prior, _ = learned.own
    kernel, noise, *points = term.at(own)
    Z = points[0] if points else None
    return MapFit(
        Y,
        learned.X,
        conditioned(kernel, noise, Z, learned.X, Y),
        kernel,
        _learned_path(path, prior, own_prior),
        learned.log_posterior,
        learned.optimum,
        learned.ends,
        Z=Z,
        weights=learned.weights.reshape(-1, plan.n_components),
        back_kernel=plan.back_kernel,
        back_rows=rows,
    )


def _prior(path: motion.Path | None, start: PrincipalStart) -> LatentPrior:
    return StandardNormalPrior() if path is None else path.prior(start.X)


def _learned_path(path: motion.Path | None, prior: LatentPrior, own: Array) -> motion.Path | None:
    """With the kernel over time at what was learned of it."""
    if path is None or not isinstance(prior, TrajectoryPrior):
        return None
    return replace(path, kernel=prior.at(own))


def _placement(plan: Plan, rows: Array) -> Placement:
    if plan.back_kernel is None:
        return FreePlacement(len(rows), plan.n_components)
    B = compute_back_features(plan.back_kernel, rows, rows)
    return MappedPlacement(B, plan.n_components)


def _variational(
    plan: Plan, outputs: _Outputs, start: PrincipalStart, path: motion.Path | None
) -> VariationalFit:
    prior = _prior(path, start)
    carriers = plan.inducing_points or min(_CARRIERS, len(outputs.Y))
    posterior = fit_variational(
        outputs.Y,
        start.X,
        *outputs.arguments[1:],
        prior=prior,
        n_inducing=min(carriers, len(outputs.Y)),
        n_restarts=1 + plan.n_restarts,
        max_iter=plan.max_iter,
        n_jobs=plan.n_jobs,
        rng=plan.rng,
    )
    return VariationalFit(
        outputs.Y,
        posterior.m,
        posterior,
        posterior.kernel,
        _learned_path(path, prior, posterior.prior_own),
        posterior.log_bound,
        posterior.optimum,
        posterior.ends,
        posterior=posterior,
    )


def _some_rows(X: Array, plan: Plan) -> Array:
    """Inducing points to start from: rows at random."""
    count = min(int(plan.inducing_points or 0), len(X))
    return X[np.sort(plan.rng.choice(len(X), count, replace=False))]
