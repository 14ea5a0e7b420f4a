"""Plot the log evidence over a parameter, and variances of components with theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from posterity import arrays
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 30.0  # ratio of largest to smallest value above which the axis is logarithmic


@dataclass(frozen=True)
class EvidenceDisplay:
    """Log evidence at several values of one parameter.

    Parameters
    ----------
    values : array of shape (n,)
        Values of the parameter, ascending.
    log_evidences : array of shape (n,)
        Log evidence at each value.
    name : str, default="setting"
        Name of the parameter, for the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression, displays
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> y = X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=20)
    >>> display = displays.EvidenceDisplay.from_estimator(
    ...     BayesianLinearRegression(), X, y,
    ...     param_name="noise_variance", param_range=[0.0001, 0.001, 0.01, 0.1, 1.0])
    >>> display.best
    0.01
    """

    values: Array
    log_evidences: Array
    name: str = "setting"

    @classmethod
    def from_values(
        cls, values: ArrayLike, log_evidences: ArrayLike, *, name: str = "setting"
    ) -> EvidenceDisplay:
        """Use log evidences that were computed before; values may be in any order.

        Parameters
        ----------
        values : array-like of shape (n,)
            Values of the parameter.
        log_evidences : array-like of shape (n,)
            Log evidence at each value.
        name : str, default="setting"
            Name of the parameter, for the axis.
        """
        x, evidence = _check_values(values, name), np.asarray(log_evidences, dtype=np.float64)
        if x.ndim != 1 or x.shape != evidence.shape or not len(x):
            raise ValueError(
                f"values and log_evidences must be vectors of the same length; their shapes are "
                f"{x.shape} and {evidence.shape}."
            )
        order = np.argsort(x, kind="stable")
        return cls(x[order], evidence[order], name)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        param_name: str,
        param_range: ArrayLike,
        n_jobs: int | None = None,
    ) -> EvidenceDisplay:
        """Fit a clone of an estimator at each value of a parameter.

        Parameters
        ----------
        estimator : estimator
            Estimator with ``log_evidence_`` after the fit. It is cloned, not modified.
        X, y
            Rows and targets.
        param_name : str
            Name of the parameter; may be nested, such as ``kernel__length_scale``.
        param_range : array-like of shape (n,)
            Values of the parameter.
        n_jobs : int, optional
            Number of parallel fits, as in scikit-learn.
        """
        _check_values(param_range, param_name)
        given = np.asarray(param_range).tolist()
        fits = (joblib.delayed(_fit_evidence)(estimator, X, y, param_name, v) for v in given)
        found = list(joblib.Parallel(n_jobs=n_jobs, prefer="threads")(fits))
        name = param_name.rpartition("__")[2].replace("_", " ")
        return cls.from_values(param_range, found, name=name)

    @property
    def best(self) -> float:
        """Value with the largest evidence."""
        return float(self.values[np.nanargmax(self.log_evidences)])

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw the curve, mark its maximum, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of the curve.
        """
        axes = axes_or_new(ax)
        axes.plot(self.values, self.log_evidences, "-", color=color)
        top, name = float(np.nanmax(self.log_evidences)), f"best: {self.best:.3g}"
        axes.plot(self.best, top, "D", ms=8, color=COLORS["orange"], label=name)
        if self.values[0] > 0.0 and self.values[-1] > _WIDE * self.values[0]:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter("")  # minor labels would overlap
        axes.set(xlabel=self.name, ylabel="log evidence")
        return axes


def _fit_evidence(estimator: BaseEstimator, X: Any, y: Any, name: str, value: Any) -> float:
    """Fit a clone with this parameter value and return its log evidence."""
    fitted = clone(estimator).set_params(**{name: value}).fit(X, y)
    if not hasattr(fitted, "log_evidence_"):
        raise TypeError(
            f"{type(fitted).__name__} has no log_evidence_ after the fit; use a Bayesian model, or "
            "compare held-out scores."
        )
    return float(fitted.log_evidence_)


def _check_values(values: ArrayLike, name: str) -> Array:
    """Check that the values of a parameter are numbers."""
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"The values of {name} must be numbers.")
    return np.asarray(given, dtype=np.float64)


_KEPT = "components kept"


@dataclass(frozen=True)
class SpectrumDisplay:
    """Variance of each component, cumulative share, and evidence of their number.

    Parameters
    ----------
    values : array of shape (K,)
        Variance of each component, or relevance of each latent dimension.
    share : array of shape (K,)
        Cumulative share of the explained variance; empty for relevances.
    counts : array of shape (L,)
        Numbers of components with a log evidence; may be empty.
    log_evidences : array of shape (L,)
        Log evidence of each of these numbers.
    n_components : int, default=0
        Number of components marked as kept; 0 if no number was chosen.
    name : str, default="variance"
        Name of the values, for the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from posterity import displays
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [8.0, 4.0, 1.0, 1.0]
    >>> display = displays.SpectrumDisplay.from_estimator(PCA().fit(X))
    >>> display.share.round(2)
    array([0.8 , 0.97, 0.99, 1.  ])
    """

    values: Array
    share: Array
    counts: Array = field(default_factory=lambda: np.empty(0))
    log_evidences: Array = field(default_factory=lambda: np.empty(0))
    n_components: int = 0
    name: str = "variance"

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_components: int | None = None) -> SpectrumDisplay:
        """Read the variances, or the relevances, of a fitted model.

        Parameters
        ----------
        estimator : transformer
            Fitted, with ``explained_variance_`` and ``explained_variance_ratio_`` as PCA has them,
            and ``log_evidences_`` to show the evidence; or with ``relevances_``.
        n_components : int, optional
            Number of components to mark as kept. None: the number with the largest evidence, or
            all.
        """
        if hasattr(estimator, "relevances_"):
            return cls(_check_vector(estimator.relevances_), np.empty(0), name="relevance")
        needed = ("explained_variance_", "explained_variance_ratio_")
        if not all(hasattr(estimator, name) for name in needed):
            raise TypeError(
                f"{type(estimator).__name__} has neither explained_variance_ nor relevances_; use "
                "PCA or a variational GPLVM."
            )
        values = _check_vector(estimator.explained_variance_)
        share = np.cumsum(_check_vector(estimator.explained_variance_ratio_))
        kept = n_components or 0
        if not hasattr(estimator, "log_evidences_"):
            return cls(values, share, n_components=kept)
        evidence = _check_vector(estimator.log_evidences_)
        best = int(np.argmax(evidence)) if n_components is None else kept
        return cls(values, share, np.arange(float(len(evidence))), evidence, best)

    def plot(
        self, ax: Axes | None = None, *, show: Literal["values", "share", "evidence"] = "values"
    ) -> Axes:
        """Draw variances, cumulative share or evidence, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        show : {"values", "share", "evidence"}, default="values"
            Variance or relevance of each component; cumulative share of the explained variance;
            or the log evidence of their number, relative to the best.
        """
        if show not in ("values", "share", "evidence"):
            raise ValueError(f"show={show!r} must be 'values', 'share' or 'evidence'.")
        shown = {"values": self.values, "share": self.share, "evidence": self.log_evidences}[show]
        if not len(shown):
            raise ValueError(f"show={show!r} is not available for this model.")
        axes = axes_or_new(ax)
        {
            "values": self._draw_values,
            "share": self._draw_share,
            "evidence": self._draw_evidence,
        }[show](axes)
        return axes

    def _draw_values(self, axes: Axes) -> None:
        """Draw variances on a logarithmic axis, or relevances as bars."""
        n = len(self.values)
        if self.name != "variance":
            axes.bar(np.arange(n), self.values, color=COLORS["blue"])
            axes.set_xticks(np.arange(n))
            axes.set(xlabel="latent dimension", ylabel=self.name)
            return
        number, seen = np.arange(1, n + 1), self.values > 0.0
        kept = number <= (self.n_components or n)
        colors = np.where(kept, COLORS["blue"], COLORS["grey"])
        axes.scatter(number[seen], self.values[seen], s=24, c=colors[seen])
        axes.set(xlabel="component", ylabel=self.name, yscale="log")

    def _draw_share(self, axes: Axes) -> None:
        """Draw the cumulative share of the variance, starting at zero components."""
        blue = COLORS["blue"]
        axes.plot(np.arange(len(self.share) + 1), np.concatenate([[0.0], self.share]), color=blue)
        if self.n_components:
            reached = self.share[self.n_components - 1]
            axes.plot(self.n_components, reached, "o", color=blue, label=_KEPT)
        axes.set(xlabel="components", ylabel="share of the variance", ylim=(0.0, 1.03))

    def _draw_evidence(self, axes: Axes) -> None:
        """Draw the log evidence relative to the best, in nats."""
        blue, height = COLORS["blue"], self.log_evidences - np.nanmax(self.log_evidences)
        axes.plot(self.counts, height, color=blue)
        chosen = self.counts == self.n_components
        axes.plot(self.counts[chosen], height[chosen], "o", color=blue, label=_KEPT)
        axes.set(xlabel="components", ylabel="nats below the best")


def _check_vector(values: Any) -> Array:
    """Convert an array of any library to a vector."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64).ravel()
