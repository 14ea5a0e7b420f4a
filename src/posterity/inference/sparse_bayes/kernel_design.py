"""Relevance vectors among given candidates, for rows of one latent value wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import designs, kernels, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import laplace as sparse_laplace
from posterity.inference.sparse_bayes import vector_prices
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.engine import Fitted
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets, TalliedTargets

_COARSE = 0.1  # nats, where kernels are only compared


@dataclass(frozen=True)
class DesignEngine:
    """The columns of one kernel about the candidates, as a design, and the targets of its rows.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> from posterity.inference.sparse_bayes import kernel_search
    >>> X, kernel = np.linspace(-3.0, 3.0, 40)[:, None], kernels.RBF(1.0)
    >>> y = (np.abs(X[:, 0]) < 1.0).astype(float)
    >>> targets = RowTargets.of(y, None, likelihoods.Bernoulli(), offset=True)
    >>> columns = designs.Dense(kernel(X, X[::10]))
    >>> engine = DesignEngine(columns, targets, True, priors.Sparse())
    >>> 2 in kernel_search.fit_given_kernel(engine, kernel).chosen.places
    True
    """

    design: designs.Design  # (N, M)
    targets: RowTargets
    offset: bool
    prior: priors.Sparse
    tol: float = 1e-2
    max_iter: int = 200

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return self.targets.total_weight

    def counted(self, factor: float) -> DesignEngine:
        """The same with all rows counted so many times as much."""
        return replace(self, targets=_counted(self.targets, factor))

    def confined(self, places: NDArray[np.intp]) -> DesignEngine:
        """The same with these as the only candidates, by their order."""
        return replace(self, design=designs.Selected(self.design, places))

    def maximise(
        self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool
    ) -> Fitted[LaplaceFit]:
        """The vectors of the largest evidence, of the one kernel that made the columns."""
        del kernel
        chosen, fit = sparse_laplace.select_laplace_from_design(
            self.design,
            self.targets,
            offset=self.offset,
            prior=self.prior,
            start=start,
            tol=_COARSE if coarse else self.tol,
            max_iter=self.max_iter,
        )
        return Fitted(chosen, fit, len(chosen.places))

    def price(self, fitted: Fitted[LaplaceFit]) -> float:
        """Nats that vectors have to earn for their names, and what Laplace's evidence exceeds."""
        return vector_prices.price_shared(fitted.fit, len(fitted.chosen.places))


def _counted(targets: RowTargets, factor: float) -> RowTargets:
    """Of weights that are so many times as large, about the same shift."""
    y, weights = targets.y, targets.weights
    if isinstance(y, TalliedTargets):
        tallied = replace(y, counts=factor * y.counts)
        return replace(targets, y=tallied, weights=designs.Along(_Times(factor, weights)))
    return replace(targets, weights=factor * (np.ones(len(y)) if weights is None else weights))


@dataclass(frozen=True)
class _Times:
    """The weights of the rows of a block, so many times as large."""

    factor: float
    weights: designs.Along | None  # None: one each

    def __call__(self, block: designs.Block) -> Array:
        one = np.ones(len(block)) if self.weights is None else self.weights.of(block)
        return self.factor * one
