"""Fits of relevance vectors that are chosen among candidates, not among all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from posterity import arrays, designs, kernels, models
from posterity.inference.sparse_bayes import (
    ColumnEngine,
    KernelEngine,
    SparseProblem,
    choose_vectors,
)
from posterity.regression import sparse_noise
from posterity.regression.sparse_linear import EqualRows
from posterity.regression.sparse_noise import Noise
from posterity.regression.statistics_engine import BlockStatistics
from posterity.regression.vector_model import VectorModel


class CandidateVectors(VectorModel):
    """A regressor whose vectors are few of few candidates, wherever the rows are."""

    noise_variance: float | None

    def _fit_partitions(self, partitions: designs.Partitions, known_noise: Any) -> Self:
        """From rows that stay on the workers."""
        if known_noise is not None:
            raise ValueError(
                "Dask collections bring targets and weights: noise_variance by row is for rows in "
                "memory."
            )
        models.given_variance(self.noise_variance, "noise_variance")  # refused before rows are read
        self._single_output = partitions.form.target_shape == ()
        rng, source = arrays.generator(self.random_state), models.PartitionRows(partitions)
        pool = self._pool(source, rng)
        kernel = self._learned(pool, rng)
        columns = models.CentredColumns(kernel, pool.centres, self.device)
        statistics = partitions.reduce(
            BlockStatistics(columns, self.fit_intercept), designs.Statistics.merge
        )
        self._settle_by(statistics, kernel, pool)
        self.relevance_vectors_ = self._placed(self.relevance_vectors_)
        return self

    def _fit_among(self, given: models.GivenRows, training: models.Training) -> None:
        """From rows in memory, those that count beside all as they were given."""
        rng = arrays.generator(self.random_state)
        pool = self._pool(given, rng, beside=training.rows)
        kernel = self._learned(pool, rng)
        columns = models.CentredColumns(kernel, pool.centres)
        statistics = BlockStatistics(columns, self.fit_intercept).of(
            training.rows, training.Y, training.weights, training.known_noise
        )
        self._settle_by(statistics, kernel, pool, by_row=training.known_noise is not None)
        if self.query_column:
            self.X_train_ = training.rows
            self._keep_query(training, self._columns_at(training.rows))

    def _learned(self, pool: models.Pool, rng: np.random.Generator) -> kernels.Kernel:
        """The kernel of candidates in the units of X, learned from a sample where it can be."""
        if pool.sample is None:
            self.at_bounds_ = ()
            return self._bound_kernel()
        frame, training = self._frame_of_sample(pool)
        engine = self._engine(frame, training, self._noise_of(training), rng)
        about = replace(engine, pool=frame.of(pool.centres))
        return self._adopt_kernel(frame, choose_vectors(about, frame.kernel, rng=rng))

    def _settle_by(
        self,
        statistics: designs.Statistics,
        kernel: kernels.Kernel,
        pool: models.Pool,
        *,
        by_row: bool = False,
    ) -> None:
        """Choose vectors by what all rows say of the columns of all candidates."""
        if not statistics.count > 0.0:
            raise ValueError("All rows have weight zero; give some of them a positive one.")
        rows = EqualRows.of(statistics, centred=self.fit_intercept)
        noise = self._noise(statistics.count, rows.total, by_row=by_row)
        engine = ColumnEngine(rows.Z, noise.outputs(rows.Y, rows.weights), self._problem())
        found = choose_vectors(
            engine,
            kernel,
            max_vectors=self.max_vectors,
            alternating=self.algorithm == "alternating",
        ).chosen
        chosen = found.reorder(self._adopt_candidates(kernel, found.places, pool))
        models.report_choice(self, chosen, "vector", calls=3)
        kept = statistics.selected(chosen.places)
        self._conclude(kept, chosen, noise, by_row=by_row)

    def _noise_of(self, training: models.Training) -> Noise:
        """What is known of the noise of rows in memory."""
        return self._noise(
            float(np.sum(training.weights)),
            float(np.sum(training.importance)),
            by_row=training.known_noise is not None,
        )

    def _noise(self, count: float, total: float, *, by_row: bool) -> Noise:
        given = models.given_variance(self.noise_variance, "noise_variance")
        return Noise.of(given, by_row=by_row, count=count, total=total)

    def _engine(
        self,
        frame: models.Frame,
        training: models.Training,
        noise: Noise,
        rng: np.random.Generator,
    ) -> KernelEngine:
        about = training.Y - training.Y[0] if self.fit_intercept else training.Y
        outputs = noise.outputs(about, training.importance)
        return KernelEngine(frame.rows, outputs, self._problem(), rng)

    def _problem(self) -> SparseProblem:
        return SparseProblem(
            self._checked_prior(), self.fit_intercept, sparse_noise.TOL, self.max_iter
        )
