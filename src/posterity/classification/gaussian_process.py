"""Bernoulli or categorical likelihood x Gaussian process x Laplace or expectation propagation."""

from __future__ import annotations

import numbers
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions, kernels, models
from posterity.classification import classes
from posterity.classification.base import Classifier
from posterity.classification.weight_model import one_of
from posterity.inference.posterior import LatentMarginals
from posterity.models import latent_process, relevance

MEANS = ("constant", "zero")


class GaussianProcessClassifier(models.KernelModel, Classifier):
    """Classification by Gaussian processes: functions with a prior, and their sigmoid or softmax.

    Two classes share one latent function; more have one each, coupled by the softmax, with one
    kernel. The posterior is approximated by a normal, the parameters of the kernel are those of
    the largest evidence, and probabilities are averaged over the posterior.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Parameters that are not
        set start from the data; those held by ``kernel.fixed()`` are not tuned. A function of two
        blocks of rows has nothing to tune. None: ``Scaled(RBF(ard=True))``, smooth functions with a
        length scale for each input.
    mean : {"constant", "zero"}, default="constant"
        The latent function far from all rows: an unknown offset, with a prior worth one row, or
        zero, which makes all classes equally probable.
    inference : {"auto", "laplace", "propagation"}, default="auto"
        Laplace's approximation, fast and for any number of classes; or expectation propagation,
        for two, whose probabilities and evidence are closer to the exact ones. "auto" learns the
        parameters by Laplace and ends with a better posterior, and its evidence, at these. For
        two classes that is expectation propagation, where weights are whole numbers and rows that
        count often need not be repeated to many more than there are; for more it is the normal
        nearest to the posterior, whose evidence is a lower bound, up to C N^3 = 1e11.
    inducing_points : int or array-like of shape (M, D), optional
        Carry the functions by M points instead of all rows: for more rows than a matrix of their
        covariances has room for. A number: so many are chosen among the rows. The parameters are
        then learned on as many rows as there are points, or a thousand; ``log_evidence_`` is that
        of the functions which the points carry, to Laplace's approximation. "auto" ends with the
        normal nearest to the posterior, the others with Laplace's.
    learning_rows : int, optional
        Learn the parameters on so many rows, drawn at random with every class in proportion, and
        then condition on all: parameters need fewer rows than functions do. None: on all rows.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over normal latent values: by quadrature, by a closed form
        that is off by up to 0.02 (0.08 for more than two classes), or not at all. Where classes
        hardly overlap, Laplace's approximation makes averages less certain than they should be;
        with ``inference="laplace"`` "none" may then predict better.
    n_restarts : int, default=2
        Further searches from random starts; the one that does best in its first steps goes on.
    warm_start : bool, default=False
        Start from the kernel of the previous fit, where that was asked for the same kernel on as
        many columns.
    max_iter : int, default=200
        Of each search.
    n_jobs : int, optional
        Searches carried out at the same time.
    random_state : int, Generator or None, default=0
        Of the random starts, and of the rows on which searches begin where there are at least a
        thousand. The same number, the same fit.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    kernel_ : Kernel
        With every parameter set or learned.
    log_evidence_ : float
        Approximate log probability of the classes of all rows, all constants included.
    stop_reason_, n_iter_, at_bounds_
        Of the search for the parameters; which of these ended at the end of their range.
    irrelevant_inputs_ : list of str or int
        Inputs that the kernel found to make no difference over the range of the rows.
    restarts_log_evidence_ : array
        What the first steps of each search reached, on the rows it began with.
    X_train_ : array of shape (N, D), or list
        The rows.
    inducing_points_ : array of shape (M, D), or list
        Where the functions are carried, with ``inducing_points``.
    posterior_
        The conditioned process.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GaussianProcessClassifier
    >>> X = np.linspace(-3.0, 3.0, 40)[:, None]
    >>> model = GaussianProcessClassifier().fit(X, np.abs(X[:, 0]) < 1.0)
    >>> model.predict([[0.0], [2.5]])
    array([ True, False])
    >>> p = model.predict_proba([[0.0], [1.0], [9.0]])[:, 1]
    >>> bool(p[0] > 0.9), bool(0.1 < p[1] < 0.9), bool(0.1 < p[2] < 0.9)
    (True, True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        mean: str = "constant",
        *,
        inference: str = "auto",
        inducing_points: Any = None,
        learning_rows: int | None = None,
        averaging: str = "exact",
        n_restarts: int = 2,
        warm_start: bool = False,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.mean = mean
        self.inference = inference
        self.inducing_points = inducing_points
        self.learning_rows = learning_rows
        self.averaging = averaging
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Inputs.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row. Expectation
            propagation takes whole numbers only.
        """
        rows = self._check_rows(X, reset=True)
        weights = models.checked_weights(sample_weight, kernels.rows.count(rows))
        codes = self._learn_classes(y, len(weights), weights)
        training = models.Training.present(rows, codes[:, None], weights, None)
        if one_of(self.inference, "inference", latent_process.APPROXIMATIONS) == "propagation":
            training = training.repeated()
        elif not self._kernel_given().tells_rows_apart:
            training = training.merged()
        process = latent_process.LatentProcess(
            classes.likelihood_of(len(self.classes_), self.averaging),
            offset=one_of(self.mean, "mean", MEANS) == "constant",
            approximation=self.inference,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            inducing_points=self._points(),
            learning_rows=self.learning_rows,
        )
        rng = arrays.generator(self.random_state)
        self.posterior_, learned = process.learn(training, self._start(), rng)
        self.X_train_ = training.rows
        self.__dict__.pop("inducing_points_", None)  # of an earlier fit
        if self.inducing_points is not None:
            self.inducing_points_ = self.posterior_.points
        self._report(learned)
        return self

    def _points(self) -> Any:
        if self.inducing_points is None or isinstance(self.inducing_points, numbers.Integral):
            return self.inducing_points
        return self._check_rows(self.inducing_points)

    def _start(self) -> kernels.Kernel:
        """The kernel as given, or as an earlier fit of the same left it."""
        warm = self.warm_start and self.__dict__.get("_learned_for") == self._asked
        return self.kernel_ if warm else self._asked[0]

    @property
    def _asked(self) -> tuple[kernels.Kernel, int | None]:
        """What must be as it was for a warm start to go on from there."""
        return self._bound_kernel(), getattr(self, "n_features_in_", None)

    def _report(self, learned: Any) -> None:
        """Say what was found and how."""
        self.kernel_, self._learned_for = learned.kernel, self._asked
        self.log_evidence_ = self.posterior_.log_evidence
        self.stop_reason_ = learned.optimum.stop_reason
        self.n_iter_ = max(1, learned.optimum.n_iter)
        self.at_bounds_ = models.report_kernel_bounds(learned.optimum, learned.kernel)
        self.restarts_log_evidence_ = learned.probes
        self.irrelevant_inputs_: list[Any] = []
        if not isinstance(self.X_train_, list):
            places = relevance.irrelevant(learned.kernel, self.X_train_, 1.0)
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            self.irrelevant_inputs_ = [names[d] for d in places]

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        likelihood = classes.likelihood_of(len(self.classes_), self.averaging)
        return classes.predict_classes(likelihood, self._latent(X), ranked=self._ranks_classes)

    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent function at each row: of the second class, (n,), or of each of C, (n, C)."""
        return classes.latent_normal(self._latent(X))

    def _latent(self, X: Any) -> LatentMarginals:
        check_is_fitted(self, "posterior_")
        rows = self._check_rows(X)
        latent_process.check_host(rows)
        return self.posterior_.latent(rows)

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.Scaled(kernels.RBF(ard=True))
