"""Any likelihood x sparse prior x a kernel at training rows: RelevanceVectorRegressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from posterity import (
    arrays,
    copies,
    designs,
    distributions,
    kernels,
    likelihoods,
    models,
    page_forms,
    sparse,
)
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.models import MOST_KERNEL_ROWS, FittedAttribute, Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor, KernelRegressor
from posterity.page_forms import Form
from posterity.sparse import (
    ColumnEngine,
    KernelEngine,
    LatentOutputs,
    NormalOutputs,
    SparsePosterior,
    SparseProblem,
    sparse_noise,
)
from posterity.sparse.sparse_noise import BlockStatistics, EqualVarianceRows, SparseNoise


@declare_parameters
class RelevanceVectorRegressor(sparse.RelevanceModel, ExposedRegressor, KernelRegressor):
    """Regression on a few kernel functions, each centred at a training row.

    The mean is ``kernel_(X, relevance_vectors_) @ dual_coef_ + intercept_``. Each weight has a
    normal prior of its own precision; at the precisions of the largest evidence most are infinite,
    and their rows are forgotten. A prediction costs as much as there are vectors. Several outputs
    share their vectors.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs. Its parameters are learned,
        from where they are set, but for those held by ``kernel.fixed()``. A function of two blocks
        of rows, which need not be positive definite, has nothing to learn. None: an ``RBF`` with
        one length scale in columns of unit variance, or one for each, from a Gaussian process on.
    degrees_of_freedom : float, default=0.0
        Of the Student-t that is the prior of each weight, in units of the noise and for columns of
        unit variance. 0: any precision is as probable as any other, the classical choice.
    noise_variance : float, optional
        Variance of the noise, where it is normal. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a unit-information prior about the mean of the targets.
    max_vectors : int, optional
        Where the evidence asks for more, rows are counted less until it does not; what is chosen
        then learns from all rows. None: no limit.
    query_column : bool, default=False
        Give each query a kernel function of its own, by which the model doubts far from all rows,
        which are then kept. See the notes.
    max_iter : int, default=1000
        Passes over all rows at most, for each kernel.
    random_state : int, Generator or None, default=None
        Of the rows on which a kernel is learned where there are more than 500, and of the order in
        which rows are read where their kernel matrix does not fit in memory.
    device : str, optional
        Where to compute kernels, as PyTorch calls it ("cuda"). None: where X lies.
    likelihood : Likelihood, optional
        How targets scatter about the function: a value of :mod:`posterity.likelihoods`, such as
        ``Poisson()`` for counts, with one output. Its parameters that are None are learned. Vectors
        are then chosen by Laplace's evidence. None: normal noise.
    inference : {"auto", "laplace"}, default="auto"
        With a likelihood: the posterior of the weights is the normal nearest to it for counts and
        amounts, Laplace's normal for others and with "laplace". In normal noise it is exact.
    candidates : int, or array-like of shape (M, D), optional
        Rows that may become vectors. None: all rows. A number: this many, drawn at random. Else
        these rows, which need not be rows of X. Dask collections need candidates. A kernel is
        learned on 5,000 rows at most, drawn at random; vectors are chosen by all rows.
    hyperparameters : {"average", "maximise"}, default="average"
        In normal noise that is learned: predictions are Student-t, with three degrees of freedom
        less for each vector; or normal, at ``noise_variance_``, which is too sure.

    Attributes
    ----------
    relevance_ : array of int, of shape (m,)
        Which rows of X the vectors are, in increasing order; of equal rows the first. Where
        ``candidates`` are given as rows, which of these.
    dual_coef_ : array of shape (m,) or (K, m)
        Posterior mean of their weights.
    intercept_ : float or array of shape (K,)
        Posterior mean of the intercept.
    precision_ : array of shape (m,)
        Prior precisions of the weights, for columns of unit variance and in units of the noise;
        with a likelihood, in those of the latent function.
    kernel_ : Kernel
        With every parameter set or learned, in the units of X.
    noise_variance_ : float or array of shape (K,)
        Learned, or as given. Not set with a likelihood.
    likelihood_ : Likelihood
        The one that was given, with every parameter set or learned.
    log_evidence_ : float
        Log marginal likelihood of all targets at these precisions, constants included.
    posterior_ : AveragedPosterior, WeightPosterior or SparsePosterior
        Of the weights, as prediction uses it; the last with a likelihood.
    X_train_ : array of shape (N, D), or list
        The rows, with ``query_column=True`` only.

    Notes
    -----
    Far from all vectors kernel functions that fall off are zero, and the model is surest where it
    knows least. With ``query_column=True`` each query has one more kernel function centred there,
    whose weight has the prior variance that functions had on average at the training rows. Queries
    have a model each, so there is no joint distribution over them.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RelevanceVectorRegressor
    >>> X = np.linspace(-10.0, 10.0, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RelevanceVectorRegressor().fit(X, y)
    >>> len(model.relevance_) < 15
    True
    >>> np.round(model.predict_dist([[0.0]]).interval(0.9), 2).ravel()
    array([0.88, 1.23])
    """

    noise_variance: float | None = None
    likelihood: Any = None

    card = ModelCard(
        likelihood="normal, or any of one latent value",
        prior="Student-t (precision per weight)",
        feature_space="kernel columns, few rows kept",
        inference="closed form or Laplace, precisions and kernel by evidence",
        advice="a smooth function that must predict fast from a small file",
        page="sparse",
        candidates=(
            Member(
                "vectors",
                290,
                "N^2 + N m^2, m rows kept",
                usual_rows=1e3,
                most_rows=MOST_KERNEL_ROWS,
            ),
        ),
    )

    noise_variance_ = FittedAttribute()
    likelihood_ = FittedAttribute()

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
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
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours, for a likelihood of counts: rates are learned.
        """
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            models.refuse_exposure(exposure)
            self._fitted = self._fit_partitions(self._fit_on_workers(source), noise_variance)
            return self
        rows, targets = self._check_training(X, y, reset=True, min_rows=2)
        weights = models.check_row_weights(sample_weight, len(targets))
        known = models.check_known_noise(noise_variance, len(targets))
        likelihood = sparse_noise.check_likelihood(self, targets, known)
        exposed = models.attach_exposure(likelihood, targets, exposure)
        if self.candidates is not None and known is None and self._given_noise is None:
            weights = copies.weigh_copies_once(rows, targets, weights)
        given = sparse.GivenRows(rows, exposed.reshape(len(targets), -1), weights, known)
        learns = all(one is None for one in (known, self._given_noise, self.candidates))
        learns = learns if likelihood is None else likelihood.learns_scatter and learns
        training = self._arrange_rows(given.select_present(), counts_copies=not learns)
        single = targets.ndim == 1
        if likelihood is not None:
            self._fitted = self._fit_likelihood(given, training, likelihood, single)
        elif self.candidates is None:
            self._fitted = self._fit_rows(training, single, learns)
        else:
            self._fitted = self._fit_candidates(given, training, single)
        return self

    def _fit_rows(self, given: models.Training, single: bool, learns: bool) -> sparse.VectorFit:
        """Choose vectors among all rows, in normal noise that near-copies do not make low."""

        def fit(rows: models.Training) -> sparse.VectorFit:
            outputs, problem = self._normal_outputs(rows), self._problem(sparse_noise.TOL)
            found = self._find_among_rows(rows, outputs, problem)
            columns = sparse.CentredColumns(found.kernel, found.rows)
            statistics = BlockStatistics(columns, self.fit_intercept).of_training(rows)
            noise = SparseNoise.from_training(self._given_noise, rows)
            return self._condition(found, statistics, noise, single, rows)

        return models.learn_without_copies(fit, given, warned=True) if learns else fit(given)

    def _fit_candidates(
        self, given: sparse.GivenRows, training: models.Training, single: bool
    ) -> sparse.VectorFit:
        """Choose vectors among candidates, in normal noise, by rows in memory."""
        rng, problem = arrays.generator(self.random_state), self._problem(sparse_noise.TOL)
        pool = self._draw_candidates(given, rng, beside=training.rows)
        kernel, bounds = self._learn_kernel(pool, self._normal_outputs, problem, rng)
        blocks = BlockStatistics(sparse.CentredColumns(kernel, pool.centres), self.fit_intercept)
        statistics = blocks.of_training(training)
        noise = SparseNoise.from_training(self._given_noise, training)
        return self._choose_by(statistics, kernel, bounds, pool, single, noise, training)

    def _fit_partitions(self, partitions: designs.Partitions, known: Any) -> sparse.VectorFit:
        """Choose vectors in normal noise, by rows that stay on the workers."""
        if known is not None:
            raise ValueError("Dask collections bring no noise_variance by row: it needs arrays.")
        if self.likelihood is not None:
            raise ValueError("likelihood= needs all rows in memory: pass arrays, such as a sample.")
        noise = SparseNoise(self._given_noise, 1.0)  # refused before rows are read
        rng, problem = arrays.generator(self.random_state), self._problem(sparse_noise.TOL)
        pool = self._draw_candidates(sparse.PartitionRows(partitions), rng)
        kernel, bounds = self._learn_kernel(pool, self._normal_outputs, problem, rng)
        columns = sparse.CentredColumns(kernel, pool.centres, self.device)
        blocks = BlockStatistics(columns, self.fit_intercept)
        statistics = partitions.reduce(blocks, designs.Statistics.merge)
        single = partitions.form.target_shape == ()
        fit = self._choose_by(statistics, kernel, bounds, pool, single, noise)
        return replace(fit, relevance_vectors=self._place_rows(fit.relevance_vectors))

    def _choose_by(
        self,
        statistics: designs.Statistics,
        kernel: kernels.Kernel,
        at_bounds: tuple[str, ...],
        pool: sparse.CandidatePool,
        single: bool,
        noise: SparseNoise,
        training: models.Training | None = None,
    ) -> sparse.VectorFit:
        """Choose vectors by the statistics of all rows for the columns of all candidates."""
        if not statistics.count > 0.0:
            raise ValueError("All rows have weight zero; give some of them a positive one.")
        rows = EqualVarianceRows.from_statistics(statistics, centred=self.fit_intercept)
        outputs = noise.outputs(rows.Y, rows.weights)
        engine = ColumnEngine(rows.Z, outputs, self._problem(sparse_noise.TOL))
        found = self._find_among_candidates(engine, kernel, at_bounds, pool)
        columns = statistics.select_features(found.chosen.places)
        return self._condition(found, columns, noise, single, training)

    def _condition(
        self,
        found: sparse.FoundVectors,
        statistics: designs.Statistics,
        noise: SparseNoise,
        single: bool,
        training: models.Training | None,
    ) -> sparse.VectorFit:
        return sparse_noise.describe_vectors(
            found,
            statistics,
            noise,
            max_iter=self.max_iter,
            offset=self.fit_intercept,
            single=single,
            hyperparameters=self.hyperparameters,
            kept=training if self.query_column else None,
        )

    def _fit_likelihood(
        self,
        given: sparse.GivenRows,
        training: models.Training,
        likelihood: likelihoods.Likelihood,
        single: bool,
    ) -> sparse.VectorFit:
        """Under any likelihood, by Laplace's approximation."""

        def make_outputs(rows: models.Training) -> LatentOutputs:
            y, weights = rows.Y[:, 0], rows.weights
            return LatentOutputs.from_likelihood(y, weights, likelihood, offset=self.fit_intercept)

        problem, outputs = self._problem(), make_outputs(training)
        if self.candidates is None:
            found = self._find_among_rows(training, outputs, problem)
        else:
            rng = arrays.generator(self.random_state)
            pool = self._draw_candidates(given, rng, beside=training.rows)
            kernel, at_bounds = self._learn_kernel(pool, make_outputs, problem, rng)
            engine = KernelEngine(training.rows, outputs, problem, rng, pool.centres)
            found = self._find_among_candidates(engine, kernel, at_bounds, pool)
        search = sparse.report_choice(found.learned.chosen, "vector", self.max_iter)
        nearest = sparse_noise.wants_nearest(self, likelihood)
        choice = found.learned.chosen, found.fit, found.order
        posterior = SparsePosterior.from_fit(*choice, offset=self.fit_intercept, nearest=nearest)
        kept = training.rows if self.query_column else None
        return sparse.VectorFit.from_posterior(found, posterior, search, kept=kept, single=single)

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: Any, *, noise_variance: Any = None, exposure: Any = None
    ) -> distributions.Univariate:
        """The predictive distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n, D), or a sequence of n objects
            Query rows.
        noise_variance : float or array-like of shape (n,), optional
            Variance of the noise of the new targets, where it is normal. None: that of the training
            rows (their average where it was known row by row). 0: the noise-free function.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one, so that counts are rates.
        """
        return self._get_fit().predict_dist(self._check_queries(X), noise_variance, exposure)

    @models.answer_lazily(DISTRIBUTION)
    def predict_latent(self, X: Any) -> distributions.Univariate:
        """The latent function at each row; without a likelihood, the noise-free one."""
        return self._get_fit().predict_latent(self._check_queries(X))

    @models.refuse_partitions
    def predict_cov(self, X: Any) -> Array:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        return self._answer_like(X, self._get_fit().predict_cov(self._check_queries(X)))

    @models.refuse_partitions
    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions drawn from the posterior, at the rows of X.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        rows, rng = self._check_queries(X), arrays.generator(random_state)
        return self._fitted.sample_functions(rows, n_samples, rng)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        given = self._page_columns(), self.dual_coef_, self.intercept_, self.noise_variance_
        return page_forms.find_form(self.posterior_, *given, method="page_regression")

    def _predict_mean(self, X: Any) -> Array:
        return self._answer_like(X, self._get_fit().predict_mean(self._check_queries(X)))

    def _predict_mean_and_std(self, X: Any) -> Any:
        return tuple(self._answer_like(X, values) for values in super()._predict_mean_and_std(X))

    def _answer_like(self, X: Any, values: Array) -> Any:
        stays = self._takes_objects or not models.is_on_device(X)
        return values if stays else arrays.like(X, values)

    def _normal_outputs(self, training: models.Training) -> NormalOutputs:
        noise = SparseNoise.from_training(self._given_noise, training)
        return noise.outputs_of(training, centred=self.fit_intercept)

    @property
    def _given_noise(self) -> float | None:
        return models.check_variance(self.noise_variance, "noise_variance")

    def _problem(self, tol: float = 1e-2) -> SparseProblem:
        return SparseProblem(
            self._check_prior(), self.fit_intercept, tol, self.max_iter, must_earn=True
        )

    @property
    def _target_shape(self) -> tuple[int, ...]:
        return self._fitted.target_shape
