"""Plot explained variances of components, and the evidence of their number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from posterity import arrays
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEPT = "components kept"


@runtime_checkable
class HasExplainedVariance(Protocol):
    """A fitted model with explained variances, such as PCA."""

    explained_variance_: Any
    explained_variance_ratio_: Any


@runtime_checkable
class HasWeights(Protocol):
    """A fitted model with the log evidence of every number of components."""

    log_evidences_: Any


@runtime_checkable
class HasRelevance(Protocol):
    """A fitted model with relevances of latent dimensions."""

    relevances_: Any


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
    def from_estimator(
        cls, estimator: HasExplainedVariance | HasRelevance, *, n_components: int | None = None
    ) -> SpectrumDisplay:
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
        if isinstance(estimator, HasRelevance):
            return cls(_check_vector(estimator.relevances_), np.empty(0), name="relevance")
        if not isinstance(estimator, HasExplainedVariance):
            raise TypeError(
                f"{type(estimator).__name__} has neither explained_variance_ nor relevances_; use "
                "PCA or a variational GPLVM."
            )
        values = _check_vector(estimator.explained_variance_)
        share = np.cumsum(_check_vector(estimator.explained_variance_ratio_))
        kept = n_components or 0
        if not isinstance(estimator, HasWeights):
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
