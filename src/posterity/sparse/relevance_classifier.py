"""Bernoulli or categorical likelihood x sparse prior x a kernel's columns x the nearest normal."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from posterity import (
    arrays,
    designs,
    distributions,
    kernels,
    likelihoods,
    models,
    page_forms,
    sparse,
    validation,
)
from posterity.constructors import declare_parameters
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.weights import LaplaceFit, RowTargets, TalliedTargets
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard, classes
from posterity.models.classifier import (
    CLASS_DISTRIBUTION,
    LATENT_VALUES,
    Classifier,
    encode_classes,
)
from posterity.page_forms import Form
from posterity.sparse import (
    ColumnEngine,
    KernelEngine,
    LatentOutputs,
    SparsePosterior,
    SparseProblem,
    average_vectors,
    learn_proper_precisions,
)


@declare_parameters
class RelevanceVectorClassifier(sparse.RelevanceModel, Classifier):
    """Classification by few of the rows: latent functions are sums of a kernel about these.

    Every row offers a column ``kernel(X, row)``, whose weight has a prior precision of its own. The
    evidence is maximised over all precisions; for most rows it is infinite, and what is left are
    the relevance vectors, commonly far fewer than the support vectors of an SVM. Probabilities are
    averaged over the posterior of the weights, and prediction costs as much as there are vectors.

    Far from all vectors a local kernel is zero: the latent value is then the intercept's, and
    *more* certain than near the rows, which is wrong. ``query_column=True`` corrects this.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Its parameters are learned,
        from where they are set, but for those held by ``kernel.fixed()``. A function of two blocks
        of rows, which need not be positive definite, has nothing to learn. None: an ``RBF``
        with one length scale in columns of unit variance, or with one for each, from those of a
        Gaussian process on.
    vectors : {"shared", "per_class"}, default="shared"
        For more than two classes. A shared vector has one precision and a weight in every class, so
        that prediction is cheapest and a vector serves all classes or none. With "per_class" each
        class chooses its own, which shows what tells a class from the others and commonly keeps
        more vectors in total. From eight classes on, weights of different classes that share
        vectors are independent in the posterior, which costs far less.
    degrees_of_freedom : float, default=0.0
        Of the Student-t prior of each weight, whose scale is one for columns of unit variance. Zero
        is the limit that prefers no size of a weight.
    fit_intercept : bool, default=True
        Add an intercept to each latent value, with a prior worth one row, and centre the columns.
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
        Rows that may become vectors. None: all rows. A number: this many, drawn at random. Else
        these rows, which need not be rows of X. Rows of two classes may then be Dask collections,
        for which candidates must be given. A kernel is learned on 5,000 rows at most, drawn at
        random; vectors are chosen by all rows.
    hyperparameters : {"average", "maximise"}, default="average"
        Of two classes with at most a few hundred rows, with ``inference="auto"`` and without
        ``query_column``. "average": probabilities average over which of the vectors have a weight,
        and over the prior variance of these. "maximise": they take vectors and precisions as known,
        which is too sure where rows are few.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    kernel_ : Kernel
        With every parameter set or learned.
    relevance_ : array of shape (m,)
        The numbers of the rows that are kept, in increasing order; of equal rows the first. Where
        ``candidates`` are given as rows, the numbers of those.
    dual_coef_ : array of shape (1, m) or (C, m)
        Posterior mean of the weights of the kernel about each vector: of the second class of two,
        or of each of several, zero where a class does not use a vector.
    intercept_ : array of shape (1,) or (C,)
        Posterior mean of the intercepts.
    precision_ : array of shape (m,) or (m, C)
        Prior precision of the weights, for columns of unit variance. With ``vectors="per_class"``
        of each class, infinite where it does not use the vector. Of two classes it is at least
        1e-4: separable classes would have infinite weights.
    log_evidence_ : float
        Log marginal likelihood of all rows at these precisions, to Laplace's approximation.
    posterior_ : SparsePosterior or PosteriorMixture
        The posterior of the weights, as prediction uses it; the second where it is averaged.

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

    vectors: str = "shared"
    averaging: str = "exact"

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="Student-t (precision per weight)",
        feature_space="kernel columns, few rows kept",
        inference="variational or Laplace, precisions and kernel by evidence",
        advice="a smooth decision boundary that must predict fast from a small file",
        page="sparse",
        candidates=(
            Member(
                "vectors",
                180,
                "N^2 + N m^2, m rows kept",
                {"kernel": kernels.RBF().fixed()},
                inference="variational or Laplace, precisions by evidence",
                usual_rows=2e3,
                most_rows=5 * MOST_KERNEL_ROWS,
            ),
            Member(
                "vectors-learned",
                190,
                "N^2 + N m^2 a kernel tried",
                advice="the same, where the width of the kernel matters",
                most_rows=MOST_KERNEL_ROWS,
            ),
        ),
    )

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
        averages = check_hyperparameters(self.hyperparameters)
        source = models.find_streamed_source(X, y, sample_weight)
        if source is None:
            found, kept = self._find_vectors(X, y, sample_weight, problem)
        else:
            found, kept = self._find_on_workers(self._fit_on_workers(source), problem), None
        chosen, fit = found.learned.chosen, found.fit
        search = sparse.report_choice(chosen, "vector", self.max_iter)
        if nearest and len(self.classes_) == 2:
            assert isinstance(fit, LaplaceFit)
            chosen, fit = learn_proper_precisions(chosen, fit, problem.prior)
        posterior = SparsePosterior.from_fit(
            chosen, fit, found.order, offset=self.fit_intercept, nearest=nearest
        )
        self._fitted = sparse.VectorFit.from_posterior(found, posterior, search, kept=kept)
        if averages and nearest and len(self.classes_) == 2 and kept is None:
            average = average_vectors(posterior)
            if average is not None:
                self._fitted = self._fitted.with_average(average)
        return self

    def _find_vectors(
        self, X: Any, y: Any, sample_weight: Any, problem: SparseProblem
    ) -> tuple[sparse.FoundVectors, Any]:
        """The vectors of rows in memory, and these rows where they are to be kept."""
        rows = self._check_rows(X, reset=True)
        weights = models.check_row_weights(sample_weight, kernels.rows.count_rows(rows))
        codes = self._learn_classes(y, len(weights), weights)
        given = sparse.GivenRows(rows, codes[:, None], weights)
        training = models.Training.from_classes(rows, codes, weights)
        if not self._get_kernel().tells_rows_apart:
            training = sparse.arrange_rows(training.merge_equal_rows())
        if self.query_column and problem.own_columns and len(self.classes_) > 2:
            raise ValueError(
                "query_column=True is for vectors that the classes share; use vectors='shared'."
            )
        outputs = LatentOutputs(self._targets(training.Y[:, 0], training.weights))
        kept = training.rows if self.query_column else None
        if self.candidates is None:
            return self._find_among_rows(training, outputs, problem), kept
        rng = arrays.generator(self.random_state)
        pool = self._draw_candidates(given, rng, beside=training.rows)
        kernel, at_bounds = self._learn_kernel(pool, self._sampled(outputs), problem, rng)
        engine: KernelEngine | ColumnEngine = KernelEngine(
            training.rows, outputs, problem, rng, pool.centres
        )
        if len(self.classes_) == 2:
            # As rows on workers are asked, so that both find the same vectors.
            design = sparse.make_kernel_design(kernel, pool.centres, training.rows)
            engine = ColumnEngine(design, outputs, problem)
        return self._find_among_candidates(engine, kernel, at_bounds, pool), kept

    def _find_on_workers(
        self, partitions: designs.Partitions, problem: SparseProblem
    ) -> sparse.FoundVectors:
        """Find vectors of rows that stay on the workers, where classes are counted and numbered."""
        values, counts = partitions.count_targets()
        self._set_classes(values)
        self._check_streamed()
        encoded = partitions.with_row_numbers().encode_targets(
            functools.partial(encode_classes, values)
        )
        tallied = TalliedTargets(models.check_targets, np.arange(2.0), counts)
        outputs = LatentOutputs(self._targets(tallied, partitions.weights))
        rng = arrays.generator(self.random_state)
        pool = self._draw_candidates(sparse.PartitionRows(encoded), rng)
        kernel, at_bounds = self._learn_kernel(pool, self._sampled(outputs), problem, rng)
        columns = sparse.CentredColumns(kernel, pool.centres, self.device)
        engine = ColumnEngine(designs.Streamed(encoded.map(columns)), outputs, problem)
        found = self._find_among_candidates(engine, kernel, at_bounds, pool)
        return replace(found, rows=self._place_rows(found.rows))

    def _sampled(self, outputs: LatentOutputs) -> Callable[[models.Training], LatentOutputs]:
        """Return a function from a sample to its outputs, about the shift of all rows."""

        def make(training: models.Training) -> LatentOutputs:
            y, weights = training.Y[:, 0], training.weights
            return LatentOutputs(replace(outputs.targets, y=y, weights=weights))

        return make

    def _check_streamed(self) -> None:
        """Refuse what needs all rows in memory."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"y holds {len(self.classes_)} classes; a choice of vectors for more than two "
                "needs all rows in memory: pass arrays, a sample of the rows for example."
            )

    def _targets(self, codes: Any, weights: Any) -> RowTargets:
        return RowTargets.from_observations(
            codes, weights, self._likelihood(), offset=self.fit_intercept
        )

    def _likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        return classes.likelihood_of_classes(len(self.classes_), self.averaging)

    def _problem(self) -> SparseProblem:
        sharing = validation.check_choice(self.vectors, "vectors", classes.SHARING)
        return SparseProblem(
            self._check_prior(),
            self.fit_intercept,
            max_iter=self.max_iter,
            own_columns=sharing == "per_class",
            must_earn=True,
        )

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        queries = self._check_queries(X)  # which refuses a model that is not fitted
        likelihood = self._likelihood()
        if self._fitted.query is not None:
            return classes.predict_classes(likelihood, self._fitted.latent(queries))
        posterior, Z = self._fitted.posterior, self._fitted.columns_at(queries)
        return classes.average_over_parts(likelihood, posterior, Z)

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent function at each row: of the second class, (n,), or of each of C, (n, C)."""
        return classes.latent_normal(self._get_fit().latent(self._check_queries(X)))

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return page_forms.form_average(self.posterior_, self._page_part)

    def _page_part(self, part: Any) -> Form:
        """Return the form of one of the posteriors that are averaged."""
        coef, intercept = part.original_units()
        latent = page_forms.form_weights(coef.T, intercept, page_forms.find_form(part))
        return page_forms.form_linear(self._page_columns(), latent, classes.form_classes(self))
