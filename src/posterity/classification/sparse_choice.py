"""Which engine chooses the columns of a sparse classifier, and what is said of its choice."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import designs, kernels, likelihoods, optimize, priors
from posterity.inference.sparse_bayes import (
    Chosen,
    Fit,
    LaplaceEngine,
    LearnedVectors,
    PairEngine,
    alternate_laplace,
    learn_kernel,
    limit_vectors,
    select_laplace,
    select_laplace_from_design,
    select_pairs,
    select_softmax,
    select_softmax_from_design,
)
from posterity.inference.weights import RowTargets

SHARING = ("shared", "per_class")


@dataclass(frozen=True)
class SparseChoice:
    """What the estimators ask for, in the words of the engines."""

    prior: priors.Sparse
    offset: bool
    per_class: bool
    alternating: bool
    max_iter: int
    max_vectors: int | None = None

    def is_own(self, targets: RowTargets) -> bool:
        """Whether each class has columns of its own: two share one latent value in any case."""
        return self.per_class and isinstance(targets.likelihood, likelihoods.Coupled)

    def with_kernel(
        self,
        rows: Any,
        targets: RowTargets,
        kernel: kernels.Kernel,
        rng: np.random.Generator,
    ) -> LearnedVectors[Any]:
        """The columns of a kernel about rows, and the kernel itself, by sequential steps."""
        if self.alternating:
            self._refuse_own(targets)
        engine = PairEngine if self.is_own(targets) else LaplaceEngine
        asked = engine(rows, targets, self.offset, self.prior, rng, max_iter=self.max_iter)
        learned: LearnedVectors[Any] = learn_kernel(asked, kernel, rng=rng)
        return (
            learned if self.max_vectors is None else limit_vectors(asked, learned, self.max_vectors)
        )

    def among(self, candidates: designs.Candidates, targets: RowTargets) -> tuple[Chosen, Fit]:
        """The columns of largest evidence."""
        if self.alternating:
            self._refuse_own(targets)
            return alternate_laplace(
                candidates, targets, offset=self.offset, prior=self.prior, max_iter=self.max_iter
            )
        if self.is_own(targets):
            return select_pairs(
                candidates, targets, offset=self.offset, prior=self.prior, max_iter=self.max_iter
            )
        coupled = isinstance(targets.likelihood, likelihoods.Coupled)
        maximise = select_softmax if coupled else select_laplace
        return maximise(
            candidates, targets, offset=self.offset, prior=self.prior, max_iter=self.max_iter
        )

    def _refuse_own(self, targets: RowTargets) -> None:
        if self.is_own(targets):
            raise ValueError(
                "algorithm='alternating' is for classes that share what is kept; use "
                "'sequential' where each is to have its own."
            )

    def of_design(self, design: designs.Design, targets: RowTargets) -> tuple[Chosen, Fit]:
        """The columns of largest evidence where rows are not in memory all at once."""
        if self.is_own(targets):
            raise ValueError(
                "columns='per_class' needs all rows in memory: pass arrays, a sample of the rows "
                "for example, or let the classes share their columns."
            )
        if self.alternating:
            raise ValueError("algorithm='alternating' needs all rows in memory; use 'sequential'.")
        coupled = isinstance(targets.likelihood, likelihoods.Coupled)
        maximise = select_softmax_from_design if coupled else select_laplace_from_design
        return maximise(
            design, targets, offset=self.offset, prior=self.prior, max_iter=self.max_iter
        )


def announce(model: Any, chosen: Chosen, kind: str, *, calls: int) -> None:
    """Say on the model how the search ended, and warn where that is not at a maximum.

    The line that called fit is so many calls up from here.
    """
    model.n_iter_, model.stop_reason_ = max(1, chosen.n_iter), chosen.stop_reason
    if not chosen.converged:
        advice = ": raise max_iter" if chosen.n_iter >= model.max_iter else ""
        message = f"{chosen.stop_reason}{advice}."
        warnings.warn(message, optimize.ConvergenceWarning, stacklevel=calls + 1)
    elif not len(chosen.places):
        model.stop_reason_ = f"no {kind} raises the evidence, and none is kept"
