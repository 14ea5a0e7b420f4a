"""Normal likelihood x sparse prior x a kernel at training rows: RelevanceVectorRegressor."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from posterity import arrays, designs, models
from posterity.inference.sparse_bayes import choose_vectors
from posterity.models import ModelCard
from posterity.regression.candidate_vectors import CandidateVectors


class RelevanceVectorRegressor(CandidateVectors):
    """Regression on a few kernel functions, each centred at a training row.

    The mean is ``kernel_(X, relevance_vectors_) @ dual_coef_ + intercept_``. Each weight has a
    normal prior of its own precision; at the precisions of the largest evidence most are infinite,
    and their rows are forgotten. A prediction costs as much as there are vectors, however many rows
    there were. Several outputs share their vectors.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Its parameters are learned,
        from where they are set, but for those held by ``kernel.fixed()``. A function of two blocks
        of rows, which need not be positive definite, has nothing to learn. None: an ``RBF`` of one
        width in columns of unit variance.
    degrees_of_freedom : float, default=0.0
        Of the Student-t that is the prior of each weight, in units of the noise and for columns of
        unit variance. 0: any precision is as probable as any other, the classical choice.
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an offset, with a unit-information prior about the mean of the targets.
    max_vectors : int, optional
        As many as a prediction may cost. Where the evidence asks for more, rows are counted less
        until it does not; what is chosen then learns from all rows. None: no limit.
    query_column : bool, default=False
        Give each query a kernel function of its own, by which the model doubts far from all rows.
        Training rows are then kept, and each query meets all of them. See the notes.
    algorithm : {"sequential", "alternating"}, default="sequential"
        "sequential": from no vector on, whichever step raises the evidence most. "alternating":
        from all rows on, as in the textbook; for some thousand rows at most. A kernel is learned by
        sequential steps in any case.
    max_iter : int, default=1000
        Looks at all rows, or alternations, at most, for each kernel.
    random_state : int, Generator or None, default=None
        Of the rows on which a kernel is looked for where there are more than a thousand, and of
        the order in which rows are looked at where their kernel matrix does not fit in memory.
    device : str, optional
        Where to compute kernels, as PyTorch calls it ("cuda"). None: where X lies.
    candidates : int, or array-like of shape (M, D), optional
        What may become a vector. None: any row. A number: so many rows, drawn at random. Else these
        rows, which need not be rows of X. One pass over all rows then tells all that there is to
        know, so that rows may lie in Dask collections, for which candidates must be given. A kernel
        is learned on 5,000 rows at most, drawn at random; vectors are chosen by all rows.

    Attributes
    ----------
    relevance_ : array of int, of shape (m,)
        Which rows of X the vectors are, in increasing order; of equal rows the first. Where
        ``candidates`` are given as rows, which of these.
    relevance_vectors_ : array of shape (m, D), or list
        These rows.
    dual_coef_ : array of shape (m,) or (K, m)
        Posterior mean of their weights.
    intercept_ : float or array of shape (K,)
        Posterior mean of the offset.
    precision_ : array of shape (m,)
        Prior precisions of the weights, for columns of unit variance and in units of the noise.
    kernel_ : Kernel
        With every parameter set or learned, in the units of X.
    noise_variance_ : float or array of shape (K,)
        Learned, or as given.
    log_evidence_ : float
        Log marginal likelihood of all targets given the precisions, constants included.
    posterior_ : WeightPosterior
        Of the weights, as prediction uses it.
    X_train_ : array of shape (N, D), or list
        The rows, with ``query_column=True`` only.
    n_iter_ : int
        How often candidates joined the vectors, with the kernel that was found.
    stop_reason_ : str
        Why the search for vectors ended.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Notes
    -----
    Far from all vectors every kernel function that falls off is zero, and the function's variance
    shrinks to that of the offset: the model is surest where it knows least. With
    ``query_column=True`` the model has, at each query, one more kernel function centred there,
    whose weight has the prior variance that functions had on average at the training rows. Far away
    its variance is then the noise and that average; near the rows, which tell what its weight is,
    it hardly changes. Queries have a model each, so there is no joint distribution over them.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RelevanceVectorRegressor
    >>> X = np.linspace(-10.0, 10.0, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RelevanceVectorRegressor().fit(X, y)
    >>> len(model.relevance_) < 15
    True
    >>> mean, std = model.predict([[0.0]], return_std=True)
    >>> bool(abs(mean[0] - 1.0) < 0.2), bool(std[0] < 0.2)
    (True, True)
    """

    card = ModelCard(
        likelihood="normal",
        prior="Student-t (precision per weight)",
        feature_space="kernel columns, few rows kept",
        inference="closed form, precisions and kernel by evidence",
        advice="a smooth function that must predict fast from a small file",
        page="sparse",
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        degrees_of_freedom: float = 0.0,
        noise_variance: float | None = None,
        fit_intercept: bool = True,
        max_vectors: int | None = None,
        query_column: bool = False,
        algorithm: str = "sequential",
        max_iter: int = 1000,
        random_state: Any = None,
        device: str | None = None,
        candidates: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degrees_of_freedom = degrees_of_freedom
        self.noise_variance = noise_variance
        self.fit_intercept = fit_intercept
        self.max_vectors = max_vectors
        self.query_column = query_column
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device
        self.candidates = candidates

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), a sequence of N objects, or Dask's
            Inputs; PyTorch and CuPy arrays stay on their device. Rows of a Dask array or data frame
            stay on the workers, with those of y and weights; this needs ``candidates``.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        noise_variance : array-like of shape (N,), optional
            Known variance of the noise of each row. The noise is then not learned.
        """
        source = models.streamed(X, y, sample_weight)
        if source is not None:
            return self._fit_partitions(self._on_workers(source), noise_variance)
        rows, targets = self._check_training(X, y, reset=True, min_rows=2)
        weights = models.checked_weights(sample_weight, len(targets))
        known = models.known_noise(noise_variance, len(targets))
        self._single_output = targets.ndim == 1
        given = models.GivenRows(rows, targets.reshape(len(targets), -1), weights, known)
        training = self._arranged(given.present())
        if self.candidates is None:
            self._settle(training)
        else:
            self._fit_among(given, training)
        return self

    def _settle(self, training: models.Training) -> None:
        """Learn the kernel, choose vectors among all rows, and condition their weights."""
        frame, noise = self._frame(training), self._noise_of(training)
        rng = arrays.generator(self.random_state)
        engine = self._engine(frame, training, noise, rng)
        learned = choose_vectors(
            engine,
            frame.kernel,
            rng=rng,
            max_vectors=self.max_vectors,
            alternating=self.algorithm == "alternating",
        )
        found = learned.chosen
        order = self._adopt_vectors(self._adopt_kernel(frame, learned), found.places, training)
        columns = self._columns_at(training.rows)
        statistics = designs.Statistics.of(
            columns,
            training.Y,
            sample_weight=training.weights,
            noise_variance=training.known_noise,
            shift=self.fit_intercept,
        )
        chosen = found.reorder(order)
        models.report_choice(self, chosen, "vector", calls=3)
        self._conclude(statistics, chosen, noise, by_row=training.known_noise is not None)
        if self.query_column:
            self._keep_query(training, columns)
