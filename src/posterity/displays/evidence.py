"""Plot the log evidence over one parameter of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 30.0  # ratio of largest to smallest value above which the axis is logarithmic


@runtime_checkable
class HasEvidence(Protocol):
    """A fitted model with a log evidence."""

    log_evidence_: float


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
    if not isinstance(fitted, HasEvidence):
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
