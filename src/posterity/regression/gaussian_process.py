"""Normal likelihood x Gaussian process x conjugate inference: GaussianProcessRegressor."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from posterity import kernels, models
from posterity.regression.process_rows import RowsProcess


class GaussianProcessRegressor(RowsProcess):
    """Regression by a Gaussian process: a prior over functions, conditioned on the rows.

    The function has a normal prior whose covariance is the kernel; the noise is normal. Kernel
    parameters and noise variance are those of the largest evidence, unless they are held; a weak
    prior decides on the noise where rows do not tell it from a rough function.

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
        The function far from all rows: an unknown offset, zero, or an unknown plane. Offset and
        slopes have the prior of one row's worth of information and are integrated out.
    likelihood : Likelihood, optional
        How targets scatter about the function: a value of :mod:`posterity.likelihoods`, such as
        ``StudentT()`` for outliers, ``Gamma()`` for positive targets or ``Poisson()`` for counts,
        by an approximation. Its parameters that are None are learned. For one output, on the host.
        None: normal noise, without an approximation.
    inducing_points : int or array-like of shape (M, D), optional
        Carry the function by M points instead of all rows: for more rows than a matrix of their
        covariances has room for. A number: at most so many are chosen among the rows, fewer where
        these say it all, and then moved. Points given are moved from there. ``log_evidence_`` is
        then a lower bound, of all rows; where a search starts and among which points to choose is
        told by 20,000 of them at most. Rows of Dask collections stay on the workers, who make two
        passes over them for each step: ``persist`` what is dear to make. Let ``noise_variance``
        carry the noise, not a ``White`` kernel. With a
        ``likelihood`` points stay where they are, parameters are learned on as many rows or a
        thousand, and ``log_evidence_`` is that of the function which the points carry.
    normalize_y : bool, default=False
        Divide each output by its standard deviation first; kernel and ``noise_variance`` are then
        in units of it.
    shared_kernel : bool, default=False
        Whether several outputs have one kernel and one noise variance, for the cost of one; give
        ``normalize_y=True`` with it where their units differ. False: each is learned by itself, as
        if it were fitted alone. Where nothing is learned this makes no difference.
    n_restarts : int, default=2
        Further searches; the one that does best in its first steps goes on. The first starts with
        the columns that matter by themselves, where there is a length scale a column, the others at
        random.
    warm_start : bool, default=False
        Start from the kernel and the noise of the previous fit, where that was asked for the same
        kernel on as many columns.
    max_iter : int, optional
        Of each search. None: 200; 100 with inducing points, where it is a budget that moving points
        use up.
    n_jobs : int, optional
        Searches carried out at the same time.
    device : str, optional
        Where to compute, as PyTorch calls it ("cuda"). None: where X lies: PyTorch and CuPy
        arrays stay on their device.
    random_state : int, Generator or None, default=0
        Of the random starts, and of the rows on which searches begin where there are at least a
        thousand. The same number, the same fit, wherever the rows are.

    Attributes
    ----------
    kernel_ : Kernel, or tuple of K Kernel
        With every parameter set or learned; one an output where they were learned separately.
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
        What the first steps of each search reached, on the rows it began with, the prior of the
        noise included.
    X_train_ : array of shape (N, D), or list
        The rows; of more than 20,000 on Dask, a sample of so many.
    inducing_points_ : array of shape (M, D), or list; or a tuple of these, one an output
        Where the function is carried, with ``inducing_points``.
    evidence_gap_ : float
        With ``inducing_points``: the log evidence of the exact process lies at most this much above
        ``log_evidence_``. A small gap proves enough points; a large one proves nothing. Without: 0.
        Not set with a likelihood.
    posterior_ : ProcessPosterior, InducingPosterior or SeparateOutputs
        The conditioned process.
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

    def __init__(
        self,
        kernel: Any = None,
        noise_variance: float | None = None,
        mean: str = "constant",
        *,
        likelihood: Any = None,
        inducing_points: Any = None,
        normalize_y: bool = False,
        shared_kernel: bool = False,
        n_restarts: int = 2,
        warm_start: bool = False,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.mean = mean
        self.likelihood = likelihood
        self.inducing_points = inducing_points
        self.normalize_y = normalize_y
        self.shared_kernel = shared_kernel
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
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
        """
        source = models.streamed(X, y, sample_weight)
        if source is not None:
            return self._fit_source(source, noise_variance)
        least = self._least_rows(noise_is_known=noise_variance is not None)
        rows, y_rows = self._check_training(X, y, reset=True, min_rows=least)
        known = models.known_noise(noise_variance, len(y_rows))
        return self._fit_rows(rows, y_rows, sample_weight, known)

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Condition on further rows, the kernel and the noise kept as they are.

        Each new row costs N^2 operations, and without noise all rows N^3 / 3; ``fit`` again, with
        ``warm_start=True``, to tune. The first call is a fit.
        """
        if "posterior_" not in self.__dict__:
            return self.fit(X, y)
        if not self.has_normal_noise:
            raise TypeError("Rows can be added under normal noise only; fit all rows again.")
        if self._training is None:
            raise TypeError(
                "The rows of the fit stayed on the workers of Dask; fit all rows again to add some."
            )
        rows, y_rows = self._check_training(X, y, reset=False, min_rows=1)
        if self._training.known_noise is not None:
            raise ValueError("Rows of known noise were fitted; fit all rows again to add others.")
        training = self._training.followed_by(rows, y_rows.reshape(len(y_rows), -1))
        observed = self._observed(training)
        posterior = self._conditioned_again(observed)
        self._adopt((posterior, self._learned_noise), training, training)
        return self

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.Scaled(kernels.RationalQuadratic(ard=True))
