"""Poses with several hypotheses: a mixture of normals for every coordinate."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from posterity import distributions
from posterity.arrays import Array


@dataclass(frozen=True, eq=False)
class PoseHypotheses:
    """Hypotheses about the poses of n frames, the most probable first.

    Attributes
    ----------
    weights : ndarray of shape (n, K)
        Probability of each hypothesis; zero where a frame has fewer than K.
    poses, standard_deviations : ndarray of shape (n, K, J, 3)
        Pose under each hypothesis, and how sure its coordinates are.
    latent_points : ndarray of shape (n, K, Q)
        Where each hypothesis is in the latent space.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import PoseHypotheses
    >>> up, down = np.zeros((1, 1, 3)), np.ones((1, 1, 3))
    >>> two = PoseHypotheses(
    ...     np.array([[0.75, 0.25]]), np.stack([up, down], axis=1), np.full((1, 2, 1, 3), 0.1),
    ...     np.zeros((1, 2, 2)),
    ... )
    >>> two.mean()[0, 0], two.best()[0, 0]
    (array([0.25, 0.25, 0.25]), array([0., 0., 0.]))
    """

    weights: Array
    poses: Array
    standard_deviations: Array
    latent_points: Array

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, frames: slice) -> PoseHypotheses:
        return PoseHypotheses(*(getattr(self, field.name)[frames] for field in fields(self)))

    def to_distribution(self) -> distributions.Mixture:
        """The mixture of all hypotheses, for each coordinate by itself, (n, J, 3)."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)[:, None, None, :]
        each = (np.moveaxis(a, 1, -1) for a in (self.poses, self.standard_deviations))
        return distributions.Mixture(distributions.Normal(*each), log_weights)

    def mean(self) -> Array:
        """Mean over all hypotheses, (n, J, 3): between two modes, this need not be a pose."""
        return np.einsum("nk,nkjd->njd", self.weights, self.poses)

    def best(self) -> Array:
        """Pose of the most probable hypothesis, (n, J, 3)."""
        return self.poses[:, 0]

    def standard_deviation(self) -> Array:
        """Standard deviation of the mixture, (n, J, 3)."""
        return self.to_distribution().standard_deviation()

    def interval(self, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds between which each coordinate lies with this probability, (n, J, 3) each."""
        return self.to_distribution().interval(coverage)
