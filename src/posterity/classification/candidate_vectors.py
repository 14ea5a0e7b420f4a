"""Fits of relevance vectors that are chosen among candidates, not among all rows."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import arrays, designs, kernels, likelihoods, models
from posterity.arrays import Array
from posterity.classification import classes
from posterity.classification.base import Classifier, codes_of
from posterity.inference.sparse_bayes import (
    Chosen,
    ColumnEngine,
    KernelEngine,
    LatentOutputs,
    LearnedVectors,
    SparseProblem,
    choose_vectors,
)
from posterity.inference.weights import LaplaceFit, RowTargets, TalliedTargets
from posterity.models import streamed_rows

Found: TypeAlias = tuple[Chosen, LaplaceFit, NDArray[np.intp]]
"""The vectors, their model, and the order in which they now stand."""

_HELD_BYTES = 2**29  # of a kernel matrix; a larger one is made anew at every pass
_VALUES = 1 << 22  # of a larger one that are in memory at a time


class CandidateVectors(models.RelevanceModel, Classifier):
    """A classifier whose vectors are few of few candidates, wherever the rows are."""

    averaging: str

    def _found_on_workers(self, partitions: designs.Partitions, problem: SparseProblem) -> Found:
        """From rows that stay on the workers, where classes are counted, and numbered."""
        values, counts = partitions.tally()
        self._set_classes(values)
        self._check_streamed(len(values))
        encoded = partitions.counted().encoded(functools.partial(codes_of, values))
        targets = self._targets(
            TalliedTargets(streamed_rows.targets_of, np.arange(2.0), counts),
            designs.Along(streamed_rows.weights_of) if partitions.form.weighted else None,
        )
        rng = arrays.generator(self.random_state)
        pool = self._pool(models.PartitionRows(encoded), rng)
        kernel = self._learned(pool, targets, problem, rng)
        columns = models.CentredColumns(kernel, pool.centres, self.device)
        design = designs.DaskDesign(encoded.map(columns))
        engine = ColumnEngine(design, LatentOutputs(targets), problem)
        learned = self._choose(engine, kernel)
        order = self._adopt_candidates(kernel, learned.chosen.places, pool)
        self.relevance_vectors_ = self._placed(self.relevance_vectors_)
        assert learned.fit is not None
        return learned.chosen, learned.fit, order

    def _found_among(
        self,
        given: models.GivenRows,
        training: models.Training,
        targets: RowTargets,
        problem: SparseProblem,
    ) -> Found:
        """From rows in memory, those that count beside all as they were given."""
        rng, rows = arrays.generator(self.random_state), training.rows
        pool = self._pool(given, rng, beside=rows)
        kernel = self._learned(pool, targets, problem, rng)
        outputs = LatentOutputs(targets)
        engine: ColumnEngine | KernelEngine = KernelEngine(
            rows, outputs, problem, rng, pool.centres
        )
        if isinstance(targets.likelihood, likelihoods.Bernoulli) and not self._alternates:
            # As rows on workers are asked, so that both find the same vectors.
            engine = ColumnEngine(_design(kernel, pool.centres, rows), outputs, problem)
        learned = self._choose(engine, kernel)
        order = self._adopt_candidates(kernel, learned.chosen.places, pool)
        if self.query_column:
            self.X_train_ = rows
        assert learned.fit is not None
        return learned.chosen, learned.fit, order

    @property
    def _alternates(self) -> bool:
        return self.algorithm == "alternating"

    def _choose(
        self,
        engine: ColumnEngine | KernelEngine,
        kernel: kernels.Kernel,
        rng: np.random.Generator | None = None,
    ) -> LearnedVectors:
        return choose_vectors(
            engine,
            kernel,
            rng=rng,
            max_vectors=self.max_vectors,
            alternating=self._alternates,
        )

    def _learned(
        self,
        pool: models.Pool,
        targets: RowTargets,
        problem: SparseProblem,
        rng: np.random.Generator,
    ) -> kernels.Kernel:
        """The kernel of candidates in the units of X, learned from a sample where it can be."""
        if pool.sample is None:
            self.at_bounds_ = ()
            return self._bound_kernel()
        frame, training = self._frame_of_sample(pool)
        sampled = replace(targets, y=training.Y[:, 0], weights=training.weights)
        about = frame.of(pool.centres)
        engine = KernelEngine(frame.rows, LatentOutputs(sampled), problem, rng, about)
        return self._adopt_kernel(frame, choose_vectors(engine, frame.kernel, rng=rng))

    def _check_streamed(self, n_classes: int) -> None:
        """Refuse what needs all rows in memory."""
        if n_classes > 2:
            raise ValueError(
                f"y holds {n_classes} classes; a choice of vectors for more than two needs all "
                "rows in memory: pass arrays, a sample of the rows for example."
            )
        if self._alternates:
            raise ValueError(
                "algorithm='alternating' needs all rows in memory; use 'sequential' for Dask."
            )

    def _targets(self, codes: Array | TalliedTargets, weights: designs.Values) -> RowTargets:
        return RowTargets.of(codes, weights, self._likelihood(), offset=self.fit_intercept)

    def _likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        return classes.likelihood_of(len(self.classes_), self.averaging)


def _design(kernel: kernels.Kernel, centres: Any, rows: Any) -> designs.Design:
    """The columns about the centres: held where they fit, and made at every pass otherwise."""
    columns = models.CentredColumns(kernel, centres)
    M = kernels.rows.count(centres)
    if not isinstance(rows, np.ndarray) or 8 * len(rows) * M <= _HELD_BYTES:
        return designs.Dense(columns(rows))
    chunks = designs.Chunks.from_arrays(rows, rows=max(1, _VALUES // M))
    return designs.Chunked(chunks.map(columns))
