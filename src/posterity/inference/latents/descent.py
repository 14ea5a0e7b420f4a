"""A hierarchy of latent spaces as it was learned: from the root to outputs, and back.  [LM]

A row is looked for in all spaces at once. A part of which nothing was seen says nothing about
the root: where its point lies is left to be averaged over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.inference.latents import hierarchy, locating
from posterity.inference.latents.terms import Decoder
from posterity.inference.latents.trajectories import TrajectoryPrior
from posterity.linalg import eigen

_STARTS = 3
_LEAST_GAIN = 1e-8  # nats: the point is then found to a ten-thousandth of its deviation
_STEP = 1e-4  # for curvature by differences, in latent spaces whose functions bend over about one
_VALUES = 1 << 21  # rows times candidates at a time: 16 MiB


@dataclass(frozen=True)
class Descent:
    """Decoders from the root's points to the parts', and from these to outputs."""

    levels: hierarchy.Levels
    node: Decoder
    leaves: tuple[Decoder, ...]
    columns: tuple[NDArray[np.intp], ...]  # of the outputs of each part
    X: Array  # (N, Q), joined points of the rows that were fitted
    root_variance: float  # of a root point of which nothing is known

    @classmethod
    def of(cls, learned: hierarchy.Learned, columns: tuple[NDArray[np.intp], ...]) -> Descent:
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
        mean, variance = self.node.predict(R)
        spread = _diagonals(variance + self.node.noise_variance)
        return self._decoded(mean, spread)

    def locate(self, Y: Array, *, max_iter: int = 200) -> tuple[Array, Array]:
        """The most probable joined points of rows of outputs, and their covariance.

        (n, Q) and (n, Q, Q), by Laplace's approximation. Those of parts without any output are
        where the root says they are.
        """
        k = min(_STARTS, len(self.X))
        starts = self.X[self._nearest(Y, k)].reshape(len(Y) * k, -1)

        def value_and_gradient(X: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
            value, slope = self.log_posterior(X, Y[which // k])
            return -value, -slope

        ends = optimize.minimise_many_bfgs(
            value_and_gradient, starts, max_iter=max_iter, least_gain=_LEAST_GAIN
        )
        best = np.arange(len(Y)) * k + np.argmin(ends.value.reshape(len(Y), k), axis=1)
        return self._with_unseen(Y, ends.x[best], self._covariance(Y, ends.x[best]))

    def completed(self, Y: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of outputs given those that are there, noise included."""
        X, S = self.locate(Y)
        below = self.levels.below
        return self._decoded(X[:, below], S[:, below, below])

    def log_posterior(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density of rows Y (n, D) with their joined points X (n, Q), and its gradient in X.

        A constant is left out, and so are points of parts without any output: in their place
        stands a normal density about zero, in which a search has nothing to find.
        """
        root, below, unseen = self.levels.root, self.levels.below, self._unseen(Y)
        R, J = X[:, root], X[:, below]
        value, dR = self.node.log_density(R, np.where(unseen, np.nan, J))
        mean, variance = self.node.predict(R)
        dX = np.empty_like(X)
        dX[:, root] = dR - R / self.root_variance
        dX[:, below] = np.where(unseen, -J, (mean - J) / (variance + self.node.noise_variance))
        value -= 0.5 * (np.sum(R * R, axis=1) / self.root_variance + np.sum(unseen * J * J, axis=1))
        for leaf, columns, at in zip(self.leaves, self.columns, self.levels.parts, strict=True):
            density, slope = leaf.log_density(X[:, at], Y[:, columns])
            value += density
            dX[:, at] += slope
        return value, dX

    def _decoded(self, J: Array, S: Array) -> tuple[Array, Array]:
        """Outputs where the parts' points are normal, with means J and covariances S."""
        n_outputs = sum(len(columns) for columns in self.columns)
        mean, variance = np.empty((2, len(J), n_outputs))
        for leaf, columns, at in zip(self.leaves, self.columns, self._within_below, strict=True):
            f, v = locating.decoded(leaf, J[:, at], S[:, at, at])
            mean[:, columns], variance[:, columns] = f, v + leaf.noise_variance
        return mean, variance

    def _with_unseen(self, Y: Array, X: Array, S: Array) -> tuple[Array, Array]:
        """Points with those of parts without outputs put where the root, unsure, says they are."""
        root, below, unseen = self.levels.root, self.levels.below, self._unseen(Y)
        some = np.flatnonzero(unseen.any(axis=1))
        if not len(some):
            return X, S
        mean, variance = locating.decoded(self.node, X[some, root], S[some, root, root])
        spread = _diagonals(variance + self.node.noise_variance)
        gone = unseen[some]
        places, covariances = X.copy(), S.copy()
        places[some, below] = np.where(gone, mean, X[some, below])
        both = gone[:, :, None] & gone[:, None, :]
        covariances[some, below, below] = np.where(both, spread, S[some, below, below])
        return places, covariances

    def _covariance(self, Y: Array, X: Array) -> Array:
        """Of Laplace's approximation at X, from second derivatives by differences."""
        rows = []
        for step in _STEP * np.eye(X.shape[1]):
            above, below = (self.log_posterior(X + h, Y)[1] for h in (step, -step))
            rows.append((below - above) / (2.0 * _STEP))
        A = np.stack(rows, axis=2)
        least = np.full(len(X), min(1.0, 1.0 / self.root_variance))
        return eigen.covariances_of(0.5 * (A + np.swapaxes(A, 1, 2)), least)[0]

    def _nearest(self, Y: Array, k: int) -> NDArray[np.intp]:
        """The k rows fitted at whose points each row of outputs is most probable, (n, k)."""
        mean, variance = np.empty((2, len(self.X), Y.shape[1]))
        for leaf, columns, at in zip(self.leaves, self.columns, self.levels.parts, strict=True):
            f, v = leaf.predict(self.X[:, at])
            mean[:, columns], variance[:, columns] = f, v + leaf.noise_variance
        few = (_costs(y, mean, variance) for y in _pieces(Y, len(self.X)))
        return np.concatenate([np.argpartition(cost, k - 1, axis=1)[:, :k] for cost in few])

    def _unseen(self, Y: Array) -> NDArray[np.bool_]:
        """Which coordinates below the root are of parts without any output in a row."""
        gone = (np.isnan(Y[:, columns]).all(axis=1) for columns in self.columns)
        return np.repeat(np.column_stack(list(gone)), self.levels.n_parts, axis=1)

    @property
    def _within_below(self) -> list[slice]:
        """The columns of each part among those of all parts."""
        return hierarchy.Levels(0, self.levels.n_parts).parts


def _costs(Y: Array, mean: Array, variance: Array) -> Array:
    """-2 log density of each row at each candidate, (n, C), but for a constant of the row.

    The square is taken apart: (y - f)^2 / s = y^2 / s - 2 y f / s + f^2 / s.
    """
    seen, w = ~np.isnan(Y), 1.0 / variance
    y = np.where(seen, Y, 0.0)
    return (y * y) @ w.T - 2.0 * y @ (mean * w).T + seen @ (mean * mean * w - np.log(w)).T


def _pieces(Y: Array, n_candidates: int) -> Iterator[Array]:
    """Some rows at a time."""
    size = max(1, _VALUES // n_candidates)
    return (Y[i : i + size] for i in range(0, max(1, len(Y)), size))


def _diagonals(variance: Array) -> Array:
    """Covariances (n, Q, Q) of coordinates that are independent."""
    return variance[:, :, None] * np.eye(variance.shape[1])
