"""Ways to fill in joints that were not seen: each is fitted to whole frames once.

``complete`` takes frames with NaN where a joint is hidden, the same joints in all of them, and
returns mean and standard deviation of those, or None where a way tells none.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.cases import Array
from posterity import GPLVM, PCA, BayesianLinearRegression, kernels

Filled: TypeAlias = tuple[Array, Array | None]


class Way(Protocol):
    """One of them."""

    def fit(self, Y: Array, groups: Array) -> Self:
        """Learn from whole frames; ``groups`` says which motion each is of."""

    def complete(self, H: Array, groups: Array) -> Filled:
        """The hidden joints, (n, hidden)."""


def find_hidden(H: Array) -> NDArray[np.bool_]:
    """Which columns are not seen."""
    return np.all(np.isnan(H), axis=0)


class MeanPose:
    """Every joint where it is on average, and as unsure as it varies."""

    def fit(self, Y: Array, groups: Array) -> Self:
        self.mean, self.deviation = Y.mean(axis=0), Y.std(axis=0)
        return self

    def complete(self, H: Array, groups: Array) -> Filled:
        away = find_hidden(H)
        shape = (len(H), 1)
        return np.tile(self.mean[away], shape), np.tile(self.deviation[away], shape)


class Neighbour:
    """The frame that is nearest in what is seen."""

    def fit(self, Y: Array, groups: Array) -> Self:
        self.Y = Y
        return self

    def complete(self, H: Array, groups: Array) -> Filled:
        away = find_hidden(H)
        near = np.argmin(cdist(H[:, ~away], self.Y[:, ~away]), axis=1)
        return self.Y[near][:, away], None


class Ridge:
    """Each hidden joint a linear function of those seen, the penalty by the evidence."""

    def fit(self, Y: Array, groups: Array) -> Self:
        self.Y = Y
        return self

    def complete(self, H: Array, groups: Array) -> Filled:
        away = find_hidden(H)
        model = BayesianLinearRegression().fit(self.Y[:, ~away], self.Y[:, away])
        mean, deviation = model.predict(H[:, ~away], return_std=True)
        return mean, deviation


class Components:
    """All joints normal with the covariance of principal components and noise; what is seen, given.

    The number of components is that of the largest evidence.
    """

    def fit(self, Y: Array, groups: Array) -> Self:
        model = PCA("evidence").fit(Y)
        beyond = model.explained_variance_ - model.noise_variance_
        V = model.components_
        self.mean = model.mean_
        self.covariance = (V.T * beyond) @ V + model.noise_variance_ * np.eye(Y.shape[1])
        return self

    def complete(self, H: Array, groups: Array) -> Filled:
        away = find_hidden(H)
        C, seen = self.covariance, ~away
        gain = np.linalg.solve(C[np.ix_(seen, seen)], C[np.ix_(seen, away)])
        left = np.diag(C)[away] - np.sum(C[np.ix_(seen, away)] * gain, axis=0)
        mean = self.mean[away] + (H[:, seen] - self.mean[seen]) @ gain
        return mean, np.tile(np.sqrt(left), (len(H), 1))


class Latent:
    """GPLVM carried by inducing points; frames by themselves, or as motions in time.

    It is told which motion each frame is of, and widens its bands for motions not seen.
    """

    def __init__(
        self,
        n_components: int,
        inducing_points: int,
        *,
        inference: str = "map",
        moving: bool = False,
        max_iter: int = 300,
    ) -> None:
        self.moving = moving
        self.model = GPLVM(
            n_components,
            inference=inference,
            inducing_points=inducing_points,
            dynamics=kernels.RBF() if moving else None,
            max_iter=max_iter,
        )

    def fit(self, Y: Array, groups: Array) -> Self:
        self.model.fit(Y, groups=groups)
        return self

    def complete(self, H: Array, groups: Array) -> Filled:
        away = find_hidden(H)
        filled = self.model.complete(H, groups=groups if self.moving else None)
        return filled.mean()[:, away], filled.standard_deviation()[:, away]
