"""Plot rows in two latent dimensions, shaded by the uncertainty of the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.displays import grid
from posterity.displays.style import axes_or_new, class_color, class_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DARKEST = 0.35  # grey level of the largest deviation; the smallest is white
_LEAST = 1e-6  # of the largest deviation; smaller ones are not distinguished


@dataclass(frozen=True)
class LatentMapDisplay:
    """Latent points with labels and trajectories, over the uncertainty of the outputs.

    Parameters
    ----------
    points : array of shape (N, 2)
        Two latent coordinates of each row.
    x0, x1 : arrays of shape (n,)
        Grid of the two dimensions.
    deviation : array of shape (n, n)
        Standard deviation of the outputs on the grid, averaged over outputs; the second dimension
        varies along the first axis. Empty if the model has no uncertainty of the outputs.
    codes : array of shape (N,)
        Label of each row, as a position in ``labels``.
    labels : array of shape (C,)
        Distinct labels; may be empty.
    groups : array of shape (N,)
        Group of each row; rows of one group are joined by a line. May be empty.
    spread : array of shape (N, 2)
        Standard deviations of the latent points; may be empty.
    images : array of shape (m, height, width)
        Outputs at some of the points; may be empty.
    shown : array of shape (m,)
        Rows whose images are shown.
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
        estimator: Any,
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
        """Compute the latent points of rows, and the uncertainty of the outputs between them.

        Parameters
        ----------
        estimator : transformer
            Fitted, with ``transform``. Shading needs ``inverse_transform_dist``, images need that
            or ``inverse_transform``.
        X : array-like of shape (N, D), optional
            Rows to show. None: the training rows, if the model has ``embedding_``.
        y : array-like of shape (N,), optional
            Labels of the rows.
        groups : array-like of shape (N,), optional
            Trajectory of each row; rows of one trajectory are joined in order.
        dimensions : two integers, default=(0, 1)
            Latent dimensions to show. For the shading, the others are at the mean of the rows.
        shading : bool, default=True
            Shade the map by the uncertainty of the outputs.
        n_grid : int, default=60
            Number of grid points along each dimension.
        margin : float, default=0.1
            Margin beyond the rows, as a share of their range.
        image_shape : tuple of two integers, optional
            Height and width of rows that are images; some of them are then shown.
        n_images : int, default=30
            Maximum number of images, chosen to be far apart.
        """
        Z = find_coordinates(estimator, X)
        first, second = _select_two(dimensions, Z.shape[1])
        points, own = Z[:, [first, second]], find_variances(estimator, X)
        x0, x1 = (grid.spread_evenly(column, margin=margin, n_grid=n_grid) for column in points.T)
        deviation = (
            _uncertainty(estimator, Z, (first, second), x0, x1) if shading else np.empty((0, 0))
        )
        labels, codes = _encode_colors(y, len(Z))
        shown = separate_images(points, n_images if image_shape else 0)
        return cls(
            points=points,
            x0=x0,
            x1=x1,
            deviation=deviation,
            codes=codes,
            labels=labels,
            groups=np.empty(0) if groups is None else _check_one_per_row("groups", groups, len(Z)),
            spread=np.sqrt(own[:, [first, second]]) if own.size else np.empty((0, 2)),
            images=draw_images(estimator, Z[shown], image_shape),
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

        Brighter areas have lower uncertainty of the outputs. A cross through a point extends one
        standard deviation of the point to each side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        legend : bool, default=True
            Show a legend of the labels.
        image_size : float, default=26.0
            Height of the images, in points.
        cmap : str, default="gray_r"
            Colour map of the images.
        """
        axes = axes_or_new(ax)
        if self.deviation.size:
            look: dict[str, Any] = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0}
            grid.draw_image(axes, self._brightness(), self.x0, self.x1, **look)
        for group in np.unique(self.groups):
            rows = np.flatnonzero(self.groups == group)
            axes.plot(
                *self.points[rows].T, color=class_color(self.codes[rows[0]]), lw=1.1, alpha=0.8
            )
        self._draw_points(axes)
        self._draw_images(axes, image_size, cmap)
        grid.frame_axes(axes, self.x0, self.x1, self.names)
        if legend and len(self.labels):
            axes.legend(frameon=True, framealpha=0.9)
        return axes

    def _brightness(self) -> Array:
        """Return brightness, linear in the log of the deviation and 1 where it is smallest."""
        largest = float(self.deviation.max())
        if largest == 0.0:
            return np.ones_like(self.deviation)
        doubt = np.log(np.maximum(self.deviation / largest, _LEAST))
        span = float(np.ptp(doubt))
        share = (doubt - doubt.min()) / span if span > 0.0 else np.zeros_like(doubt)
        return 1.0 - (1.0 - _DARKEST) * share

    def _draw_points(self, axes: Axes) -> None:
        """Draw the points of each label, with crosses for their standard deviations."""
        for c in range(max(len(self.labels), 1)):
            rows = np.flatnonzero(self.codes == c)
            if not len(rows):
                continue
            x0, x1 = self.points[rows].T
            color, marker = class_color(c), class_marker(c)
            look: dict[str, Any] = {"s": 26, "linewidths": 0.6, "edgecolors": "w", "zorder": 3}
            name = str(self.labels[c]) if len(self.labels) else None
            axes.scatter(x0, x1, c=color, marker=marker, label=name, **look)
            if len(self.spread):
                s0, s1 = self.spread[rows].T
                axes.errorbar(x0, x1, s1, s0, fmt="none", ecolor=color, elinewidth=0.7, alpha=0.5)

    def _draw_images(self, axes: Axes, size: float, cmap: str) -> None:
        """Draw images at their points."""
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        for row, image in zip(self.shown, self.images, strict=True):
            picture = OffsetImage(image, zoom=size / image.shape[0], cmap=cmap)
            frame = {"edgecolor": class_color(self.codes[row]), "linewidth": 1.2}
            place = tuple(self.points[row])
            axes.add_artist(AnnotationBbox(picture, place, pad=0.1, bboxprops=frame, zorder=4))


def _select_two(dimensions: Sequence[int], n_dimensions: int) -> tuple[int, int]:
    """Check that two different dimensions of the latent space are given."""
    chosen = tuple(dimensions)
    if len(set(chosen)) != 2 or not all(0 <= d < n_dimensions for d in chosen):
        raise ValueError(
            f"dimensions={chosen} must be two different latent dimensions from 0 to "
            f"{n_dimensions - 1}."
        )
    return chosen[0], chosen[1]


def _check_one_per_row(name: str, values: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Check that there is one value per row."""
    given = np.asarray(values).ravel()
    if len(given) != n_rows:
        raise ValueError(f"{name} must have one value per row: {n_rows}, not {len(given)}.")
    return given


def _encode_colors(y: ArrayLike | None, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct labels, and the position of each row's label; zeros without labels."""
    if y is None:
        return np.empty(0), np.zeros(n_rows, dtype=np.intp)
    return np.unique(_check_one_per_row("y", y, n_rows), return_inverse=True)


def _uncertainty(model: Any, Z: Array, dimensions: tuple[int, int], x0: Array, x1: Array) -> Array:
    """Return the deviation of the outputs on a grid of two dimensions, the others at their mean."""
    places = np.tile(Z.mean(axis=0), (len(x0) * len(x1), 1))
    places[:, list(dimensions)] = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
    values = average_deviations(model, places)
    return values.reshape(len(x1), len(x0)) if values.size else np.empty((0, 0))


_HELD = 1 << 21  # numbers of a prediction in memory at a time
_APART = 0.09  # smallest distance of two chosen points, as a share of the range


def find_coordinates(model: Any, X: Any = None) -> Array:
    """Return the latent points of these rows, or of the training rows, (N, Q)."""
    if X is not None:
        return _to_floats(model.transform(X))
    if not hasattr(model, "embedding_"):
        raise TypeError(
            f"{type(model).__name__} does not store latent points of its training rows; pass X."
        )
    return _to_floats(model.embedding_)


def find_variances(model: Any, X: Any = None) -> Array:
    """Return the variances of the latent points of the training rows, (N, Q), if known."""
    known = getattr(model, "embedding_variance_", None) if X is None else None
    return np.empty((0, 0)) if known is None else _to_floats(known)


def predict_outputs(model: Any, Z: Array) -> tuple[Array, Array | None]:
    """Return the mean of the outputs at latent points, (n, D), and their deviation if known."""
    if hasattr(model, "inverse_transform_dist"):
        dist = model.inverse_transform_dist(Z)
        return dist.mean(), dist.standard_deviation()
    if not hasattr(model, "inverse_transform"):
        raise TypeError(f"{type(model).__name__} has no inverse_transform.")
    return _to_floats(model.inverse_transform(Z)), None


def average_deviations(model: Any, Z: Array) -> Array:
    """Return the standard deviation at each point, averaged over outputs; empty if unknown."""
    if not hasattr(model, "inverse_transform_dist"):
        return np.empty(0)
    step = max(1, _HELD // model.inverse_transform_dist(Z[:1]).shape[1])
    blocks = (model.inverse_transform_dist(Z[i : i + step]) for i in range(0, len(Z), step))
    return np.concatenate([block.standard_deviation().mean(axis=1) for block in blocks])


def draw_images(model: Any, Z: Array, shape: tuple[int, int] | None) -> Array:
    """Return the mean of the outputs at latent points as images, (n, height, width)."""
    return (
        np.empty((0, 0, 0))
        if shape is None
        else reshape_images(predict_outputs(model, Z)[0], shape)
    )


def reshape_images(rows: Array, shape: tuple[int, int]) -> Array:
    """Reshape rows to images, (n, height, width); refuse rows of another size."""
    if rows.shape[1] != shape[0] * shape[1]:
        raise ValueError(f"image_shape={shape} does not match rows with {rows.shape[1]} columns.")
    return rows.reshape(-1, *shape)


def separate_images(points: Array, n: int) -> NDArray[np.intp]:
    """Choose at most n points, each the farthest from those before it and not too near."""
    extent = np.ptp(points, axis=0)
    x = (points - points.mean(axis=0)) / np.where(extent > 0.0, extent, 1.0)
    chosen = [int(np.argmin(np.sum(x * x, axis=1)))] if n else []
    distance = np.full(len(x), np.inf)
    while 0 < len(chosen) < n:
        distance = np.minimum(distance, np.sum((x - x[chosen[-1]]) ** 2, axis=1))
        farthest = int(np.argmax(distance))
        if distance[farthest] < _APART**2:
            break
        chosen.append(farthest)
    return np.array(chosen, dtype=np.intp)


def _to_floats(values: Any) -> Array:
    """Convert any array or data frame to an array of floats."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)
