"""The log evidence along one setting of a model, and where it is largest."""

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

_WIDE = 30.0  # ratio of largest to smallest value from which on the axis is logarithmic


@runtime_checkable
class HasEvidence(Protocol):
    """A fitted model that knows how probable it made its data."""

    log_evidence_: float


@dataclass(frozen=True)
class EvidenceDisplay:
    """Log evidence at several values of one setting.

    Parameters
    ----------
    values : array of shape (n,)
        Of the setting, ascending.
    log_evidences : array of shape (n,)
        Log evidence at each.
    name : str, default="setting"
        What is varied.

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
        """A curve that one has already; the values may come in any order.

        Parameters
        ----------
        values : array-like of shape (n,)
            Of the setting.
        log_evidences : array-like of shape (n,)
            At each of them.
        name : str, default="setting"
            For the axis.
        """
        x, evidence = _numbers(values, name), np.asarray(log_evidences, dtype=np.float64)
        if x.ndim != 1 or x.shape != evidence.shape or not len(x):
            raise ValueError(
                "One log evidence is needed for each value; got the shapes "
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
        """Fit a clone at each value of a parameter.

        Parameters
        ----------
        estimator : estimator
            With ``log_evidence_`` once it is fitted. It is cloned and left as it is.
        X, y
            Rows and targets.
        param_name : str
            Name of the parameter, nested names included: ``kernel__length_scale``.
        param_range : array-like of shape (n,)
            Its values.
        n_jobs : int, optional
            Fits at a time, as everywhere in scikit-learn.
        """
        _numbers(param_range, param_name)
        given = np.asarray(param_range).tolist()
        fits = (joblib.delayed(_evidence_at)(estimator, X, y, param_name, v) for v in given)
        found = list(joblib.Parallel(n_jobs=n_jobs, prefer="threads")(fits))
        name = param_name.rpartition("__")[2].replace("_", " ")
        return cls.from_values(param_range, found, name=name)

    @property
    def best(self) -> float:
        """The value of the largest evidence."""
        return float(self.values[np.nanargmax(self.log_evidences)])

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["blue"]) -> Axes:
        """Draw the curve with its largest value marked, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: a new figure.
        color : str, default=blue
            Of the curve.
        """
        axes = axes_or_new(ax)
        axes.plot(self.values, self.log_evidences, "-", color=color)
        top, name = float(np.nanmax(self.log_evidences)), f"best: {self.best:.3g}"
        axes.plot(self.best, top, "D", ms=8, color=COLORS["orange"], label=name)
        if self.values[0] > 0.0 and self.values[-1] > _WIDE * self.values[0]:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter("")  # powers of ten are enough, and do not collide
        axes.set(xlabel=self.name, ylabel="log evidence")
        return axes


def _evidence_at(estimator: BaseEstimator, X: Any, y: Any, name: str, value: Any) -> float:
    """Of a clone with this value."""
    fitted = clone(estimator).set_params(**{name: value}).fit(X, y)
    if not isinstance(fitted, HasEvidence):
        raise TypeError(
            f"{type(fitted).__name__} has no log_evidence_ after its fit; use a model with a "
            "prior, or compare by held-out scores."
        )
    return float(fitted.log_evidence_)


def _numbers(values: ArrayLike, name: str) -> Array:
    """The values of a setting, which an axis can show."""
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"The values of {name} must be numbers to be drawn along an axis.")
    return np.asarray(given, dtype=np.float64)
