"""A Gaussian process under normal noise: learned from all rows or through inducing points."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays, kernels, validation
from posterity.arrays import Array
from posterity.inference.averaging import average_posteriors
from posterity.inference.observations import HeldRows
from posterity.kernels import mean_prior
from posterity.models import kernel_model
from posterity.models.fitted import SearchReport
from posterity.models.near_copies import learn_without_copies
from posterity.models.training import ColumnMoments, Training
from posterity.process import (
    ProcessProblem,
    SeparateOutputs,
    draw_further_starts,
    jitter_variance,
    maximise_evidence,
    maximise_inducing_bound,
)
from posterity.process.inducing.partitions import Rows
from posterity.process.normal_fit import JITTER, NormalFit, TargetScale, condition_process
from posterity.process.process_model import ProcessRequest

_SHOWN_ROWS = 20_000  # of more, a sample shows a search through points where they lie
_NOISE_START = 0.1  # of the variance of the targets
_NOISE_RANGE = (1e-8, 10.0)


def count_shown_rows(inducing_points: Any) -> int:
    """Count the rows a search through points looks at; among them are points to be chosen."""
    points = inducing_points
    return max(_SHOWN_ROWS, int(points) if isinstance(points, numbers.Integral) else 0)


@dataclass(frozen=True)
class NormalProcess:
    """A process under normal noise; ``learn`` fits it to rows."""

    request: ProcessRequest
    noise_variance: float | None  # None: learned; 0: the function goes through the targets
    mean: str
    normalize_y: bool
    shared_kernel: bool

    def __post_init__(self) -> None:
        inference = self.request.inference
        through = self.request.inducing_points is not None
        exact = "variational" if through else "exact"
        if inference in ("auto", exact):
            return
        why = (
            "inducing points carry the function by a variational bound"
            if through
            else "under normal noise the posterior is exact, and nothing is approximated"
        )
        raise ValueError(
            f"inference={inference!r} cannot be used here: {why}. Use inference={exact!r} or "
            "'auto'."
        )

    def learn(self, training: Rows) -> NormalFit:
        """The kernel and the noise of the largest evidence, where not given, and the posterior."""
        training = self._merge_equal_rows(training)
        if isinstance(training, Training) and self._may_mistake_copies(training):
            return learn_without_copies(self._learn_rows, training)
        return self._learn_rows(training)

    def _learn_rows(self, training: Rows) -> NormalFit:
        """Learn from rows among which no further copies are looked for."""
        moments = training.target_moments
        targets, outputs = self._scale_targets(moments), range(len(moments.mean))
        shown = self._sample_rows(training)
        if len(outputs) == 1 or self.shared_kernel or not self._has_parameters(training):
            fits = [self._learn_output(training, shown, targets, targets.variance, None)]
        else:
            variances = [self._scale_targets(moments.select_column(k)).variance for k in outputs]
            fits = [
                self._learn_output(training, shown, targets, v, k) for k, v in enumerate(variances)
            ]
        rows = training.rows if isinstance(training, Training) else shown.rows
        report = SearchReport.from_searches(
            [fit.learned for fit in fits],
            rows,
            [fit.variance for fit in fits],
            self.request.columns,
        )
        return NormalFit.describe(
            _one_or_all([fit.learned.kernel for fit in fits]),
            *_join_outputs(fits),
            targets=targets,
            training=training,
            X_train=rows,
            search=report,
            asked=self.request.asked,
            single_output=self.request.single_output,
        )

    def _learn_output(
        self,
        training: Rows,
        shown: Training,
        targets: TargetScale,
        variance: float,
        output: int | None,
    ) -> _OutputFit:
        """One output by itself, or with None all of them together."""
        rng = arrays.generator(self.request.random_state)
        observed, seen = self._observe(training, targets), self._observe(shown, targets)
        if output is not None:
            observed, seen = observed.select_output(output), seen.select_output(output)
        # The density of copies grows without bound as the noise falls, whatever the function.
        held = training if isinstance(training, Training) else shown
        counts = not self._learns_noise(training) or held.has_replicates
        told = observed if counts else observed.without_repeats()
        if not counts and self.request.inducing_points is None:
            seen = HeldRows(seen.X, seen.observations.count_once())
        elif not counts:
            seen = seen.without_repeats()
        problem = self._pose(shown, seen, variance, output or 0)
        starts = draw_further_starts(problem, self.request.n_restarts, rng)
        # A search begins on the same rows however many starts were drawn.
        rng = arrays.generator(self.request.random_state)
        given: dict[str, Any] = {"starts": starts, "n_jobs": self.request.n_jobs, "rng": rng}
        points, max_iter = self.request.inducing_points, self.request.max_iter
        if points is None:
            learned = maximise_evidence(problem, max_iter=max_iter or 200, **given)
        else:
            if isinstance(points, numbers.Integral):
                points = validation.check_count(points, "inducing_points")
            given["max_iter"] = max_iter or 100
            learned = maximise_inducing_bound(problem, points, told, **given)
        kernel, noise = _add_parts(problem, learned.kernel, learned.noise_variance)
        posterior: Any = condition_process(kernel, noise, observed, learned.Z)
        if self.request.averages and self.request.inducing_points is None:

            def condition(theta: Array) -> Any:
                at = _add_parts(problem, *problem.unpack_parameters(theta))
                return condition_process(*at, observed, None)

            posterior = average_posteriors(
                problem, problem.objective(), learned.optimum, posterior, condition
            )
        return _OutputFit(learned, noise, posterior, variance)

    def _pose(
        self, training: Training, observed: HeldRows, v: float, output: int
    ) -> ProcessProblem:
        """Make the problem searched for targets of variance v, with its start and limits."""
        asked, earlier = self.request.kernel, self.request.earlier
        kernel = asked if earlier is None else _one_of(earlier.kernel, output)
        rows = kernel_model.drop_repeated_rows(training.rows)
        started, bounds = kernel.search_start(rows, variance=v)
        low, high = (v * factor for factor in _NOISE_RANGE)
        noise, limits = _NOISE_START * v, (low, high)  # type: float, tuple[float, float] | None
        if training.known_noise is not None:
            noise, limits = 1.0, None
        elif self.noise_variance is not None:
            noise, limits = float(self.noise_variance), None
        elif earlier is not None:
            noise = float(np.clip(_one_of(earlier.learned_noise, output), low, high))
        return ProcessProblem(
            training.rows,
            observed.observations,
            started,
            bounds,
            noise,
            limits,
            mean_prior.make_mean_prior(self.mean, training.rows, v, training.importance),
            JITTER if noise == 0.0 or limits is not None else 0.0,
            v,
            None if earlier is None else asked.search_start(rows, variance=v)[0].theta,
        )

    def _may_mistake_copies(self, training: Training) -> bool:
        """Whether copies of rows could be taken for a lack of noise."""
        if not isinstance(training.rows, np.ndarray) or self.request.kernel.tells_rows_apart:
            return False
        return self._learns_noise(training) and self.request.inducing_points is None

    def _has_parameters(self, training: Rows) -> bool:
        """Whether anything is left to learn, so that outputs may differ in it."""
        return bool(self.request.kernel.names) or self._learns_noise(training)

    def _learns_noise(self, training: Rows) -> bool:
        return self.noise_variance is None and training.known_noise is None

    def _scale_targets(self, moments: ColumnMoments) -> TargetScale:
        return TargetScale.from_moments(
            moments, centred=self.mean != "zero", scaled=self.normalize_y
        )

    def _sample_rows(self, training: Rows) -> Training:
        """The rows from which a search starts: of very many that are to be summed up, a sample."""
        if self.request.inducing_points is None and isinstance(training, Training):
            return training
        rng = arrays.generator(self.request.random_state)
        return training.sample_rows(count_shown_rows(self.request.inducing_points), rng)

    def _merge_equal_rows(self, training: Rows) -> Rows:
        """Equal rows made one where the kernel cannot tell them apart."""
        if not isinstance(training, Training):
            return training
        interpolates = self.noise_variance == 0.0 and training.known_noise is None
        if interpolates:
            training.require_single()
            if self.request.inducing_points is not None:
                raise ValueError(
                    "Inducing points sum up rows under noise, and noise_variance=0.0 leaves none: "
                    "use inducing_points=None to interpolate, or a small noise_variance."
                )
        if self.request.kernel.tells_rows_apart:
            return training
        return (
            training.require_one_target_per_input() if interpolates else training.merge_equal_rows()
        )

    def _observe(self, training: Rows, targets: TargetScale) -> Any:
        """The rows as inference sees them."""
        if training.known_noise is not None and self.normalize_y and len(targets.scale) > 1:
            raise ValueError(
                "Known noise is in the units of one output; with several, and "
                "normalize_y=True, fit each by itself."
            )
        return training.standardise_targets(targets.center, targets.scale)


@dataclass(frozen=True)
class _OutputFit:
    """The result of learning one output, or outputs that share it."""

    learned: Any
    noise_variance: float
    posterior: Any
    variance: float  # of the targets


def _add_parts(
    problem: ProcessProblem, kernel: kernels.Kernel, noise: float
) -> tuple[kernels.Kernel, float]:
    """The kernel with the prior of the mean, and a learned noise with the jitter of its search."""
    total = problem.add_mean_prior(kernel)
    if problem.noise_bounds is None:
        return total, noise
    return total, noise + jitter_variance(total, problem.X, problem.jitter)


def _join_outputs(fits: Sequence[_OutputFit]) -> tuple[Any, Any]:
    """One posterior of all outputs, and their noise."""
    if len(fits) == 1:
        return fits[0].posterior, fits[0].noise_variance
    parts = tuple(fit.posterior for fit in fits)
    return SeparateOutputs(parts), np.array([fit.noise_variance for fit in fits])


def _one_or_all(values: Sequence[Any]) -> Any:
    """The value where there is one, else a tuple of one an output."""
    return values[0] if len(values) == 1 else tuple(values)


def _one_of(values: Any, output: int) -> Any:
    """That of one output."""
    return values[output] if isinstance(values, tuple | np.ndarray) else values
