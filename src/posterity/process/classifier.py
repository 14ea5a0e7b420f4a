"""Bernoulli or categorical likelihood x Gaussian process x Laplace or expectation propagation."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, kernels, models, page_forms, validation
from posterity.constructors import declare_parameters, field
from posterity.inference.posterior import LatentMarginals
from posterity.models import ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, LATENT_VALUES, Classifier
from posterity.page_forms import Form
from posterity.process.latent_fit import LatentFit, check_host
from posterity.process.latent_process import LatentProcess
from posterity.process.process_model import ProcessModel, describe_processes

MEANS = ("constant", "zero")


@declare_parameters
class GaussianProcessClassifier(ProcessModel, Classifier):
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
        The latent function far from all rows: an unknown constant, with a prior worth one row, or
        zero, which makes all classes equally probable.
    inference : {"auto", "laplace", "propagation", "variational"}, default="auto"
        How the posterior of the functions is found: "laplace", a normal at the mode, fast and for
        any number of classes; "propagation", expectation propagation, for two classes, whose
        probabilities and evidence are closer to the exact ones; "variational", the normal nearest
        to the posterior, for more than two classes or with inducing points, whose evidence is a
        lower bound. "auto" learns the parameters by Laplace and ends with a better posterior, and
        its evidence, at these: for two classes by expectation propagation, where weights are whole
        numbers and rows that count often need not be repeated to many more than there are; for
        more the variational one, up to 3,000 rows.
    inducing_points : int or array-like of shape (M, D), optional
        Carry the functions by M points instead of all rows: for more rows than a matrix of their
        covariances has room for. A number: so many are chosen among the rows. The parameters are
        then learned on as many rows as there are points, or a thousand; ``log_evidence_`` is that
        of the functions which the points carry, to Laplace's approximation. "auto" ends with the
        normal nearest to the posterior; "propagation" takes all rows and no points.
    learning_rows : int, optional
        Learn the parameters on this many rows, drawn at random with every class in proportion, and
        then condition on all: parameters need fewer rows than functions do. None: on all rows of
        two classes, and of C more on at most (1e9 / C)^(1/3): 693 of three, 337 of 26.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over normal latent values: by quadrature, by a closed form
        that is off by up to 0.02 (0.08 for more than two classes), or not at all. Where classes
        hardly overlap, Laplace's approximation makes averages less certain than they should be;
        with ``inference="laplace"`` "none" may then predict better.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about parameters of the kernel that are learned: for two classes, average
        probabilities over the parameters that the rows leave plausible, under weak priors, or take
        those of the largest evidence, which is too sure where rows are few. They are averaged up to
        30 rows for each parameter and 400 in all, without inducing points and ``learning_rows``.
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

    kernel: Any = field(default=None, kw_only=False)
    mean: str = field(default="constant", kw_only=False)
    learning_rows: int | None = None
    averaging: str = "exact"
    max_iter: int | None = 200

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal, over functions",
        feature_space="kernel, or inducing points",
        inference="expectation propagation, variational or Laplace, kernel by evidence",
        advice="a smooth decision boundary, uncertain away from the rows",
        page="classification",
        candidates=describe_processes(
            "C N^3 an iteration, or C N M^2 with M points",
            many_rows=1_000,
            many_settings={"inducing_points": 200},
            places={
                "linear-groups": (50, 1e5, 3e5),
                "process": (200, 3e4, 3e5),
                "process-ard": (210, 1e3, 3e5),
                "process-time": (220, 1e3, 3e5),
                "process-groups": (230, 3e4, 3e5),
            },
        ),
    )

    _fitted: LatentFit = field(init=False)

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
        weights = models.check_row_weights(sample_weight, kernels.rows.count_rows(rows))
        codes = self._learn_classes(y, len(weights), weights)
        repeats = self.inference == "propagation"  # which takes whole weights
        training = models.Training.from_classes(rows, codes, weights, counts_copies=repeats)
        process = LatentProcess(
            self._make_request(single_output=True),
            classes.likelihood_of_classes(len(self.classes_), self.averaging),
            offset=validation.check_choice(self.mean, "mean", MEANS) == "constant",
            learning_rows=self.learning_rows,
        )
        self._fitted = process.learn(training)
        return self

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        check_is_fitted(self)
        likelihood = classes.likelihood_of_classes(len(self.classes_), self.averaging)
        rows = self._check_rows(X)
        check_host(rows)
        return classes.average_over_parts(likelihood, self.posterior_, rows)

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent function at each row: of the second class, (n,), or of each of C, (n, C)."""
        return classes.latent_normal(self._latent(X))

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        answer = classes.form_classes(self)
        return page_forms.form_average(
            self.posterior_, lambda part: self._page_process(part, answer, 1.0)
        )

    def _latent(self, X: Any) -> LatentMarginals:
        check_is_fitted(self)
        return self._fitted.latent(self._check_rows(X))

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.Scaled(kernels.RBF(ard=True))
