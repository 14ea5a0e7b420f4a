"""The posterior of weights in a design: its value, gradient and Hessian in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.targets import RowTargets

_EPS = float(np.finfo(np.float64).eps)
_DOUBTFUL = 1e-10  # a squared pivot, of a diagonal of ones


class SeparatedError(Exception):
    """Raised where weights separate all rows: under a flat prior the mode does not exist."""

    def __init__(self, x: Array) -> None:
        super().__init__()
        self.x = x


@dataclass(frozen=True)
class Weights:
    """Weights W (M, J) in a design, and where their search ended."""

    W: Array
    value: float  # log likelihood + log prior, up to the prior's constants
    largest_slope: float
    n_iter: int
    stop_reason: str
    converged: bool
    separable: bool = False
    dependent: bool = False  # columns are, so that some directions of W move no row
    hessian: Array | None = None  # of minus the log posterior at W, where it is at hand


@dataclass(frozen=True)
class WeightProblem:
    """Rows, their targets and the prior: all that the mode of the weights depends on."""

    design: designs.Design  # (N, M), the offset's ones included
    targets: RowTargets
    prior: WeightPrior

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers M of columns and J of outputs."""
        return self.design.n_columns, self.targets.n_outputs

    def quadratic(self, W: Array) -> float:
        """Half of W's squared length under the prior's precision."""
        return 0.5 * float(np.sum(W * self.prior.multiply_precision(W)))


class PosteriorObjective:
    """Minus the log posterior: value, gradient and Hessian at once, the last point kept."""

    def __init__(self, problem: WeightProblem, *, hessian: bool, surely_positive: bool) -> None:
        self.problem, self._hessian, self._positive = problem, hessian, surely_positive
        self._x: Array | None = None
        self._held: Array | None = None

    def hessian(self, x: Array) -> Array:
        """Hessian of minus the log posterior, without what fixes idle directions."""
        self._evaluate_at(x)
        return self.H if self._held is None else self.H - self._held

    def value(self, x: Array) -> float:
        """Minus the log posterior, (M J,) -> ()."""
        self._evaluate_at(x)
        return self._value

    def gradient(self, x: Array) -> Array:
        """Gradient of minus the log posterior, (M J,)."""
        self._evaluate_at(x)
        return self._gradient

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient of minus the log posterior."""
        self._evaluate_at(x)
        return self._value, self._gradient

    def solve_shifted(self, x: Array, g: Array, shift: float) -> Array:
        """(H + shift * its mean diagonal)^-1 g."""
        return linalg.solve_cholesky(self.factorise_hessian(x, shift), g)

    def factorise_hessian(self, x: Array, shift: float = 0.0) -> Array:
        """The Cholesky factor of the Hessian."""
        self._evaluate_at(x)
        H = self.H.copy()
        i = np.arange(len(H))
        H[i, i] += shift * float(np.mean(np.abs(H[i, i])))
        return linalg.cholesky(H, max_jitter=0.0)

    def hold_idle(self, x: Array) -> bool:
        """Keep out of every step the directions that move no row; whether there are any.

        Steps from no weights then lead to the shortest of all weights that are equally good.
        """
        self._evaluate_at(x)
        V = find_flat_directions(self.H)
        if not V.shape[1]:
            return False
        self._held = float(np.mean(np.diagonal(self.H))) * V @ V.T
        self.H += self._held
        return True

    def _evaluate_at(self, x: Array) -> None:
        if self._x is not None and np.array_equal(self._x, x):
            return
        p = self.problem
        W = p.prior.unpack(x, p.shape)
        may_separate = p.prior.is_flat and p.targets.are_classes
        ask = _PassRequest(W, may_separate, self._hessian, self._positive, p.prior.mask)
        value, slope, told_apart, *gram = p.targets.sum_over_parts(p.design, ask)
        self._value = p.quadratic(W) - float(value)
        self._gradient = p.prior.pack(p.prior.multiply_precision(W) - slope)
        if self._hessian:
            self.H = p.prior.add_precision(gram[0])
            if self._held is not None:
                self.H += self._held
        self._x = x.copy()
        if may_separate and told_apart.value:
            raise SeparatedError(self._x)


@dataclass(frozen=True)
class _PassRequest:
    """The request of a pass to each part, with all that it takes along."""

    W: Array  # (M, J)
    may_separate: bool
    hessian: bool
    surely_positive: bool
    mask: NDArray[np.bool_] | None

    def __call__(
        self, part: designs.Design, t: RowTargets
    ) -> Sequence[Array | float | designs.Minimum]:
        """Return value, gradient, whether the weights separate every row, and the Hessian."""
        A = t.latents_at(part, self.W)
        log_p, gradient = t.value_and_gradient(part, A)
        told_apart = self.may_separate and t.are_told_apart(A, log_p)
        sums: list[Array | float | designs.Minimum] = [
            t.sum_over_rows(log_p),
            gradient,
            designs.Minimum(float(told_apart)),
        ]
        if self.hessian:
            h = t.curvature(A, surely_positive=self.surely_positive)
            sums.append(weighted_gram(part, h, self.mask))
        return sums


def weighted_gram(design: designs.Design, h: Array, mask: NDArray[np.bool_] | None = None) -> Array:
    """The sum over rows of (z z^T) x h_n, (M J, M J), for h (n, J, J).

    With a mask (M, J), of its rows and columns that are not masked alone, (P, P).
    """
    M, J = design.n_columns, h.shape[1]
    if mask is not None:
        return _masked_gram(design, h, mask)
    if J == 1:
        return design.gram(h[:, 0, 0])
    if J > M:
        return _gram_of_many_outputs(design, h)
    H = np.empty((M, J, M, J))
    for j in range(J):
        for k in range(j + 1):
            H[:, j, :, k] = design.gram(np.ascontiguousarray(h[:, j, k]))
            H[:, k, :, j] = H[:, j, :, k]
    return H.reshape(M * J, M * J)


def _gram_of_many_outputs(design: designs.Design, h: Array) -> Array:
    M, J = design.n_columns, h.shape[1]
    G = np.zeros((M, J, M, J))
    for rows, Z in design.blocks():
        G += weighted_products(Z, h[rows], Z)
    H = G.reshape(M * J, M * J)
    return 0.5 * (H + H.T)


def _masked_gram(design: designs.Design, h: Array, mask: NDArray[np.bool_]) -> Array:
    J, places = mask.shape[1], packed_places(mask)
    H = np.zeros((int(np.sum(mask)),) * 2)
    for rows, Z in design.blocks():
        parts = [Z[:, used] for used in mask.T]
        for j in range(J):
            for k in range(j + 1):
                G = parts[j].T @ (h[rows, j, k, None] * parts[k])
                H[np.ix_(places[j], places[k])] += G
                if k < j:
                    H[np.ix_(places[k], places[j])] += G.T
    return H


def packed_places(mask: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Places of the weights of each output in the packed vector."""
    number = np.cumsum(mask).reshape(mask.shape) - 1
    return [number[used, j] for j, used in enumerate(mask.T)]


def weighted_products(Z: Array, h: Array, X: Array) -> Array:
    """The sum over rows of (z x^T) x h_n, (b, J, m, J), for Z (n, b), X (n, m), h (n, J, J).

    One product for each output: a product for each pair of them is mostly overhead where there are
    twenty classes and few columns.
    """
    (n, b), m, J = Z.shape, X.shape[1], h.shape[1]
    G = np.empty((J, b, J, m))
    for j in range(J):
        weighed = (h[:, j, : j + 1, None] * X[:, None, :]).reshape(n, (j + 1) * m)
        G[j, :, : j + 1] = (Z.T @ weighed).reshape(b, j + 1, m)
        G[:j, :, j] = G[j, :, :j].transpose(1, 0, 2)
    return np.ascontiguousarray(G.transpose(1, 0, 3, 2))


def weights_from_optimum(problem: WeightProblem, best: optimize.Optimum) -> Weights:
    """The weights at the end of a search over packed ones."""
    slope = float(np.max(np.abs(best.gradient), initial=0.0))
    W = problem.prior.unpack(best.x, problem.shape)
    return Weights(W, -best.value, slope, best.n_iter, best.stop_reason, best.converged)


def find_flat_directions(H: Array) -> Array:
    """Orthonormal directions (n, r) in which H does not curve, of columns of one scale."""
    d = np.sqrt(np.where(np.diagonal(H) > 0.0, np.diagonal(H), 1.0))
    try:
        pivots = np.diagonal(linalg.cholesky(H / np.outer(d, d), max_jitter=0.0))
    except linalg.NotPositiveDefiniteError:
        pivots = np.zeros(1)
    if np.min(pivots) ** 2 > _DOUBTFUL:
        return np.empty((len(H), 0))
    values, V = linalg.symmetric.eigh(H)
    return V[:, values <= len(H) * _EPS * values[-1]]
