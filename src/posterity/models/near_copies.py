"""Near-copies of rows under a kernel; under that of a process, only a fit can find them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from posterity import arrays, copies, kernels
from posterity.arrays import Array
from posterity.models.training import Training
from posterity.row_groups import RowGroups
from posterity.ties import Ties

_NEAR = 0.99  # correlation: a seventh of a length scale
_MOST_MERGES = 3  # a kernel learned without copies may find further ones
_BLOCK = 512  # rows whose covariances are held at a time


class NoisyFit(Protocol):
    """A fit that learned a kernel, or one for each output, and the variance of noise."""

    @property
    def kernel(self) -> Any: ...

    @property
    def noise_variance(self) -> Any: ...


F = TypeVar("F", bound=NoisyFit)


@dataclass(frozen=True)
class NearCopies:
    """Rows that near ones repeat, if that many ties are not expected."""

    groups: RowGroups
    ties: Ties

    def are_expected(self, Y: Array, noise: Array | None = None) -> bool:
        """Return whether chance makes as many ties under the noise that the others show."""
        return self.ties.are_expected(Y[self.groups.first], noise)


def learn_without_copies(
    learn: Callable[[Training], F], training: Training, *, warned: bool = False
) -> F:
    """Learn again from rows of which near ones with equal targets were made one, and warn.

    ``warned`` says whether there was a warning of equal rows.
    """
    fit, n_given = learn(training), len(training.places)
    n_copies = 0 if warned or training.has_replicates else n_given - len(training.Y)
    for _ in range(_MOST_MERGES):
        kernels_found = fit.kernel if isinstance(fit.kernel, tuple) else (fit.kernel,)
        found = find_near_copies(kernels_found, training)
        if found is None:
            break
        once = training.merge_copies(found.groups)
        refit = learn(once)
        if found.are_expected(training.Y, np.atleast_1d(refit.noise_variance)):
            break
        n_copies += len(training.Y) - len(once.Y)
        training, fit = once, refit
    if n_copies:
        action = "Their equal targets were not taken for a sign of low noise."
        copies.warn_of_copies(n_copies, n_given, action)
    return fit


def find_near_copies(fitted: Sequence[kernels.Kernel], training: Training) -> NearCopies | None:
    """Find rows of equal targets that no kernel of an output distinguishes; None without any."""
    n, ties = len(training.Y), Ties(0.0, 0.0, np.zeros(training.Y.shape[1]))
    tied = []
    if not isinstance(training.rows, np.ndarray) or any(one.tells_rows_apart for one in fitted):
        return None
    if RowGroups.of_equal(training.Y).n_groups in (1, n):
        return None  # no target ties, or all do, which says nothing of copies
    for start in range(0, n, _BLOCK):
        first, second = _pair_near_rows(fitted, training.rows, start)
        found = Ties.of_pairs((first, second), training.Y)
        ties = ties.merge(found)
        if found.n_tied:
            equal = np.all(training.Y[first] == training.Y[second], axis=1)
            tied.append(np.stack([first[equal], second[equal]]))
    if not tied:
        return None
    first, second = np.concatenate(tied, axis=1)
    return NearCopies(RowGroups.of_pairs((first, second), n), ties)


def _pair_near_rows(fitted: Sequence[kernels.Kernel], rows: Array, start: int) -> Any:
    """Pairs of a block of rows with rows that follow, near under all kernels."""
    block, later = rows[start : start + _BLOCK], rows[start:]
    near = np.ones((len(block), len(later)), dtype=np.bool_)
    for kernel in fitted:
        deviation = np.sqrt(np.asarray(kernel.diag(later)))
        least = _NEAR * deviation[: len(block), None] * deviation
        near &= arrays.to_numpy(kernel(block, later)) >= least
    first, second = np.nonzero(np.triu(near, 1))
    return first + start, second + start
