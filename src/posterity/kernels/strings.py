"""Kernels on strings: shared substrings, and shared subsequences with gaps."""

import itertools
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.kernels import structured
from posterity.kernels.parameters import positive


@dataclass(frozen=True, repr=False)
class Spectrum(structured.CountKernel):
    """Strings are alike when they have the same substrings of one length.

    The features are the counts of all substrings of that length (Leslie et al., 2002). Several
    lengths are a sum of kernels, ``Spectrum(2) + Spectrum(3)``, and their weights are the scales.

    Parameters
    ----------
    length : int, default=3
        Of the substrings, in characters.
    normalize : bool, default=True
        Whether every string has similarity 1 with itself. A string shorter than ``length`` then
        has similarity 1 with such strings and 0 with others.

    Examples
    --------
    >>> from posterity import kernels
    >>> kernels.Spectrum(2, normalize=False)(["banana"], ["banana", "ananas", "fig"])
    array([[9., 8., 0.]])
    >>> kernels.Spectrum(2)(["banana"], ["banana", "ananas", "fig"]).round(3)
    array([[1.   , 0.889, 0.   ]])
    """

    _compares: ClassVar[str] = "strings"

    length: int = 3
    normalize: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_length(self.length)

    def _accepts(self, row: Any) -> bool:
        return isinstance(row, str)

    def _features(self, rows: Sequence[str]) -> Iterator[Iterator[str]]:
        for text in rows:
            yield (text[i : i + self.length] for i in range(len(text) - self.length + 1))


@dataclass(frozen=True, repr=False)
class Subsequence(structured.DecayKernel):
    """Strings are alike when they have the same characters in the same order, gaps allowed.

    The features are the subsequences of one length, each with the sum over its occurrences of
    decay^span, where the span counts all characters from the first of the occurrence to its last
    (Lodhi et al., 2002). A pair of strings costs ``length`` times the product of their lengths.

    Parameters
    ----------
    length : int, default=3
        Of the subsequences, in characters.
    decay : float, default=0.5
        How much less an occurrence counts for each character that it spans; at most 1, where gaps
        do not matter. As it goes to zero, the normalised kernel becomes ``Spectrum(length)``.
    normalize : bool, default=True
        Whether every string has similarity 1 with itself. A string shorter than ``length`` then
        has similarity 1 with such strings and 0 with others.

    Examples
    --------
    >>> from posterity import kernels
    >>> kernel = kernels.Subsequence(2, decay=0.5)  # k(cat, car) = 1 / (2 + decay^2)
    >>> kernel(["cat"], ["cat", "car", "dog"]).round(3)
    array([[1.   , 0.444, 0.   ]])
    """

    _compares: ClassVar[str] = "strings"

    length: int = 3
    decay: float = positive(0.5, neutral=0.5, bounds=(0.01, 1.0))
    normalize: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_length(self.length)

    @property
    def _least_power(self) -> int:
        return 2 * self.length  # the spans of two occurrences without gaps

    def _accepts(self, row: Any) -> bool:
        return isinstance(row, str)

    def _sums(self, X: Sequence[str], Z: Sequence[str]) -> tuple[Array, Array]:
        codes = *_encode_characters(X), *_encode_characters(Z)
        return _compare_pairs(*codes, self.length, self.decay, Z is X)

    def _self_sums(self, X: Sequence[str]) -> tuple[Array, Array]:
        return _compare_with_self(*_encode_characters(X), self.length, self.decay)


def _check_length(length: Any) -> None:
    if not isinstance(length, numbers.Integral) or length < 1:
        raise ValueError(f"length={length!r} must be a whole number of characters, 1 or more.")


def _encode_characters(rows: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int_]]:
    """The characters of all strings as numbers, and where each string starts."""
    starts = np.array([0, *itertools.accumulate(len(text) for text in rows)])
    encoded = "".join(rows).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype="<u4").astype(np.uint32), starts


@compilation.compile_at_first_call
def _compare_pairs(
    X: NDArray[np.uint32],
    X_starts: NDArray[np.int_],
    Z: NDArray[np.uint32],
    Z_starts: NDArray[np.int_],
    length: int,
    decay: float,
    same: bool,
) -> tuple[Array, Array]:
    """Every string of X with every one of Z: the sum over pairs of equal subsequences of
    decay^gaps, and decay times its derivative; (N, M) each.

    ``X[X_starts[n] : X_starts[n + 1]]`` is string n. Where X and Z are the same strings, the
    lower half is copied from the upper.
    """
    N, M = len(X_starts) - 1, len(Z_starts) - 1
    K, dK = np.empty((N, M)), np.empty((N, M))
    for n in range(N):
        x = X[X_starts[n] : X_starts[n + 1]]
        for m in range(n if same else 0, M):
            z = Z[Z_starts[m] : Z_starts[m + 1]]
            K[n, m], dK[n, m] = _compare_pair(x, z, length, decay)
            if same:
                K[m, n], dK[m, n] = K[n, m], dK[n, m]
    return K, dK


@compilation.compile_at_first_call
def _compare_with_self(
    X: NDArray[np.uint32], X_starts: NDArray[np.int_], length: int, decay: float
) -> tuple[Array, Array]:
    """Every string with itself, as in ``_compare_pairs``; (N,) each."""
    N = len(X_starts) - 1
    K, dK = np.empty(N), np.empty(N)
    for n in range(N):
        x = X[X_starts[n] : X_starts[n + 1]]
        K[n], dK[n] = _compare_pair(x, x, length, decay)
    return K, dK


@compilation.compile_at_first_call
def _compare_pair(
    x: NDArray[np.uint32], z: NDArray[np.uint32], length: int, decay: float
) -> tuple[float, float]:
    """S[p, j] sums decay^gaps over equal subsequences of length p of x[:i] and z[:j], the
    characters from their ends to i and j counted as gaps; dS is its derivative in log decay.
    """
    S, dS = np.zeros((length, len(z) + 1)), np.zeros((length, len(z) + 1))
    S[0] = 1.0
    total, slope = 0.0, 0.0
    for i in range(len(x)):
        for p in range(length - 1, -1, -1):  # downwards: S[p] is still that of x[:i]
            row, d_row = 0.0, 0.0
            for j in range(len(z)):
                d_row = decay * (d_row + row)
                row *= decay
                if x[i] == z[j]:
                    row += S[p, j]
                    d_row += dS[p, j]
                    if p == length - 1:
                        total += S[p, j]
                        slope += dS[p, j]
                if p < length - 1:
                    dS[p + 1, j + 1] = d_row + decay * (dS[p + 1, j + 1] + S[p + 1, j + 1])
                    S[p + 1, j + 1] = row + decay * S[p + 1, j + 1]
    return total, slope
