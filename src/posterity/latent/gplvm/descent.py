"""A hierarchy of latent spaces as it was learned: from the root to outputs, and back.  [LM]

A row is looked for in all spaces at once. A part of which nothing was seen says nothing about
the root: where its point lies is left to be averaged over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.latent.gplvm import hierarchy, locating, trajectories
from posterity.latent.gplvm.inducing_outputs import InducingDecoder
from posterity.latent.gplvm.outputs import ExactDecoder
from posterity.latent.gplvm.search import CandidatePoints, Coordinates
from posterity.latent.gplvm.trajectories import TrajectoryPrior
from posterity.linalg import eigen

_STARTS = 3
_LEAST_GAIN = 1e-6  # nats for each row


@dataclass(frozen=True)
class Descent:
    """Decoders from the root's points to the parts', and from these to outputs."""

    levels: hierarchy.Levels
    node: ExactDecoder | InducingDecoder
    leaves: tuple[ExactDecoder | InducingDecoder, ...]
    columns: tuple[NDArray[np.intp], ...]  # of the outputs of each part
    X: Array  # (N, Q), joined points of the rows that were fitted
    root_variance: float  # of a root point of which nothing is known

    @classmethod
    def from_hierarchy(
        cls, learned: hierarchy.LearnedHierarchy, columns: tuple[NDArray[np.intp], ...]
    ) -> Descent:
        """Every process conditioned on what is below it."""
        X, levels, prior = learned.found.X, learned.levels, learned.prior
        terms = zip(learned.leaves, levels.parts, learned.leaf_numbers, strict=True)
        leaves = tuple(leaf.decoder(X[:, at], own) for leaf, at, own in terms)
        node = learned.node.outputs(X).decoder(X[:, levels.root], learned.node_numbers)
        if isinstance(prior, TrajectoryPrior):
            variance = prior.variance(learned.prior_numbers)
            return cls(levels, node, leaves, columns, X, variance)
        return cls(levels, node, leaves, columns, X, 1.0)

    def outputs(self, R: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of outputs at root points R, noise included."""
        f = self.node.latent(R)
        return self._decode(f.mean, _diagonals(f.variance + self.node.noise_variance))

    def locate(self, Y: Array, *, max_iter: int = 200) -> tuple[Array, Array]:
        """The most probable joined points of rows of outputs, and their covariance.

        (n, Q) and (n, Q, Q), by Laplace's approximation. Those of parts without any output are
        where the root says they are.
        """
        k, places = min(_STARTS, len(self.X)), self._candidates()
        parts = [
            self._locate_some(y, places.choose_starts(y, k), max_iter)
            for y in locating.split_rows(Y, max(len(self.X), k * Y.shape[1]))
        ]
        X, S = (np.concatenate(column) for column in zip(*parts, strict=True))
        return X, S

    def _locate_some(self, Y: Array, starts: Array, max_iter: int) -> tuple[Array, Array]:
        """The same of some rows, each from its own starts (n, k, Q)."""
        X, _ = locating.find_highest(
            lambda x, rows: self.log_posterior(x, Y[rows]), starts, max_iter
        )
        A = locating.difference_curvature(lambda x: self.log_posterior(x, Y)[1], X)
        least = np.full(len(X), min(1.0, 1.0 / self.root_variance))
        return self._place_unseen_parts(Y, X, eigen.invert_precisions(A, least)[0])

    def locate_along(
        self, Y: Array, prior: TrajectoryPrior, own: Array, *, max_iter: int = 200
    ) -> tuple[Array, Array]:
        """The same of rows whose root points a motion ties together.

        Groups of more than 3,000 coordinates are taken apart, into stretches of time.
        """
        X, S = self.locate(Y, max_iter=max_iter)
        longest = max(1, trajectories.AT_ONCE // X.shape[1])
        for group, precision in prior.precisions(own):
            for rows, P in trajectories.split_into_stretches(group, precision, longest):
                X[rows], S[rows] = self._locate_group(Y[rows], X[rows], P, max_iter)
        return X, S

    def _locate_group(self, Y: Array, X: Array, P: Array, max_iter: int) -> tuple[Array, Array]:
        """Locate one group, from points X; P is the precision of root points over time."""
        root, shape = self.levels.root, X.shape

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            value, slope = self._log_density_of_rows(x.reshape(shape), Y)
            R = x.reshape(shape)[:, root]
            slope[:, root] -= P @ R
            return 0.5 * float(np.vdot(R, P @ R)) - float(np.sum(value)), -slope.ravel()

        coordinates = Coordinates(X.ravel(), self._precision(Y, X, P), np.empty(0))
        best = optimize.minimise_lbfgs(
            coordinates.wrap_objective(value_and_gradient),
            np.zeros(X.size),
            max_iter=max_iter,
            least_gain=_LEAST_GAIN * len(Y),
            announce=False,
        )
        found = coordinates.to_point(best.x).reshape(shape)
        S = trajectories.marginal_covariances(self._precision(Y, found, P), len(Y))
        return self._place_unseen_parts(Y, found, S)

    def _precision(self, Y: Array, X: Array, P: Array) -> Array:
        """The factor of that of all points of a group; where a row curves up it counts as flat."""
        F = eigen.semidefinite_factors(
            locating.difference_curvature(lambda x: self._log_density_of_rows(x, Y)[1], X)
        )
        return trajectories.factor_tied_precision(F @ np.swapaxes(F, 1, 2), P, self.levels.root)

    def _log_density_of_rows(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """The log posterior and its gradient, without what was known of root points before."""
        R = X[:, self.levels.root]
        value, slope = self.log_posterior(X, Y)
        slope[:, self.levels.root] += R / self.root_variance
        return value + 0.5 * np.sum(R * R, axis=1) / self.root_variance, slope

    def complete_outputs(self, X: Array, S: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of outputs of rows at joined points, noise included.

        Averaged over where the points may be, given means X (n, Q) and covariances S.
        """
        below = self.levels.below
        return self._decode(X[:, below], S[:, below, below])

    def log_posterior(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density of rows Y (n, D) with their joined points X (n, Q), and its gradient in X.

        A constant is left out, and so are points of parts without any output: in their place
        stands a normal density about zero, in which a search has nothing to find.
        """
        root, below, unseen = self.levels.root, self.levels.below, self._find_unseen(Y)
        R, J = X[:, root], X[:, below]
        value, dR = self.node.log_density(R, np.where(unseen, np.nan, J))
        f = self.node.latent(R)
        dX = np.empty_like(X)
        dX[:, root] = dR - R / self.root_variance
        dX[:, below] = np.where(unseen, -J, (f.mean - J) / (f.variance + self.node.noise_variance))
        value -= 0.5 * (np.sum(R * R, axis=1) / self.root_variance + np.sum(unseen * J * J, axis=1))
        for leaf, columns, at in zip(self.leaves, self.columns, self.levels.parts, strict=True):
            density, slope = leaf.log_density(X[:, at], Y[:, columns])
            value += density
            dX[:, at] += slope
        return value, dX

    def _decode(self, J: Array, S: Array) -> tuple[Array, Array]:
        """Outputs where the parts' points are normal, with means J and covariances S."""
        n_outputs = sum(len(columns) for columns in self.columns)
        mean, variance = np.empty((2, len(J), n_outputs))
        for leaf, columns, at in zip(self.leaves, self.columns, self._within_below, strict=True):
            f, v = locating.decode_normal_points(leaf, J[:, at], S[:, at, at])
            mean[:, columns], variance[:, columns] = f, v + leaf.noise_variance
        return mean, variance

    def _place_unseen_parts(self, Y: Array, X: Array, S: Array) -> tuple[Array, Array]:
        """Points with those of parts without outputs put where the root, unsure, says they are."""
        root, below, unseen = self.levels.root, self.levels.below, self._find_unseen(Y)
        some = np.flatnonzero(unseen.any(axis=1))
        if not len(some):
            return X, S
        mean, variance = locating.decode_normal_points(
            self.node, X[some, root], S[some, root, root]
        )
        spread = _diagonals(variance + self.node.noise_variance)
        gone = unseen[some]
        places, covariances = X.copy(), S.copy()
        places[some, below] = np.where(gone, mean, X[some, below])
        both = gone[:, :, None] & gone[:, None, :]
        covariances[some, below, below] = np.where(both, spread, S[some, below, below])
        return places, covariances

    def _candidates(self) -> CandidatePoints:
        """Joined points of the rows that were fitted, as starts."""
        n_outputs = sum(len(columns) for columns in self.columns)
        mean, variance = np.empty((2, len(self.X), n_outputs))
        noise = np.empty(n_outputs)
        for leaf, columns, at in zip(self.leaves, self.columns, self.levels.parts, strict=True):
            f = leaf.latent(self.X[:, at])
            mean[:, columns], variance[:, columns] = f.mean, f.variance
            noise[columns] = leaf.noise_variance
        R = self.X[:, self.levels.root]
        cost = np.sum(R * R, axis=1) / self.root_variance
        return CandidatePoints(self.X, mean, 1.0 / (variance + noise), noise, cost)

    def _find_unseen(self, Y: Array) -> NDArray[np.bool_]:
        """A mask of the coordinates that are of parts without any output in a row."""
        gone = (np.isnan(Y[:, columns]).all(axis=1) for columns in self.columns)
        return np.repeat(np.column_stack(list(gone)), self.levels.n_parts, axis=1)

    @property
    def _within_below(self) -> list[slice]:
        """The columns of each part among those of all parts."""
        return hierarchy.Levels(0, self.levels.n_parts).parts


def _diagonals(variance: Array) -> Array:
    """Covariances (n, Q, Q) of coordinates that are independent."""
    return variance[:, :, None] * np.eye(variance.shape[1])
