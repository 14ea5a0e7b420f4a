"""Learning and conditioning a Gaussian process: from all rows, or through inducing points."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from posterity import arrays, kernels, models
from posterity.arrays import Array
from posterity.inference import inducing, inducing_search, process, process_search
from posterity.models import relevance
from posterity.regression import process_mean
from posterity.regression.process_model import ProcessModel, Targets

_NOISE_START = 0.1  # of the variance of the targets
_NOISE_RANGE = (1e-8, 10.0)


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

    def _settle(self, training: models.Training) -> None:
        """Learn what is to be learned, and condition."""
        self._targets = Targets.of(
            training.Y,
            training.importance,
            centred=self.mean != "zero",
            scaled=self.normalize_y,
        )
        observations = self._observations(training)
        problem = self._problem(training, observations)
        rng = arrays.generator(self.random_state)
        starts = process_search.random_starts(problem, self.n_restarts, rng)
        learned = self._search(problem, starts, rng)
        self._learned_noise = learned.noise_variance
        total = problem.total(learned.kernel)
        self._adopt(self._condition(total, training.rows, observations), training)
        self._report(learned)

    def _search(
        self, problem: process_search.Problem, starts: list[Array], rng: np.random.Generator
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

    def _condition(
        self, kernel: kernels.Kernel, rows: Any, observations: process.Observations
    ) -> Any:
        noise = self._learned_noise
        if self.inducing_points is None:
            return process.ProcessPosterior.condition(kernel, noise, rows, observations)
        return inducing.condition(kernel, noise, rows, observations, self.inducing_points_)

    def _problem(
        self, training: models.Training, observations: process.Observations
    ) -> process_search.Problem:
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
            observations,
            started,
            bounds,
            noise,
            limits,
            process_mean.prior_of_mean(self.mean, training.rows, v, training.importance),
        )

    @property
    def _asked(self) -> tuple[Any, ...]:
        """What must be as it was for a warm start to go on from there."""
        return self._bound_kernel(), getattr(self, "n_features_in_", None)

    def _observations(self, training: models.Training) -> process.Observations:
        t, known = self._targets, training.known_noise
        if known is not None:
            if self.normalize_y and len(t.scale) > 1:
                raise ValueError(
                    "Known noise is in the units of one output; with several, and "
                    "normalize_y=True, fit each by itself."
                )
            known = known / t.scale[0] ** 2
        scaled = (training.Y - t.center) / t.scale
        like = training.rows if not isinstance(training.rows, list) else scaled
        return process.Observations.of(
            arrays.like(like, scaled), weights=training.weights, known_noise=known
        )

    def _report(self, learned: process_search.Learned) -> None:
        """Say what was found and how."""
        self.kernel_, self._learned_for = learned.kernel, self._asked
        self.stop_reason_ = learned.optimum.stop_reason
        self.n_iter_ = max(1, learned.optimum.n_iter)  # where to start was looked at in any case
        self.at_bounds_ = learned.optimum.at_bounds
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

    def _adopt(self, posterior: Any, training: models.Training) -> None:
        self.posterior_, self._training, self.X_train_ = posterior, training, training.rows
        t, known = self._targets, training.mean_known_noise
        noise = self._learned_noise * t.scale**2
        if known is not None:
            noise = np.full_like(t.scale, known)
        self.noise_variance_ = self._per_output(noise)
        jacobian = float(np.sum(training.weights)) * float(np.sum(np.log(t.scale)))
        self.log_evidence_ = posterior.log_evidence - jacobian
        self.evidence_gap_ = 0.0 if self.inducing_points is None else posterior.gap
