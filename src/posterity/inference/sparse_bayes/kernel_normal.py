"""Relevance vectors in normal noise, for a kernel that is learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import designs, kernels, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import kernel_climb
from posterity.inference.sparse_bayes import normal as sparse_normal
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.engine import Fitted
from posterity.inference.sparse_bayes.kernel_climb import Climb
from posterity.inference.sparse_bayes.working import Targets

_COARSE = 0.1  # nats, where kernels are only compared


@dataclass(frozen=True)
class NormalEngine:
    """Rows, which are the candidates too where there are no others, and K outputs.

    Examples
    --------
    >>> from posterity.inference.sparse_bayes import kernel_search
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(-6.0, 6.0, 60)[:, None]
    >>> Y = np.sin(X) + 0.1 * rng.normal(size=(60, 1))
    >>> engine = NormalEngine(X, Y, None, True, None, priors.Sparse(), rng)
    >>> learned = kernel_search.learn_kernel(engine, kernels.RBF(), rng=rng)
    >>> 0.5 < learned.kernel.length_scale < 4.0
    True
    """

    rows: Any
    Y: Array  # (N, K)
    weights: Array | None  # (N,); None: one each
    centred: bool
    noise_variance: Array | None  # (K,); None: learned
    prior: priors.Sparse
    rng: np.random.Generator
    tol: float = 1e-3
    max_iter: int = 1000
    pool: Any = None  # the candidates; None: the rows
    centres: NDArray[np.intp] | None = None  # which of the candidates are left; None: all

    @property
    def candidates(self) -> Any:
        """What columns are about."""
        return self.rows if self.pool is None else self.pool

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return float(len(self.Y)) if self.weights is None else float(np.sum(self.weights))

    def among(self, places: NDArray[np.intp]) -> NormalEngine:
        """The same on these rows."""
        weights = None if self.weights is None else self.weights[places]
        chosen = kernels.rows.chosen(self.rows, places)
        return replace(self, rows=chosen, Y=self.Y[places], weights=weights)

    def counted(self, factor: float) -> NormalEngine:
        """The same with all rows counted so many times as much."""
        weights = np.ones(len(self.Y)) if self.weights is None else self.weights
        return replace(self, weights=factor * weights)

    def confined(self, places: NDArray[np.intp]) -> NormalEngine:
        """The same with these as the only candidates, by their order."""
        return replace(self, centres=places)

    def maximise(
        self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool
    ) -> Fitted[None]:
        """The vectors of the largest evidence; coarsely where only to be compared."""
        pool = self.candidates
        about = pool if self.centres is None else kernels.rows.chosen(pool, self.centres)
        columns = designs.KernelColumns(kernel, self.rows, about)
        candidates = designs.Candidates.of(
            columns, self.weights, centred=self.centred, rng=self.rng
        )
        chosen = sparse_normal.select_normal(
            candidates,
            self.Y,
            self.weights,
            centred=self.centred,
            noise_variance=self.noise_variance,
            prior=self.prior,
            start=start,
            reheats=1 if coarse else None,
            tol=_COARSE if coarse else self.tol,
            max_iter=self.max_iter,
        )
        return Fitted(chosen, None, len(chosen.places))

    def price(self, fitted: Fitted[None]) -> float:
        """None: in learned noise a vector of its own earns a row no more than a nat or so."""
        del fitted
        return 0.0

    def climb(
        self, kernel: kernels.Kernel, moving: NDArray[np.bool_], fitted: Fitted[None]
    ) -> Climb:
        """The evidence in precisions and parameters, vectors fixed."""
        targets = Targets.of(
            self.Y, self.weights, centred=self.centred, noise_variance=self.noise_variance
        )
        return Climb(
            kernel_climb.normal_evidence(targets, learned=self.noise_variance is None),
            kernel,
            moving,
            self.rows,
            kernels.rows.chosen(self.candidates, fitted.chosen.places),
            self.weights,
            self.centred,
            self.prior,
        )
