"""Engines choose the vectors of one kernel; a search for kernels compares what they find.

An engine has columns, of a kernel about rows or given, and outputs, in normal noise or of a latent
likelihood: each column source works with each kind of output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import designs, kernels, likelihoods
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets, TalliedTargets, count_targets
from posterity.sparse import kernel_climb, vector_prices
from posterity.sparse.class_normals import ClassNormals
from posterity.sparse.kernel_climb import Evidence, KernelObjective
from posterity.sparse.laplace import select_laplace
from posterity.sparse.many_classes import FEWEST_CLASSES, select_of_many_classes
from posterity.sparse.normal import select_normal
from posterity.sparse.normal_columns import NormalTargets
from posterity.sparse.posterior import SparsePosterior
from posterity.sparse.problem import Chosen, Places, SparseProblem
from posterity.sparse.softmax import select_pairs, select_softmax

Fitted = tuple[Chosen, LaplaceFit | ClassNormals | None]
"""The columns of a sparse model, and Laplace's approximation where the noise is not normal."""


@dataclass(frozen=True)
class NormalOutputs:
    """K outputs in normal noise."""

    Y: Array  # (N, K)
    weights: Array | None = None  # (N,); None: one each
    noise_variance: Array | None = None  # (K,); None: learned

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return float(len(self.Y)) if self.weights is None else float(np.sum(self.weights))

    def select_rows(self, places: Places) -> NormalOutputs:
        """Return the outputs of these rows."""
        weights = None if self.weights is None else self.weights[places]
        return replace(self, Y=self.Y[places], weights=weights)

    def reweight(self, factor: float) -> NormalOutputs:
        """The same with all rows counted so many times as much."""
        weights = np.ones(len(self.Y)) if self.weights is None else self.weights
        return replace(self, weights=factor * weights)

    def select(
        self,
        columns: designs.CandidateColumns,
        problem: SparseProblem,
        start: Chosen | None = None,
        *,
        coarse: bool = False,
    ) -> Fitted:
        """The columns of the largest evidence; coarsely where only to be compared."""
        chosen = select_normal(
            columns,
            self.Y,
            self.weights,
            problem.coarsely() if coarse else problem,
            noise_variance=self.noise_variance,
            start=start,
            reheats=1 if coarse else None,
        )
        return chosen, None

    def price(self, fitted: Fitted) -> float:
        """Zero: in learned noise a vector of its own earns a row no more than a nat or so."""
        del fitted
        return 0.0

    def evidence(self, problem: SparseProblem, fitted: Fitted) -> Evidence:
        """As precisions and columns move."""
        del fitted
        noise = self.noise_variance
        targets = NormalTargets.from_outputs(
            self.Y, self.weights, centred=problem.offset, noise_variance=noise
        )
        return kernel_climb.normal_evidence(targets, learned=noise is None)


@dataclass(frozen=True)
class LatentOutputs:
    """Rows of any likelihood: of one latent value, or of classes."""

    targets: RowTargets
    likelihood_bounds: Array | None = None  # (P, 2), log, equal: held; None: all are

    @classmethod
    def from_likelihood(
        cls, y: Any, weights: Any, likelihood: likelihoods.Likelihood, *, offset: bool
    ) -> LatentOutputs:
        """Rows of one latent value; parameters of the likelihood that are None are learned."""
        started, bounds = likelihood.search_start(*count_targets(y, weights))
        return cls(RowTargets.from_observations(y, weights, started, offset=offset), bounds)

    @property
    def weights(self) -> Any:
        """How often each row counts; None: once."""
        return self.targets.weights

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return self.targets.total_weight

    def select_rows(self, places: Places) -> LatentOutputs:
        """Return the outputs of these rows."""
        return replace(self, targets=self.targets.select_rows(places))

    def reweight(self, factor: float) -> LatentOutputs:
        """The same with all rows counted so many times as much, about the same shift."""
        t, y, weights = self.targets, self.targets.y, self.targets.weights
        if isinstance(y, TalliedTargets):
            tallied = replace(y, counts=factor * y.counts)
            along = designs.RowValues(_ScaledWeights(factor, weights))
            return replace(self, targets=replace(t, y=tallied, weights=along))
        once = np.ones(len(y)) if weights is None else weights
        return replace(self, targets=replace(t, weights=factor * once))

    def select(
        self,
        columns: designs.CandidateColumns | designs.Design,
        problem: SparseProblem,
        start: Chosen | None = None,
        *,
        coarse: bool = False,
    ) -> Fitted:
        """The columns of the largest evidence; coarsely where only to be compared."""
        asked, t = problem.coarsely() if coarse else problem, self.targets
        if not isinstance(t.likelihood, likelihoods.Coupled):
            bounds = self.likelihood_bounds
            return select_laplace(columns, t, asked, start=start, likelihood_bounds=bounds)
        if self.has_many_classes(problem):
            assert isinstance(columns, designs.CandidateColumns)  # vectors have rows in memory
            return select_of_many_classes(columns, t, problem, start=start)
        if not self._has_own_columns(problem):
            return select_softmax(columns, t, asked, start=start)
        if not isinstance(columns, designs.CandidateColumns):
            raise ValueError(
                "columns='per_class' needs all rows in memory: pass arrays, a sample of the rows "
                "for example, or let the classes share their columns."
            )
        return select_pairs(columns, t, asked, start=start)

    def price(self, fitted: Fitted) -> float:
        """Nats that vectors have to earn for their names, and what Laplace's evidence exceeds."""
        chosen, fit = fitted
        assert fit is not None
        return vector_prices.price_vectors(fit, len(chosen.places))

    def evidence(self, problem: SparseProblem, fitted: Fitted) -> Evidence | None:
        """As precisions and columns move, the likelihood fixed.

        Not known where classes are many, or have columns of their own.
        """
        fit = fitted[1]
        assert fit is not None
        if self._has_own_columns(problem) or self.has_many_classes(problem):
            return None
        return kernel_climb.laplace_evidence(fit.problem.targets, offset=problem.offset)

    def has_many_classes(self, problem: SparseProblem) -> bool:
        """Whether so many classes share vectors that the weights of each are taken by themselves.

        Columns of a design are few, and may be where rows are.
        """
        many = len(self.targets.shift) >= FEWEST_CLASSES
        return many and problem.must_earn and not problem.own_columns

    def _has_own_columns(self, problem: SparseProblem) -> bool:
        """Whether each class has columns of its own: two share one latent value in any case."""
        return problem.own_columns and isinstance(self.targets.likelihood, likelihoods.Coupled)


@dataclass(frozen=True)
class _ScaledWeights:
    """The weights of the rows of a block, so many times as large."""

    factor: float
    weights: designs.RowValues | None  # None: one each

    def __call__(self, block: designs.RowBlock) -> Array:
        one = np.ones(len(block)) if self.weights is None else self.weights.of(block)
        return self.factor * one


Outputs = NormalOutputs | LatentOutputs
"""What rows are to be explained, and how columns are chosen for it."""


@dataclass(frozen=True)
class KernelEngine:
    """Columns of any kernel about rows, and outputs of these rows.

    Examples
    --------
    >>> from posterity import priors
    >>> from posterity.sparse import kernel_search
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(-6.0, 6.0, 60)[:, None]
    >>> outputs = NormalOutputs(np.sin(X) + 0.1 * rng.normal(size=(60, 1)))
    >>> engine = KernelEngine(X, outputs, SparseProblem(priors.Sparse(), tol=1e-3), rng)
    >>> learned = kernel_search.learn_kernel(engine, kernels.RBF(), rng=rng)
    >>> 0.5 < learned.kernel.length_scale < 4.0
    True
    """

    rows: Any
    outputs: Outputs
    problem: SparseProblem
    rng: np.random.Generator
    pool: Any = None  # the candidates; None: the rows
    centres: Places | None = None  # which of the candidates are left; None: all

    def select_rows(self, places: Places) -> KernelEngine:
        """The same on these rows."""
        chosen = kernels.rows.select_rows(self.rows, places)
        return replace(self, rows=chosen, outputs=self.outputs.select_rows(places))

    def reweight(self, factor: float) -> KernelEngine:
        """The same with all rows counted so many times as much."""
        return replace(self, outputs=self.outputs.reweight(factor))

    def confine(self, places: Places) -> KernelEngine:
        """The same with these as the only candidates, by their order."""
        return replace(self, centres=places)

    def select(self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool) -> Fitted:
        """The vectors of the largest evidence; coarsely where only to be compared."""
        return self.outputs.select(self._candidates(kernel), self.problem, start, coarse=coarse)

    def climb(self, kernel: kernels.Kernel, moving: Any, fitted: Fitted) -> KernelObjective | None:
        """The evidence in precisions and parameters, vectors fixed; None: no gradient is known."""
        evidence = self.outputs.evidence(self.problem, fitted)
        if evidence is None:
            return None
        about = self.rows if self.pool is None else self.pool
        return KernelObjective(
            evidence,
            kernel,
            moving,
            self.rows,
            kernels.rows.select_rows(about, fitted[0].places),
            self.outputs.weights,
            self.problem.offset,
            self.problem.prior,
        )

    def _candidates(self, kernel: kernels.Kernel) -> designs.CandidateColumns:
        pool = self.rows if self.pool is None else self.pool
        about = pool if self.centres is None else kernels.rows.select_rows(pool, self.centres)
        columns = designs.KernelColumnSource(kernel, self.rows, about)
        return self.problem.standardize(columns, self.outputs.weights, self.rng)


@dataclass(frozen=True)
class ColumnEngine:
    """Given columns, of one kernel about candidates, and outputs of their rows, wherever they are.

    Examples
    --------
    >>> from posterity import priors
    >>> from posterity.sparse import kernel_search
    >>> X, kernel = np.linspace(-3.0, 3.0, 40)[:, None], kernels.RBF(1.0)
    >>> y = (np.abs(X[:, 0]) < 1.0).astype(float)
    >>> targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)
    >>> columns = designs.Dense(kernel(X, X[::10]))
    >>> engine = ColumnEngine(columns, LatentOutputs(targets), SparseProblem(priors.Sparse()))
    >>> 2 in kernel_search.fit_given_kernel(engine, kernel).chosen.places
    True
    """

    columns: Array | designs.Design  # (N, M)
    outputs: Outputs
    problem: SparseProblem

    @classmethod
    def from_design(
        cls, design: designs.Design, outputs: Outputs, problem: SparseProblem
    ) -> ColumnEngine:
        """Build an engine of all columns of a design, as a matrix where it is in memory."""
        columns = design.rows(0, design.n_rows) if design.in_memory else design
        return cls(columns, outputs, problem)

    def reweight(self, factor: float) -> ColumnEngine:
        """The same with all rows counted so many times as much."""
        return replace(self, outputs=self.outputs.reweight(factor))

    def confine(self, places: Places) -> ColumnEngine:
        """The same with these as the only candidates, by their order."""
        if isinstance(self.columns, np.ndarray):
            return replace(self, columns=self.columns[:, places])
        return replace(self, columns=self.columns.select_columns(places))

    def select(
        self,
        kernel: kernels.Kernel | None = None,
        start: Chosen | None = None,
        *,
        coarse: bool = False,
    ) -> Fitted:
        """The vectors of the largest evidence, of the one kernel that made the columns."""
        del kernel
        columns: Any = self.columns
        if isinstance(columns, np.ndarray):
            columns = self._candidates(columns)
        return self.outputs.select(columns, self.problem, start, coarse=coarse)

    def choose_columns(self, *, nearest: bool) -> tuple[Chosen, SparsePosterior]:
        """The columns of the largest evidence in increasing order, and their posterior.

        Of a likelihood; with ``nearest`` it is the normal nearest to the posterior.
        """
        chosen, fit = self.select()
        assert fit is not None  # of a likelihood
        order, offset = np.argsort(chosen.places), self.problem.offset
        posterior = SparsePosterior.from_fit(chosen, fit, order, offset=offset, nearest=nearest)
        return chosen.reorder(order), posterior

    def _candidates(self, Z: Array) -> designs.CandidateColumns:
        return self.problem.standardize(designs.MatrixColumnSource(Z), self.outputs.weights)


Engine = KernelEngine | ColumnEngine
"""Columns of a kernel and outputs, and how vectors are chosen among them."""
