"""From outputs to latent points: what is asked of a latent variable model, and its fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm.inducing_outputs import InducingOutputs
from posterity.latent.gplvm.latent_fit import MapFit, VariationalFit, condition_process
from posterity.latent.gplvm.outputs import ExactOutputs
from posterity.latent.gplvm.placements import (
    FreePlacement,
    MappedPlacement,
    Placement,
    PrincipalStart,
    compute_back_features,
    fill_missing_outputs,
    find_principal_start,
)
from posterity.latent.gplvm.search import LatentPointProblem, maximise_latent_points
from posterity.latent.gplvm.terms import LatentPrior, OutputTerm, StandardNormalPrior, Volume
from posterity.latent.gplvm.trajectories import Path, TrajectoryPrior
from posterity.latent.gplvm.variational.problem import fit_variational

_NOISE_RANGE = (1e-6, 10.0)  # of the mean variance of the columns
_NOISE_START = {"map": 0.1, "variational": 0.01}
_CARRIERS = 50  # inducing points of the variational model, at most, where none are asked for
_FAINTEST = 1e-3  # deviation of a component, of the first's, that a length scale starts from


@dataclass(frozen=True)
class LatentPlan:
    """The settings of the fit of a latent variable model."""

    n_components: int
    kernel: kernels.Kernel | None
    noise_variance: float | None
    inference: str  # "map" or "variational"
    inducing_points: int | None
    back_kernel: kernels.Kernel | None  # over rows, where latent points are a function of them
    n_restarts: int
    max_iter: int
    n_jobs: int | None
    rng: np.random.Generator


def fit_latent_points(plan: LatentPlan, Y: Array, path: Path | None) -> MapFit | VariationalFit:
    """Fit to outputs in the units of the model, NaN where one is missing."""
    start = find_principal_start(Y, plan.n_components, plan.rng)
    outputs = _OutputStart.from_plan(plan, Y, start)
    if plan.inference == "variational":
        return _fit_variational(plan, outputs, start, path)
    return _fit_map(plan, outputs, start, path)


@dataclass(frozen=True)
class _OutputStart:
    """Outputs with the kernel and the noise to start from."""

    Y: Array
    kernel: kernels.Kernel
    kernel_bounds: Array
    noise_variance: float
    noise_bounds: tuple[float, float] | None

    @classmethod
    def from_plan(cls, plan: LatentPlan, Y: Array, start: PrincipalStart) -> _OutputStart:
        size = float(np.nanmean(Y * Y)) or 1.0  # of outputs that are all alike: any unit will do
        kernel, bounds = _choose_kernel(plan, start).search_start(start.X, variance=size)
        if plan.noise_variance is not None:
            return cls(Y, kernel, bounds, plan.noise_variance, None)
        low, high = (share * size for share in _NOISE_RANGE)
        return cls(Y, kernel, bounds, _NOISE_START[plan.inference] * size, (low, high))

    @property
    def arguments(self) -> tuple[Array, kernels.Kernel, Array, float, tuple[float, float] | None]:
        """In the order in which every inference takes them."""
        return self.Y, self.kernel, self.kernel_bounds, self.noise_variance, self.noise_bounds


def _choose_kernel(plan: LatentPlan, start: PrincipalStart) -> kernels.Kernel:
    """As given; otherwise lengths that are in proportion to what each component explains."""
    if plan.kernel is not None:
        return plan.kernel
    if plan.inference == "map":
        return kernels.Scaled(kernels.RBF())
    share = start.deviations / max(float(start.deviations[0]), np.finfo(np.float64).tiny)
    return kernels.Scaled(kernels.RBF(tuple(1.0 / np.maximum(share, _FAINTEST))))


def _fit_map(
    plan: LatentPlan, outputs: _OutputStart, start: PrincipalStart, path: Path | None
) -> MapFit:
    Y, prior = outputs.Y, _start_prior(path, start)
    term: OutputTerm
    if plan.inducing_points is None:
        term = ExactOutputs(*outputs.arguments)
    else:
        term = InducingOutputs(*outputs.arguments, _draw_rows(start.X, plan))
    rows = Y if plan.back_kernel is None else fill_missing_outputs(Y, plan.n_components)
    placement = _choose_placement(plan, rows)
    observed = ~np.isnan(Y)
    volume = Volume(np.any(observed, axis=1))
    problem = LatentPointProblem((term, prior, volume), placement, int(np.sum(observed)))
    starts = [start.X, *(start.draw_near(plan.rng) for _ in range(plan.n_restarts))]
    learned = maximise_latent_points(problem, starts, max_iter=plan.max_iter, n_jobs=plan.n_jobs)
    _, (own, own_prior, _) = problem.unpack(problem.learn_noise(learned.optimum.x))
    kernel, noise, *points = term.read_parameters(own)
    Z = points[0] if points else None
    return MapFit(
        Y,
        learned.X,
        condition_process(kernel, noise, Z, learned.X, Y),
        kernel,
        _set_kernel_of_path(path, prior, own_prior),
        learned.log_posterior,
        learned.optimum,
        learned.ends,
        Z=Z,
        weights=learned.weights.reshape(-1, plan.n_components),
        back_kernel=plan.back_kernel,
        back_rows=rows,
    )


def _start_prior(path: Path | None, start: PrincipalStart) -> LatentPrior:
    return StandardNormalPrior() if path is None else path.start_prior(start.X)


def _set_kernel_of_path(path: Path | None, prior: LatentPrior, own: Array) -> Path | None:
    """With the kernel over time at what was learned of it."""
    if path is None or not isinstance(prior, TrajectoryPrior):
        return None
    return replace(path, kernel=prior.kernel_at(own))


def _choose_placement(plan: LatentPlan, rows: Array) -> Placement:
    if plan.back_kernel is None:
        return FreePlacement(len(rows), plan.n_components)
    B = compute_back_features(plan.back_kernel, rows, rows)
    return MappedPlacement(B, plan.n_components)


def _fit_variational(
    plan: LatentPlan, outputs: _OutputStart, start: PrincipalStart, path: Path | None
) -> VariationalFit:
    prior = _start_prior(path, start)
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
        _set_kernel_of_path(path, prior, posterior.prior_own),
        posterior.log_bound,
        posterior.optimum,
        posterior.ends,
        posterior=posterior,
    )


def _draw_rows(X: Array, plan: LatentPlan) -> Array:
    """Inducing points to start from: rows at random."""
    count = min(int(plan.inducing_points or 0), len(X))
    return X[np.sort(plan.rng.choice(len(X), count, replace=False))]
