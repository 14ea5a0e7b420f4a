"""Normal likelihood x no prior x any features x maximum likelihood."""

from __future__ import annotations

from posterity import designs
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.inference.conjugate import refine_least_squares
from posterity.linear.flat import FlatModel
from posterity.linear.linear_model import FeatureRows
from posterity.linear.streamed_model import StreamedLinearModel
from posterity.models import Member, ModelCard

_EASY_CONDITION = 1e3  # below it the first solution lacks no more than the last few digits
_SMALL = 50_000  # entries up to which these are worth their cost


class LinearRegression(FlatModel, StreamedLinearModel):
    """Least squares, with the prediction interval that belongs to it.

    Coefficients are correct to the last digits of double precision also where the features are
    nearly dependent: the solution is refined with residuals at twice the precision.

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in: one of :mod:`posterity.features` or any scikit-learn
        transformer. None: the columns as they are.
    fit_intercept : bool, default=True
        Add an intercept.
    predictive : {"student_t", "plug_in"}, default="student_t"
        "student_t": the predictive distribution with weights and noise variance integrated out
        under a reference prior; its intervals are the classical prediction intervals.
        "plug_in": a normal with the maximum likelihood variance, which is too narrow.

    Attributes
    ----------
    coef_ : array of shape (M,) or (K, M)
        Weights; where the features are linearly dependent, those of least norm.
    intercept_ : float or array of shape (K,)
        Intercept.
    noise_variance_ : float or array of shape (K,)
        Maximum likelihood variance of the noise.
    rank_ : int
        The number of independent features.
    features_ : transformer or None
        The fitted features.

    Examples
    --------
    >>> from posterity import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0])
    >>> model.coef_.round(6), round(model.noise_variance_, 6)
    (array([0.9]), 0.1125)
    >>> lower, upper = model.predict_interval([[1.5], [15.0]])
    >>> (upper - lower).round(1)
    array([ 3.1, 17. ])
    """

    card = ModelCard(
        likelihood="normal",
        prior="flat",
        feature_space="explicit",
        inference="closed form",
        advice="many more rows than columns, or a textbook least-squares fit",
        page="regression",
        candidates=(Member("least-squares", 20, "N D^2", on_dask=True),),
    )

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        self._maximise_likelihood(statistics, standardize=True)

    def _polish(self, rows: FeatureRows) -> None:
        """Refine where the problem has one solution: a step if it is easy, to the end if not."""
        problem = self.fit_.problem
        if not problem.rank == len(problem.scale) > 0:
            return
        n_entries = len(rows.X) * len(problem.scale)
        if problem.condition_number() < _EASY_CONDITION and n_entries > _SMALL:
            Z, root = self._transform_features(rows.X), rows.root_weight
            self._publish(*self.fit_.refine_on_rows(Z, rows.Y, root_weight=root))
            return
        Z, Z_error = self._features_with_error(rows.X)
        coef, intercept = refine_least_squares(
            Z, Z_error, rows.Y, root_weight=rows.root_weight, has_offset=self.fit_intercept
        )
        self._publish(coef, intercept)

    def _features_with_error(self, X: Array) -> tuple[Array, Array | None]:
        if isinstance(self.features_, feature_spaces.Features):
            return self.features_.transform_with_error(X)
        return self._transform_features(X), None
