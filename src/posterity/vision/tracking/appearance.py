"""What a tracker learns of the look of an object: displacement experts and a verifier.

Experts are regressions from the channels of a window to where the object is. They learn from
windows that are shifted and scaled on purpose, in frames that are lit anew on purpose; a coarse
expert for large displacements is followed by a fine one. [P8 8.10.2] The verifier says where in a
region the object is most likely, and whether it is seen there: it discriminates the object from a
stationary normal model of the background of the first frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from posterity import compilation, linalg, linear
from posterity.arrays import Array
from posterity.vision.integrals import Pixels
from posterity.vision.tracking import channels
from posterity.vision.tracking.channels import Channels, WindowFrame

_LEAST_NOISE, _NOISE_RATE = 1e-3, 0.3  # of outputs in units of the reach; of the running error
_POOLED = 2  # cells along the side of a square that is averaged for the experts
_GAMMA, _GAIN, _SLOPE, _NOISE = 0.35, 0.25, 0.25, 3.0  # standard deviations of new light


@dataclass(frozen=True)
class Reach:
    """Largest displacement of an expert: in sides of the object, and of the log of its size."""

    shift: float
    scale: float

    def as_array(self) -> Array:
        """Return the reach in x, y and log size."""
        return np.array([self.shift, self.shift, self.scale])


REACHES = (Reach(0.25, 0.2), Reach(0.08, 0.08))
"""Reaches of the coarse and of the fine expert."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs and displacements to learn from."""

    X: Array
    Y: Array


@dataclass(eq=False)
class DisplacementExpert:
    """A regression with three outputs, and the rows it has learned from.

    Attributes
    ----------
    regressor : regressor
        With ``fit`` and ``predict``; a linear one is evaluated by a product.
    reach : Reach
        Displacements that it has seen. Outputs are in units of these.
    memory : list of Rows
        Rows of the first frame, and of the latest frames that were added.
    noise_variance : float or None
        Mean squared error in frames that were added, before they were learned; None before.
    """

    regressor: Any
    reach: Reach
    memory: list[Rows] = field(default_factory=list)
    noise_variance: float | None = None

    def learn(self, rows: Rows, n_frames: int) -> None:
        """Add rows, forget those of the oldest frame but the first, and fit."""
        if self.memory:
            self._measure_noise(rows)
        self.memory.append(rows)
        if len(self.memory) > n_frames:
            del self.memory[1]
        self.regressor.fit(
            np.vstack([part.X for part in self.memory]), np.vstack([part.Y for part in self.memory])
        )

    def predict(self, x: Array) -> Array:
        """Predict the displacement of the object from the window, within reach."""
        return np.clip(self._predict_rows(x[None])[0], -1.0, 1.0) * self.reach.as_array()

    def _predict_rows(self, X: Array) -> Array:
        if hasattr(self.regressor, "coef_"):  # far faster than with checks of the input
            return np.asarray(X @ self.regressor.coef_.T + self.regressor.intercept_)
        return np.asarray(self.regressor.predict(X))

    def _measure_noise(self, rows: Rows) -> None:
        """Replace the noise that was learned from one frame, which later frames do not keep to."""
        error = max(float(np.mean((self._predict_rows(rows.X) - rows.Y) ** 2)), _LEAST_NOISE)
        before = self.noise_variance
        self.noise_variance = error if before is None else before + _NOISE_RATE * (error - before)
        if isinstance(self.regressor, linear.BayesianLinearRegression):
            prior = self.regressor.prior_variance
            prior = float(np.median(self.regressor.prior_variance_)) if prior is None else prior
            self.regressor.set_params(prior_variance=prior, noise_variance=self.noise_variance)


def make_rows(
    frame: WindowFrame,
    pyramids: Sequence[tuple[Pixels, ...]],
    pose: Array,
    reach: Reach,
    n: int,
    rng: np.random.Generator,
) -> Rows:
    """Draw windows around the object at a pose, with its displacement from each of them."""
    Y = rng.uniform(-1.0, 1.0, size=(n, 3))
    X = [
        pool_cells(frame.compute(pyramids[k % len(pyramids)], displace_pose(frame, pose, -y, y[2])))
        for k, y in enumerate(Y * reach.as_array())
    ]
    return Rows(np.array(X, dtype=np.float64), Y)


def displace_pose(frame: WindowFrame, pose: Array, shift: Array, growth: float = 0.0) -> Array:
    """Move a pose by sides of the object, whose size is first divided by a growth."""
    size = frame.get_size(pose) * np.exp(-growth)
    return np.array([*(pose[:2] + shift[:2] * size), pose[2] + shift[2]])


def pool_cells(grid: Channels) -> Array:
    """Average squares of cells into a row; an odd last line or column is left out."""
    lines, columns = grid.shape[0] // _POOLED, grid.shape[1] // _POOLED
    cut = grid[: lines * _POOLED, : columns * _POOLED]
    return cut.reshape(lines, _POOLED, columns, _POOLED, -1).mean(axis=(1, 3)).ravel()


def relight_frame(frame: Pixels, rng: np.random.Generator) -> Pixels:
    """Change the contrast, the brightness and the direction of the light, and add noise."""
    height, width = frame.shape
    down, across = np.linspace(-1, 1, height), np.linspace(-1, 1, width)
    slope = _SLOPE * (rng.normal() * down[:, None] + rng.normal() * across)
    values = (frame / 255.0) ** np.exp(_GAMMA * rng.normal())
    values *= 255.0 * np.exp(_GAIN * rng.normal() + slope)
    noisy: NDArray[Any] = values + _NOISE * rng.standard_normal(frame.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


_SHRINKAGE = 0.1  # of the mean variance: what one frame does not show of others


@dataclass(frozen=True, eq=False)
class BackgroundModel:
    """Mean of the channels, and a Cholesky factor of their covariance in windows of one shape."""

    mean: Array
    factor: Array

    @classmethod
    def fit(cls, maps: Sequence[Channels], shape: tuple[int, int]) -> BackgroundModel:
        """Learn from the channels of whole frames."""
        mean = np.asarray(np.mean([grid.mean(axis=(0, 1)) for grid in maps], axis=0), dtype=float)
        covariance = _arrange_windows(_average_lags(maps, mean, shape), shape)
        diagonal = np.einsum("ii->i", covariance)
        diagonal += _SHRINKAGE * diagonal.mean() + 1e-9
        return cls(mean, linalg.cholesky(covariance))

    def discriminate(self, template: Channels, taper: Channels) -> Channels:
        """Compute the weights of the linear discriminant between a template and the background.

        Their product with the contrast of a window (see :meth:`measure_contrast`), over the length
        of that contrast, is one at the template and about zero over the background.
        """
        gap = self.measure_contrast(template, taper)
        w = linalg.solve_cholesky(self.factor, gap.ravel().astype(np.float64)).reshape(gap.shape)
        return (w * (np.linalg.norm(gap) / max(float(np.sum(w * gap)), 1e-12))).astype(np.float32)

    def measure_contrast(self, window: Channels, taper: Channels) -> Channels:
        """Subtract the mean of the background; the edge of the window counts less."""
        return (window - self.mean.astype(np.float32)) * taper


def _average_lags(maps: Sequence[Channels], mean: Array, shape: tuple[int, int]) -> Array:
    """Compute the covariance of two cells by their distance.

    Returns an array (2 lines - 1, 2 columns - 1, directions, directions).

    Products are divided by the number of all cells and not of pairs, so that the covariance of a
    window is positive semidefinite.
    """
    lines, columns = (np.arange(1 - n, n) for n in shape)
    total, n = np.zeros((len(lines), len(columns), len(mean), len(mean))), 0
    for grid in maps:
        padded = (2 * max(grid.shape[0], shape[0]), 2 * max(grid.shape[1], shape[1]))
        f = np.fft.rfft2(grid.astype(np.float64) - mean, s=padded, axes=(0, 1))
        for k in range(len(mean)):
            lags = np.fft.irfft2(np.conj(f[:, :, k : k + 1]) * f, s=padded, axes=(0, 1))
            total[:, :, k] += lags[np.ix_(lines, columns)]
        n += grid.shape[0] * grid.shape[1]
    return total / n


def _arrange_windows(lags: Array, shape: tuple[int, int]) -> Array:
    """Arrange the covariance of all channels of a window from that of two cells."""
    lines, columns = (np.arange(n)[None, :] - np.arange(n)[:, None] + n - 1 for n in shape)
    cells = lags[lines[:, None, :, None], columns[None, :, None, :]]  # (l, c, l, c, k, k)
    n = shape[0] * shape[1] * lags.shape[-1]
    return linalg.symmetrize(cells.transpose(0, 1, 4, 2, 3, 5).reshape(n, n))


ANCHOR = 0.35  # weight of the first frame in the template
_RATE = 0.05  # at which the recent template follows, per frame
_NEAR = 0.5  # sides of the object: peaks nearer than this are its own
_PULL = 0.02  # of the score, per squared standard deviation from the prediction
# Log odds that the object is seen: a constant, and weights of the score, of its distance from the
# best score of the background, and of the score of the first frame. Set by trial on simulated
# sequences: frames resemble each other, so weights from single frames are no guide.
_SEEN = np.array([-6.5, 10.0, 10.0, 5.0])
_STAYS, _RETURNS = 0.98, 0.1  # probability per frame: a seen object stays, a hidden one returns


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pose with its scores: of the template, of the first frame, and of the background."""

    pose: Array
    score: float
    anchor: float
    background: float

    def get_features(self) -> Array:
        """Return the inputs of the log odds that the object is seen."""
        return np.array([1.0, self.score, self.score - self.background, self.anchor])


@dataclass(eq=False)
class Verifier:
    """Linear discriminants between the object and the background, and the templates behind them.

    Attributes
    ----------
    frame : WindowFrame
        Size of windows.
    background : BackgroundModel
        How windows without the object vary.
    anchor, recent : Channels
        Templates: of the first frame, and a running average of frames that were verified.
    weights, anchor_weights : Channels
        Discriminants of the mixed template and of the first one.
    """

    frame: WindowFrame
    background: BackgroundModel
    anchor: Channels
    recent: Channels
    weights: Channels
    anchor_weights: Channels

    @classmethod
    def start(cls, frame: WindowFrame, image: Pixels, pose: Array) -> Verifier:
        """Learn the object and the background from the first frame."""
        pyramid = channels.build_pyramid(image, channels.count_levels(2.0 * frame.step))
        background = BackgroundModel.fit(_compute_maps(frame, pyramid), frame.shape)
        template = frame.compute(pyramid, pose)
        weights = background.discriminate(template, frame.taper)
        return cls(frame, background, template, template.copy(), weights, weights)

    def learn(self, window: Channels, n_frames: int) -> None:
        """Let the recent template follow a verified window that stands for a few frames."""
        rate = np.float32(1.0 - (1.0 - _RATE) ** n_frames)
        self.recent = self.recent + rate * (window - self.recent)
        mixed = np.float32(ANCHOR) * self.anchor + np.float32(1.0 - ANCHOR) * self.recent
        self.weights = self.background.discriminate(mixed, self.frame.taper)

    def score(self, window: Channels) -> tuple[float, float]:
        """Compute both discriminants: about one at the object, about zero elsewhere."""
        contrast = self.background.measure_contrast(window, self.frame.taper)
        length = max(float(np.linalg.norm(contrast)), 1e-12)
        return (
            float(np.vdot(self.weights, contrast)) / length,
            float(np.vdot(self.anchor_weights, contrast)) / length,
        )

    def search(
        self,
        pyramid: tuple[Pixels, ...],
        poses: Sequence[Array],
        margin: tuple[int, int],
        spread: Array,
    ) -> tuple[Array, float]:
        """Find the best pose in the regions around poses, and the best score away from it.

        Parameters
        ----------
        pyramid : tuple of arrays
            The frame and its halves.
        poses : sequence of poses
            Middles of the regions, one per size.
        margin : pair of int
            Cells above and left of the middle that are searched.
        spread : array of shape (2,)
            Standard deviations of the prediction in pixels: places far from it are penalised.
        """
        maps = [self._score_region(pyramid, pose, margin) for pose in poses]
        pulls = [self._pull_back(pose, margin, spread) for pose in poses]
        pulled = [grid - pull for grid, pull in zip(maps, pulls, strict=True)]
        best = int(np.argmax([grid.max() for grid in pulled]))
        grid, side = maps[best], channels.CELL * self.frame.get_step(poses[best])
        line, column = np.unravel_index(int(pulled[best].argmax()), grid.shape)
        near = _NEAR * self.frame.get_size(poses[best]) / side
        y, x = np.ogrid[: grid.shape[0], : grid.shape[1]]
        away = ((x - column) / near[0]) ** 2 + ((y - line) / near[1]) ** 2 > 1.0
        background = float(grid[away].max()) if away.any() else 0.0
        shift = np.array([float(column) - margin[1], float(line) - margin[0], 0.0])
        return poses[best] + side * shift, background

    def _score_region(
        self, pyramid: tuple[Pixels, ...], pose: Array, margin: tuple[int, int]
    ) -> Any:
        region = self.frame.compute_region(pyramid, pose, margin)
        region -= self.background.mean.astype(np.float32)
        taper = self.frame.taper
        grid = np.empty((2 * margin[0] + 1, 2 * margin[1] + 1), dtype=np.float32)
        energy = np.empty_like(grid)
        _correlate(region, self.weights * taper, grid)
        _correlate(np.einsum("ijk,ijk->ij", region, region)[:, :, None], taper**2, energy)
        return grid / np.sqrt(np.maximum(energy, 1e-12))

    def _pull_back(self, pose: Array, margin: tuple[int, int], spread: Array) -> Any:
        """Compute the penalty of places by their distance from the prediction."""
        side = channels.CELL * self.frame.get_step(pose)
        y, x = np.ogrid[-margin[0] : margin[0] + 1, -margin[1] : margin[1] + 1]
        return _PULL * ((side * x / spread[0]) ** 2 + (side * y / spread[1]) ** 2)


def update_probability(before: float, features: Array) -> float:
    """Update the probability that the object is seen by the scores of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.tracking import appearance
    >>> bool(appearance.update_probability(0.9, np.array([1.0, 0.9, 0.7, 0.8])) > 0.95)
    True
    """
    expected = before * _STAYS + (1.0 - before) * _RETURNS
    return float(expit(logit(expected) + features @ _SEEN))


def _compute_maps(frame: WindowFrame, pyramid: tuple[Pixels, ...]) -> list[Channels]:
    """Compute the channels of the whole frame at two sizes."""
    height, width = pyramid[0].shape
    maps = []
    for growth in (1.0, 1.3):
        side = channels.CELL * frame.step * growth
        shape = (max(3, int(height / side)), max(3, int(width / side)))
        step = frame.step * growth
        maps.append(channels.compute_channels(pyramid, width / 2, height / 2, step, shape))
    return maps


@compilation.compile_at_first_call(fastmath=True)
def _correlate(region: Any, weights: Any, out: Any) -> None:
    """Multiply the weights with the region at all shifts."""
    lines, n = weights.shape[0], weights.shape[1] * weights.shape[2]
    flat = weights.reshape(lines, n)
    rows = region.reshape(region.shape[0], region.shape[1] * region.shape[2])
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = np.float32(0.0)
            first = j * weights.shape[2]
            for k in range(lines):
                row, own = rows[i + k, first : first + n], flat[k]
                for m in range(n):
                    total += row[m] * own[m]
            out[i, j] = total
