"""Bernoulli or categorical likelihood x sparse prior x a kernel's columns x the nearest normal."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions, kernels, models
from posterity.classification import classes
from posterity.classification.base import CLASS_DISTRIBUTION, LATENT_VALUES
from posterity.classification.candidate_vectors import CandidateVectors, Found
from posterity.classification.weight_model import SHARING, one_of
from posterity.inference.posterior import LatentMarginals
from posterity.inference.sparse_bayes import (
    KernelEngine,
    LatentOutputs,
    QueryColumn,
    SparsePosterior,
    SparseProblem,
    learn_proper_precisions,
)
from posterity.models import ModelCard


class RelevanceVectorClassifier(CandidateVectors):
    """Classification by few of the rows: latent functions are sums of a kernel about these.

    Every row offers a column ``kernel(X, row)``, whose weight has a prior precision of its own. The
    evidence is maximised over all precisions; for most rows it is infinite, and what is left are
    the relevance vectors, commonly far fewer than the support vectors of an SVM. Probabilities are
    averaged over the posterior of the weights, and prediction costs as much as there are vectors.

    Far from all vectors a local kernel is zero: the latent value is then the offset's, and *more*
    certain than near the rows, which no one should believe. ``query_column=True`` mends this.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Its parameters are learned,
        from where they are set, but for those held by ``kernel.fixed()``. A function of two blocks
        of rows, which need not be positive definite, has nothing to learn. None: an ``RBF`` of one
        width in columns of unit variance.
    vectors : {"shared", "per_class"}, default="shared"
        For more than two classes. A shared vector has one precision and a weight in every class, so
        that prediction is cheapest and a vector serves all classes or none. With "per_class" each
        class chooses its own, which shows what tells a class from the others and commonly keeps
        more vectors in total.
    degrees_of_freedom : float, default=0.0
        Of the Student-t prior of each weight, whose scale is one for columns of unit variance. Zero
        is the limit that prefers no size of a weight.
    fit_intercept : bool, default=True
        Add an offset to each latent value, with a prior worth one row, and centre the columns.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`.
    max_vectors : int, optional
        As many as a prediction may cost. Where the evidence asks for more, rows are counted less
        until it does not; what is chosen then learns from all rows. None: no limit.
    query_column : bool, default=False
        Give the model at each query one more column, the kernel about the query, so that far from
        the rows the latent value is as uncertain as the prior. Keeps all rows, and a prediction
        costs as much as there are rows.
    algorithm : {"sequential", "alternating"}, default="sequential"
        Vectors are added, re-estimated and deleted one at a time, beginning with none; or, once
        the kernel is found in this way, by the textbook's alternation, beginning with all rows, of
        which there may be a few thousand.
    max_iter : int, default=1000
        Passes over the rows.
    random_state : int, Generator or None, default=None
        Of the rows on which kernels are compared, where there are more than a thousand, and of the
        order in which columns are made where they do not fit into memory.
    device : str, optional
        Where kernels are worked out, such as "cuda". None: where the rows are.
    inference : {"auto", "laplace"}, default="auto"
        Vectors and kernel are chosen by Laplace's evidence. "auto" ends with the normal nearest to
        the posterior of the weights, as in :class:`BayesianLogisticRegression`; of two classes, at
        precisions learned anew under a prior in which large weights are those of a Cauchy
        distribution. "laplace" ends with Laplace's normal at the precisions of the choice.
    candidates : int, or array-like of shape (M, D), optional
        What may become a vector. None: any row. A number: so many rows, drawn at random. Else these
        rows, which need not be rows of X. Rows of two classes may then lie in Dask collections, for
        which candidates must be given. A kernel is learned on 5,000 rows at most, drawn at random;
        vectors are chosen by all rows.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    kernel_ : Kernel
        With every parameter set or learned.
    relevance_ : array of shape (m,)
        The numbers of the rows that are kept, in increasing order; of equal rows the first. Where
        ``candidates`` are given as rows, the numbers of those.
    relevance_vectors_ : array of shape (m, D), or list
        These rows.
    dual_coef_ : array of shape (1, m) or (C, m)
        Posterior mean of the weights of the kernel about each vector: of the second class of two,
        or of each of several, zero where a class does not use a vector.
    intercept_ : array of shape (1,) or (C,)
        Posterior mean of the offsets.
    precision_ : array of shape (m,) or (m, C)
        Prior precision of the weights, for columns of unit variance. With ``vectors="per_class"``
        of each class, infinite where it does not use the vector. Of two classes it is at least
        1e-4: classes that can be told apart would have weights without end.
    log_evidence_ : float
        Log marginal likelihood of all rows at these precisions, to Laplace's approximation.
    posterior_ : SparsePosterior
        The posterior of the weights, as prediction uses it.
    n_iter_, stop_reason_
        Of the search for the vectors, at the kernel that was found.
    at_bounds_ : tuple of str
        Parameters of the kernel that ended at a bound of their search, and which bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RelevanceVectorClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> model = RelevanceVectorClassifier().fit(X, np.hypot(*X.T) > 1.0)
    >>> len(model.relevance_) < 10
    True
    >>> model.predict([[0.0, 0.0], [0.0, 2.0]])
    array([False,  True])
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="Student-t (precision per weight)",
        feature_space="kernel columns, few rows kept",
        inference="variational or Laplace, precisions and kernel by evidence",
        advice="a smooth border that must predict fast from a small file",
        page="sparse",
    )

    posterior_: SparsePosterior
    _query: QueryColumn | None
    inference: str = "auto"  # of models in files that were written before there was a choice

    def __init__(
        self,
        kernel: Any = None,
        *,
        vectors: str = "shared",
        degrees_of_freedom: float = 0.0,
        fit_intercept: bool = True,
        averaging: str = "exact",
        max_vectors: int | None = None,
        query_column: bool = False,
        algorithm: str = "sequential",
        max_iter: int = 1000,
        random_state: Any = None,
        device: str | None = None,
        inference: str = "auto",
        candidates: Any = None,
    ) -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.degrees_of_freedom = degrees_of_freedom
        self.fit_intercept = fit_intercept
        self.averaging = averaging
        self.max_vectors = max_vectors
        self.query_column = query_column
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device
        self.inference = inference
        self.candidates = candidates

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), a sequence of N objects, or Dask's
            Inputs. Rows of a Dask array or data frame stay on the workers, with those of y and
            weights; this needs ``candidates``, and two classes.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        problem = self._problem()
        nearest = classes.wants_nearest(self.inference, self.averaging)
        source = models.streamed(X, y, sample_weight)
        if source is None:
            chosen, fit, order = self._found(X, y, sample_weight, problem)
        else:
            chosen, fit, order = self._found_on_workers(self._on_workers(source), problem)
        models.report_choice(self, chosen, "vector", calls=2)
        if nearest and len(self.classes_) == 2:
            chosen, fit = learn_proper_precisions(chosen, fit, problem.prior)
        posterior = SparsePosterior.of(
            chosen,
            fit,
            order,
            offset=self.fit_intercept,
            nearest=nearest,
        )
        self._query = self._query_column(posterior) if self.query_column else None
        self._publish(posterior.without_rows())
        return self

    def _found(self, X: Any, y: Any, sample_weight: Any, problem: SparseProblem) -> Found:
        """The vectors of rows in memory."""
        rows = self._check_rows(X, reset=True)
        weights = models.checked_weights(sample_weight, kernels.rows.count(rows))
        codes = self._learn_classes(y, len(weights), weights)
        given = models.GivenRows(rows, codes[:, None], weights)
        training = given.present()
        if not self._kernel_given().tells_rows_apart:
            training = models.arranged(training.merged())
        targets = self._targets(training.Y[:, 0], training.weights)
        if self.query_column and problem.own_columns and len(self.classes_) > 2:
            raise ValueError(
                "query_column=True is for vectors that the classes share; use vectors='shared'."
            )
        if self.candidates is not None:
            return self._found_among(given, training, targets, problem)
        frame, rng = self._frame(training), arrays.generator(self.random_state)
        engine = KernelEngine(frame.rows, LatentOutputs(targets), problem, rng)
        learned = self._choose(engine, frame.kernel, rng)
        assert learned.fit is not None
        kernel = self._adopt_kernel(frame, learned)
        order = self._adopt_vectors(kernel, learned.chosen.places, training)
        return learned.chosen, learned.fit, order

    def _query_column(self, posterior: SparsePosterior) -> QueryColumn:
        A = posterior.fit.problem.design.rows(0, posterior.fit.problem.design.n_rows)
        return QueryColumn.of_fit(
            self.kernel_, self.X_train_, A, posterior.fit, centred=self.fit_intercept
        )

    def _problem(self) -> SparseProblem:
        return SparseProblem(
            self._checked_prior(),
            self.fit_intercept,
            max_iter=self.max_iter,
            own_columns=one_of(self.vectors, "vectors", SHARING) == "per_class",
        )

    def _publish(self, posterior: SparsePosterior) -> None:
        self.posterior_, self.precision_ = posterior, posterior.precision
        self.log_evidence_ = posterior.log_evidence
        coef, self.intercept_ = posterior.original()
        self.dual_coef_ = np.ascontiguousarray(coef.T)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        latent = self._latent(X)
        return classes.predict_classes(self._likelihood(), latent, ranked=self._ranks_classes)

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent function at each row: of the second class, (n,), or of each of C, (n, C)."""
        return classes.latent_normal(self._latent(X))

    def _latent(self, X: Any) -> LatentMarginals:
        check_is_fitted(self, "posterior_")
        rows = self._queries(X)
        Z = self._columns_at(rows)
        f = self.posterior_.latent(Z)
        if self._query is None:
            return f
        Q = self.posterior_.contrasts
        step, spread = self._query.changes(rows, self.posterior_.rows(Z))
        mean = f.mean + step[:, :, 0] @ Q.T
        return LatentMarginals.coupled(mean, f.covariance + Q @ spread @ Q.T)
