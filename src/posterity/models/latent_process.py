"""A Gaussian process under a likelihood that is not normal: which engine, from where, how far."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import kernels, likelihoods, validation
from posterity.arrays import Array
from posterity.inference.process import (
    LaplaceEvidence,
    LaplacePosterior,
    LatentProblem,
    LatentTargets,
    LearnedLatent,
    NearestPosterior,
    ProjectedPosterior,
    PropagationEvidence,
    PropagationPosterior,
    ScaleMixtureEvidence,
    ScaleMixturePosterior,
    SoftmaxEvidence,
    SoftmaxPosterior,
    VariationalPosterior,
    choose_points,
    draw_random_starts,
    maximise_latent_evidence,
)
from posterity.models import kernel_model
from posterity.models.training import Training

APPROXIMATIONS = ("auto", "laplace", "propagation")
_SWEPT = 1e11  # classes times the cube of the rows
_LEARNING_ROWS = 1000  # at least, where points carry the function
_REPEATED_ROWS = 1000  # or twice as many as there are, up to which "auto" repeats rows by weight


@dataclass(frozen=True)
class LatentProcess:
    """What the estimators ask for; ``learn`` does it."""

    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    offset: bool
    approximation: str
    n_restarts: int
    max_iter: int
    n_jobs: int | None
    inducing_points: Any = None  # a number, or rows
    learning_rows: int | None = None  # None: all, but for inducing points
    earlier: likelihoods.Likelihood | None = None  # as an earlier fit left it, to start from

    def __post_init__(self) -> None:
        if self.learning_rows is not None:
            validation.check_count(self.learning_rows, "learning_rows")
        if self.inducing_points is not None:
            validation.check_count(_count(self.inducing_points), "inducing_points")

    def learn(
        self, training: Training, kernel: kernels.Kernel, rng: np.random.Generator
    ) -> tuple[Any, Any]:
        """The posterior and what was learned, for the kernel from where it stands."""
        check_host(training.rows)
        y = training.Y[:, 0]
        likelihood, likelihood_bounds = self.likelihood.tuned(y, training.weights)
        targets = LatentTargets.of(y, training.weights, likelihood, offset=self.offset)
        typical = likelihood.null(y, training.weights)[1]
        started, bounds = kernel.tuned(
            kernel_model.distinct(training.rows), variance=float(np.mean(typical))
        )
        evidence = self._engines(likelihood)[0]
        problem: LatentProblem[Any] = LatentProblem(
            training.rows,
            targets,
            started,
            bounds,
            self._continued(likelihood, likelihood_bounds),
            likelihood_bounds,
            evidence,
        )
        learned = self._maximise(self._part(problem, rng), rng)
        if self.inducing_points is None:
            return self._conditioned(learned, training, targets), learned
        points = self._points(learned.kernel, training.rows, rng)
        carried = ProjectedPosterior.condition(
            learned.kernel,
            learned.likelihood,
            training.rows,
            targets,
            points,
            nearest=self._wants_nearest,
        )
        return carried, learned

    @property
    def _wants_nearest(self) -> bool:
        """Whether points end with the nearest normal: for rates, classes, and not at the mode."""
        if self._is_of_rates:
            return True
        if not isinstance(self.likelihood, likelihoods.Bernoulli | likelihoods.Categorical):
            return False
        return self.approximation == "auto" and self.likelihood.averaging != "none"

    @property
    def _is_of_rates(self) -> bool:
        """Whether averages over the posterior have closed forms and no limit."""
        return self.approximation == "nearest" and isinstance(self.likelihood, likelihoods.Averaged)

    def _conditioned(self, learned: Any, training: Training, targets: LatentTargets) -> Any:
        """The posterior of all rows; "auto" ends with a better one than Laplace's where it can."""
        kernel, likelihood = learned.kernel, learned.likelihood
        coupled = isinstance(likelihood, likelihoods.Coupled)
        if self.approximation != "auto" or coupled or not _is_repeatable(training):
            posterior = self._engines(likelihood)[1]
            if self.approximation == "auto" and coupled and _is_affordable(targets):
                posterior = VariationalPosterior
            return posterior.condition(kernel, likelihood, training.rows, targets)
        single = training.repeated()
        again = replace(targets, y=single.Y[:, 0], weights=single.weights)
        return PropagationPosterior.condition(kernel, likelihood, single.rows, again)

    def _continued(self, likelihood: Any, bounds: Array) -> Any:
        """The likelihood at its start, or where an earlier fit left it."""
        if self.earlier is None:
            return likelihood
        return likelihood.at(np.clip(self.earlier.theta, bounds[:, 0], bounds[:, 1]))

    def _engines(self, likelihood: Any) -> tuple[Any, Any]:
        """The evidence that is searched, and the posterior it belongs to."""
        if isinstance(likelihood, likelihoods.Coupled):
            if self.approximation == "propagation":
                raise ValueError(
                    "Expectation propagation is for two classes or one latent function; use "
                    "inference='laplace', which couples the classes."
                )
            return SoftmaxEvidence, SoftmaxPosterior
        if self.approximation == "propagation":
            return PropagationEvidence, PropagationPosterior
        if self._is_of_rates:
            return LaplaceEvidence, NearestPosterior
        if likelihood.is_scale_mixture and self.approximation != "laplace":
            return (
                ScaleMixtureEvidence,
                ScaleMixturePosterior,
            )
        return LaplaceEvidence, LaplacePosterior

    def _maximise(
        self, problem: LatentProblem[Any], rng: np.random.Generator
    ) -> LearnedLatent[Any]:
        starts = draw_random_starts(problem, self.n_restarts, rng)
        return maximise_latent_evidence(
            problem, starts=starts, max_iter=self.max_iter, n_jobs=self.n_jobs, rng=rng
        )

    def _part(self, problem: LatentProblem[Any], rng: np.random.Generator) -> LatentProblem[Any]:
        """The rows on which parameters are learned."""
        n = problem.n_rows
        if self.learning_rows is not None:
            n = self.learning_rows
        elif self.inducing_points is not None:
            n = max(_LEARNING_ROWS, _count(self.inducing_points))
        return problem if n >= problem.n_rows else problem.among(np.sort(problem.order(rng)[:n]))

    def _points(self, kernel: kernels.Kernel, rows: Any, rng: np.random.Generator) -> Any:
        if isinstance(self.inducing_points, numbers.Integral):
            return choose_points(kernel, rows, int(self.inducing_points), rng)
        return self.inducing_points


def _is_affordable(targets: LatentTargets) -> bool:
    """Whether some dozen sweeps over the matrices of all classes take minutes at most."""
    return len(targets.shift) * float(targets.n_rows) ** 3 <= _SWEPT


def _is_repeatable(training: Training) -> bool:
    """Whether rows count whole numbers of times, and repeating them makes not too many more."""
    few = max(_REPEATED_ROWS, 2 * len(training.weights))
    return training.is_whole and float(np.sum(training.weights)) <= few


def _count(points: Any) -> int:
    return int(points) if isinstance(points, numbers.Integral) else kernels.rows.count(points)


def check_host(rows: Any) -> None:
    """Refuse rows on a device: only normal noise is worked on there."""
    if not isinstance(rows, list | np.ndarray):
        raise ValueError("Rows on a device are for normal noise only: pass NumPy arrays.")
