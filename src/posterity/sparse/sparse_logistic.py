"""Bernoulli or categorical likelihood x sparse prior x any features x the nearest normal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import designs, priors, sparse, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.posterior import LatentMarginals
from posterity.inference.weights import RowTargets
from posterity.linear.classifiers import StreamedClassifier
from posterity.models import Member, ModelCard, classes
from posterity.page_forms import Form
from posterity.sparse import (
    ColumnEngine,
    LatentOutputs,
    SparsePosterior,
    SparseProblem,
)


@declare_parameters
class SparseLogisticRegression(StreamedClassifier):
    """Logistic regression that keeps the columns which raise the evidence, and drops the others.

    Each column has a prior precision of its own, and the evidence is maximised over all of them:
    where it is infinite, the weight is zero. Probabilities are averaged over the posterior of the
    weights that are left. Units of the columns do not matter, and no penalty has to be
    cross-validated. Before the data every number of columns is as probable as any other, and so is
    every choice of that many, so that of many columns without effect few are kept, or none; then
    the class frequencies are predicted.

    Parameters
    ----------
    degrees_of_freedom : float, default=0.0
        Of the Student-t prior of each weight, whose scale is one for columns of unit variance. Zero
        is the limit that prefers no size of a weight.
    columns : {"shared", "per_class"}, default="shared"
        For more than two classes. A shared column has one precision and a weight in every class, so
        that it serves all of them or none. With "per_class" each class chooses its own, which tells
        more of the classes and may keep more columns in total.
    fit_intercept : bool, default=True
        Add an intercept to each latent value, with a prior worth one row, and centre the columns.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`.
    max_iter : int, default=1000
        Passes over the columns.
    inference : {"auto", "laplace"}, default="auto"
        The columns are chosen by Laplace's evidence. End with Laplace's approximation, or with the
        normal nearest to the posterior of their weights, as in
        :class:`BayesianLogisticRegression`.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    relevance_ : array of shape (m,)
        The columns that are kept, in increasing order.
    coef_ : array of shape (1, M) or (C, M)
        Posterior mean of the weights in the units of the features, zero for columns that are not
        kept: of the second class of two, or of each of several.
    intercept_ : array of shape (1,) or (C,)
        Posterior mean of the intercepts.
    precision_ : array of shape (m,) or (m, C)
        Prior precision of the weights of each kept column, when that has unit variance. With
        ``columns="per_class"`` of each class, infinite where it does not use the column. Of two
        classes it is at least 1e-4: separable classes would have infinite weights.
    log_evidence_ : float
        Log marginal likelihood of all rows at these precisions, to Laplace's approximation.
    posterior_ : SparsePosterior
        The posterior of the kept columns, as prediction uses it.
    n_iter_, stop_reason_
        Of the search for the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import SparseLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> y = 2.0 * X[:, 3] - 2.0 * X[:, 7] + rng.logistic(size=300) > 0.0
    >>> model = SparseLogisticRegression().fit(X, y)
    >>> model.relevance_
    array([3, 7])
    >>> model.coef_[0, model.relevance_].round(1)
    array([ 1.9, -2.2])
    """

    degrees_of_freedom: float = 0.0
    columns: str = "shared"
    averaging: str = "exact"
    max_iter: int = 1000
    inference: str = "auto"

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="Student-t (precision per weight)",
        feature_space="explicit, few columns kept",
        inference="variational or Laplace, precisions by evidence",
        advice="few of many columns matter, and you want to know which",
        page="sparse",
        candidates=(Member("sparse", 30, "N D m, m columns kept", usual_rows=1e5, on_dask=True),),
    )

    relevance_: NDArray[np.intp] = field(init=False)
    posterior_: SparsePosterior = field(init=False)  # type: ignore[assignment]

    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        validation.check_count(self.max_iter, "max_iter")
        nearest = classes.wants_nearest(self.inference, self.averaging)
        per_class = validation.check_choice(self.columns, "columns", classes.SHARING) == "per_class"
        n_own = len(self.classes_) if per_class and len(self.classes_) > 2 else 1
        problem = SparseProblem(
            priors.Sparse(self.degrees_of_freedom, among=n_own * design.n_columns),
            self.fit_intercept,
            max_iter=self.max_iter,
            own_columns=per_class,
        )
        targets = RowTargets.from_observations(
            codes, weights, self._likelihood(), offset=self.fit_intercept
        )
        engine = ColumnEngine.from_design(design, LatentOutputs(targets), problem)
        chosen, found = engine.choose_columns(nearest=nearest)
        self.n_iter_, self.stop_reason_ = sparse.report_choice(chosen, "column", self.max_iter)
        self.relevance_ = chosen.places
        self._keep(found.without_rows(), design.n_columns)

    def _keep(self, found: SparsePosterior, n_columns: int) -> None:
        """Set what the posterior of the kept columns tells."""
        self.posterior_, self.precision_ = found, found.precision
        self.log_evidence_ = found.log_evidence
        own, intercept = found.original_units()
        coef = np.zeros((n_columns, own.shape[1]))
        coef[self.relevance_] = own
        self._publish(coef, intercept)

    def _to_design_weights(self, A: Array, b: Array) -> tuple[Array, Array]:
        """Weights of columns that are out are zero, and for sure."""
        return A[:, self.relevance_], b

    def _latent(self, Z: Array) -> LatentMarginals:
        """Only the columns that are kept are looked at."""
        posterior: SparsePosterior = self.posterior_
        return posterior.latent(Z[:, self.relevance_])

    def _page_columns(self) -> Form:
        places = [int(place) for place in self.relevance_]
        return {"kind": "chosen", "of": super()._page_columns(), "places": places}

    def _page_coef(self) -> Array:
        return super()._page_coef()[:, self.relevance_]
