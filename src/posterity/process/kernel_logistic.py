"""Bernoulli or categorical likelihood x one weight a row x a kernel that the evidence chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, kernels, likelihoods, models, page_forms
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import PosteriorMixture, check_hyperparameters, transform_parts
from posterity.inference.weights import KernelWeights, KernelWeightSearch
from posterity.models import MOST_KERNEL_ROWS, Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, Classifier
from posterity.page_forms import Form


@declare_parameters
class KernelLogisticRegression(models.KernelModel, Classifier):
    """Logistic regression on the columns of a kernel, its width learned by the evidence.

    Each training row has a weight with a normal prior; latent values are sums of the kernel about
    the rows. The covariance between latent values is then not the kernel itself but its square,
    which dies away far from the rows: :class:`GaussianProcessClassifier` does not.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Parameters that are not
        set start from the data; those held by ``kernel.fixed()`` are not tuned. None: an RBF with
        one width that is learned, times the standard deviation of each column.
    prior_variance : float, optional
        Variance of each weight. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept with a prior worth one row, and centre the kernel on the rows.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the posterior, as in
        :class:`BayesianLogisticRegression`.
    max_iter : int, default=100
        Of the search for the parameters.
    inference : {"auto", "laplace"}, default="auto"
        End with Laplace's approximation, or with the normal nearest to the posterior, as in
        :class:`BayesianLogisticRegression`.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about prior variance and kernel parameters that are learned: average
        probabilities over the values that the rows leave plausible, under weak priors, or take
        those of the largest evidence, which is too sure where rows are few. They are averaged up
        to 400 rows.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    kernel_ : Kernel
        With every parameter set or learned.
    prior_variance_ : float
        As learned, or as given.
    dual_coef_ : array of shape (1, N) or (C, N)
        One weight for each training row of ``X_train_``, at the largest evidence.
    intercept_ : array of shape (1,) or (C,)
        Intercepts.
    log_evidence_ : float
        Log marginal likelihood of all rows, constants included, to Laplace's approximation.
    X_train_ : array of shape (N, D), or list
        The rows.
    n_iter_, stop_reason_, at_bounds_
        Of the search; which parameters ended at a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import KernelLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> model = KernelLogisticRegression().fit(X, np.hypot(*X.T) > 1.0)
    >>> model.predict([[0.0, 0.0], [0.0, 2.0]])
    array([False,  True])
    """

    kernel: Any = field(default=None, kw_only=False)
    prior_variance: float | None = None
    fit_intercept: bool = True
    averaging: str = "exact"
    max_iter: int = 100
    inference: str = "auto"
    hyperparameters: str = "average"

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal",
        feature_space="kernel columns",
        inference="variational or Laplace, kernel by evidence",
        advice="a smooth decision boundary that keeps every row, in weight space",
        page="classification",
        candidates=(
            Member(
                "kernel-logistic",
                170,
                "N^3 an iteration",
                {"kernel": kernels.RBF().fixed()},
                inference="variational or Laplace, prior variance by evidence",
                most_rows=MOST_KERNEL_ROWS,
            ),
        ),
    )

    posterior_: KernelWeights | PosteriorMixture = field(init=False)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Inputs.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        rows = self._check_rows(X, reset=True)
        weights = models.check_row_weights(sample_weight, kernels.rows.count_rows(rows))
        codes = self._learn_classes(y, len(weights), weights)
        training = models.Training.from_classes(rows, codes, weights).merge_equal_rows()
        self.X_train_ = training.rows
        given = None if self.kernel is None else self._bind_kernel()
        frame = models.KernelFrame.for_kernel(given, training.rows, training.weights)
        started, bounds = frame.kernel.search_start(models.drop_repeated_rows(frame.rows))
        search = KernelWeightSearch(
            frame.rows,
            training.Y[:, 0],
            training.weights,
            self._get_likelihood(),
            started,
            bounds,
            models.check_variance(self.prior_variance, "prior_variance"),
            self.fit_intercept,
            nearest=classes.wants_nearest(self.inference, self.averaging),
        )
        averages = check_hyperparameters(self.hyperparameters) and self.averaging != "none"
        found, best = search.maximise(max_iter=self.max_iter, average=averages)

        def restore_units(part: KernelWeights) -> KernelWeights:
            return replace(part, kernel=frame.restore_kernel_units(part.kernel), X=self.X_train_)

        self.posterior_ = transform_parts(found, restore_units)
        self.n_iter_, self.stop_reason_ = max(1, best.n_iter), best.stop_reason
        self.at_bounds_ = models.report_kernel_bounds(best, self.posterior_.kernel)
        self._publish()
        return self

    def _get_likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        return classes.likelihood_of_classes(len(self.classes_), self.averaging)

    def _publish(self) -> None:
        whole: Any = self.posterior_
        found: KernelWeights = getattr(whole, "best", whole)
        t = found.fit.problem.targets
        W, n = found.fit.weights.W, len(found.weights)
        self.kernel_, self.prior_variance_ = found.kernel, found.prior_variance
        self.log_evidence_ = found.fit.log_evidence
        coef = ((W[:n] * np.sqrt(found.weights)[:, None]) @ t.Q.T).T
        share = found.weights / found.weights.sum() * self.fit_intercept
        offset = t.Q @ W[n] if self.fit_intercept else np.zeros(len(t.shift))
        # A centred column is the kernel less its mean over the rows: the weights less theirs.
        self.dual_coef_ = coef - np.outer(coef.sum(axis=1), share)
        self.intercept_ = t.shift + offset - coef @ found.center

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        check_is_fitted(self)
        likelihood, rows = self._get_likelihood(), self._check_rows(X)
        return classes.average_over_parts(likelihood, self.posterior_, rows)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return page_forms.form_average(self.posterior_, self._page_part)

    def _page_part(self, found: Any) -> Form:
        """Return the form of one of the posteriors that are averaged."""
        t, W, n = found.fit.problem.targets, found.fit.weights.W, len(found.weights)
        has_offset = len(W) > n
        space = {
            "kind": "centred",
            "of": found.kernel.form_columns(found.X),
            "weights": found.weights.tolist(),
            "about": has_offset,
        }
        coef, posterior = (W[:n] @ t.Q.T).T, found.page_form()
        own = t.Q @ W[n] - coef @ np.array(posterior["center"]) if has_offset else 0.0
        latent = page_forms.form_weights(coef, t.shift + own, posterior)
        return page_forms.form_linear(space, latent, classes.form_classes(self))
