"""Processes of parts under a process of the whole x most probable points: HierarchicalGPLVM."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, kernels, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import lazy_forms, motion
from posterity.latent.fitted import FittedHierarchy, OutputFrame, RowsSeen
from posterity.latent.gplvm import (
    Descent,
    HierarchyPlan,
    LearnedHierarchy,
    Levels,
    Path,
    StandardNormalPrior,
    TrajectoryPrior,
    fit_hierarchy,
)
from posterity.latent.latent_point_model import LatentPointModel
from posterity.latent.parts import Parts
from posterity.models import ModelCard

_ROOT_KERNEL = kernels.RBF()


@models.transform_lazily(lazy_forms.POINTS_WITHOUT_PATHS)
@declare_parameters
class HierarchicalGPLVM(LatentPointModel):
    """Parts that move each in their own way, and what they have in common.

    Columns come in parts: the limbs of a body, the dancers of a pair, the sensors of each machine.
    Each part is a Gaussian process over a latent space of its own, as in :class:`GPLVM`. Where a
    row is in these spaces is a Gaussian process, too, over one latent space more, the root's. So
    what is seen of one part tells of the others.

    Parameters
    ----------
    parts : mapping of names to lists of columns, or list of such lists, optional
        Columns by name or by position; each belongs to one part. None: two halves.
    n_components : int, default=2
        Latent coordinates of each part; no more than it has columns.
    root_components : int, default=2
        Latent coordinates of the root; no more than all parts have.
    kernel : Kernel or callable, optional
        Over the latent space of each part. None: ``Scaled(RBF(1.0)).fixed()``, with the variance of
        the part's columns. It is the unit of these spaces, and fixed: if it were learned, points of
        the parts would shrink.
    root_kernel : Kernel, optional
        Over the root's latent space, of variance one. None: ``RBF()``, its length learned.
    noise_variance : float, optional
        Of the columns about their functions, in the units of the model. None: learned, for each
        part.
    node_noise : float, default=1e-3
        Variance of the parts' points about where the root says they are. It is not learned: all
        structure would move into the parts.
    dynamics : Kernel, optional
        Rows are frames of motions: root points are draws of a process over time with this kernel,
        such as ``RBF()``. ``fit`` then takes ``times`` and ``groups``. None: root points are
        independent, standard normal.
    standardize : bool, default=False
        Divide each column by its standard deviation first, for columns of different units.
    max_iter : int, default=1000
        Of the search.
    random_state : int, Generator or None, default=0
        Of the start of dimensions for which no principal component is left.

    Attributes
    ----------
    embedding_ : array of shape (N, Q)
        Root points of the rows.
    part_embeddings_ : dict
        Latent points of the rows in the space of each part, by its name.
    parts_ : dict
        Positions of the columns of each part, by its name.
    kernels_ : dict
        Over the space of each part, with every parameter set or learned.
    root_kernel_ : Kernel
        Likewise, over the root's.
    dynamics_ : Kernel
        Likewise, over time; with ``dynamics``.
    noise_variances_ : dict
        Of the columns of each part: a number, or one per column where ``standardize=True``.
    log_posterior_ : float
        Log density of rows and latent points together, which the search maximised.
    n_iter_ : int
        Of the search.
    stop_reason_ : str
        Why it ended.
    at_bounds_ : tuple of str
        Parameters that ended at the end of their range.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import HierarchicalGPLVM
    >>> t = np.linspace(0.0, 3.0, 20)
    >>> left = np.column_stack([np.sin(t), np.cos(t), t])
    >>> right = np.column_stack([np.cos(t + 1.0), np.sin(t + 1.0)])
    >>> parts = {"left": [0, 1, 2], "right": [3, 4]}
    >>> model = HierarchicalGPLVM(parts, n_components=1, root_components=1, noise_variance=0.01)
    >>> _ = model.fit(np.hstack([left, right]))
    >>> half = np.append(left[10], [np.nan, np.nan])
    >>> filled = model.complete(half[None]).mean()[0, 3:]
    >>> bool(np.abs(filled - right[10]).max() < 0.05)
    True
    """

    parts: Any = field(default=None, kw_only=False)
    n_components: int = field(default=2, kw_only=False)
    root_components: int = field(default=2, kw_only=False)
    kernel: Any = None
    root_kernel: Any = None
    noise_variance: float | None = None
    node_noise: float = 1e-3
    dynamics: Any = None
    standardize: bool = False
    max_iter: int = 1000
    random_state: Any = 0

    card = ModelCard(
        likelihood="normal",
        prior="processes over processes",
        feature_space="a latent space per part, one above",
        inference="most probable",
        advice="curved coordinates of the parts of a body",
        page="latent",
    )

    _kernel_parameters = ("kernel", "root_kernel", "dynamics")
    _fitted: FittedHierarchy = field(init=False)

    embedding_ = models.FittedAttribute()
    part_embeddings_ = models.FittedAttribute()
    parts_ = models.FittedAttribute()
    kernels_ = models.FittedAttribute()
    root_kernel_ = models.FittedAttribute()
    dynamics_ = models.FittedAttribute("path_kernel")
    noise_variances_ = models.FittedAttribute()
    n_iter_ = models.FittedAttribute()
    stop_reason_ = models.FittedAttribute()

    @validation.restore_on_error
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        times: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Find the latent points of parts and root, the kernels and the noise.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Rows; NaN where a value is missing.
        y : None
            Not used.
        times : array-like of shape (N,), optional
            When each row was seen, with ``dynamics``. None: 0, 1, 2, ... within each group.
        groups : array-like of shape (N,), optional
            Which motion each row is of, with ``dynamics``. None: all of one.
        """
        del y
        frame, Y = self._frame_rows(X)
        parts = Parts.from_columns(self.parts, Y.shape[1], getattr(self, "feature_names_in_", None))
        path = motion.check_path(self.dynamics, times, groups, len(Y))
        learned = fit_hierarchy(
            self._plan(parts, path),
            [Y[:, columns] for columns in parts.columns],
            arrays.generator(self.random_state),
        )
        self._fitted = self._describe(learned, parts, frame, Y)
        return self

    def transform(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Array:
        """Root points of rows, (n, Q).

        Rows that were fitted keep their places. Others lie where they are most probable; they
        may have missing values. With ``dynamics``, and ``times`` or ``groups``, rows of a group are
        placed together, along a path; otherwise each by itself.
        """
        rows = self._rows(X)
        Y = self._fitted.frame.to_model_units(rows)
        homes = self._fitted.seen.find_places(Y)
        places = self.embedding_[homes]
        if np.any(homes < 0):
            found, _ = self._locate(Y, times, groups)
            places[homes < 0] = found[homes < 0, : places.shape[1]]
        return places

    @models.refuse_partitions
    def complete(
        self, X: ArrayLike, times: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> distributions.Normal:
        """Rows with their missing values filled in, whole parts too, and how sure that is, (n, D).

        Averaged over where the latent points of a row may be, given the values that it has. Those
        stay as they are, with a standard deviation of zero. ``times`` and ``groups`` are those of
        :meth:`transform`.
        """
        rows = self._rows(X)
        places = self._locate(self._fitted.frame.to_model_units(rows), times, groups)
        return self._fitted.frame.fill_missing(
            rows, *self._fitted.descent.complete_outputs(*places)
        )

    def _default_kernel(self) -> kernels.Kernel:
        return kernels.Scaled(kernels.RBF(1.0)).fixed()

    def _locate(
        self, Y: Array, times: ArrayLike | None, groups: ArrayLike | None
    ) -> tuple[Array, Array]:
        """Joined points of rows and their covariances."""
        descent = self._fitted.descent
        if times is None and groups is None:
            return descent.locate(Y)
        path = self._path_of(times, groups, len(Y))
        if path is None:
            return descent.locate(Y)
        prior = path.fixed_prior()
        return descent.locate_along(Y, prior, prior.start)

    def _root_kernel_given(self) -> kernels.Kernel:
        if self.root_kernel is None:
            return _ROOT_KERNEL
        if isinstance(self.root_kernel, kernels.Kernel):
            return self.root_kernel
        raise TypeError(
            f"root_kernel={self.root_kernel!r} must be a kernel of posterity.kernels, or None."
        )

    def _plan(self, parts: Parts, path: Path | None) -> HierarchyPlan:
        each = validation.check_count(self.n_components, "n_components")
        at_root = validation.check_count(self.root_components, "root_components")
        n_parts = tuple(min(each, len(columns)) for columns in parts.columns)
        given = self.noise_variance
        return HierarchyPlan(
            Levels(min(at_root, sum(n_parts)), n_parts),
            parts.names,
            self._get_kernel(),
            self._root_kernel_given(),
            None if given is None else validation.check_positive(given, "noise_variance"),
            validation.check_positive(self.node_noise, "node_noise"),
            lambda R: StandardNormalPrior() if path is None else path.start_prior(R),
            validation.check_count(self.max_iter, "max_iter"),
        )

    def _describe(
        self, learned: LearnedHierarchy, parts: Parts, frame: OutputFrame, Y: Array
    ) -> FittedHierarchy:
        """The record of the fit, in the units of the columns."""
        X, levels, optimum = learned.found.X, learned.levels, learned.found.optimum
        columns = dict(zip(parts.names, parts.columns, strict=True))
        numbers = zip(learned.leaves, learned.leaf_numbers, strict=True)
        found = dict(
            zip(parts.names, (leaf.read_parameters(own) for leaf, own in numbers), strict=True)
        )
        each = {name: kernel for name, (kernel, _) in found.items()}
        root_kernel = learned.node.kernel.with_theta(learned.node_numbers)
        pairs = zip(parts.names, levels.parts, strict=True)
        return FittedHierarchy(
            frame,
            RowsSeen(Y),
            Descent.from_hierarchy(learned, parts.columns),
            X[:, levels.root].copy(),
            {name: X[:, at].copy() for name, at in pairs},
            columns,
            each,
            {
                name: noise * frame.scale[columns[name]] ** 2 if self.standardize else noise
                for name, (_, noise) in found.items()
            },
            root_kernel,
            _path_kernel(learned),
            learned.found.log_posterior - float(np.sum(frame.log_units(Y))),
            optimum.n_iter,
            optimum.stop_reason,
            models.report_kernel_bounds(optimum, *each.values(), root_kernel),
        )


def _path_kernel(learned: LearnedHierarchy) -> kernels.Kernel | None:
    """The kernel over time, where root points move."""
    if not isinstance(learned.prior, TrajectoryPrior):
        return None
    return learned.prior.kernel_at(learned.prior_numbers)
