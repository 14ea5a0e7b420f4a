"""Gaussian process x unknown inputs x their prior x (most probable or averaged over): GPLVM."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, kernels, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import lazy_forms, motion
from posterity.latent.fitted import FittedGPLVM
from posterity.latent.gplvm import LatentPlan, Placed, compute_widening, fit_latent_points
from posterity.latent.latent_point_model import LatentPointModel
from posterity.models import ModelCard

_INFERENCES = ("map", "variational")


@models.transform_lazily(lazy_forms.POINTS_WITHOUT_MOTION)
@declare_parameters
class GPLVM(LatentPointModel):
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
        Of the columns. Learned for "map" with latent points integrated out, by Laplace's
        approximation, of up to 4,000 coordinates and without back constraints: the most probable
        points follow the noise, so that the most probable noise is too small.
    relevances_ : array of shape (Q,)
        How much each latent dimension matters to the columns, in units of the largest.
    effective_components_ : array of int
        The dimensions that matter, the most relevant first.
    log_posterior_ : float
        "map": log density of rows and latent points together, which the search maximised, and
        the term of their spread without which points would shrink; at the most probable noise.
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

    n_components: int = field(default=2, kw_only=False)
    kernel: Any = field(default=None, kw_only=False)
    noise_variance: float | None = field(default=None, kw_only=False)
    inference: str = "map"
    inducing_points: int | None = None
    back_constraints: Any = False
    dynamics: Any = None
    standardize: bool = False
    n_restarts: int = 0
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = 0

    card = ModelCard(
        likelihood="normal",
        prior="normal, over functions and their inputs",
        feature_space="kernel of latent inputs, in time or not",
        inference="most probable, or variational",
        advice="few curved coordinates; missing values; motion",
        page="latent",
    )

    _kernel_parameters = ("kernel", "dynamics", "back_constraints")
    _fitted: FittedGPLVM = field(init=False)

    embedding_ = models.FittedAttribute("model.X")
    embedding_variance_ = models.FittedAttribute()
    kernel_ = models.FittedAttribute("model.kernel")
    dynamics_ = models.FittedAttribute("model.path.kernel")
    noise_variance_ = models.FittedAttribute()
    relevances_ = models.FittedAttribute()
    effective_components_ = models.FittedAttribute()
    log_evidence_ = models.FittedAttribute()
    restarts_ = models.FittedAttribute("model.ends")
    n_iter_ = models.FittedAttribute("model.optimum.n_iter")
    stop_reason_ = models.FittedAttribute("model.optimum.stop_reason")

    @validation.restore_on_error
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
        frame, Y = self._frame_rows(X)
        codes = None if groups is None else motion.check_groups(groups, len(Y))
        moving = None if self.dynamics is None else groups
        path = motion.check_path(self.dynamics, times, moving, len(Y))
        model = fit_latent_points(self._plan(), Y, path)
        noise = model.decoder.noise_variance
        self._fitted = FittedGPLVM(
            frame,
            codes,
            model,
            noise * frame.scale**2 if self.standardize else noise,
            model.measure_relevances(),
            models.report_kernel_bounds(model.optimum, model.kernel),
        )
        return self

    def transform(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Array:
        """Latent points of rows, (n, Q): means where they have a distribution.

        Rows that were fitted keep their places. Others are placed by the learned map of back
        constraints, or where they are most probable; rows may have missing values. With
        ``dynamics``, rows of a group are placed together.
        """
        return self.transform_dist(X, times, groups).mean()

    @models.answer_lazily(lazy_forms.POINT_DISTRIBUTION)
    def transform_dist(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> distributions.Normal:
        """Latent points of rows with how sure they are, each coordinate by itself, (n, Q).

        For "map" the spread is that of Laplace's approximation, the process kept as it is.
        """
        placed = self._place(self._rows(X), times, groups)
        return distributions.Normal(placed.mean, np.sqrt(placed.variance))

    @models.refuse_partitions
    def complete(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> distributions.Normal:
        """Rows with their missing values filled in, and how sure that is, (n, D).

        Averaged over where the latent point of a row may be, given the values that it has; for
        "map" on all hills of its posterior. Those values stay as they are, with a standard
        deviation of zero. Where the model was fitted to groups, rows are taken to be of further
        groups, and variances are widened to what the same values would have needed had they been
        missing in groups left out.
        """
        rows = self._rows(X)
        fitted, missing = self._fitted, np.isnan(rows)
        where, Y = self._place(rows, times, groups), fitted.frame.to_model_units(rows)
        is_free = (
            missing.any(axis=1) & (fitted.rows_seen.find_places(Y) < 0) & (self.dynamics is None)
        )
        mean, variance = fitted.model.decode_rows(Y, where, is_free)
        total = variance + fitted.model.decoder.noise_variance
        if fitted.groups is not None and missing.any():
            total *= compute_widening(fitted.model, fitted.groups, missing, where.mean)
        return fitted.frame.fill_missing(rows, mean, total)

    @models.answer_lazily(lazy_forms.SCORES)
    def score_samples(self, X: ArrayLike) -> Array:
        """Log density of each row, (n,), of its values that are not missing.

        By Laplace's approximation over the latent point for "map"; a lower bound for "variational".
        """
        rows = self._rows(X)
        frame, model = self._fitted.frame, self._fitted.model
        Y = frame.to_model_units(rows)
        return model.locate(Y).log_density - frame.log_units(Y)

    @models.score_lazily
    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log density of the rows."""
        del y
        return float(np.mean(self.score_samples(X)))

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return the latent points of the rows."""
        return self.fit(X, y, **fit_params).embedding_

    def _place(self, rows: Array, times: ArrayLike | None, groups: ArrayLike | None) -> Placed:
        """The places of rows: those that were fitted keep theirs, others are found."""
        fitted, Y = self._fitted, self._fitted.frame.to_model_units(rows)
        path = self._path_of(times, groups, len(Y))
        return fitted.model.place(Y, fitted.rows_seen.find_places(Y), path)

    def _plan(self) -> LatentPlan:
        if self.inference not in _INFERENCES:
            raise ValueError(f"inference={self.inference!r} must be one of {_INFERENCES}.")
        return LatentPlan(
            n_components=validation.check_count(self.n_components, "n_components"),
            kernel=None if self.kernel is None else self._get_kernel(),
            noise_variance=models.check_noise(self.noise_variance),
            inference=self.inference,
            inducing_points=self._n_carriers(),
            back_kernel=self._back_kernel(),
            n_restarts=validation.check_count(self.n_restarts, "n_restarts", least=0),
            max_iter=validation.check_count(self.max_iter, "max_iter"),
            n_jobs=self.n_jobs,
            rng=arrays.generator(self.random_state),
        )

    def _n_carriers(self) -> int | None:
        if self.inducing_points is None:
            return None
        return validation.check_count(self.inducing_points, "inducing_points")

    def _back_kernel(self) -> kernels.Kernel | None:
        """The kernel over rows, where latent points are a function of them."""
        given = self.back_constraints
        if not isinstance(given, bool | kernels.Kernel):
            raise TypeError(f"back_constraints={given!r} must be True, False or a kernel.")
        if given is False:
            return None
        if self.inference != "map":
            raise ValueError("back_constraints are for inference='map'.")
        return kernels.RBF() if given is True else given
