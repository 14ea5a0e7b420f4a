"""How much each component explains, and how many of them the evidence is for."""

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
class Explaining(Protocol):
    """A fitted model of components with variances, of this library or of another."""

    explained_variance_: Any
    explained_variance_ratio_: Any


@runtime_checkable
class Weighed(Protocol):
    """A fitted model that knows the log evidence of every number of components."""

    log_evidences_: Any


@runtime_checkable
class Relevant(Protocol):
    """A fitted model that knows how much each latent dimension matters."""

    relevances_: Any


@dataclass(frozen=True)
class SpectrumDisplay:
    """The size of each component, their share of the whole, and the evidence of their number.

    Parameters
    ----------
    values : array of shape (K,)
        Variance of each component, or relevance of each latent dimension.
    share : array of shape (K,)
        Share of the variance that the components up to this one explain; empty for relevances.
    counts : array of shape (L,)
        Numbers of components that were weighed; may be empty.
    log_evidences : array of shape (L,)
        Log evidence of each of these numbers.
    n_components : int, default=0
        How many are marked as kept; 0 where no number was chosen.
    name : str, default="variance"
        What the values are.

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
        cls, estimator: Explaining | Relevant, *, n_components: int | None = None
    ) -> SpectrumDisplay:
        """Read the variances, or the relevances, of a fitted model.

        Parameters
        ----------
        estimator : transformer
            With ``explained_variance_`` and ``explained_variance_ratio_``, as PCA has them, and
            ``log_evidences_`` where evidence is to be seen; or with ``relevances_``.
        n_components : int, optional
            How many to mark as kept. None: the number of largest evidence, or all.
        """
        if isinstance(estimator, Relevant):
            return cls(_vector(estimator.relevances_), np.empty(0), name="relevance")
        if not isinstance(estimator, Explaining):
            raise TypeError(
                f"{type(estimator).__name__} has neither the variances of components nor the "
                "relevances of latent dimensions; fit a PCA or a variational GPLVM."
            )
        values = _vector(estimator.explained_variance_)
        share = np.cumsum(_vector(estimator.explained_variance_ratio_))
        kept = n_components or 0
        if not isinstance(estimator, Weighed):
            return cls(values, share, n_components=kept)
        evidence = _vector(estimator.log_evidences_)
        best = int(np.argmax(evidence)) if n_components is None else kept
        return cls(values, share, np.arange(float(len(evidence))), evidence, best)

    def plot(
        self, ax: Axes | None = None, *, show: Literal["values", "share", "evidence"] = "values"
    ) -> Axes:
        """Draw one of the three and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: a new figure.
        show : {"values", "share", "evidence"}, default="values"
            Variance or relevance of each component; share of the variance that they explain
            together; or the log evidence of their number, below that of the best.
        """
        if show not in ("values", "share", "evidence"):
            raise ValueError(f"show={show!r} must be 'values', 'share' or 'evidence'.")
        shown = {"values": self.values, "share": self.share, "evidence": self.log_evidences}[show]
        if not len(shown):
            raise ValueError(f"There is no {show} to show: the model does not tell it.")
        axes = axes_or_new(ax)
        {
            "values": self._draw_values,
            "share": self._draw_share,
            "evidence": self._draw_evidence,
        }[show](axes)
        return axes

    def _draw_values(self, axes: Axes) -> None:
        """Variances on a logarithmic axis, since noise has a wide range; bars of relevances."""
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
        """From nothing at no component."""
        blue = COLORS["blue"]
        axes.plot(np.arange(len(self.share) + 1), np.concatenate([[0.0], self.share]), color=blue)
        if self.n_components:
            reached = self.share[self.n_components - 1]
            axes.plot(self.n_components, reached, "o", color=blue, label=_KEPT)
        axes.set(xlabel="components", ylabel="share of the variance", ylim=(0.0, 1.03))

    def _draw_evidence(self, axes: Axes) -> None:
        """Below the best, in nats."""
        blue, height = COLORS["blue"], self.log_evidences - np.nanmax(self.log_evidences)
        axes.plot(self.counts, height, color=blue)
        chosen = self.counts == self.n_components
        axes.plot(self.counts[chosen], height[chosen], "o", color=blue, label=_KEPT)
        axes.set(xlabel="components", ylabel="nats below the best")


def _vector(values: Any) -> Array:
    """Numbers in a row, from an array of any library."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64).ravel()
