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
from posterity.classification.sparse_choice import SparseChoice
from posterity.inference.sparse_bayes import (
    Chooser,
    Chosen,
    DesignEngine,
    Engine,
    Fit,
    LaplaceEngine,
    LearnedVectors,
    PairEngine,
    fit_given_kernel,
    learn_kernel,
    limit_vectors,
)
from posterity.inference.weights import RowTargets, TalliedTargets
from posterity.models import streamed_rows

Found: TypeAlias = tuple[Chosen, Fit, NDArray[np.intp]]
"""The vectors, their model, and the order in which they now stand."""

_HELD_BYTES = 2**29  # of a kernel matrix; a larger one is made anew at every pass
_VALUES = 1 << 22  # of a larger one that are in memory at a time


class CandidateVectors(models.RelevanceModel, Classifier):
    """A classifier whose vectors are few of few candidates, wherever the rows are."""

    averaging: str

    def _found_on_workers(self, partitions: designs.Partitions, choice: SparseChoice) -> Found:
        """From rows that stay on the workers, where classes are counted, and numbered."""
        values, counts = partitions.tally()
        self._set_classes(values)
        _check_streamed(len(values), choice)
        encoded = partitions.counted().encoded(functools.partial(codes_of, values))
        targets = self._targets(
            TalliedTargets(streamed_rows.targets_of, np.arange(2.0), counts),
            designs.Along(streamed_rows.weights_of) if partitions.form.weighted else None,
        )
        rng = arrays.generator(self.random_state)
        pool = self._pool(models.PartitionRows(encoded), rng)
        kernel = self._learned(pool, targets, choice, rng)
        columns = models.CentredColumns(kernel, pool.centres, self.device)
        design = designs.DaskDesign(encoded.map(columns))
        chosen, fit = _settled(_design_engine(design, targets, choice), kernel, choice)
        order = self._adopt_candidates(kernel, chosen.places, pool)
        self.relevance_vectors_ = self._placed(self.relevance_vectors_)
        return chosen, fit, order

    def _found_among(
        self,
        given: models.GivenRows,
        training: models.Training,
        targets: RowTargets,
        choice: SparseChoice,
    ) -> Found:
        """From rows in memory, those that count beside all as they were given."""
        rng, rows = arrays.generator(self.random_state), training.rows
        pool = self._pool(given, rng, beside=rows)
        kernel = self._learned(pool, targets, choice, rng)
        if choice.alternating:
            columns = designs.KernelColumns(kernel, rows, pool.centres)
            candidates = designs.Candidates.of(columns, training.weights, centred=choice.offset)
            chosen, fit = choice.among(candidates, targets)
        elif isinstance(targets.likelihood, likelihoods.Bernoulli):
            # As rows on workers are asked, so that both find the same vectors.
            design = _design(kernel, pool.centres, rows)
            chosen, fit = _settled(_design_engine(design, targets, choice), kernel, choice)
        else:
            engine = _row_engine(rows, targets, choice, pool.centres, rng)
            chosen, fit = _settled(engine, kernel, choice)
        order = self._adopt_candidates(kernel, chosen.places, pool)
        if self.query_column:
            self.X_train_ = rows
        return chosen, fit, order

    def _learned(
        self,
        pool: models.Pool,
        targets: RowTargets,
        choice: SparseChoice,
        rng: np.random.Generator,
    ) -> kernels.Kernel:
        """The kernel of candidates in the units of X, learned from a sample where it can be."""
        if pool.sample is None:
            self.at_bounds_ = ()
            return self._bound_kernel()
        frame, training = self._frame_of_sample(pool)
        sampled = replace(targets, y=training.Y[:, 0], weights=training.weights)
        engine = _row_engine(frame.rows, sampled, choice, frame.of(pool.centres), rng)
        return self._adopt_kernel(frame, learn_kernel(engine, frame.kernel, rng=rng))

    def _targets(self, codes: Array | TalliedTargets, weights: designs.Values) -> RowTargets:
        return RowTargets.of(codes, weights, self._likelihood(), offset=self.fit_intercept)

    def _likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        return classes.likelihood_of(len(self.classes_), self.averaging)


def _check_streamed(n_classes: int, choice: SparseChoice) -> None:
    """Refuse what needs all rows in memory."""
    if n_classes > 2:
        raise ValueError(
            f"y holds {n_classes} classes; a choice of vectors for more than two needs all rows in "
            "memory: pass arrays, a sample of the rows for example."
        )
    if choice.alternating:
        raise ValueError(
            "algorithm='alternating' needs all rows in memory; use 'sequential' for Dask."
        )


def _settled(
    engine: Chooser[Any], kernel: kernels.Kernel, choice: SparseChoice
) -> tuple[Chosen, Fit]:
    """The vectors of a kernel that is known, no more than are allowed."""
    learned: LearnedVectors[Fit] = fit_given_kernel(engine, kernel)
    if choice.max_vectors is not None:
        learned = limit_vectors(engine, learned, choice.max_vectors)
    return learned.chosen, learned.fit


def _row_engine(
    rows: Any, targets: RowTargets, choice: SparseChoice, pool: Any, rng: np.random.Generator
) -> Engine[Any]:
    """Of rows in memory."""
    kind = PairEngine if choice.is_own(targets) else LaplaceEngine
    return kind(
        rows, targets, choice.offset, choice.prior, rng, max_iter=choice.max_iter, pool=pool
    )


def _design_engine(
    design: designs.Design, targets: RowTargets, choice: SparseChoice
) -> DesignEngine:
    """Of rows of two classes, anywhere."""
    return DesignEngine(design, targets, choice.offset, choice.prior, max_iter=choice.max_iter)


def _design(kernel: kernels.Kernel, centres: Any, rows: Any) -> designs.Design:
    """The columns about the centres: held where they fit, and made at every pass otherwise."""
    columns = models.CentredColumns(kernel, centres)
    M = kernels.rows.count(centres)
    if not isinstance(rows, np.ndarray) or 8 * len(rows) * M <= _HELD_BYTES:
        return designs.Dense(columns(rows))
    chunks = designs.Chunks.from_arrays(rows, rows=max(1, _VALUES // M))
    return designs.Chunked(chunks.map(columns))
