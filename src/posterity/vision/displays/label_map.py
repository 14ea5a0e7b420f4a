"""Plot the labels of the pixels of an image, and how much doubt there is about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import vision
from posterity.arrays import Array
from posterity.displays.style import axes_or_new
from posterity.vision import images
from posterity.vision.base import measure_entropy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_LABEL = -1
_BLANK = 255  # gray value of pixels without label, unless there is an image
_MOST_LISTED = 12  # names in a legend


class PixelEstimator(Protocol):
    """Gives every pixel of an image a probability of each label."""

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities (H, W, C)."""


@dataclass(frozen=True, eq=False)
class LabelMapDisplay:
    """Labels of the pixels of an image, and the entropy of their distributions.

    Parameters
    ----------
    labels : array of shape (H, W), int64
        Label of each pixel, from 0 to C - 1; -1 where there is none.
    names : tuple of str
        Names of the C labels.
    entropy : array of shape (H, W), optional
        Entropy of the labels of each pixel in bits: 0 is certain, 1 is as for two equal
        labels, log2(C) is the largest. NaN where there is no label.
    image : array of shape (H, W) or (H, W, 3), uint8, optional
        Image below the labels.
    colors : array of shape (C, 3), uint8, optional
        Red, green and blue of each label.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> p = np.array([[[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]])
    >>> display = vision.displays.LabelMapDisplay.from_probabilities(p, ["sky", "ground"])
    >>> display.labels, display.entropy
    (array([[ 0,  0, -1]]), array([[ 0.,  1., nan]]))
    >>> [text.get_text() for text in display.plot().get_legend().get_texts()]
    ['sky']
    """

    labels: NDArray[np.int64]
    names: tuple[str, ...]
    entropy: Array | None = None
    image: NDArray[np.uint8] | None = None
    colors: NDArray[np.uint8] | None = None

    @classmethod
    def from_labels(
        cls,
        labels: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        image: Any = None,
        colors: ArrayLike | None = None,
        no_label: int | None = None,
    ) -> LabelMapDisplay:
        """Take labels that are known.

        Parameters
        ----------
        labels : array-like of shape (H, W)
            Whole numbers from 0; negative ones are pixels without label.
        names : sequence of str, optional
            Names of the labels. None: their numbers.
        image : array of shape (H, W) or (H, W, 3), optional
            Image below the labels.
        colors : array-like of shape (C, 3), optional
            Colours as bytes. None: :func:`posterity.vision.choose_colors`.
        no_label : int, optional
            A further number that means no label, such as 255.
        """
        given = np.asarray(labels)
        if given.ndim != 2 or given.dtype.kind not in "iu":
            raise ValueError(
                "labels must be an array (H, W) of whole numbers, not "
                f"{given.dtype} of shape {given.shape}."
            )
        whole = given.astype(np.int64)
        whole[(whole < 0) | (whole == no_label)] = NO_LABEL
        words = tuple(map(str, range(whole.max(initial=-1) + 1) if names is None else names))
        if whole.max(initial=-1) >= len(words):
            raise ValueError(f"labels contain {whole.max()}, but there are {len(words)} names.")
        shown = _check_image(image, whole.shape)
        return cls(whole, words, None, shown, _check_colors(colors, len(words)))

    @classmethod
    def from_probabilities(
        cls,
        probabilities: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        image: Any = None,
        colors: ArrayLike | None = None,
    ) -> LabelMapDisplay:
        """Take the most probable label of each pixel, and the entropy.

        Parameters
        ----------
        probabilities : array-like of shape (H, W, C)
            Probabilities of the labels; all zero where there is no label.
        names, image, colors
            As in :meth:`from_labels`.
        """
        p = np.asarray(probabilities)
        if p.ndim != 3 or p.dtype.kind != "f" or not p.shape[2]:
            raise ValueError(
                "probabilities must be an array (H, W, C) of floating-point numbers, not "
                f"{p.dtype} of shape {p.shape}."
            )
        known = p.sum(axis=2) > 0.0
        labels = np.where(known, p.argmax(axis=2), NO_LABEL)
        words = range(p.shape[2]) if names is None else names
        if len(words) != p.shape[2]:
            raise ValueError(f"There are {p.shape[2]} probabilities, but {len(words)} names.")
        plain = cls.from_labels(labels, [str(word) for word in words], image=image, colors=colors)
        entropy = np.full(known.shape, np.nan)
        entropy[known] = measure_entropy(p[known])
        return cls(plain.labels, plain.names, entropy, plain.image, plain.colors)

    @classmethod
    def from_estimator(
        cls,
        estimator: PixelEstimator,
        image: Any,
        names: Sequence[str] | None = None,
        *,
        colors: ArrayLike | None = None,
    ) -> LabelMapDisplay:
        """Predict the labels of an image.

        Parameters
        ----------
        estimator : classifier of pixels
            Fitted, with ``predict_proba`` of an image.
        image : array
            The image, as the classifier takes it. Bytes are drawn below the labels.
        names, colors
            As in :meth:`from_labels`. None: ``estimator.names_`` if there is such an attribute.
        """
        words = getattr(estimator, "names_", None) if names is None else names
        seen = image if getattr(image, "dtype", None) == np.uint8 else None
        p = estimator.predict_proba(image)
        return cls.from_probabilities(p, words, image=seen, colors=colors)

    def _list_colors(self) -> NDArray[np.uint8]:
        return vision.choose_colors(len(self.names)) if self.colors is None else self.colors

    def paint(self, *, opacity: float = 1.0) -> NDArray[np.uint8]:
        """Return the labels as colours over the image, (H, W, 3).

        Parameters
        ----------
        opacity : float, default=1.0
            Share of the colours of labels; the rest is the image.
        """
        colors = self._list_colors()
        if self.image is None:
            below = np.full((*self.labels.shape, 3), _BLANK, dtype=np.uint8)
            opacity = 1.0
        else:
            below = vision.to_color(self.image).copy()
        seen = self.labels != NO_LABEL
        mixed = opacity * colors[self.labels[seen]] + (1.0 - opacity) * below[seen]
        below[seen] = np.rint(mixed).astype(np.uint8)
        return below

    def plot(
        self,
        ax: Axes | None = None,
        *,
        opacity: float = 0.6,
        max_names: int = _MOST_LISTED,
        legend: bool = True,
    ) -> Axes:
        """Draw the labels over the image, with a legend of the most frequent ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        opacity : float, default=0.6
            Share of the colours of labels over the image.
        max_names : int, default=12
            Number of labels in the legend, which is to the right of the image.
        legend : bool, default=True
            Whether to draw a legend.
        """
        from matplotlib.patches import Patch

        axes = axes_or_new(ax)
        axes.imshow(self.paint(opacity=opacity), interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        counts = np.bincount(self.labels[self.labels >= 0], minlength=len(self.names))
        frequent = np.argsort(-counts, kind="stable")[:max_names]
        listed = sorted(int(label) for label in frequent if counts[label])
        if legend and listed:
            colors = self._list_colors()
            patches = [Patch(color=colors[k] / 255.0, label=self.names[k]) for k in listed]
            axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return axes

    def plot_entropy(
        self, ax: Axes | None = None, *, max_entropy: float | None = None, colorbar: bool = True
    ) -> Axes:
        """Draw the entropy of each pixel: dark is certain, bright is doubtful.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        max_entropy : float, optional
            Bits of the brightest colour. None: log2(C), but at most 3, or the largest if it is
            larger.
        colorbar : bool, default=True
            Whether to draw a scale beside the image.
        """
        if self.entropy is None:
            raise ValueError("Labels without probabilities have no entropy.")
        axes = axes_or_new(ax)
        most = max_entropy
        if most is None:
            usual = min(float(np.log2(max(len(self.names), 2))), 3.0)
            most = max(usual, float(np.nanmax(self.entropy, initial=0.0)))
        shown = axes.imshow(
            np.ma.masked_invalid(self.entropy),
            cmap="cividis",
            vmin=0.0,
            vmax=most,
            interpolation="nearest",
        )
        axes.set(xticks=[], yticks=[])
        if colorbar:
            axes.figure.colorbar(shown, ax=axes, label="entropy, bits", shrink=0.8)
        return axes


def _check_image(image: Any, shape: tuple[int, ...]) -> NDArray[np.uint8] | None:
    if image is None:
        return None
    pixels = images.to_pixels(image)
    if pixels.shape[:2] != shape:
        raise ValueError(f"The image has the shape {pixels.shape[:2]}, but labels have {shape}.")
    return pixels


def _check_colors(colors: ArrayLike | None, n_labels: int) -> NDArray[np.uint8] | None:
    if colors is None:
        return None
    given = np.asarray(colors, dtype=np.uint8)
    if given.shape != (n_labels, 3):
        raise ValueError(f"colors must have the shape {(n_labels, 3)}, not {given.shape}.")
    return given
