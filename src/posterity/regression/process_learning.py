"""Learning and conditioning a Gaussian process: from all rows, or through inducing points."""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np

from posterity import arrays, kernels, models
from posterity.arrays import Array
from posterity.inference import inducing, inducing_search, process, process_search
from posterity.inference.inducing_observed import Held, Observed
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

    def _settle(self, training: Rows) -> None:
        """Learn what is to be learned, and condition."""
        self._targets = Targets.of(
            training.target_moments, centred=self.mean != "zero", scaled=self.normalize_y
        )
        rng = arrays.generator(self.random_state)
        shown = self._shown(training, rng)
        observed = self._observed(training)
        told = _without_copies(training, observed)
        problem = self._problem(shown, told if shown is training else self._observed(shown))
        starts = process_search.further_starts(problem, self.n_restarts, rng)
        learned = self._search(problem, told, starts, rng)
        kernel = problem.total(learned.kernel)
        self._learned_noise = learned.noise_variance
        if problem.noise_bounds is not None:
            self._learned_noise += process.jitter_variance(kernel, shown.rows, problem.jitter)
        posterior = self._condition(kernel, observed)
        self._adopt(posterior, training, shown)
        self._report(learned)

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
        problem: process_search.Problem,
        observed: Observed,
        starts: list[Array],
        rng: np.random.Generator,
    ) -> Any:
        """What is learned from all rows, or through inducing points."""
        self.__dict__.pop("inducing_points_", None)  # of an earlier fit
        if self.inducing_points is None:
            return process_search.maximise(
                problem, starts=starts, max_iter=self.max_iter or 200, n_jobs=self.n_jobs, rng=rng
            )
        learned = inducing_search.maximise(
            problem,
            self._points(),
            observed,
            starts=starts,
            max_iter=self.max_iter or 100,
            n_jobs=self.n_jobs,
            rng=rng,
        )
        self.inducing_points_ = learned.Z
        return learned

    def _points(self) -> Any:
        """How many inducing points, or where they start."""
        if not isinstance(self.inducing_points, numbers.Integral):
            return self._check_rows(self.inducing_points)
        if self.inducing_points < 1:
            raise ValueError(f"inducing_points={self.inducing_points} must be at least 1.")
        return int(self.inducing_points)

    def _condition(self, kernel: kernels.Kernel, observed: Observed) -> Any:
        noise = self._learned_noise
        if isinstance(observed, Held) and self.inducing_points is None:
            X, y = observed.X, observed.observations
            if noise == 0.0:
                return process.ProcessPosterior.interpolate(kernel, X, y, _JITTER)
            return process.ProcessPosterior.condition(kernel, noise, X, y)
        return inducing.condition(kernel, noise, observed, self.inducing_points_)

    def _problem(self, training: models.Training, observed: Held) -> process_search.Problem:
        """What is searched, from where, and between what."""
        v = self._targets.variance
        asked = self._asked
        warm = self.warm_start and self.__dict__.get("_learned_for") == asked
        kernel = self.kernel_ if warm else asked[0]
        started, bounds = kernel.tuned(models.distinct(training.rows), variance=v)
        low, high = (v * factor for factor in _NOISE_RANGE)
        noise, limits = _NOISE_START * v, (low, high)  # type: float, tuple[float, float] | None
        if training.known_noise is not None:
            noise, limits = 1.0, None
        elif self.noise_variance is not None:
            noise, limits = models.given_noise(self.noise_variance), None
        elif warm:
            noise = float(np.clip(self._learned_noise, low, high))
        return process_search.Problem(
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
        return self._bound_kernel(), getattr(self, "n_features_in_", None)

    def _observed(self, training: Rows) -> Any:
        """The rows as inference sees them."""
        t = self._targets
        if training.known_noise is not None and self.normalize_y and len(t.scale) > 1:
            raise ValueError(
                "Known noise is in the units of one output; with several, and "
                "normalize_y=True, fit each by itself."
            )
        return training.observed(t.center, t.scale)

    def _report(self, learned: process_search.Learned) -> None:
        """Say what was found and how."""
        self.kernel_, self._learned_for = learned.kernel, self._asked
        self.stop_reason_ = learned.optimum.stop_reason
        self.n_iter_ = max(1, learned.optimum.n_iter)  # where to start was looked at in any case
        self.at_bounds_ = models.report_kernel_bounds(learned.optimum, learned.kernel)
        self.restarts_log_evidence_ = learned.probes
        self.irrelevant_inputs_: list[Any] = []
        if not isinstance(self.X_train_, list):
            places = relevance.irrelevant(learned.kernel, self.X_train_, self._function_variance)
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            self.irrelevant_inputs_ = [names[d] for d in places]

    @property
    def _function_variance(self) -> float:
        """What a change of the function is measured by."""
        return self._targets.variance

    def _adopt(self, posterior: Any, training: Rows, shown: models.Training) -> None:
        """Keep the process, and the rows that are in memory."""
        held = training if isinstance(training, models.Training) else None
        self.posterior_, self._training, self.X_train_ = posterior, held, (held or shown).rows
        t, known = self._targets, training.mean_known_noise
        noise = self._learned_noise * t.scale**2
        if known is not None:
            noise = np.full_like(t.scale, known)
        self.noise_variance_ = self._per_output(noise)
        jitter = posterior.noise_variance if self._learned_noise == 0.0 else 0.0
        self.jitter_ = self._per_output(jitter * t.scale**2)
        jacobian = training.total_weight * float(np.sum(np.log(t.scale)))
        self.log_evidence_ = posterior.log_evidence - jacobian
        self.evidence_gap_ = 0.0 if self.inducing_points is None else posterior.gap


def _without_copies(training: Rows, observed: Observed) -> Any:
    """The rows as a search sees them: copies of rows do not tell that there is no noise.

    Their density grows without bound as the noise falls, whatever the function.
    """
    if not isinstance(observed, Held) or not isinstance(training, models.Training):
        return observed
    if not observed.observations.repeats or training.has_replicates:
        return observed
    return Held(observed.X, observed.observations.without_repeats())
