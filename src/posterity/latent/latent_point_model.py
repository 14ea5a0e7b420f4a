"""Methods of models whose columns are functions of latent points, missing values allowed."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, models, validation
from posterity.arrays import Array
from posterity.latent import lazy_forms, motion
from posterity.latent.fitted import FittedGPLVM, FittedHierarchy, OutputFrame
from posterity.latent.gplvm import Path

_LEAST_ROWS = 3


class LatentPointModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, models.KernelModel):
    """A transformer to latent points, from which columns follow by Gaussian processes."""

    standardize: bool
    _fitted: FittedGPLVM | FittedHierarchy

    embedding_: Any
    log_posterior_ = models.FittedAttribute()
    at_bounds_ = models.FittedAttribute()

    @models.answer_lazily(lazy_forms.ROWS)
    def inverse_transform(self, X: ArrayLike) -> Array:
        """The mean of the columns of rows at latent points, (n, D).

        Parameters
        ----------
        X : array-like of shape (n, Q)
            Latent points; of a hierarchy, those of its root.
        """
        return self.inverse_transform_dist(X).mean()

    @models.answer_lazily(lazy_forms.ROW_DISTRIBUTION)
    def inverse_transform_dist(self, X: ArrayLike) -> distributions.Normal:
        """The distribution of the columns of rows at latent points, (n, D), noise included.

        Parameters
        ----------
        X : array-like of shape (n, Q)
            Latent points; of a hierarchy, those of its root, and the distribution is averaged over
            where the points of the parts may be.
        """
        check_is_fitted(self)
        Z = validation.check_coordinates(self, X, self._n_features_out)
        return self._fitted.frame.to_distribution(*self._fitted.outputs(Z))

    def __sklearn_is_fitted__(self) -> bool:
        return models.is_fitted(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _frame_rows(self, X: ArrayLike) -> tuple[OutputFrame, Array]:
        """The origins and units of the columns of training rows, and the rows in these."""
        rows = validation.check_X(self, X, reset=True, min_rows=_LEAST_ROWS, allow_missing=True)
        validation.check_powers(rows, X)
        frame = OutputFrame.from_rows(rows, standardize=self.standardize)
        return frame, frame.to_model_units(rows)

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return validation.check_X(self, X, reset=False, allow_missing=True)

    def _path_of(
        self, times: ArrayLike | None, groups: ArrayLike | None, n_rows: int
    ) -> Path | None:
        """The motion of rows by the learned kernel over time, or None without dynamics."""
        return motion.check_path(getattr(self, "dynamics_", None), times, groups, n_rows)
