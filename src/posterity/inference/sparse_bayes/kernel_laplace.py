"""Relevance vectors under any likelihood, for a kernel that is learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import designs, kernels, likelihoods, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import kernel_climb, vector_prices
from posterity.inference.sparse_bayes import laplace as sparse_laplace
from posterity.inference.sparse_bayes import pairs as sparse_pairs
from posterity.inference.sparse_bayes import softmax as sparse_softmax
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.engine import Fitted
from posterity.inference.sparse_bayes.kernel_climb import Climb
from posterity.inference.sparse_bayes.pair_fit import PairFit
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets

_COARSE = 0.1  # nats, where kernels are only compared


@dataclass(frozen=True)
class _LatentRows:
    """Rows, which are the candidates too where there are no others, and their targets."""

    rows: Any
    targets: RowTargets
    offset: bool
    prior: priors.Sparse
    rng: np.random.Generator
    tol: float = 1e-2
    max_iter: int = 200
    pool: Any = None  # the candidates; None: the rows
    centres: NDArray[np.intp] | None = None  # which of the candidates are left; None: all

    @property
    def candidates(self) -> Any:
        """What columns are about."""
        return self.rows if self.pool is None else self.pool

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return self.targets.total_weight

    def among(self, places: NDArray[np.intp]) -> Self:
        """The same on these rows."""
        chosen = kernels.rows.chosen(self.rows, places)
        return replace(self, rows=chosen, targets=self.targets.at(places))

    def counted(self, factor: float) -> Self:
        """The same with all rows counted so many times as much."""
        t = self.targets
        weights = np.ones(t.n_rows) if t.weights is None else t.weights
        return replace(self, targets=replace(t, weights=factor * weights))

    def confined(self, places: NDArray[np.intp]) -> Self:
        """The same with these as the only candidates, by their order."""
        return replace(self, centres=places)

    def _candidates(self, kernel: kernels.Kernel) -> designs.Candidates:
        pool = self.candidates
        about = pool if self.centres is None else kernels.rows.chosen(pool, self.centres)
        columns = designs.KernelColumns(kernel, self.rows, about)
        weights = self.targets.weights
        return designs.Candidates.of(columns, weights, centred=self.offset, rng=self.rng)


@dataclass(frozen=True)
class LaplaceEngine(_LatentRows):
    """One latent value, or the contrasts of classes that share their vectors."""

    likelihood_bounds: Array | None = None  # (P, 2), log, equal: held; None: all are

    def maximise(
        self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool
    ) -> Fitted[LaplaceFit]:
        """The vectors of the largest evidence; coarsely where only to be compared."""
        tol = _COARSE if coarse else self.tol
        candidates, t = self._candidates(kernel), self.targets
        if isinstance(t.likelihood, likelihoods.Coupled):
            chosen, fit = sparse_softmax.select_softmax(
                candidates,
                t,
                offset=self.offset,
                prior=self.prior,
                start=start,
                tol=tol,
                max_iter=self.max_iter,
            )
        else:
            chosen, fit = sparse_laplace.select_laplace(
                candidates,
                t,
                offset=self.offset,
                prior=self.prior,
                start=start,
                tol=tol,
                max_iter=self.max_iter,
                likelihood_bounds=self.likelihood_bounds,
            )
        return Fitted(chosen, fit, len(chosen.places))

    def price(self, fitted: Fitted[LaplaceFit]) -> float:
        """Nats that vectors have to earn for their names, and what Laplace's evidence exceeds."""
        return vector_prices.price_shared(fitted.fit, len(fitted.chosen.places))

    def climb(
        self, kernel: kernels.Kernel, moving: NDArray[np.bool_], fitted: Fitted[LaplaceFit]
    ) -> Climb:
        """The evidence in precisions and parameters, vectors and likelihood fixed."""
        return Climb(
            kernel_climb.laplace_evidence(fitted.fit.problem.targets, offset=self.offset),
            kernel,
            moving,
            self.rows,
            kernels.rows.chosen(self.candidates, fitted.chosen.places),
            self.targets.weights,
            self.offset,
            self.prior,
        )


@dataclass(frozen=True)
class PairEngine(_LatentRows):
    """Classes that have vectors of their own; their length scales move together only."""

    def maximise(
        self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool
    ) -> Fitted[PairFit]:
        """The vectors of the largest evidence; coarsely where only to be compared."""
        chosen, fit = sparse_pairs.select_pairs(
            self._candidates(kernel),
            self.targets,
            offset=self.offset,
            prior=self.prior,
            start=start,
            tol=_COARSE if coarse else self.tol,
            max_iter=self.max_iter,
        )
        return Fitted(chosen, fit, int(np.sum(np.isfinite(chosen.precision))))

    def price(self, fitted: Fitted[PairFit]) -> float:
        """Nats that vectors have to earn for their names, and what Laplace's evidence exceeds."""
        return vector_prices.price_pairs(fitted.fit, len(fitted.chosen.places))

    def climb(
        self, kernel: kernels.Kernel, moving: NDArray[np.bool_], fitted: Fitted[PairFit]
    ) -> None:
        """The gradient is not known."""
        del kernel, moving, fitted
