"""Bernoulli or categorical likelihood x sparse prior x any features x the nearest normal."""

from __future__ import annotations

from typing import Any

from posterity import designs, validation
from posterity.constructors import declare_parameters, field
from posterity.inference.weights import RowTargets
from posterity.linear.classifiers import StreamedClassifier
from posterity.models import Member, ModelCard, classes
from posterity.sparse import LatentOutputs, SparsePosterior
from posterity.sparse.chosen_columns import ChosenColumns


@declare_parameters
class SparseLogisticRegression(ChosenColumns, StreamedClassifier):
    """Logistic regression that keeps the columns which raise the evidence, and drops the others.

    Each column has a prior precision of its own, and the evidence is maximised over all of them:
    where it is infinite, the weight is zero. Probabilities are averaged over the posterior of the
    weights that are left. Units of the columns do not matter, and no penalty has to be
    cross-validated. Before the data every number of columns is as probable as any other, and so is
    every choice of that many, so that of many columns without effect few are kept, or none; then
    the class frequencies are predicted.

    Parameters
    ----------
    columns : {"shared", "per_class"}, default="shared"
        For more than two classes. A shared column has one precision and a weight in every class, so
        that it serves all of them or none. With "per_class" each class chooses its own, which tells
        more of the classes and may keep more columns in total.
    fit_intercept : bool, default=True
        Add an intercept to each latent value, with a prior worth one row, and centre the columns.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`.
    inference : {"auto", "laplace"}, default="auto"
        The columns are chosen by Laplace's evidence. End with Laplace's approximation, or with the
        normal nearest to the posterior of their weights, as in
        :class:`BayesianLogisticRegression`.

    Attributes
    ----------
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

    columns: str = "shared"
    averaging: str = "exact"

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="Student-t (precision per weight)",
        feature_space="explicit, few columns kept",
        inference="variational or Laplace, precisions by evidence",
        advice="few of many columns matter, and you want to know which",
        page="sparse",
        candidates=(Member("sparse", 30, "N D m, m columns kept", usual_rows=1e5, on_dask=True),),
    )

    posterior_: SparsePosterior = field(init=False)  # type: ignore[assignment]

    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        validation.check_count(self.max_iter, "max_iter")
        nearest = classes.wants_nearest(self.inference, self.averaging)
        per_class = validation.check_choice(self.columns, "columns", classes.SHARING) == "per_class"
        targets = RowTargets.from_observations(
            codes, weights, self._likelihood(), offset=self.fit_intercept
        )
        found = self._choose_columns(
            design,
            LatentOutputs(targets),
            nearest=nearest,
            own_columns=per_class,
            n_sets=len(self.classes_) if per_class and len(self.classes_) > 2 else 1,
        )
        coef, intercept = found.original_units()
        self._publish(self._insert_zeros(coef), intercept)
