"""A Gaussian process under any likelihood: which inference, from where, and what it predicts."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from posterity import arrays, kernels, likelihoods, validation
from posterity.arrays import Array
from posterity.inference.averaging import average_posteriors
from posterity.inference.search import LEAST_GAIN
from posterity.models import kernel_model
from posterity.models.fitted import SearchReport
from posterity.models.training import Training
from posterity.process import (
    LatentProblem,
    LatentTargets,
    LearnedLatent,
    ProjectedPosterior,
    SharedSoftmaxPosterior,
    SiteEvidence,
    SitePosterior,
    SoftmaxEvidence,
    SoftmaxPosterior,
    choose_points,
    draw_random_starts,
    maximise_evidence,
)
from posterity.process.inducing.partitions import Rows
from posterity.process.latent_fit import LatentFit, check_host
from posterity.process.process_model import ProcessRequest

_SWEPT = 1e10  # classes times the cube of the rows, up to which each class has its factor
_SWEPT_ROWS = 3000  # up to which a posterior of several classes is found by sweeps
_SEARCHED = 1e9  # classes times the cube of the rows on which their parameters are learned
_FIRST_ROWS = 250, 500  # on which searches begin: each of their steps finds a mode
_LEAST_GAIN = 1e-4  # nats, of steps of which each takes long: a hundredth of a deviation
_LEARNING_ROWS = 1000  # at least, where points carry the function
_REPEATED_ROWS = 1000  # or twice as many as there are, up to which "auto" repeats rows by weight


@dataclass(frozen=True)
class LatentProcess:
    """A process under a likelihood; ``learn`` fits it to rows."""

    request: ProcessRequest
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    offset: bool
    learning_rows: int | None = None  # None: all, but for inducing points

    def __post_init__(self) -> None:
        if self.learning_rows is not None:
            validation.check_count(self.learning_rows, "learning_rows")
        if self.request.inducing_points is not None:
            validation.check_count(_count_points(self.request.inducing_points), "inducing_points")
        self._check_inference()

    def learn(self, training: Rows) -> LatentFit:
        """The kernel and the likelihood of the largest evidence, and the posterior."""
        assert isinstance(training, Training)  # partitions were refused
        check_host(training.rows)
        rng = arrays.generator(self.request.random_state)
        training = self._arrange_rows(training)
        problem = self._pose(training)
        learned = maximise_evidence(
            part := self._choose_rows(problem, rng),
            starts=draw_random_starts(part, self.request.n_restarts, rng),
            max_iter=self.request.max_iter or 200,
            n_jobs=self.request.n_jobs,
            rng=rng,
            few_rows=int(np.clip(part.n_rows // 4, *_FIRST_ROWS)),
            least_gain=_LEAST_GAIN if part.n_rows >= 2 * _FIRST_ROWS[0] else LEAST_GAIN,
        )
        posterior = self._condition(learned, training, problem.targets, rng)
        if self._can_average:
            posterior = self._average(part, learned, training, posterior, rng)
        variance = 1.0  # of a latent value that tells classes apart
        if not self._is_of_classes:
            variance = float(np.var(posterior.latent(training.rows).mean)) or 1.0
        columns = self.request.columns
        report = SearchReport.from_searches([learned], training.rows, [variance], columns)
        return LatentFit(
            learned.kernel,
            learned.likelihood,
            posterior,
            posterior.log_evidence,
            None if self.request.inducing_points is None else posterior.points,
            training.rows,
            report,
            self.request.single_output,
            self.request.asked,
        )

    @property
    def _can_average(self) -> bool:
        """Whether posteriors at other hyperparameters cost little, and can be averaged."""
        if self.request.inducing_points is not None or self.learning_rows is not None:
            return False
        averages = self.request.averages and getattr(self.likelihood, "averaging", "") != "none"
        return averages and self.likelihood.joins_predictions

    def _average(
        self,
        problem: LatentProblem[Any],
        learned: LearnedLatent[Any],
        training: Training,
        best: Any,
        rng: np.random.Generator,
    ) -> Any:
        """The posteriors at several hyperparameters; of classes without a likelihood for each."""

        def describe(theta: Array) -> LearnedLatent[Any]:
            return problem.describe(replace(learned.optimum, x=theta), learned.probes)

        return average_posteriors(
            problem,
            problem.objective(),
            learned.optimum,
            best,
            lambda theta: self._condition(describe(theta), training, problem.targets, rng),
            likelihood=None if self._is_of_classes else lambda theta: describe(theta).likelihood,
        )

    def _arrange_rows(self, training: Training) -> Training:
        """Rows repeated by weight for expectation propagation; else equal rows made one."""
        if self.request.inference == "propagation":
            return training.repeat_rows()
        if self.request.kernel.tells_rows_apart:
            return training
        merged = training.merge_equal_rows()
        return merged.count_copies_once() if self.likelihood.learns_scatter else merged

    def _pose(self, training: Training) -> LatentProblem[Any]:
        """Make the problem that is searched, with its start and limits."""
        y, weights = training.Y[:, 0], training.weights
        likelihood, own_bounds = self.likelihood.search_start(y, weights)
        typical = likelihood.fit_constant(y, weights)[1]
        earlier = self.request.earlier
        kernel = self.request.kernel if earlier is None else earlier.kernel
        started, bounds = kernel.search_start(
            kernel_model.drop_repeated_rows(training.rows), variance=float(np.mean(typical))
        )
        targets = LatentTargets.with_offset_prior(y, weights, likelihood, offset=self.offset)
        if earlier is not None:
            theta = np.clip(earlier.likelihood.theta, own_bounds[:, 0], own_bounds[:, 1])
            likelihood = likelihood.with_parameters(theta)
        return LatentProblem(
            training.rows, targets, started, bounds, likelihood, own_bounds, self._choose_engines[0]
        )

    def _condition(
        self, learned: Any, training: Training, targets: LatentTargets, rng: np.random.Generator
    ) -> Any:
        """The posterior of all rows; "auto" ends with a better one than Laplace's where it can."""
        kernel, likelihood, rows = learned.kernel, learned.likelihood, training.rows
        if self.request.inducing_points is not None:
            points = self.request.inducing_points
            if isinstance(points, numbers.Integral):
                points = choose_points(kernel, rows, int(points), rng)
            return ProjectedPosterior.condition(
                kernel, likelihood, rows, targets, points, approximation=self._projection
            )
        condition = self._choose_engines[1]
        if self.request.inference == "auto" and self._is_of_classes:
            if likelihood.is_coupled:
                condition = _choose_sweeps(targets) or condition
            elif _is_repeatable(training):
                single = training.repeat_rows()
                targets = replace(targets, y=single.Y[:, 0], weights=single.weights)
                condition, rows = partial(SitePosterior.condition, "propagation"), single.rows
        return condition(kernel, likelihood, rows, targets)

    @property
    def _is_of_classes(self) -> bool:
        return self.likelihood.describes_classes

    @property
    def _projection(self) -> str | None:
        """The way weights of inducing points are found; None: as suits the likelihood."""
        if self.request.inference == "laplace":
            return "laplace"
        if self.likelihood.has_averages:
            return "nearest"
        if self._is_of_classes and self.request.inference == "variational":
            return "nearest"
        # Probabilities at the mode ask for the mode.
        return "nearest" if getattr(self.likelihood, "averaging", "none") != "none" else None

    @property
    def _choose_engines(self) -> tuple[Any, Any]:
        """The evidence that is searched, and the function that conditions on rows."""
        likelihood, inference = self.likelihood, self.request.inference
        if likelihood.is_coupled:
            inference = "variational" if inference == "variational" else "laplace"
            return SoftmaxEvidence, partial(SoftmaxPosterior.condition, inference)
        if inference == "auto":
            known = likelihood.has_averages or likelihood.is_scale_mixture
            inference = "variational" if known else "laplace"
        learned = inference
        if inference == "variational" and not likelihood.is_scale_mixture:
            learned = "laplace"  # whose evidence of a rate has no need of a climb
        return partial(SiteEvidence, learned), partial(SitePosterior.condition, inference)

    def _choose_rows(
        self, problem: LatentProblem[Any], rng: np.random.Generator
    ) -> LatentProblem[Any]:
        """The problem on the rows on which parameters are learned."""
        n = problem.n_rows
        if self.learning_rows is not None:
            n = self.learning_rows
        elif self.request.inducing_points is not None:
            n = max(_LEARNING_ROWS, _count_points(self.request.inducing_points))
        elif self.likelihood.is_coupled:
            n = int(np.cbrt(_SEARCHED / len(problem.targets.shift)))
        return (
            problem
            if n >= problem.n_rows
            else problem.select_rows(np.sort(problem.draw_order(rng)[:n]))
        )

    def _check_inference(self) -> None:
        """Refuse approximations that this likelihood does not have."""
        if self.request.inference == "exact":
            raise ValueError(
                f"inference='exact' cannot be used with {type(self.likelihood).__name__}: only "
                "under normal noise has the posterior a closed form. Use inference='auto'."
            )
        if self.request.inference == "propagation":
            self._check_propagation()
        if self.request.inference == "variational" and not self._has_nearest:
            raise ValueError(
                "inference='variational' needs averages of the log-likelihood over a normal in "
                f"closed form, which {type(self.likelihood).__name__} does not have here; use "
                "inference='propagation' or 'laplace'."
            )

    def _check_propagation(self) -> None:
        if self.likelihood.is_coupled:
            raise ValueError(
                "Expectation propagation is for two classes or one latent function; use "
                "inference='laplace', which couples the classes."
            )
        if self.request.inducing_points is not None:
            raise ValueError(
                "Expectation propagation conditions on all rows and cannot use inducing points; "
                "with inducing_points use inference='auto' or 'laplace', or pass "
                "inducing_points=None."
            )

    @property
    def _has_nearest(self) -> bool:
        """Whether a variational posterior exists: of rows, or of two classes through points."""
        if self._is_of_classes:
            return self.likelihood.is_coupled or self.request.inducing_points is not None
        return self.likelihood.has_averages or self.likelihood.is_scale_mixture


def check_likelihood(model: Any, y: Array, known_noise: Array | None) -> None:
    """Refuse settings of a regressor that only normal noise can have."""
    likelihood = model.likelihood
    if not isinstance(likelihood, likelihoods.Likelihood):
        raise TypeError(
            f"likelihood={likelihood!r} must be a likelihood of one latent value, such as "
            "posterity.likelihoods.StudentT(), or None for normal noise."
        )
    if likelihood.varies_by_row:
        raise ValueError(
            f"The parameters of {type(likelihood).__name__} must be one number for all rows. "
            "Where the noise of each is known, pass noise_variance to fit instead."
        )
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError("A likelihood takes one output; fit each by itself.")
    if model.normalize_y or model.mean not in ("constant", "zero"):
        raise ValueError(
            "With a likelihood use normalize_y=False, and mean='constant' or mean='zero'."
        )
    likelihood.check(y.reshape(-1))
    if model.noise_variance is not None or known_noise is not None:
        raise ValueError("noise_variance is that of normal noise: give it to the likelihood.")


def _choose_sweeps(targets: LatentTargets) -> Any:
    """Return what finds a nearest normal in sweeps of seconds; None where none is so fast."""
    if len(targets.shift) * float(targets.n_rows) ** 3 <= _SWEPT:
        return partial(SoftmaxPosterior.condition, "variational")
    return SharedSoftmaxPosterior.condition if targets.n_rows <= _SWEPT_ROWS else None


def _is_repeatable(training: Training) -> bool:
    """Whether rows count whole numbers of times, and repeating them makes not too many more."""
    few = max(_REPEATED_ROWS, 2 * len(training.weights))
    return training.is_whole and float(np.sum(training.weights)) <= few


def _count_points(points: Any) -> int:
    return int(points) if isinstance(points, numbers.Integral) else kernels.rows.count_rows(points)
