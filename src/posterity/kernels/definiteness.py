"""Whether a function of two rows can be a kernel: looked for where it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity.arrays import Array, to_numpy
from posterity.kernels.function import Function
from posterity.kernels.kernel import Kernel
from posterity.linalg import symmetric

_ROWS_NAMED = 4
_WORTH_NAMING = 0.25  # of the largest weight in the eigenvector


@dataclass(frozen=True)
class Definiteness:
    """What :func:`check_positive_definite` found; ``str`` says it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import RBF, check_positive_definite
    >>> report = check_positive_definite(RBF(1.0), np.array([[0.0], [1.0]]))
    >>> report.ok, round(report.smallest_eigenvalue, 4)
    (True, 0.3935)
    """

    n_rows: int
    smallest_eigenvalue: float  # of the symmetric part
    mean_diagonal: float
    problems: tuple[str, ...]  # sentences; none where all is well
    rows: tuple[int, ...]  # that weigh most in what is wrong, the first most; none if nothing is

    @property
    def ok(self) -> bool:
        """Whether the matrix is symmetric and positive semi-definite, to rounding."""
        return not self.problems

    @property
    def relative_eigenvalue(self) -> float:
        """The smallest eigenvalue in units of the mean diagonal."""
        return self.smallest_eigenvalue / self.mean_diagonal if self.mean_diagonal else np.nan

    def __str__(self) -> str:
        if self.problems:
            return " ".join(self.problems)
        return (
            f"Positive semi-definite on these {self.n_rows} rows: the smallest eigenvalue is "
            f"{self.smallest_eigenvalue:.3g}, with a mean diagonal of {self.mean_diagonal:.3g}."
        )


def check_positive_definite(
    kernel: Kernel | Callable[[Any, Any], Any], X: Any, *, tolerance: float = 1e-12
) -> Definiteness:
    """Look at k(X) for what no covariance can be, and say where and how badly it fails.

    A kernel that passes on some rows may still fail on others; a failure is conclusive. The
    cost is that of all eigenvectors of an N x N matrix.

    Parameters
    ----------
    kernel : Kernel, or a function k(X, Z)
    X : array (N, D), or a sequence of objects where the kernel takes those
    tolerance : float, default=1e-12
        Error of an entry, relative to the mean diagonal, that counts as rounding. N such errors
        may move an eigenvalue by N times as much.

    Returns
    -------
    Definiteness
        With ``ok``, the smallest eigenvalue, the rows concerned, and sentences as its ``str``.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import check_positive_definite
    >>> def far(X, Z):
    ...     return 1.0 + abs(X - Z.T)
    >>> print(check_positive_definite(far, np.array([[0.0], [1.0]])))
    Not positive semi-definite on these 2 rows: the smallest eigenvalue is -1, which is -1 times
    the mean diagonal. Rows 0 and 1 are more alike to each other than to themselves: k = 2 between
    them, 1 and 1 with themselves.
    """
    as_kernel = kernel if isinstance(kernel, Kernel) else Function(kernel)
    K = to_numpy(as_kernel(X))
    if not K.size:
        return Definiteness(0, 0.0, 0.0, (), ())
    if not np.isfinite(K).all():
        n, m = (int(i) for i in np.argwhere(~np.isfinite(K))[0])
        said = f"k is {K[n, m]} between rows {n} and {m}."
        return Definiteness(len(K), np.nan, np.nan, (said,), (n, m))
    return _examine(K, tolerance)


def _examine(K: Array, tolerance: float) -> Definiteness:
    """The findings about a matrix of finite numbers."""
    diagonal = np.diagonal(K)
    size = float(np.mean(np.abs(diagonal))) or float(np.max(np.abs(K))) or 1.0
    d, V = symmetric.eigh(0.5 * (K + K.T))
    smallest = float(d[0])
    found = [
        _describe_asymmetry(K, tolerance * size),
        _describe_negative_diagonal(diagonal, tolerance * size),
        _describe_negative_direction(K, smallest, V, tolerance * size),
    ]
    problems = [problem for problem in found if problem is not None]
    return Definiteness(
        len(K),
        smallest,
        float(np.mean(diagonal)),
        tuple(sentence for sentence, _ in problems),
        problems[-1][1] if problems else (),
    )


def _describe_asymmetry(K: Array, rounding: float) -> tuple[str, tuple[int, ...]] | None:
    D = np.abs(K - K.T)
    n, m = _largest(D)
    if D[n, m] <= 2.0 * rounding:
        return None
    return (
        f"Not symmetric: k is {K[n, m]:.6g} between rows {n} and {m}, but {K[m, n]:.6g} between "
        f"rows {m} and {n}.",
        (n, m),
    )


def _describe_negative_diagonal(
    diagonal: Array, rounding: float
) -> tuple[str, tuple[int, ...]] | None:
    if diagonal.min() >= -rounding:
        return None
    n = int(np.argmin(diagonal))
    return f"Row {n} has similarity {diagonal[n]:.3g} with itself, below zero.", (n,)


def _describe_negative_direction(
    K: Array, smallest: float, V: Array, rounding: float
) -> tuple[str, tuple[int, ...]] | None:
    """The most negative eigenvalue, and the rows that its eigenvector is made of."""
    if smallest >= -len(K) * rounding:
        return None
    mean = float(np.mean(np.diagonal(K)))
    times = f", which is {smallest / mean:.3g} times the mean diagonal" if mean else ""
    sentence = (
        f"Not positive semi-definite on these {len(K)} rows: the smallest eigenvalue is "
        f"{smallest:.3g}{times}. "
    )
    weights = np.abs(V[:, 0])
    order = np.argsort(-weights, kind="stable")[:_ROWS_NAMED]
    rows = tuple(int(n) for n in order if weights[n] > _WORTH_NAMING * weights.max())
    pair = _find_pair_too_alike(K, rounding)
    if pair is None:
        return sentence + f"It shows most in {_list_rows(rows)}.", rows
    n, m = pair
    return (
        f"{sentence}Rows {n} and {m} are more alike to each other than to themselves: k = "
        f"{K[n, m]:.3g} between them, {K[n, n]:.3g} and {K[m, m]:.3g} with themselves.",
        (n, m),
    )


def _find_pair_too_alike(K: Array, rounding: float) -> tuple[int, int] | None:
    """The two rows with the largest |k(x, z)| above sqrt(k(x, x) k(z, z)), smaller row first."""
    root = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    excess = np.triu(np.abs(K) - np.multiply.outer(root, root), k=1)
    n, m = _largest(excess)
    return (n, m) if excess[n, m] > rounding else None


def _largest(D: Array) -> tuple[int, int]:
    return divmod(int(np.argmax(D)), D.shape[1])


def _list_rows(rows: tuple[int, ...]) -> str:
    words = [str(n) for n in rows]
    return f"rows {', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else f"row {words[0]}"
