"""What models that keep a few of their rows, the relevance vectors, have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, designs, kernels, optimize, page_forms, priors, validation
from posterity.arrays import namespace
from posterity.constructors import declare_parameters, field
from posterity.models import kernel_model, streamed_rows
from posterity.models.fitted import FittedAttribute, is_fitted, report_kernel_bounds
from posterity.models.kernel_model import KernelFrame, KernelModel
from posterity.models.training import Training
from posterity.page_forms import Form
from posterity.sparse import (
    Chosen,
    Engine,
    KernelEngine,
    LearnedVectors,
    Outputs,
    SparseProblem,
    candidate_rows,
    kernel_search,
)
from posterity.sparse.candidate_rows import CandidatePool
from posterity.sparse.default_kernel import learn_default_kernel
from posterity.sparse.vector_fit import FoundVectors, VectorFit


@declare_parameters
class RelevanceModel(KernelModel):
    """A model whose functions are sums of few columns ``kernel_(X, relevance_vectors_)``.

    Attributes
    ----------
    relevance_vectors_ : array of shape (m, D), or list
        These rows.
    n_iter_, stop_reason_
        Of the search for the vectors, at the kernel that was found.
    at_bounds_ : tuple of str
        Parameters of the kernel that ended at a bound of their search, and which bound.
    """

    kernel: Any = field(default=None, kw_only=False)
    degrees_of_freedom: float = 0.0
    fit_intercept: bool = True
    max_vectors: int | None = None
    query_column: bool = False
    max_iter: int = 1000
    random_state: Any = None
    device: str | None = None
    inference: str = "auto"
    candidates: Any = None
    hyperparameters: str = "average"

    kernel_ = FittedAttribute()
    relevance_ = FittedAttribute()
    relevance_vectors_ = FittedAttribute()
    posterior_ = FittedAttribute()
    dual_coef_ = FittedAttribute()
    intercept_ = FittedAttribute()
    precision_ = FittedAttribute()
    log_evidence_ = FittedAttribute()
    n_iter_ = FittedAttribute()
    stop_reason_ = FittedAttribute()
    at_bounds_ = FittedAttribute()
    X_train_ = FittedAttribute()
    _fitted: VectorFit = field(init=False)

    def _check_prior(self) -> priors.Sparse:
        """The prior of the weights, once all choices were found valid."""
        validation.check_count(self.max_iter, "max_iter")
        if self.max_vectors is not None:
            validation.check_count(self.max_vectors, "max_vectors")
        return priors.Sparse(self.degrees_of_freedom)

    def _build_frame(self, training: Training) -> KernelFrame:
        """Frame in which the kernel is learned; without one, of columns of unit variance."""
        given = None if self.kernel is None else self._bind_kernel()
        return KernelFrame.for_kernel(given, training.rows, training.weights)

    def _find_among_rows(
        self, training: Training, outputs: Outputs, problem: SparseProblem
    ) -> FoundVectors:
        """Learn the kernel, and choose vectors among all rows."""
        frame, rng = self._build_frame(training), arrays.generator(self.random_state)
        engine = KernelEngine(frame.rows, outputs, problem, rng)
        learned = self._limit(engine, _learn_kernel(engine, frame.given_kernel, rng))
        places, bounds = learned.chosen.places, report_kernel_bounds(learned, learned.kernel)
        numbers = _number_first_equal(training, places)
        order = np.argsort(numbers, kind="stable")
        rows = kernels.rows.select_rows(training.rows, places[order])
        kernel = frame.restore_kernel_units(learned.kernel)
        return FoundVectors(kernel, bounds, learned, numbers[order], rows, order)

    def _learn_kernel(
        self,
        pool: CandidatePool,
        make_outputs: Callable[[Training], Outputs],
        problem: SparseProblem,
        rng: np.random.Generator,
    ) -> tuple[kernels.Kernel, tuple[str, ...]]:
        """The kernel of candidates in the units of X, learned from a sample where it can be.

        Also which of its parameters ended at a bound.
        """
        if pool.sample is None:
            return self._bind_kernel(), ()
        training = self._arrange_rows(pool.sample)
        frame, outputs = self._build_frame(training), make_outputs(training)
        engine = KernelEngine(frame.rows, outputs, problem, rng, frame.transform_rows(pool.centres))
        learned = _learn_kernel(engine, frame.given_kernel, rng)
        kernel = frame.restore_kernel_units(learned.kernel)
        return kernel, report_kernel_bounds(learned, learned.kernel)

    def _find_among_candidates(
        self,
        engine: Engine,
        kernel: kernels.Kernel,
        at_bounds: tuple[str, ...],
        pool: CandidatePool,
    ) -> FoundVectors:
        """Choose vectors of a kernel that is known among candidates."""
        learned = self._limit(engine, kernel_search.fit_given_kernel(engine, kernel))
        places = learned.chosen.places
        order = np.argsort(pool.numbers[places], kind="stable")
        numbers = pool.numbers[places[order]]
        rows = kernels.rows.select_rows(pool.centres, places[order])
        return FoundVectors(kernel, at_bounds, learned, numbers, rows, order)

    def _limit(self, engine: Engine, learned: LearnedVectors) -> LearnedVectors:
        """No more vectors than a prediction may cost."""
        most = self.max_vectors
        return learned if most is None else kernel_search.limit_vectors(engine, learned, most)

    def _arrange_rows(self, training: Training, *, counts_copies: bool = True) -> Training:
        """Equal rows made one, where the kernel does not tell them apart, in an order of their own.

        Then neither repetitions nor the order that rows came in make a difference. Copies need not
        count as further observations, which would make noise that is learned low.
        """
        if self._get_kernel().tells_rows_apart:
            return arrange_rows(training)
        merged = arrange_rows(training.merge_equal_rows())
        return merged if counts_copies else merged.count_copies_once()

    def _fit_on_workers(self, source: Any) -> designs.Partitions:
        """Rows that stay on the workers, where that can be; the model learns their columns."""
        if not isinstance(source, designs.Partitions):
            raise TypeError(
                f"{type(self).__name__} reads no chunks: pass arrays, or Dask collections."
            )
        if self._takes_objects:
            raise ValueError(
                f"The kernel {self.kernel} compares objects, which Dask collections do not hold."
            )
        if self.candidates is None:
            raise ValueError(
                "Rows on workers cannot all become vectors: give candidates=, a number of rows to "
                "draw, such as 500, or the rows themselves."
            )
        if self.query_column:
            raise ValueError("query_column=True keeps all rows, so that they must be in memory.")
        if source.form.target_shape is None:
            raise ValueError("The rows have no targets: pass y, a Dask collection like X.")
        self._check_prior()
        streamed_rows.learn_columns(self, source)
        return source

    def _draw_candidates(
        self, source: candidate_rows.RowSource, rng: np.random.Generator, beside: Any = None
    ) -> CandidatePool:
        """The candidates, beside rows in memory, and a sample where their kernel is learned."""
        asked, kernel = self.candidates, self._bind_kernel()
        candidate_rows.check_candidates(asked)
        unset = any(value is None for value in kernel.get_params().values())
        given = asked if candidate_rows.is_count(asked) else self._check_candidates(beside)
        return CandidatePool.draw(given, source, rng, learns=bool(unset or kernel.names))

    def _check_candidates(self, beside: Any) -> Any:
        """Rows of as many columns as those of the fit."""
        if self._takes_objects:
            return list(self.candidates)
        if kernel_model.is_on_device(self.candidates):
            return self._check_rows(self.candidates)
        try:
            rows = validation.check_X(seen := BaseEstimator(), self.candidates, reset=True)
        except ValueError as error:
            raise ValueError(f"In candidates: {error}") from error
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"candidates have {rows.shape[1]} columns, but X has {self.n_features_in_}."
            )
        own, others = (list(getattr(one, "feature_names_in_", ())) for one in (seen, self))
        if own and others and own != others:
            raise ValueError(f"candidates have the columns {own}, but X has {others}.")
        return rows if beside is None else arrays.like(beside, rows)

    def _check_queries(self, X: Any) -> Any:
        """Checked rows, where the vectors are."""
        return self._check_rows(X, beside=self._get_fit().relevance_vectors)

    def _get_fit(self) -> VectorFit:
        check_is_fitted(self)
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)

    def _page_columns(self) -> Form:
        """Return the form of the kernel columns; raise where each query is fitted separately."""
        if self.query_column:
            raise page_forms.NoFormError("With query_column=True every query is fitted separately.")
        return self.kernel_.form_columns(self.relevance_vectors_)


def _learn_kernel(
    engine: KernelEngine, kernel: kernels.Kernel | None, rng: np.random.Generator
) -> LearnedVectors:
    """The vectors of a kernel, and the kernel; without one, of an RBF of columns of unit variance.

    The generator draws the rows on which kernels are compared.
    """
    if kernel is None:
        return learn_default_kernel(engine, rng=rng)
    return kernel_search.learn_kernel(engine, kernel, rng=rng)


def arrange_rows(training: Training) -> Training:
    """The same rows in an order of their own, so that the one they came in makes no difference.

    Sums are rounded in another way where rows come in another order, and where many choices of
    vectors are almost as good as each other that decides. Objects have no order.
    """
    if not isinstance(training.rows, np.ndarray):
        return training
    known = training.known_noise
    order = np.lexsort(training.columns.T[::-1])
    return replace(
        training,
        rows=training.rows[order],
        Y=training.Y[order],
        weights=training.weights[order],
        known_noise=None if known is None else known[order],
        places=np.argsort(order)[training.places],
    )


def report_choice(chosen: Chosen, kind: str, max_iter: int) -> tuple[int, str]:
    """How many passes the search took and why it ended; warns where that is not at a maximum."""
    if not chosen.converged:
        advice = ": raise max_iter" if chosen.n_iter >= max_iter else ""
        message = f"{chosen.stop_reason}{advice}."
        callers.warn_caller(message, optimize.ConvergenceWarning)
    elif not len(chosen.places):
        return max(1, chosen.n_iter), f"no {kind} raises the evidence, and none is kept"
    return max(1, chosen.n_iter), chosen.stop_reason


def _number_first_equal(training: Training, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return numbers of the first given rows equal to those at these places."""
    firsts = np.full(len(training.Y), np.iinfo(np.intp).max, dtype=np.intp)
    np.minimum.at(firsts, training.places, training.numbers)
    rows = training.rows
    if not array_api_compat.is_array_api_obj(rows):
        return firsts[places]
    xp = namespace(rows)
    equal = (arrays.to_numpy(xp.all(rows == rows[int(i), :], axis=1)) for i in places)
    return np.array([np.min(firsts[same]) for same in equal], dtype=np.intp)
