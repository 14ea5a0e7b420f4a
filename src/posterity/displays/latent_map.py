"""Two latent dimensions seen from above: where rows lie, and how sure the way back is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.displays import grid, latents
from posterity.displays.style import COLORS, CYCLE, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "os^Dv<>P"
_DARKEST = 0.35  # grey of the least sure place; the surest is white
_LEAST = 1e-6  # of the largest deviation: below it, one place is as sure as another


@dataclass(frozen=True)
class LatentMapDisplay:
    """Latent points, their labels and trajectories, over the doubt of the mapping to the outputs.

    Parameters
    ----------
    points : array of shape (N, 2)
        Two coordinates of each row.
    x0, x1 : arrays of shape (n,)
        Where the two dimensions were asked for.
    deviation : array of shape (n, n)
        Standard deviation of the outputs there, averaged over them: the second dimension along the
        first axis, the first along the second. Empty where the model tells none.
    codes : array of shape (N,)
        The label of each row, by its place in ``labels``.
    labels : array of shape (C,)
        What the labels are called; may be empty.
    groups : array of shape (N,)
        Rows of one group are joined by a line in their order; may be empty.
    spread : array of shape (N, 2)
        Standard deviations of the points themselves; may be empty.
    images : array of shape (m, height, width)
        Outputs at some of the points; may be empty.
    shown : array of shape (m,)
        Which rows these are.
    names : tuple of two str, default=("latent 0", "latent 1")
        Names of the dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from posterity import displays
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> y = np.repeat(["first", "second"], 15)
    >>> display = displays.LatentMapDisplay.from_estimator(PCA(2).fit(X), X, y)
    >>> display.points.shape, display.labels.tolist()
    ((30, 2), ['first', 'second'])
    """

    points: Array
    x0: Array
    x1: Array
    deviation: Array
    codes: NDArray[np.intp]
    labels: NDArray[Any]
    groups: NDArray[Any]
    spread: Array
    images: Array
    shown: NDArray[np.intp]
    names: tuple[str, str] = ("latent 0", "latent 1")

    @classmethod
    def from_estimator(
        cls,
        estimator: latents.Transformer,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        dimensions: Sequence[int] = (0, 1),
        shading: bool = True,
        n_grid: int = 60,
        margin: float = 0.1,
        image_shape: tuple[int, int] | None = None,
        n_images: int = 30,
    ) -> LatentMapDisplay:
        """Ask a fitted model where rows lie and how sure it is of what lies between them.

        Parameters
        ----------
        estimator : transformer
            Fitted, with ``transform``. Shading needs an ``inverse_transform`` that returns a
            distribution, images one of any kind.
        X : array-like of shape (N, D), optional
            Rows to place. None: those that the model was fitted to, where it has ``embedding_``.
        y : array-like of shape (N,), optional
            Their labels.
        groups : array-like of shape (N,), optional
            Which trajectory each is of; its rows are joined in their order.
        dimensions : two integers, default=(0, 1)
            Which latent dimensions. The others are held at the mean of the rows for the shading.
        shading : bool, default=True
            Ask for the doubt of the outputs over the map.
        n_grid : int, default=60
            Number of places along each dimension.
        margin : float, default=0.1
            How far to look beyond the rows, as a share of their range.
        image_shape : tuple of two integers, optional
            Height and width of rows that are images; some of them are then shown.
        n_images : int, default=30
            How many at most. They lie apart.
        """
        Z = latents.coordinates(estimator, X)
        first, second = _two(dimensions, Z.shape[1])
        points, own = Z[:, [first, second]], latents.variances(estimator, X)
        x0, x1 = (grid.span(column, margin=margin, n_grid=n_grid) for column in points.T)
        deviation = _doubt(estimator, Z, (first, second), x0, x1) if shading else np.empty((0, 0))
        labels, codes = _coded(y, len(Z))
        shown = latents.apart(points, n_images if image_shape else 0)
        return cls(
            points=points,
            x0=x0,
            x1=x1,
            deviation=deviation,
            codes=codes,
            labels=labels,
            groups=np.empty(0) if groups is None else _one_each("groups", groups, len(Z)),
            spread=np.sqrt(own[:, [first, second]]) if own.size else np.empty((0, 2)),
            images=latents.images(estimator, Z[shown], image_shape),
            shown=shown,
            names=(f"latent {first}", f"latent {second}"),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        image_size: float = 26.0,
        cmap: str = "gray_r",
    ) -> Axes:
        """Draw shading, trajectories, points and images, in this order, and return the axes.

        A place is the brighter the surer the outputs are there. A cross through a point is one
        standard deviation of the point long to each side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: a new figure.
        legend : bool, default=True
            Name the labels.
        image_size : float, default=26.0
            Height of the images, in points.
        cmap : str, default="gray_r"
            Colours of the images.
        """
        axes = axes_or_new(ax)
        if self.deviation.size:
            extent = (self.x0[0], self.x0[-1], self.x1[0], self.x1[-1])
            look: dict[str, Any] = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0, "aspect": "auto"}
            look["interpolation"] = "bilinear"
            axes.imshow(self._brightness(), origin="lower", extent=extent, **look)
        for group in np.unique(self.groups):
            rows = np.flatnonzero(self.groups == group)
            axes.plot(*self.points[rows].T, color=self._color(rows[0]), lw=1.1, alpha=0.8)
        self._draw_points(axes)
        self._draw_images(axes, image_size, cmap)
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        axes.set(xlim=(self.x0[0], self.x0[-1]), ylim=(self.x1[0], self.x1[-1]))
        if legend and len(self.labels):
            axes.legend(frameon=True, framealpha=0.9)
        return axes

    def _brightness(self) -> Array:
        """One where the outputs are surest, least where they are least sure; even in the log."""
        largest = float(self.deviation.max())
        if largest == 0.0:
            return np.ones_like(self.deviation)
        doubt = np.log(np.maximum(self.deviation / largest, _LEAST))
        span = float(np.ptp(doubt))
        share = (doubt - doubt.min()) / span if span > 0.0 else np.zeros_like(doubt)
        return 1.0 - (1.0 - _DARKEST) * share

    def _color(self, row: int) -> str:
        """The colour of the label of a row."""
        return COLORS[CYCLE[self.codes[row] % len(CYCLE)]]

    def _draw_points(self, axes: Axes) -> None:
        """Points of each label, with crosses where they are unsure."""
        for c in range(max(len(self.labels), 1)):
            rows = np.flatnonzero(self.codes == c)
            if not len(rows):
                continue
            x0, x1 = self.points[rows].T
            color, marker = self._color(rows[0]), _MARKERS[c % len(_MARKERS)]
            look: dict[str, Any] = {"s": 26, "linewidths": 0.6, "edgecolors": "w", "zorder": 3}
            name = str(self.labels[c]) if len(self.labels) else None
            axes.scatter(x0, x1, c=color, marker=marker, label=name, **look)
            if len(self.spread):
                s0, s1 = self.spread[rows].T
                axes.errorbar(x0, x1, s1, s0, fmt="none", ecolor=color, elinewidth=0.7, alpha=0.5)

    def _draw_images(self, axes: Axes, size: float, cmap: str) -> None:
        """Images centred at the points that they are of."""
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        for row, image in zip(self.shown, self.images, strict=True):
            picture = OffsetImage(image, zoom=size / image.shape[0], cmap=cmap)
            frame = {"edgecolor": self._color(row), "linewidth": 1.2}
            place = tuple(self.points[row])
            axes.add_artist(AnnotationBbox(picture, place, pad=0.1, bboxprops=frame, zorder=4))


def _two(dimensions: Sequence[int], n_dimensions: int) -> tuple[int, int]:
    """Two different dimensions that there are, or a sentence."""
    chosen = tuple(dimensions)
    if len(set(chosen)) != 2 or not all(0 <= d < n_dimensions for d in chosen):
        raise ValueError(
            f"dimensions={chosen} must be two different ones of the {n_dimensions} of the latent "
            "space, counted from 0."
        )
    return chosen[0], chosen[1]


def _one_each(name: str, values: ArrayLike, n_rows: int) -> NDArray[Any]:
    """One value a row, or a sentence."""
    given = np.asarray(values).ravel()
    if len(given) != n_rows:
        raise ValueError(f"{name} has {len(given)} values for {n_rows} rows; one each is needed.")
    return given


def _coded(y: ArrayLike | None, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels, and the place of each row's among them; zeros without labels."""
    if y is None:
        return np.empty(0), np.zeros(n_rows, dtype=np.intp)
    return np.unique(_one_each("y", y, n_rows), return_inverse=True)


def _doubt(model: Any, Z: Array, dimensions: tuple[int, int], x0: Array, x1: Array) -> Array:
    """Deviation of the outputs over a grid of two dimensions, the others at their mean."""
    places = np.tile(Z.mean(axis=0), (len(x0) * len(x1), 1))
    places[:, list(dimensions)] = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
    values = latents.doubt(model, places)
    return values.reshape(len(x1), len(x0)) if values.size else np.empty((0, 0))
