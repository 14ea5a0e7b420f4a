"""Plot observed frequencies against predicted probabilities or coverages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from posterity import distributions
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.scoring.calibration import ProbabilityBins

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ReliabilityDisplay:
    """Predicted probabilities and observed frequencies, in bins of about equal size.

    Parameters
    ----------
    predicted : array of shape (B,)
        Mean predicted probability of each bin.
    observed : array of shape (B,)
        Observed frequency of the event in each bin.
    lower, upper : arrays of shape (B,)
        Band that contains the observed frequency of calibrated predictions with probability
        ``coverage``.
    counts : array of shape (B,)
        Number of rows in each bin.
    coverage : float, default=0.9
        Coverage of the band.
    event : str, default="the event"
        Name of the event, for the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import displays
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> happened = rng.random(5000) < p
    >>> display = displays.ReliabilityDisplay.from_predictions(happened, p, n_bins=5)
    >>> display.observed.round(1)
    array([0.1, 0.3, 0.5, 0.7, 0.9])
    """

    predicted: Array
    observed: Array
    lower: Array
    upper: Array
    counts: Array
    coverage: float = 0.9
    event: str = "the event"

    @classmethod
    def from_predictions(
        cls,
        happened: ArrayLike,
        probability: ArrayLike,
        *,
        n_bins: int = 10,
        coverage: float = 0.9,
        event: str = "the event",
    ) -> ReliabilityDisplay:
        """Group rows by predicted probability, and compute the observed frequency of each bin.

        Parameters
        ----------
        happened : array-like of shape (N,)
            Whether the event was observed, as booleans or 0 and 1.
        probability : array-like of shape (N,)
            Predicted probability of the event.
        n_bins : int, default=10
            Maximum number of bins; rows of equal probability share one.
        coverage : float, default=0.9
            Coverage of the band of calibrated predictions. The band is binomial at the mean of the
            bin, which is slightly wide if probabilities within it differ.
        event : str, default="the event"
            Name of the event, for the axes.
        """
        _check_options(n_bins, coverage, "n_bins")
        p, outcome = _check_probabilities(happened, probability)
        bins = ProbabilityBins.from_rows(p, outcome, n_bins)
        lower, upper = _band(bins.predicted, bins.counts, coverage)
        return cls(bins.predicted, bins.observed, lower, upper, bins.counts, coverage, event)

    @classmethod
    def from_distribution(
        cls,
        prediction: distributions.Univariate,
        y: ArrayLike,
        *,
        n_intervals: int = 10,
        coverage: float = 0.9,
    ) -> ReliabilityDisplay:
        """Compare the nominal and observed coverage of central intervals of a prediction.

        The default number gives intervals from 5 % to 95 %. All rows are in each, so the points
        are correlated, unlike those of bins.

        Parameters
        ----------
        prediction : Univariate distribution of shape (N,)
            Predicted distribution of each target.
        y : array-like of shape (N,)
            Observed targets.
        n_intervals : int, default=10
            Number of intervals.
        coverage : float, default=0.9
            Coverage of the band of calibrated predictions.
        """
        _check_options(n_intervals, coverage, "n_intervals")
        targets = _targets(prediction, y)
        stated = (np.arange(n_intervals) + 0.5) / n_intervals
        observed = np.empty(n_intervals)
        for i, level in enumerate(stated.tolist()):
            low, high = prediction.interval(level)
            observed[i] = np.mean((low <= targets) & (targets <= high))
            if not isinstance(prediction, distributions.Continuous):  # its coverage is larger
                stated[i] = _chance_band(prediction, low, high)
        counts = np.full(n_intervals, float(len(targets)))
        lower, upper = _band(stated, counts, coverage)
        return cls(stated, observed, lower, upper, counts, coverage, "a central interval")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        coverage: float = 0.9,
    ) -> ReliabilityDisplay:
        """Check the second of two classes, the most probable of several, or central intervals.

        Parameters
        ----------
        estimator : classifier or regressor
            Fitted, with ``predict_proba``, or with ``predict_dist``; for the latter, intervals are
            checked as in :meth:`from_distribution`.
        X : array-like or data frame of shape (N, D)
            Rows that the estimator was not fitted to.
        y : array-like of shape (N,)
            Classes or targets of the rows.
        n_bins : int, default=10
            Number of bins, or of intervals.
        coverage : float, default=0.9
            As in :meth:`from_predictions`.
        """
        if not hasattr(estimator, "predict_proba"):
            if not hasattr(estimator, "predict_dist"):
                raise TypeError(
                    f"{type(estimator).__name__} has neither predict_proba nor predict_dist."
                )
            prediction = estimator.predict_dist(X)
            return cls.from_distribution(prediction, y, n_intervals=n_bins, coverage=coverage)
        P, classes = np.asarray(estimator.predict_proba(X)), np.asarray(estimator.classes_)
        labels = np.asarray(y).ravel()
        options: dict[str, Any] = {"n_bins": n_bins, "coverage": coverage}
        if len(classes) == 2:
            event = str(classes[1])
            return cls.from_predictions(labels == classes[1], P[:, 1], event=event, **options)
        right = labels == classes[P.argmax(axis=1)]
        event = "the most probable class"
        return cls.from_predictions(right, P.max(axis=1), event=event, **options)

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw the band, the diagonal and the observed frequencies, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of the points.
        """
        axes = axes_or_new(ax)
        grey, name = COLORS["grey"], f"{100 * self.coverage:g} % if calibrated"
        axes.vlines(self.predicted, self.lower, self.upper, color=grey, alpha=0.4, lw=7, label=name)
        axes.plot([0.0, 1.0], [0.0, 1.0], color=grey, lw=1.0)
        axes.plot(self.predicted, self.observed, "o-", color=color, ms=6, lw=1.2, label="observed")
        axes.set(xlabel=f"predicted probability of {self.event}", ylabel="observed frequency")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return axes


def _check_options(count: int, coverage: float, name: str) -> None:
    """Check the number of points and the coverage of the band."""
    if count < 1 or not 0.0 < coverage < 1.0:
        raise ValueError(f"{name}={count} must be >= 1, and coverage={coverage} in (0, 1).")


def _band(p: Array, counts: Array, coverage: float) -> tuple[Array, Array]:
    """Return the binomial band of the frequency of an event with this probability."""
    tails = (1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0
    lower, upper = (stats.binom.ppf(q, counts, np.minimum(p, 1.0)) / counts for q in tails)
    return lower, upper


def _chance_band(prediction: distributions.Univariate, low: Array, high: Array) -> float:
    """Return the mean probability that counts lie in their closed intervals."""
    inside = prediction.cdf(high) - prediction.cdf(low) + np.exp(prediction.log_prob(low))
    return float(np.mean(inside))


def _targets(prediction: distributions.Univariate, y: ArrayLike) -> Array:
    """Check that there is one target per prediction."""
    targets = np.asarray(y, dtype=np.float64)
    if prediction.shape != targets.shape or targets.ndim != 1 or not len(targets):
        raise ValueError(
            "prediction and y must have the same shape (N,); their shapes are "
            f"{prediction.shape} and {targets.shape}."
        )
    return targets


def _check_probabilities(happened: ArrayLike, probability: ArrayLike) -> tuple[Array, Array]:
    """Check probabilities and outcomes of the same rows."""
    p = np.asarray(probability, dtype=np.float64)
    outcome = np.asarray(happened, dtype=np.float64)
    if p.ndim != 1 or p.shape != outcome.shape or not len(p):
        raise ValueError(
            "happened and probability must have the same shape (N,); their shapes are "
            f"{outcome.shape} and {p.shape}."
        )
    wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0)) | ~np.isin(outcome, (0.0, 1.0)))
    if wrong.size:
        row = wrong[0]
        raise ValueError(
            f"Row {row} has the probability {p[row]:g} and the outcome {outcome[row]:g}; a "
            "probability must be in [0, 1], and an outcome 0 or 1."
        )
    return p, outcome
