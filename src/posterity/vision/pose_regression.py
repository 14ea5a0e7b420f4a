"""Poses given what is seen of a frame and its latent point."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, process
from posterity.arrays import Array
from posterity.inference.observations import Observations
from posterity.process import ProcessPosterior

_CONSTANT = 1e-6  # standard deviation of what never changes, as a share of the largest


@dataclass(frozen=True, eq=False)
class PoseRegression:
    """A Gaussian process from what is seen of a frame, and its latent point, to its pose.

    Poses are a linear function of what is seen plus a smooth function of it and the latent point.
    Latent coordinates leave out a part of every pose; the linear function recovers it as far as it
    is correlated with what is seen. The latent points come from what is seen by means of other
    motions, as those of new frames do, so that their errors are part of the noise.

    Attributes
    ----------
    centre, scale : ndarray of shape (S,)
        What is seen less its mean, divided by its scale, is the input of the process.
    inputs : ndarray of shape (N, S + Q)
        What is seen of the frames, scaled, and their latent points.
    poses : ndarray of shape (N, D)
        Coordinates of the poses of the frames.
    kernel : Kernel
        Covariance of the poses over inputs.
    noise_variance : float
        Mean variance of a coordinate about the function.
    widening : ndarray of shape (D,)
        Factor of the variance of each coordinate, from errors on motions left out.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0.0, 12.0, 60)
    >>> seen, poses = np.sin(t)[:, None], np.column_stack([3.0 * np.sin(t), np.cos(t)])
    >>> motions = np.repeat([0, 1, 2], 20)
    >>> learned = PoseRegression.from_frames(seen, np.cos(t)[:, None], poses, motions)
    >>> mean, variance = learned.predict(np.array([[1.0]]), np.array([[0.0]]))
    >>> mean.round(2) + 0.0
    array([[3., 0.]])
    """

    centre: Array
    scale: Array
    inputs: Array
    poses: Array
    kernel: kernels.Kernel
    noise_variance: float
    widening: Array

    @classmethod
    def from_frames(
        cls, seen: Array, points: Array, poses: Array, parts: NDArray[np.intp]
    ) -> PoseRegression:
        """Learn kernel and noise by the evidence, and variances by leaving motions out.

        Parameters
        ----------
        seen : array (N, S)
            What is seen of the frames.
        points : array (N, Q)
            Latent points found from it by means of other motions.
        poses : array (N, D)
        parts : array (N,)
            Motion of each frame; two at least.
        """
        centre, spread = seen.mean(axis=0), seen.std(axis=0)
        # What never changes tells nothing; the others together have the length one.
        changes = spread > _CONSTANT * spread.max()
        scale = np.where(changes, spread * np.sqrt(np.sum(changes)), np.inf)
        inputs = np.hstack([(seen - centre) / scale, points])
        learned = process.GaussianProcessRegressor(
            _make_kernel(seen.shape[1], points.shape[1]),
            mean="zero",
            shared_kernel=True,
            hyperparameters="maximise",
            n_restarts=0,
        ).fit(inputs, poses - poses.mean(axis=0))
        noise = float(np.mean(learned.noise_variance_))
        widening = np.ones(poses.shape[1])
        equal = cls(centre, scale, inputs, poses, learned.kernel_, noise, widening)
        return replace(equal, widening=equal._compute_widening(parts))

    def predict(self, seen: Array, points: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of poses of which this is seen (n, S), at latent points."""
        inputs = np.hstack([(seen - self.centre) / self.scale, points])
        return self._describe(self._posterior, inputs)

    @functools.cached_property
    def _posterior(self) -> ProcessPosterior:
        return self._condition(np.arange(len(self.poses)))

    def _condition(self, rows: NDArray[np.intp]) -> ProcessPosterior:
        """Condition the process on some of the frames."""
        targets = Observations.from_targets(self.poses[rows] - self.poses.mean(axis=0))
        return ProcessPosterior.condition(
            self.kernel, self.noise_variance, self.inputs[rows], targets
        )

    def _describe(self, posterior: ProcessPosterior, inputs: Array) -> tuple[Array, Array]:
        f = posterior.latent(inputs)
        return f.mean + self.poses.mean(axis=0), (f.variance + self.noise_variance) * self.widening

    def _compute_widening(self, parts: NDArray[np.intp]) -> Array:
        """Mean squared error of each coordinate, in standard deviations, for motions left out."""
        squares = []
        for part in np.unique(parts):
            rest, rows = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
            mean, variance = self._describe(self._condition(rest), self.inputs[rows])
            squares.append(np.mean((self.poses[rows] - mean) ** 2 / variance, axis=0))
        return np.asarray(np.mean(squares, axis=0))


def _make_kernel(n_seen: int, n_points: int) -> kernels.Kernel:
    """A linear function of what is seen, plus a smooth one of it and the latent point."""
    of_seen, of_points = tuple(range(n_seen)), tuple(range(n_seen, n_seen + n_points))
    linear = kernels.Columns(kernels.Linear(), of_seen)
    smooth = kernels.Columns(kernels.RBF(), of_seen) * kernels.Columns(kernels.RBF(), of_points)
    return linear + kernels.Scaled(smooth)
