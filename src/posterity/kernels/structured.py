"""Common parts of kernels of strings, trees and graphs: objects, counts, normalisation."""

import abc
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import scipy.sparse

from posterity.arrays import Array
from posterity.kernels.kernel import Kernel
from posterity.kernels.parameters import Range
from posterity.kernels.tangent import Tangent

_LARGEST = 1e150  # the product of two sums of squares must stay finite


@dataclass(frozen=True, repr=False)
class StructuredKernel(Kernel):
    """Objects compared by the features they share: k(x, z) = sum_f f(x) f(z).

    With ``normalize=True`` this is divided by sqrt(k(x, x) k(z, z)). An object without any feature,
    such as a string that is too short, is then like every other such object (1) and unlike all the
    rest (0), as if having none were a feature: the matrix stays positive semi-definite and its
    diagonal is one. Without normalisation such an object has similarity 0, also with itself.
    """

    _compares: ClassVar[str]  # in the plural, for error messages

    @property
    @abc.abstractmethod
    def normalize(self) -> bool:
        """Whether every object has similarity 1 with itself."""

    @abc.abstractmethod
    def _accepts(self, row: Any) -> bool:
        """Whether a row is an object of the kind that is compared."""

    @abc.abstractmethod
    def _products(self, X: Sequence[Any], Z: Sequence[Any]) -> Array:
        """The matrix of sum_f f(x) f(z), symmetric to the last bit where Z is X."""

    @abc.abstractmethod
    def _squares(self, X: Sequence[Any]) -> Array:
        """The vector of sum_f f(x)^2."""

    @property
    def takes_vectors(self) -> bool:
        """False: rows are objects."""
        return False

    def _block(self, X: Any, Z: Any) -> Array:
        rows_X, rows_Z = self._check_both(X, Z)
        K = self._products(rows_X, rows_Z)
        if not self.normalize:
            return K
        a = np.diag(K) if rows_Z is rows_X else self._squares(rows_X)
        b = a if rows_Z is rows_X else self._squares(rows_Z)
        return self._normalize(K, a, b)

    def _diag(self, X: Any) -> Array:
        rows = self._check_rows(X)
        return np.ones(len(rows)) if self.normalize else self._squares(rows)

    def _tangent(self, X: Any, Z: Any) -> Tangent:
        return Tangent(self._block(X, Z), lambda G: self._collect_gradients(), self._refuse_inputs)

    def _diag_gradient(self, X: Any, g: Array) -> Array:
        return self._collect_gradients()

    def _normalize(self, K: Array, a: Array, b: Array, of_empty: float = 1.0) -> Array:
        """K[n, m] / sqrt(a[n] b[m]); ``of_empty`` between rows without features."""
        norms = np.sqrt(np.multiply.outer(a, b))
        both_empty = np.logical_and.outer(a == 0.0, b == 0.0)
        return np.divide(K, norms, out=of_empty * both_empty, where=norms > 0.0)

    def _check_both(self, X: Any, Z: Any) -> tuple[list[Any], list[Any]]:
        rows_X = self._check_rows(X)
        return rows_X, rows_X if Z is X else self._check_rows(Z)

    def _check_rows(self, X: Any) -> list[Any]:
        """The rows as a list, if every one is of the right kind."""
        if self._accepts(X) or isinstance(X, str) or not isinstance(X, Iterable):
            raise ValueError(
                f"X is {describe_value(X)}; {type(self).__name__} takes a list of {self._compares}."
            )
        rows = list(X)
        for i, row in enumerate(rows):
            if not self._accepts(row):
                raise ValueError(
                    f"row {i} is {describe_value(row)}; {type(self).__name__} compares "
                    f"{self._compares}."
                )
        return rows

    def _refuse_inputs(self, G: Array) -> NoReturn:
        raise ValueError(f"{type(self).__name__} has no derivative in its {self._compares}.")


@dataclass(frozen=True, repr=False)
class CountKernel(StructuredKernel):
    """Features that are counted one by one: how often each occurs in each object."""

    @abc.abstractmethod
    def _features(self, rows: Sequence[Any]) -> Iterable[Iterable[Hashable]]:
        """The features of each row, repeated as often as they occur."""

    def _products(self, X: Sequence[Any], Z: Sequence[Any]) -> Array:
        if Z is X:
            Phi = count_features(self._features(X))
            return (Phi @ Phi.T).toarray()
        # Together, because a feature may be named by its place among those seen.
        Phi = count_features(self._features([*X, *Z]))
        return (Phi[: len(X)] @ Phi[len(X) :].T).toarray()

    def _squares(self, X: Sequence[Any]) -> Array:
        Phi = count_features(self._features(X))
        return np.asarray(Phi.multiply(Phi).sum(axis=1)).ravel()


@dataclass(frozen=True, repr=False)
class DecayKernel(StructuredKernel):
    """Features whose weight is a power of a number, ``decay``, that estimators may tune.

    The factor decay^``_least_power`` that all products of features share is left out of the sums:
    normalisation cancels it, and they are then 0 or at least 1, never too small to compute with.
    """

    @property
    @abc.abstractmethod
    def decay(self) -> float:
        """The factor by which the weight of a feature falls as the feature grows."""

    @property
    @abc.abstractmethod
    def _least_power(self) -> int:
        """The power of decay in the product of the two heaviest features."""

    @abc.abstractmethod
    def _sums(self, X: Sequence[Any], Z: Sequence[Any]) -> tuple[Array, Array]:
        """``_products`` without the common factor, and their derivatives in log decay."""

    @abc.abstractmethod
    def _self_sums(self, X: Sequence[Any]) -> tuple[Array, Array]:
        """``_squares`` without the common factor, and their derivatives in log decay."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.decay, tuple) or (self.decay is not None and self.decay > 1.0):
            raise ValueError(f"decay={self.decay!r} must be one number, at most 1.")

    def _products(self, X: Sequence[Any], Z: Sequence[Any]) -> Array:
        return self._apply_common_factor(*self._sums(X, Z))[0]

    def _squares(self, X: Sequence[Any]) -> Array:
        return self._apply_common_factor(*self._self_sums(X))[0]

    def _tangent(self, X: Any, Z: Any) -> Tangent:
        rows = self._check_both(X, Z)
        K, dK = self._apply_common_factor(*self._sums(*rows))
        k, dk = self._normalize_sums(*rows, K, dK) if self.normalize else (K, dK)
        return Tangent(k, lambda G: self._decay_gradient(G, dk), self._refuse_inputs)

    def _start_own_search(self, ranges: Mapping[str, Range]) -> tuple[Self, Array]:
        kernel, bounds = super()._start_own_search(ranges)
        return kernel, np.minimum(bounds, 0.0)  # log decay, whatever the bounds given

    def _apply_common_factor(self, K: Array, dK: Array) -> tuple[Array, Array]:
        """Multiply by the common factor, unless normalisation cancels it; refuse large sums."""
        self._refuse_large(K)
        if self.normalize:
            return K, dK
        factor = self.decay**self._least_power
        return factor * K, factor * (dK + self._least_power * K)

    def _refuse_large(self, K: Array) -> None:
        for place in np.argwhere(~(K < _LARGEST))[:1]:
            raise ValueError(
                f"row {place[0]} has features beyond counting: a sum over them is "
                f"{K[tuple(place)]:.3g}. "
                f"{type(self).__name__} can compute with up to {_LARGEST:g}; choose a smaller "
                "decay, or smaller objects."
            )

    def _normalize_sums(
        self, X: Sequence[Any], Z: Sequence[Any], K: Array, dK: Array
    ) -> tuple[Array, Array]:
        """k = K / sqrt(a b) and its derivative, dK / sqrt(a b) - k (d log a + d log b) / 2."""
        a, da = self._apply_common_factor(*self._self_sums(X))
        b, db = (a, da) if Z is X else self._apply_common_factor(*self._self_sums(Z))
        k = self._normalize(K, a, b)
        d_log = np.add.outer(_safe_ratio(da, a), _safe_ratio(db, b))
        return k, self._normalize(dK, a, b, of_empty=0.0) - 0.5 * k * d_log

    def _diag_gradient(self, X: Any, g: Array) -> Array:
        if self.normalize:
            return self._collect_gradients(decay=lambda: 0.0)
        return self._decay_gradient(
            g, self._apply_common_factor(*self._self_sums(self._check_rows(X)))[1]
        )

    def _decay_gradient(self, G: Array, dK: Array) -> Array:
        return self._collect_gradients(decay=lambda: float(np.sum(G * dK)))


def count_features(rows: Iterable[Iterable[Hashable]]) -> scipy.sparse.csr_array:
    """Count how often each feature occurs in each row, a sparse (N, M) array.

    Sums of integers in float64 are exact, so that products of these counts are symmetric.
    """
    columns: dict[Hashable, int] = {}
    indices: list[int] = []
    data: list[int] = []
    starts = [0]
    for row in rows:
        tally = Counter(row)
        indices += [columns.setdefault(feature, len(columns)) for feature in tally]
        data += tally.values()
        starts.append(len(indices))
    values = np.array(data, dtype=np.float64)
    return scipy.sparse.csr_array((values, indices, starts), shape=(len(starts) - 1, len(columns)))


def describe_value(value: Any) -> str:
    """Describe a value in words."""
    if value is None:
        return "None"
    for kind, words in _KINDS:
        if isinstance(value, kind):
            return words
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


_KINDS: tuple[tuple[type, str], ...] = (
    (str, "a string"),
    (bytes, "bytes"),
    (numbers.Number, "a number"),
    (np.ndarray, "an array"),
)


def _safe_ratio(d: Array, a: Array) -> Array:
    """d / a, and 0 where both are."""
    return np.divide(d, a, out=np.zeros_like(a), where=a > 0.0)
