"""Gaussian process x unknown inputs x their prior x (most probable or averaged over): GPLVM."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions, models, validation
from posterity.arrays import Array
from posterity.latent import latent_fit, latent_training, lazy_forms, left_out, motion, transformer
from posterity.latent.output_frame import OutputFrame, RowsSeen

_LEAST_ROWS = 3
_EFFECTIVE = 1e-2  # relevance, in units of the largest, of a dimension that counts


class GPLVM(transformer.KernelTransformer):
    """Few unknown coordinates of each row, of which every column is a smooth function.

    Every column is a draw of one Gaussian process whose inputs, the latent points, are not known:
    they are found with the kernel and the noise. With a linear kernel this is PCA; with others the
    surface that rows lie on may be curved. Missing values need no filling in.

    Parameters
    ----------
    n_components : int, default=2
        Latent coordinates of a row.
    kernel : Kernel or callable, optional
        Of the process over latent points, a value of :mod:`posterity.kernels`. None:
        ``Scaled(RBF())``, with a length scale for each dimension where ``inference="variational"``.
    noise_variance : float, optional
        Of the columns about their functions, in the units of the model. None: learned.
    inference : {"map", "variational"}, default="map"
        "map": the most probable latent points. "variational": a normal distribution over each
        latent point, carried by inducing points; dimensions that are not needed switch themselves
        off, and ``log_evidence_`` bounds the evidence from below.
    inducing_points : int, optional
        Carry the process by so many points instead of all rows, for thousands of rows. None: all
        rows for "map", up to 50 points for "variational".
    back_constraints : bool or Kernel, default=False
        Make latent points a smooth function of their rows, so that rows that are alike lie close
        together, and new rows are placed without a search. A kernel over rows, or True for an RBF.
        For "map". What rows of the fit miss is filled in by principal components for this.
    dynamics : Kernel, optional
        Rows are frames of motions: latent points are draws of a process over time with this kernel,
        such as ``RBF()``. ``fit`` then takes ``times``, too. None: latent points are
        independent, standard normal.
    standardize : bool, default=False
        Divide each column by its standard deviation first, for columns of different units.
    n_restarts : int, default=0
        Further searches from points about the principal components; the best one counts.
    max_iter : int, default=1000
        Of each search.
    n_jobs : int, optional
        Searches carried out at the same time.
    random_state : int, Generator or None, default=0
        Of restarts and inducing points. The same number, the same fit.

    Attributes
    ----------
    embedding_ : array of shape (N, Q)
        Latent points of the rows; their means where they have a distribution.
    embedding_variance_ : array of shape (N, Q)
        Of the latent points; ``inference="variational"`` only.
    kernel_ : Kernel
        With every parameter set or learned.
    dynamics_ : Kernel
        Likewise, with ``dynamics``.
    noise_variance_ : float or array of shape (D,)
        Of the columns.
    relevances_ : array of shape (Q,)
        How much each latent dimension matters to the columns, in units of the largest.
    effective_components_ : array of int
        The dimensions that matter, the most relevant first.
    log_posterior_ : float
        "map": log density of rows and latent points together, which the search maximised, and
        the term of their spread without which points would shrink.
    log_evidence_ : float
        "variational": a lower bound of the log density of the rows, all constants included.
    restarts_ : array of shape (1 + n_restarts,)
        What the search from each start reached.
    n_iter_, stop_reason_ : int, str
        How long the best search took, and why it ended.
    at_bounds_ : tuple of str
        Parameters that ended at the end of their range.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GPLVM
    >>> t = np.linspace(0.0, 3.0, 30)
    >>> X = np.column_stack([np.sin(t), np.cos(t), t, t**2])  # a curve in four dimensions
    >>> model = GPLVM(n_components=1).fit(X)
    >>> z = model.embedding_[:, 0]
    >>> bool(np.all(np.diff(z) > 0.0) or np.all(np.diff(z) < 0.0))  # laid out in order
    True
    >>> filled = model.complete([[np.sin(1.0), np.nan, 1.0, np.nan]])
    >>> bool(abs(filled.mean()[0, 1] - np.cos(1.0)) < 0.05)
    True
    """

    _kernel_parameters = ("kernel", "dynamics", "back_constraints")
    _lazy_answers = lazy_forms.PROCESSES

    def __init__(
        self,
        n_components: int = 2,
        kernel: Any = None,
        noise_variance: float | None = None,
        *,
        inference: str = "map",
        inducing_points: int | None = None,
        back_constraints: Any = False,
        dynamics: Any = None,
        standardize: bool = False,
        n_restarts: int = 0,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.inference = inference
        self.inducing_points = inducing_points
        self.back_constraints = back_constraints
        self.dynamics = dynamics
        self.standardize = standardize
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        times: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Find latent points, kernel and noise.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Rows; NaN where a value is missing.
        y : None
            Not used.
        times : array-like of shape (N,), optional
            When each row was seen, with ``dynamics``. None: 0, 1, 2, ... within each group.
        groups : array-like of shape (N,), optional
            Which motion, person or machine each row is of. With ``dynamics``, groups move
            independently. And :meth:`complete` then learns how wide its bands must be for groups
            that were not seen, by leaving some of these out. None: rows are not in groups.
        """
        del y
        rows = validation.check_X(self, X, reset=True, min_rows=_LEAST_ROWS, allow_missing=True)
        validation.check_powers(rows, X)
        self._frame = OutputFrame.of(rows, standardize=self.standardize)
        Y = self._frame.seen(rows)
        self._groups = None if groups is None else motion.checked_groups(groups, len(Y))
        path = motion.path(self.dynamics, times, None if self.dynamics is None else groups, len(Y))
        self._fitted = latent_training.fit(self._plan(), Y, path)
        self._seen = RowsSeen(Y)
        self._describe(Y)
        return self

    def transform(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Array:
        """Latent points of rows, (n, Q): means where they have a distribution.

        Rows that were fitted keep their places. Others are placed by the learned map of back
        constraints, or where they are most probable; missing values are no obstacle. With
        ``dynamics``, rows of a group are placed together.
        """
        return self.transform_dist(X, times, groups).mean()

    def transform_dist(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> distributions.Normal:
        """Latent points of rows with how sure they are, each coordinate by itself, (n, Q).

        For "map" the spread is that of Laplace's approximation, the process kept as it is.
        """
        placed = self._where(self._rows(X), times, groups)
        return distributions.Normal(placed.mean, np.sqrt(placed.variance))

    def inverse_transform(self, X: ArrayLike) -> distributions.Normal:
        """What the columns of rows at latent points are, (n, D), noise included.

        Parameters
        ----------
        X : array-like of shape (n, Q)
            Latent points.
        """
        check_is_fitted(self)
        Z = validation.check_coordinates(self, X, self.embedding_.shape[1])
        f = self._fitted.decoder.latent(Z)
        return self._frame.distribution(f.mean, f.variance + self._fitted.decoder.noise_variance)

    def complete(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> distributions.Normal:
        """Rows with their missing values filled in, and how sure that is, (n, D).

        Averaged over where the latent point of a row may be, given the values that it has. Those
        stay as they are, with a standard deviation of zero. Where the model was fitted to groups,
        rows are taken to be of further groups, and variances are widened to what the same values
        would have needed had they been missing in groups left out.
        """
        rows = self._rows(X)
        missing = np.isnan(rows)
        where = self._where(rows, times, groups)
        mean, variance = self._fitted.decoded(where)
        total = variance + self._fitted.decoder.noise_variance
        if self._groups is not None and missing.any():
            total *= left_out.widths(self._fitted, self._groups, missing, where.mean)
        guess = self._frame.distribution(mean, total)
        return distributions.Normal(
            np.where(missing, guess.mean(), rows),
            np.where(missing, guess.standard_deviation(), 0.0),
        )

    def score_samples(self, X: ArrayLike) -> Array:
        """Log density of each row, (n,), of its values that are not missing.

        By Laplace's approximation over the latent point for "map"; a lower bound for "variational".
        """
        Y = self._frame.seen(self._rows(X))
        return self._fitted.located(Y).log_density - self._frame.log_units(Y)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log density of the rows."""
        del y
        return float(np.mean(self.score_samples(X)))

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return the latent points of the rows."""
        return self.fit(X, y, **fit_params).embedding_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return validation.check_X(self, X, reset=False, allow_missing=True)

    def _where(
        self, rows: Array, times: ArrayLike | None, groups: ArrayLike | None
    ) -> latent_fit.Placed:
        """Where rows are: those that were fitted in their places, others found."""
        Y = self._frame.seen(rows)
        return self._fitted.placed(Y, self._seen.places(Y), times, groups)

    def _describe(self, Y: Array) -> None:
        """Set what is said of a fit."""
        for stale in ("dynamics_", "log_posterior_", "log_evidence_", "embedding_variance_"):
            self.__dict__.pop(stale, None)
        fitted, scale, noise = self._fitted, self._frame.scale, self._fitted.decoder.noise_variance
        self.embedding_, self.kernel_ = fitted.X, fitted.kernel
        self.noise_variance_ = noise * scale**2 if self.standardize else noise
        self.relevances_ = fitted.relevances()
        order = np.argsort(-self.relevances_, kind="stable")
        self.effective_components_ = order[self.relevances_[order] > _EFFECTIVE]
        self.restarts_ = fitted.ends
        self.n_iter_ = fitted.optimum.n_iter
        self.stop_reason_ = fitted.optimum.stop_reason
        self.at_bounds_ = models.report_kernel_bounds(fitted.optimum, fitted.kernel)
        if fitted.path is not None:
            self.dynamics_ = fitted.path.kernel
        value = fitted.value - float(np.sum(self._frame.log_units(Y)))
        if self.inference == "map":
            self.log_posterior_ = value
        else:
            self.log_evidence_, self.embedding_variance_ = value, fitted.X_variance

    def _plan(self) -> latent_training.Plan:
        return latent_training.Plan(
            n_components=validation.check_count(self.n_components, "n_components"),
            kernel=None if self.kernel is None else self._kernel_given(),
            noise_variance=self.noise_variance,
            inference=self.inference,
            inducing_points=self.inducing_points,
            back_constraints=self.back_constraints,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            rng=arrays.generator(self.random_state),
        )
