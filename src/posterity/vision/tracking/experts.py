"""Displacement experts: regressions from the channels of a window to where the object is.

They learn from windows that are shifted and scaled on purpose, in frames that are lit anew on
purpose. A coarse expert for large displacements is followed by a fine one. [P8 8.10.2]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import linear
from posterity.arrays import Array
from posterity.vision.integrals import Pixels
from posterity.vision.tracking.channels import Channels, WindowFrame

_LEAST_NOISE, _RATE = 1e-3, 0.3  # of outputs in units of the reach; of the running error
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
        self.noise_variance = error if before is None else before + _RATE * (error - before)
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
