"""The number of units of a sum, and the noise about it, from rows its units have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.local.stagewise import (
    AnyLikelihood,
    Stages,
    StagewiseFitter,
    evaluate_log_prob,
    iterate_latents,
)

_PATIENCE = 3  # units of full size that may fail held-out rows before no more are tried


@dataclass(frozen=True)
class StageValidation:
    """Held-out rows after the constant and after each unit.

    Parameters of the likelihood are set where held-out rows are most likely: where training rows
    are, they would be those of the units' own residuals, which are too small.
    """

    log_probs: Array  # (1 + K, n), of each row that was held out
    counts: Array  # (n,)
    likelihoods: tuple[AnyLikelihood, ...]  # 1 + K

    @property
    def scores(self) -> Array:
        """The mean log probability of a held-out row after each step, (1 + K,)."""
        return np.average(self.log_probs, axis=1, weights=self.counts)

    @property
    def n_units(self) -> int:
        """The least number of units within one standard error of the best.

        The best of several is best by chance, too: its noise would be too small.
        """
        behind = self.log_probs[np.argmax(self.scores)] - self.log_probs
        mean, total = np.average(behind, axis=1, weights=self.counts), np.sum(self.counts)
        squares = np.average((behind - mean[:, None]) ** 2, axis=1, weights=self.counts)
        return int(np.argmax(mean <= np.sqrt(squares / max(total - 1.0, 1.0))))

    def extend(self, likelihood: AnyLikelihood, log_prob: Array) -> StageValidation:
        """Return the same with one more step."""
        log_probs = np.vstack([self.log_probs, log_prob])
        return StageValidation(log_probs, self.counts, (*self.likelihoods, likelihood))

    def apply(self, stages: Stages) -> Stages:
        """Return the stages with the likelihoods that held-out rows found."""
        steps = [
            replace(step, likelihood=found)
            for step, found in zip(stages.steps, self.likelihoods, strict=False)
        ]
        return replace(stages, steps=tuple(steps), n_validated=float(np.sum(self.counts)))


def validate_stages(
    whole: StagewiseFitter,
    trials: Sequence[StagewiseFitter],
    X: Array,
    folds: NDArray[np.int64],
    *,
    n_stages: int,
    rng: np.random.Generator,
) -> StageValidation:
    """Grow a sum without each fold, unit by unit, until held-out rows gain no more.

    Parameters
    ----------
    whole : StagewiseFitter
        All rows.
    trials : sequence of StagewiseFitter
        The rows that are not in the first fold, not in the second, and so on.
    X : array (N, D)
        All rows as they are.
    folds : array (N,)
        The fold of each row; -1: it is never held out.
    n_stages : int
        The most units.
    rng : Generator
    """
    held = folds >= 0
    judge = replace(whole, y=whole.y[held], counts=whole.counts[held])
    found = StageValidation(np.empty((0, len(judge.y))), judge.counts, ())
    likelihood = judge.likelihood
    with linalg.threads.limit_threads(len(X)):
        for A in _predict_held_out(trials, X, folds, 1 + n_stages, rng):
            likelihood = judge.tune_likelihood(likelihood, A[held])
            found = found.extend(likelihood, evaluate_log_prob(likelihood, judge.y, A[held]))
            n_poor = len(found.likelihoods) - 1 - np.argmax(found.scores)
            if n_poor * whole.learning_rate >= _PATIENCE:
                break
    return found


def _predict_held_out(
    trials: Sequence[StagewiseFitter],
    X: Array,
    folds: NDArray[np.int64],
    n_steps: int,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """Latent values (N, C) of rows by the sums that have not seen them, after each step.

    A sum that gains no more stays as it is; the last step is that at which all of them do.
    """
    growing = [
        iterate_latents(trial.units, trial.units.standardise(X[folds == k]), trial.grow(child))
        for k, (trial, child) in enumerate(zip(trials, rng.spawn(len(trials)), strict=True))
    ]
    A = np.zeros((len(X), 0))
    for _ in range(n_steps):
        parts = [next(sums, None) for sums in growing]
        known = [part for part in parts if part is not None]
        if not known:
            return
        A = A if A.size else np.zeros((len(X), known[0].shape[1]))
        for k, part in enumerate(parts):
            if part is not None:
                A[folds == k] = part
        yield A
