"""Any likelihood x Gaussian process x exact or approximate inference: GaussianProcessRegressor."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, distributions, kernels, linalg, models, page_forms, process
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import MOST_KERNEL_ROWS, FittedAttribute, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor, KernelRegressor
from posterity.page_forms import Form
from posterity.process.inducing.partitions import Rows
from posterity.process.latent_fit import LatentFit
from posterity.process.latent_process import LatentProcess, check_likelihood
from posterity.process.normal_fit import NormalFit
from posterity.process.normal_process import NormalProcess, count_shown_rows
from posterity.process.process_model import ProcessModel, ProcessRequest, describe_processes


@declare_parameters
class GaussianProcessRegressor(ProcessModel, ExposedRegressor, KernelRegressor):
    """Regression by a Gaussian process: a prior over functions, conditioned on the rows.

    The function has a normal prior whose covariance is the kernel; the noise is normal. Kernel
    parameters and noise variance are learned by the evidence, unless they are held; a weak prior
    decides on the noise where rows do not tell it from a rough function.

    Parameters
    ----------
    kernel : Kernel or callable, optional
        A value of :mod:`posterity.kernels`, in the units of the inputs and targets. Parameters that
        are not set start from the data; those held by ``kernel.fixed()`` are not tuned. A function
        of two blocks of rows has nothing to tune. None: ``Scaled(RationalQuadratic(ard=True))``,
        functions with a length scale for each input, as smooth as the data suggest.
    noise_variance : float, optional
        Variance of the noise. None: learned. 0: the function goes through the targets, as for the
        output of a simulation, but for a hundred-thousandth of the spread of the function: 1e-10
        of the mean prior variance is added to the variance of each row (``jitter_``). A warning
        names a row whose target is missed visibly.
    mean : {"constant", "zero", "linear"}, default="constant"
        The function far from all rows: an unknown constant, zero, or an unknown plane. Constant
        and slopes have the prior of one row's worth of information and are integrated out.
    likelihood : Likelihood, optional
        How targets scatter about the function: a value of :mod:`posterity.likelihoods`, such as
        ``StudentT()`` for outliers, ``Gamma()`` for positive targets or ``Poisson()`` for counts,
        by an approximation. Its parameters that are None are learned. For one output, on the host.
        None: normal noise, without an approximation.
    inference : {"auto", "exact", "laplace", "propagation", "variational"}, default="auto"
        How the posterior of the function is found. Normal noise: "exact", or "variational" with
        inducing points; "auto" is whichever applies. With a ``likelihood``: "laplace", a normal at
        the mode, the fastest; "propagation", expectation propagation, which matches the moments of
        each row, the most accurate, for all rows and weights that are whole numbers;
        "variational", the normal nearest to the posterior, for ``Poisson``, ``Gamma`` and
        ``StudentT``. "auto" is "variational" where that exists, for ``Bernoulli`` propagation at
        the parameters of Laplace's evidence, and else "laplace".
    inducing_points : int or array-like of shape (M, D), optional
        Represent the function by M points instead of all rows, when their covariance matrix does
        not fit. A number: at most this many rows are chosen, then moved, as are given points.
        ``log_evidence_`` is then a lower bound; the search starts from at most 20,000 rows. Rows of
        Dask collections stay on the workers, with two passes for each step: ``persist`` expensive
        ones. Use ``noise_variance`` for the noise, not a ``White`` kernel. With a ``likelihood``
        points stay fixed, parameters are learned on as many rows or a thousand.
    normalize_y : bool, default=False
        Divide each output by its standard deviation first; kernel and ``noise_variance`` are then
        in units of it.
    shared_kernel : bool, default=False
        Whether several outputs have one kernel and one noise variance, for the cost of one; give
        ``normalize_y=True`` with it where their units differ. False: each is learned by itself, as
        if it were fitted alone. Where nothing is learned this makes no difference.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about kernel parameters and noise that are learned: average predictions over the
        values that the rows leave plausible (a mixture of a few normals, under weak priors), or
        take those of the largest evidence, which is too sure where rows are few. They are averaged
        up to 30 rows for each parameter and 400 in all, without inducing points, not for counts.
    n_restarts : int, default=2
        Number of further searches, of which the best after a few steps continues. The first starts
        with the columns that matter by themselves, the others at random.
    warm_start : bool, default=False
        Start from the kernel and noise of the previous fit with the same kernel and columns.
    max_iter : int, optional
        Maximum number of iterations of each search. None: 200, or 100 with inducing points.
    n_jobs : int, optional
        Searches carried out at the same time.
    device : str, optional
        Where to compute, as PyTorch calls it ("cuda"). None: where X lies: PyTorch and CuPy
        arrays stay on their device.
    random_state : int, Generator or None, default=0
        Seed of the random starts, and of the rows on which searches of many rows begin.

    Attributes
    ----------
    kernel_ : Kernel, or tuple of K Kernel
        With every parameter set, or learned by the largest evidence; one an output where they
        were learned separately.
    noise_variance_ : float or array of shape (K,)
        Of the targets. Not set with a likelihood.
    jitter_ : float or array of shape (K,)
        Variance added to each row where ``noise_variance=0``; else 0. Not set with a likelihood.
    likelihood_ : Likelihood
        With every parameter set or learned, where one was given.
    log_evidence_ : float
        Log density of the targets, all constants included, summed over outputs.
    stop_reason_ : str
        Why the search ended.
    n_iter_ : int
        Of the last search.
    at_bounds_ : tuple of str
        Parameters that ended at the end of their range.
    irrelevant_inputs_ : list of str or int
        Inputs that the kernel found to make no difference over the range of the rows; with
        ``mean="linear"``, none beside their slope.
    restarts_log_evidence_ : array
        Log evidence, with the prior of the noise, after the first steps of each search.
    X_train_ : array of shape (N, D), or list
        The rows; of more than 20,000 on Dask, a sample of so many.
    inducing_points_ : array of shape (M, D), or list; or a tuple of these, one an output
        Where the function is carried, with ``inducing_points``.
    evidence_gap_ : float
        With ``inducing_points``: the log evidence of the exact process lies at most this much above
        ``log_evidence_``. A small gap proves enough points; ten for each target is a warning, to
        use more points or more noise. Without points: 0. Not set with a likelihood.
    posterior_ : ProcessPosterior, InducingPosterior, PosteriorMixture or SeparateOutputs
        The conditioned process; where predictions are averaged, at every point of the average.
    target_center_, target_scale_ : array of shape (K,)
        Targets are taken less the centre and divided by the scale before the process sees them. Not
        set with a likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GaussianProcessRegressor
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=30)
    >>> model = GaussianProcessRegressor().fit(X, y)
    >>> mean, std = model.predict([[1.5], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(std[0] < 0.2), bool(std[1] > 0.5)
    (True, True, True)
    """

    kernel: Any = field(default=None, kw_only=False)
    noise_variance: float | None = field(default=None, kw_only=False)
    mean: str = field(default="constant", kw_only=False)
    likelihood: Any = None
    normalize_y: bool = False
    shared_kernel: bool = False
    device: str | None = None

    card = ModelCard(
        likelihood="normal, or any",
        prior="normal, over functions",
        feature_space="kernel, or inducing points",
        inference="closed form; for other likelihoods variational, propagation or Laplace",
        advice="a smooth function, with wide intervals away from the rows",
        page="gaussian_processes",
        candidates=describe_processes(
            "N^3 an iteration, or N M^2 with M points",
            many_rows=1_500,
            many_settings={"inducing_points": 200, "max_iter": 40},
            places={
                "linear-groups": (80, 1e5, 1e6),
                "process": (240, 5e3, 1e5),
                "process-ard": (250, 2e4, 1e5),
                "process-time": (260, 5e3, 1e5),
                "process-groups": (270, 3e4, 1e5),
                "process-robust": (280, 0, MOST_KERNEL_ROWS),
            },
            inference="closed form, kernel by evidence",
            likelihood="normal",
            on_dask=True,
        ),
    )

    noise_variance_ = FittedAttribute()
    jitter_ = FittedAttribute()
    likelihood_ = FittedAttribute()
    evidence_gap_ = FittedAttribute()
    target_center_ = FittedAttribute("targets.center")
    target_scale_ = FittedAttribute("targets.scale")

    _fitted: NormalFit | LatentFit = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or a sequence of N objects
            Inputs; PyTorch and CuPy arrays stay on their device. With ``inducing_points`` also a
            Dask array or data frame, with y and weights that are cut alike: up to 20,000 rows are
            brought here, and more are summed up by the workers.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        noise_variance : array-like of shape (N,), optional
            Known variance of the noise of each row. The noise is then not learned.
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours, for a likelihood of counts: rates are learned.
        """
        training, shape = self._gather(X, y, sample_weight, noise_variance, exposure)
        asked = math.prod(shape), self.shared_kernel, self.likelihood
        request = self._make_request(*asked, single_output=shape == ())
        self._fitted = self._choose_process(request).learn(training)
        return self

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Condition on further rows, the kernel and the noise kept as they are.

        Each new row costs N^2 operations, and without noise all rows N^3 / 3; ``fit`` again, with
        ``warm_start=True``, to tune. The first call is a fit.
        """
        if not models.is_fitted(self):
            return self.fit(X, y)
        rows, targets = self._check_training(X, y, reset=False, min_rows=1)
        self._fitted = self._fitted.with_rows(rows, targets.reshape(len(targets), -1))
        return self

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
            Variance of the noise of the new targets. None: that of the training rows (their
            average where it was known row by row). 0: the noise-free function. Only where no
            likelihood was given.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one, so that counts are rates.
        """
        return self._get_fit().predict_dist(self._check_queries(X), noise_variance, exposure)

    @models.answer_lazily(DISTRIBUTION)
    def predict_latent(self, X: Any) -> distributions.Univariate:
        """The latent function at each row; without a likelihood, the noise-free one."""
        return self._get_fit().predict_latent(self._check_queries(X))

    @models.refuse_partitions
    def predict_joint(
        self, X: Any, *, noise_variance: ArrayLike | None = None
    ) -> distributions.MultivariateNormal:
        """The joint predictive distribution of all rows; ``noise_variance`` as in predict_dist.

        Averaged over hyperparameters, a normal with the mean and the covariance of the mixture.
        With a likelihood, only that of the latent function: ``noise_variance=0.0``.
        """
        return self._get_fit().predict_joint(self._check_queries(X), noise_variance)

    @models.refuse_partitions
    def predict_cov(self, X: Any) -> Any:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        return self.predict_joint(X).covariance.copy()

    def leave_one_out(self) -> distributions.Univariate:
        """Each training target as predicted by all other rows, the parameters kept.

        Rows of weight zero are absent; of a row that counts several times, one is left out. Only
        where no likelihood was given.
        """
        return self._get_fit().leave_one_out()

    @models.refuse_partitions
    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions at the rows of X: of the posterior, or before a fit of the prior.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        rng = arrays.generator(random_state)
        if models.is_fitted(self):
            return self._get_fit().sample_functions(self._check_queries(X), n_samples, rng)
        unfitted = clone(self)  # which may take note of the columns
        rows = unfitted._check_rows(X, reset=True)
        K = arrays.to_numpy(unfitted._bind_kernel().start(rows)(rows))
        prior = distributions.MultivariateNormal(np.zeros(len(K)), linalg.symmetrize(K))
        return prior.sample(n_samples, rng=rng)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        form_part = self._page_latent if hasattr(self, "likelihood_") else self._page_normal
        return page_forms.form_average(self.posterior_, form_part)

    def _page_normal(self, part: Any) -> Form:
        """Return the form of a part with normal noise, in units of the targets."""
        scale, noise = float(self.target_scale_[0]), float(self.noise_variance_)
        if part is not self.posterior_:
            noise *= part.noise_variance / self.posterior_.noise_variance
        center = float(self.target_center_[0])
        answer = page_forms.form_normal_noise(noise, scale=scale, center=center)
        return self._page_process(part, answer, noise / scale**2)

    def _page_latent(self, part: Any) -> Form:
        """Return the form of a part with its likelihood."""
        own = getattr(self.posterior_, "likelihoods", ())
        parts = map(id, getattr(self.posterior_, "parts", ()))
        likelihood = dict(zip(parts, own, strict=False)).get(id(part), self.likelihood_)
        return self._page_process(part, page_forms.find_form(likelihood), 1.0)

    def _predict_mean(self, X: Any) -> Any:
        return self._return_to_device(self._get_fit().predict_mean(self._check_queries(X)), X)

    def _predict_mean_and_std(self, X: Any) -> Any:
        both = self._get_fit().predict_mean_and_std(self._check_queries(X))
        return tuple(self._return_to_device(values, X) for values in both)

    def _check_queries(self, X: Any) -> Any:
        """Query rows, beside those of the fit."""
        return self._check_rows(X, beside=self._get_fit().X_train)

    def _get_fit(self) -> NormalFit | LatentFit:
        check_is_fitted(self)
        return self._fitted

    @property
    def _target_shape(self) -> tuple[int, ...]:
        return self._fitted.target_shape

    def _gather(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, exposure: Any
    ) -> tuple[Rows, tuple[int, ...]]:
        """The rows, in memory or on the workers of Dask, and the shape of the target of one row."""
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            models.refuse_exposure(exposure)
            partitions = process.check_process_source(self, source, noise_variance)
            if partitions.n_rows > count_shown_rows(self.inducing_points):
                models.learn_columns(self, partitions)
                merges = not self._get_kernel().tells_rows_apart
                shape = partitions.form.target_shape or ()
                return process.PartitionedTraining(partitions, merges), shape
            block = partitions.take_rows(np.arange(partitions.n_rows))
            X, y, sample_weight = block.X, block.y, block.sample_weight
        learns_noise = models.check_noise(self.noise_variance) is None and noise_variance is None
        least = 2 if learns_noise or self._get_kernel().names else 1  # to learn parameters from
        rows, targets = self._check_training(X, y, reset=True, min_rows=least)
        if source is not None:
            models.learn_columns(self, source)  # their names, which an array has not
        known = models.check_known_noise(noise_variance, len(targets))
        if self.likelihood is not None:
            check_likelihood(self, targets, known)
        weights = models.check_row_weights(sample_weight, len(targets))
        if learns_noise and self.likelihood is None and self.inducing_points is not None:
            weights = copies.weigh_copies_once(rows, targets, weights)  # no search looks for them
        Y = models.attach_exposure(self.likelihood, targets, exposure).reshape(len(targets), -1)
        return models.Training.from_present_rows(rows, Y, weights, known), targets.shape[1:]

    def _choose_process(self, request: ProcessRequest) -> NormalProcess | LatentProcess:
        """The part that learns: for normal noise, or for another likelihood."""
        if self.likelihood is not None:
            return LatentProcess(request, self.likelihood, offset=self.mean == "constant")
        settings = self.noise_variance, self.mean, self.normalize_y, self.shared_kernel
        return NormalProcess(request, *settings)

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.Scaled(kernels.RationalQuadratic(ard=True))
