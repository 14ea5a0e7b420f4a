"""Plot rows and their reconstructions from latent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from posterity import arrays
from posterity.arrays import Array
from posterity.displays import latent_map
from posterity.displays.style import COLORS, CYCLE, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 1  # pixels between two images
_STEP = 1.15  # from one row's line to the next, in units of the range of the rows


@dataclass(frozen=True)
class ReconstructionDisplay:
    """Rows, and their reconstructions from fewer or more latent coordinates.

    Parameters
    ----------
    rows : array of shape (n, D)
        Original rows.
    reconstructions : array of shape (K, n, D)
        Reconstructed rows.
    names : tuple of K str
        Name of each reconstruction.
    deviation : array of shape (n, D)
        Standard deviation of the last reconstruction; empty if unknown.
    image_shape : tuple of two integers, optional
        Height and width of rows that are images. None: rows are drawn as lines.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from posterity import displays
    >>> X = load_digits().data
    >>> display = displays.ReconstructionDisplay.from_estimator(
    ...     PCA(20).fit(X), X[:6], n_components=(2, 20), image_shape=(8, 8)
    ... )
    >>> display.names
    ('2 components', '20 components')
    >>> error = ((display.reconstructions - display.rows) ** 2).sum(axis=(1, 2))
    >>> error.round()
    array([4875.,  746.])
    """

    rows: Array
    reconstructions: Array
    names: tuple[str, ...]
    deviation: Array = field(default_factory=lambda: np.empty((0, 0)))
    image_shape: tuple[int, int] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_components: Sequence[int] | None = None,
        image_shape: tuple[int, int] | None = None,
    ) -> ReconstructionDisplay:
        """Transform rows with a fitted model, and back.

        Parameters
        ----------
        estimator : transformer
            Fitted, with ``transform`` and ``inverse_transform``.
        X : array-like of shape (n, D)
            A few rows.
        n_components : sequence of integers, optional
            Numbers of latent coordinates to reconstruct from; the others are set to zero, as is
            usual for principal components. None: all of them.
        image_shape : tuple of two integers, optional
            Height and width of rows that are images.
        """
        rows, Z = (
            np.asarray(arrays.to_numpy(X), np.float64),
            latent_map.find_coordinates(estimator, X),
        )
        if image_shape is not None:
            latent_map.reshape_images(rows, image_shape)
        counts = _check_counts(n_components, Z.shape[1])
        told = [
            latent_map.predict_outputs(estimator, np.where(np.arange(Z.shape[1]) < k, Z, 0.0))
            for k in counts
        ]
        deviation = told[-1][1]
        return cls(
            rows=rows,
            reconstructions=np.stack([mean for mean, _ in told]),
            names=tuple(f"{k} component{'s' * (k != 1)}" for k in counts),
            deviation=np.empty((0, 0)) if deviation is None else deviation,
            image_shape=image_shape,
        )

    def plot(self, ax: Axes | None = None, *, cmap: str = "gray_r") -> Axes:
        """Draw strips of images, or lines with a band, and return the axes.

        The first strip of images shows the original rows; the next ones show the reconstructions,
        and the deviation of the last one if it varies. The band around a line extends two standard
        deviations to each side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        cmap : str, default="gray_r"
            Colour map of the images.
        """
        axes = axes_or_new(ax)
        if self.image_shape is None:
            self._draw_lines(axes)
        else:
            self._draw_strips(axes, self.image_shape, cmap)
        return axes

    def _draw_strips(self, axes: Axes, shape: tuple[int, int], cmap: str) -> None:
        """Draw one mosaic of strips."""
        low, high = float(self.rows.min()), float(self.rows.max())
        strips = [
            (block - low) / (high - low or 1.0) for block in (self.rows, *self.reconstructions)
        ]
        names = ["original", *self.names]
        if self.deviation.size and np.ptp(self.deviation) > 0.0:
            strips.append(self.deviation / self.deviation.max())
            names.append("standard deviation")
        mosaic = np.concatenate(
            [_join_images(latent_map.reshape_images(block, shape)) for block in strips]
        )
        axes.imshow(np.clip(mosaic, 0.0, 1.0), cmap=cmap, vmin=0.0, vmax=1.0)
        pitch = shape[0] + _GAP
        axes.set_yticks([pitch * (i + 0.5) - 0.5 for i in range(len(names))], names)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    def _draw_lines(self, axes: Axes) -> None:
        """Draw rows as shifted lines, the first at the top."""
        step, x = _STEP * float(np.ptp(self.rows) or 1.0), np.arange(self.rows.shape[1])
        for i, row in enumerate(self.rows):
            shift, first = -step * i, i == 0
            look: dict[str, Any] = {"ms": 3, "color": COLORS["black"]}
            axes.plot(x, row + shift, "o", label="original" if first else None, **look)
            for k, (name, block) in enumerate(zip(self.names, self.reconstructions, strict=True)):
                line: dict[str, Any] = {"lw": 1.4, "color": COLORS[CYCLE[k % len(CYCLE)]]}
                axes.plot(x, block[i] + shift, label=name if first else None, **line)
            if self.deviation.size:
                middle, half = self.reconstructions[-1][i] + shift, 2.0 * self.deviation[i]
                axes.fill_between(
                    x, middle - half, middle + half, alpha=0.2, lw=0, color=line["color"]
                )
        axes.set_yticks(
            [-step * i for i in range(len(self.rows))], [str(i) for i in range(len(self.rows))]
        )
        axes.set(xlabel="column", ylabel="row", xlim=(x[0], x[-1]))
        axes.legend()


def _join_images(images: Array) -> Array:
    """Join images side by side, with gaps to the right and below."""
    framed = np.pad(images, ((0, 0), (0, _GAP), (0, _GAP)))
    return np.concatenate(list(framed), axis=1)


def _check_counts(n_components: Sequence[int] | None, n_dimensions: int) -> tuple[int, ...]:
    """Check the numbers of components."""
    counts = (n_dimensions,) if n_components is None else tuple(n_components)
    if not counts or not all(0 <= k <= n_dimensions for k in counts):
        raise ValueError(
            f"n_components={counts} must be one or more whole numbers from 0 to {n_dimensions}, "
            "the dimensions of the latent space."
        )
    return counts
