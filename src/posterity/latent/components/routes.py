"""Principal axes of rows, by whichever side of their matrix is shorter, or by random projection.

A route begins with squares: the D x D scatter of columns or the N x N one of rows, whose
eigenvalues are right to rounding of the largest. Where one that was asked for is small beside that,
the digits come from an orthogonal factor of the rows instead, and are those of a singular value
decomposition. Directions without variance, to rounding, have exactly none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.designs import centred
from posterity.designs.centred import Centred
from posterity.designs.moments import RowMoments
from posterity.latent.components.principal import Principal, Spectrum
from posterity.linalg import axes, symmetric

T = TypeVar("T")


@dataclass(frozen=True)
class MemorySource:
    """The rows of an array, with weights where they have any, all above zero."""

    X: Array  # (N, D)
    weights: Array | None = None  # (N,)

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return self.X.shape[0], self.X.shape[1]

    def moments(self) -> RowMoments:
        """Count, mean and scatter, by one pass or two."""
        return RowMoments.from_rows(self.X, self.weights)

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The rows about their mean, without a copy; that mean, and the total weight."""
        mean = centred.compute_column_means(self.X, self.weights)
        root = None if self.weights is None else np.sqrt(self.weights)
        total = float(len(self.X)) if self.weights is None else float(self.weights.sum())
        return Centred(self.X, mean, root), mean, total

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean, by orthogonal transformations."""
        return _factor_blocks(_center_blocks(self.X, self.weights, mean), self.X.shape[1])


@dataclass(frozen=True)
class StreamedSource:
    """Rows that are read block by block, as often as necessary, or that are on workers."""

    rows: designs.Chunks | designs.Partitions

    @property
    def shape(self) -> tuple[int, int]:
        """N, of rows that count, and D."""
        return self._moments.n_rows, self.rows.n_features

    @cached_property
    def _moments(self) -> RowMoments:
        """By one pass."""
        return sum_over_blocks(self.rows, RowMoments.from_rows, RowMoments.merge)

    def moments(self) -> RowMoments:
        """Count, mean and scatter; the scatter belongs to the caller."""
        return replace(self._moments, scatter=self._moments.scatter.copy())

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean, by another pass."""

        def of_rows(X: Array, weights: Array | None) -> Array:
            return _factor_blocks(_center_blocks(X, weights, mean), X.shape[1])

        return sum_over_blocks(self.rows, of_rows, linalg.merge_factors)


def sum_over_blocks(
    rows: designs.Chunks | designs.Partitions,
    function: Callable[[Array, Array | None], T],
    merge: Callable[[T, T], T],
) -> T:
    """The merged results of ``function(X, weights)`` for the rows of each block that count."""

    def of_block(block: designs.RowBlock) -> T | None:
        X, weights = select_counted_rows(block.X, block.sample_weight)
        return function(X, weights) if len(X) else None

    def of_both(a: T | None, b: T | None) -> T | None:
        return b if a is None else a if b is None else merge(a, b)

    total = rows.reduce(of_block, of_both)
    if total is None:
        raise ValueError("There are no rows of positive weight.")
    return total


@dataclass(frozen=True)
class FactoredSource:
    """Rows that have come and gone: a factor of their scatter, their mean and their number."""

    B: Array  # (r, D)
    mean: Array  # (D,)
    count: float

    @classmethod
    def from_statistics(cls, statistics: designs.Statistics) -> FactoredSource:
        """From merged statistics, without targets."""
        B, mean, _ = statistics.compute_centred_factor()
        return cls(B, mean, statistics.count)

    @property
    def shape(self) -> tuple[int, int]:
        """One more than the rows of the factor, which are orthogonal to the mean; and D."""
        return len(self.B) + 1, self.B.shape[1]

    def moments(self) -> RowMoments:
        """Count, mean and scatter, from the factor."""
        scatter = linalg.products.gram(self.B)
        still = np.zeros_like(self.mean)
        return RowMoments(self.count, self.mean, still, scatter, self.shape[0])

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The factor, which stands for the rows about their mean; that mean, and the weight."""
        return Centred(self.B, np.zeros_like(self.mean), None), self.mean, self.count

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean: the factor itself."""
        return self.B


RowSource: TypeAlias = MemorySource | StreamedSource | FactoredSource
"""Rows, seen through their second moments."""

PresentRows: TypeAlias = MemorySource | FactoredSource
"""Rows, or a factor that stands for them, in memory all at once."""


def select_counted_rows(X: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """The rows whose weight is not zero, and their weights; no copy where that is all of them."""
    if weights is None or weights.all():
        return X, weights
    kept = weights > 0.0
    return X[kept], weights[kept]


def _factor_blocks(blocks: Iterator[Array], n_columns: int) -> Array:
    """One factor of successive rows."""
    return functools.reduce(linalg.merge_factors, blocks, np.empty((0, n_columns)))


def _center_blocks(X: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Blocks of rows about the mean."""
    root = None if weights is None else np.sqrt(weights)
    return (A for _, A in Centred(X, mean, root).row_blocks(4 * X.shape[1]))


Choice: TypeAlias = Callable[[Spectrum], int]
"""A choice of the number of axes, once their variances are known."""

SMALL = 1e-8  # of the largest variance: a square keeps half of its digits
_EPS = float(np.finfo(np.float64).eps)


def decompose_by_columns(source: RowSource, choose: Choice, *, small: float = SMALL) -> Principal:
    """By the scatter of the columns: D x D, and N D^2 operations.

    Parameters
    ----------
    source : RowSource
        The rows.
    choose : callable
        From the spectrum to the number of axes.
    small : float
        The part of the largest variance below which one that is asked for is computed anew; an
        error of rounding in the largest is 2e-16 / small of it.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.latent.components import routes
    >>> from posterity.latent.components.routes import MemorySource
    >>> X = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0]])
    >>> model = routes.decompose_by_columns(MemorySource(X), lambda spectrum: 1)
    >>> model.axes.round(6), model.spectrum.variances.round(6)
    (array([[0.6, 0.8]]), array([25., 0.]))
    """
    moments = source.moments()
    n_still = int(np.sum(np.diagonal(moments.scatter) == 0.0))
    rank = min(source.shape[0] - 1, source.shape[1] - n_still)
    lam, V = _eigh(moments.scatter)
    squares = _clear_rounding(lam[::-1], rank, _EPS * max(source.shape))
    spectrum = _spectrum(squares, moments.count, source)
    k = choose(spectrum)
    if _is_poor(squares[: min(k, rank)], small):
        return _decompose_factor(source, moments.mean, moments.count, choose)
    return _complete_axes(moments.mean, V.T[::-1], spectrum, k)


def decompose_by_rows(source: PresentRows, choose: Choice, *, small: float = SMALL) -> Principal:
    """By the inner products of the rows about their mean: N x N, and N^2 D operations.

    Where u is an eigenvector of A A^T, A^T u is one of A^T A.
    """
    rows, mean, count = source.about_mean()
    rank = min(source.shape[0] - 1, source.shape[1])
    lam, U = _eigh(rows.row_gram())
    squares = _clear_rounding(lam[::-1], rank, _EPS * max(source.shape))
    spectrum = _spectrum(squares, count, source)
    k = choose(spectrum)
    if _is_poor(squares[: min(k, rank)], small):
        return _decompose_factor(source, mean, count, choose)
    r = min(k, int(np.sum(squares > 0.0)))
    V = rows.transposed_times(U[:, ::-1][:, :r] / np.sqrt(squares[:r]))
    return _complete_axes(mean, V.T, spectrum, k)


def decompose_by_projection(
    source: PresentRows, choose: Choice, rng: np.random.Generator
) -> Principal:
    """The largest by random projection, their variances to a relative 1e-6 or so.

    How many is chosen without variances: by a number, or by the form of the rows.
    """
    rows, mean, count = source.about_mean()
    total = sum(float(np.einsum("ij,ij->", A, A)) for _, A in rows.row_blocks())
    dof = _degrees_of_freedom(count)
    k = choose(Spectrum(np.zeros(0), total / dof, count, source.shape[1]))
    s, Vt = axes.leading_axes(rows, min(k, *rows.shape), rng)
    squares = _clear_rounding(s**2, source.shape[0] - 1, _EPS * max(source.shape))
    rest = max(total - float(squares.sum()), 0.0) / dof
    padded = np.concatenate([squares, np.zeros(k - len(squares))])
    spectrum = Spectrum(padded / dof, rest, count, source.shape[1])
    return _complete_axes(mean, Vt, spectrum, k)


def _decompose_factor(source: RowSource, mean: Array, count: float, choose: Choice) -> Principal:
    """By singular values of an orthogonal factor, which has the condition of the rows."""
    _, s, Vt = linalg.thin_svd(source.factor(mean))
    squares = _clear_rounding(s**2, source.shape[0] - 1, (_EPS * max(source.shape)) ** 2)
    spectrum = _spectrum(squares, count, source)
    return _complete_axes(mean, Vt, spectrum, choose(spectrum))


def _eigh(A: Array) -> tuple[Array, Array]:
    """In the memory of A; by one thread where more would wait for each other."""
    with linalg.limit_threads(len(A)):
        return symmetric.eigh(A, overwrite=True)


def _clear_rounding(squares: Array, rank: int, threshold: float) -> Array:
    """Decreasing squares, exactly zero beyond the rank and where rounding would be as large."""
    largest = float(np.max(squares, initial=0.0))
    possible = np.arange(len(squares)) < rank
    return np.where(possible & (squares > threshold * largest), squares, 0.0)


def _complete_axes(mean: Array, Vt: Array, spectrum: Spectrum, k: int) -> Principal:
    """With the axes that have variance, and where there are too few, with others."""
    r = min(k, int(np.sum(spectrum.variances > 0.0)))
    V = np.array(axes.complete_rows(Vt[:r], k), order="C")  # and not a view of all
    return Principal(mean, axes.orient_rows(V), spectrum)


def _is_poor(asked: Array, small: float) -> bool:
    """Whether the least that was asked for is too small beside the largest."""
    return bool(asked.size) and asked[-1] < small * asked[0]


def _spectrum(squares: Array, count: float, source: RowSource) -> Spectrum:
    """All variances; a row that counts for several may give more axes, of no variance."""
    N, D = source.shape
    n_axes = min(D, max(N, int(count)))
    variances = np.zeros(n_axes)
    variances[: len(squares)] = squares[:n_axes] / _degrees_of_freedom(count)
    return Spectrum(variances, 0.0, count, D)


def _degrees_of_freedom(count: float) -> float:
    """N - 1, or a sentence where that is nothing."""
    if not count > 1.0:
        raise ValueError(
            f"The rows count for {count:g} in all, but a covariance needs more than one sample: "
            "pass more rows, or larger weights."
        )
    return count - 1.0
