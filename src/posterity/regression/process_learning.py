"""Learning and conditioning a Gaussian process: from all rows, or through inducing points."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from posterity import arrays, kernels, models
from posterity.arrays import Array
from posterity.inference.process import (
    HeldRows,
    InducingPosterior,
    ObservedRows,
    ProcessPosterior,
    ProcessProblem,
    SeparateOutputs,
    condition_on_points,
    draw_further_starts,
    jitter_variance,
    maximise_inducing_bound,
    maximise_process_evidence,
)
from posterity.models import relevance
from posterity.regression import process_mean
from posterity.regression.process_model import ProcessModel, Targets

Rows: TypeAlias = models.Training | models.PartitionedTraining

_SHOWN_ROWS = 20_000  # of more, a sample shows a search through points where they lie
_NOISE_START = 0.1  # of the variance of the targets
_NOISE_RANGE = (1e-8, 10.0)
_JITTER = 1e-10  # of the mean prior variance, where there is no noise: a millionth of values


class LearningProcess(ProcessModel):
    """A process whose kernel and noise are those of the largest evidence, where not given."""

    noise_variance: float | None
    mean: str
    inducing_points: Any
    normalize_y: bool
    n_restarts: int
    warm_start: bool
    max_iter: int | None
    n_jobs: int | None
    random_state: Any
    shared_kernel: bool = False  # of a model saved before it could be chosen
    _n_outputs: int = 1

    def _settle(self, training: Rows) -> None:
        """Learn what is to be learned, and condition."""
        moments = training.target_moments
        targets = functools.partial(
            Targets.of, centred=self.mean != "zero", scaled=self.normalize_y
        )
        self._targets, outputs = targets(moments), len(moments.mean)
        shown = self._shown(training, arrays.generator(self.random_state))
        if outputs == 1 or self.shared_kernel or not self._learns(training):
            fits = [self._learn(training, shown, self._targets.variance, None)]
        else:
            variances = [targets(moments.column(k)).variance for k in range(outputs)]
            fits = [self._learn(training, shown, v, k) for k, v in enumerate(variances)]
        self._adopt(_together(fits), training, shown)
        self._report([fit.learned for fit in fits], [fit.variance for fit in fits])

    def _learns(self, training: Rows) -> bool:
        """Whether anything is left to learn, so that outputs may differ in it."""
        noise_is_given = self.noise_variance is not None or training.known_noise is not None
        return bool(self._kernel_given().names) or not noise_is_given

    def _learn(
        self, training: Rows, shown: models.Training, variance: float, output: int | None
    ) -> _Fit:
        """One output by itself, or with None all of them together."""
        rng = arrays.generator(self.random_state)
        observed, seen = self._observed(training), self._observed(shown)
        if output is not None:
            observed, seen = observed.output(output), seen.output(output)
        # The density of copies grows without bound as the noise falls, whatever the function.
        are_copies = not (
            training if isinstance(training, models.Training) else shown
        ).has_replicates
        told, seen = (o.without_repeats() if are_copies else o for o in (observed, seen))
        problem = self._problem(shown, seen, variance, output or 0)
        starts = draw_further_starts(problem, self.n_restarts, rng)
        learned = self._search(problem, told, starts, rng)
        kernel, noise = problem.total(learned.kernel), learned.noise_variance
        if problem.noise_bounds is not None:
            noise += jitter_variance(kernel, shown.rows, problem.jitter)
        posterior = _condition(kernel, noise, observed, getattr(learned, "Z", None))
        return _Fit(learned, noise, posterior, variance)

    def _shown(self, training: Rows, rng: np.random.Generator) -> models.Training:
        """The rows from which a search starts: of very many that are to be summed up, a sample."""
        if self.inducing_points is None and isinstance(training, models.Training):
            return training
        return training.sampled(self._shown_rows, rng)

    @property
    def _shown_rows(self) -> int:
        """How many; among them are points to be chosen."""
        points = self.inducing_points
        return max(_SHOWN_ROWS, int(points) if isinstance(points, numbers.Integral) else 0)

    def _search(
        self,
        problem: ProcessProblem,
        observed: ObservedRows,
        starts: list[Array],
        rng: np.random.Generator,
    ) -> Any:
        """What is learned from all rows, or through inducing points."""
        if self.inducing_points is None:
            return maximise_process_evidence(
                problem, starts=starts, max_iter=self.max_iter or 200, n_jobs=self.n_jobs, rng=rng
            )
        return maximise_inducing_bound(
            problem,
            self._points(),
            observed,
            starts=starts,
            max_iter=self.max_iter or 100,
            n_jobs=self.n_jobs,
            rng=rng,
        )

    def _points(self) -> Any:
        """How many inducing points, or where they start."""
        if not isinstance(self.inducing_points, numbers.Integral):
            return self._check_rows(self.inducing_points)
        if self.inducing_points < 1:
            raise ValueError(f"inducing_points={self.inducing_points} must be at least 1.")
        return int(self.inducing_points)

    def _conditioned_again(self, observed: Any) -> Any:
        """The posterior given these rows, the first of which it knows, parameters kept."""
        if not isinstance(self.posterior_, SeparateOutputs):
            return _extended(self.posterior_, self._learned_noise, observed)
        outputs = (observed.output(k) for k in range(len(self.posterior_.parts)))
        return SeparateOutputs(
            tuple(map(_extended, self.posterior_.parts, self._learned_noise, outputs))
        )

    def _problem(
        self, training: models.Training, observed: HeldRows, v: float, output: int
    ) -> ProcessProblem:
        """What is searched for targets of variance v, from where, and between what."""
        asked = self._asked
        warm = self.warm_start and self.__dict__.get("_learned_for") == asked
        kernel = _one_of(self.kernel_, output) if warm else asked[0]
        started, bounds = kernel.tuned(models.distinct(training.rows), variance=v)
        low, high = (v * factor for factor in _NOISE_RANGE)
        noise, limits = _NOISE_START * v, (low, high)  # type: float, tuple[float, float] | None
        if training.known_noise is not None:
            noise, limits = 1.0, None
        elif self.noise_variance is not None:
            noise, limits = models.given_noise(self.noise_variance), None
        elif warm:
            noise = float(np.clip(_one_of(self._learned_noise, output), low, high))
        return ProcessProblem(
            training.rows,
            observed.observations,
            started,
            bounds,
            noise,
            limits,
            process_mean.prior_of_mean(self.mean, training.rows, v, training.importance),
            _JITTER if noise == 0.0 or limits is not None else 0.0,
            v,
        )

    @property
    def _asked(self) -> tuple[Any, ...]:
        """What must be as it was for a warm start to go on from there."""
        kernel = self._bound_kernel()
        return kernel, getattr(self, "n_features_in_", None), self._n_outputs, self.shared_kernel

    def _observed(self, training: Rows) -> Any:
        """The rows as inference sees them."""
        t = self._targets
        if training.known_noise is not None and self.normalize_y and len(t.scale) > 1:
            raise ValueError(
                "Known noise is in the units of one output; with several, and "
                "normalize_y=True, fit each by itself."
            )
        return training.observed(t.center, t.scale)

    def _report(self, learned: Sequence[Any], variances: Sequence[float]) -> None:
        """Say what was found and how, of each search; functions vary by so much."""
        self._learned_for = self._asked
        self.kernel_ = _one_or_all([one.kernel for one in learned])
        self.stop_reason_ = "; ".join(dict.fromkeys(one.optimum.stop_reason for one in learned))
        # Where to start was looked at in any case.
        self.n_iter_ = max(1, *(one.optimum.n_iter for one in learned))
        found = [models.report_kernel_bounds(one.optimum, one.kernel) for one in learned]
        self.at_bounds_ = tuple(dict.fromkeys(label for labels in found for label in labels))
        probes = [one.probes for one in learned]
        self.restarts_log_evidence_ = probes[0] if len(probes) == 1 else np.array(probes)
        self.irrelevant_inputs_: list[Any] = []
        if not isinstance(self.X_train_, list):
            places = [
                relevance.irrelevant(one.kernel, self.X_train_, v)
                for one, v in zip(learned, variances, strict=True)
            ]
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            self.irrelevant_inputs_ = [
                names[d] for d in places[0] if all(d in of_one for of_one in places)
            ]

    def _adopt(self, fitted: _Fitted, training: Rows, shown: models.Training) -> None:
        """Keep the process, and the rows that are in memory."""
        posterior, self._learned_noise = fitted
        held = training if isinstance(training, models.Training) else None
        self.posterior_, self._training, self.X_train_ = posterior, held, (held or shown).rows
        t, known = self._targets, training.mean_known_noise
        noise = self._learned_noise * t.scale**2
        if known is not None:
            noise = np.full_like(t.scale, known)
        self.noise_variance_ = self._per_output(noise)
        jitter = 0.0 if np.any(self._learned_noise) else posterior.noise_variance
        self.jitter_ = self._per_output(jitter * t.scale**2)
        jacobian = training.total_weight * float(np.sum(np.log(t.scale)))
        self.log_evidence_ = posterior.log_evidence - jacobian
        self.__dict__.pop("inducing_points_", None)  # of an earlier fit
        if self.inducing_points is not None:
            parts = getattr(posterior, "parts", (posterior,))
            self.inducing_points_ = _one_or_all([part.Z for part in parts])
        self.evidence_gap_ = 0.0 if self.inducing_points is None else posterior.gap


_Fitted: TypeAlias = tuple[Any, Any]
"""A posterior, and the noise variance of its output or outputs."""


@dataclass(frozen=True)
class _Fit:
    """What was learned of one output, or of outputs that share it."""

    learned: Any
    noise_variance: float
    posterior: Any
    variance: float  # of the targets


def _together(fits: Sequence[_Fit]) -> _Fitted:
    """One posterior of all outputs, and their noise."""
    if len(fits) == 1:
        return fits[0].posterior, fits[0].noise_variance
    parts = tuple(fit.posterior for fit in fits)
    return SeparateOutputs(parts), np.array([fit.noise_variance for fit in fits])


def _condition(kernel: kernels.Kernel, noise: float, observed: ObservedRows, points: Any) -> Any:
    if points is not None:
        return condition_on_points(kernel, noise, observed, points)
    assert isinstance(observed, HeldRows)  # others were refused
    X, y = observed.X, observed.observations
    if noise == 0.0:
        return ProcessPosterior.interpolate(kernel, X, y, _JITTER)
    return ProcessPosterior.condition(kernel, noise, X, y)


def _extended(posterior: Any, noise: float, observed: HeldRows) -> Any:
    """With further rows; all again where points sum them up, or where they may ask for jitter."""
    if isinstance(posterior, InducingPosterior):
        return _condition(posterior.kernel, noise, observed, posterior.Z)
    if noise == 0.0:
        return _condition(posterior.kernel, noise, observed, None)
    return posterior.extended(observed.X, observed.observations)


def _one_or_all(values: Sequence[Any]) -> Any:
    """The value where there is one, else a tuple of one an output."""
    return values[0] if len(values) == 1 else tuple(values)


def _one_of(values: Any, output: int) -> Any:
    """That of one output."""
    return values[output] if isinstance(values, tuple | np.ndarray) else values
