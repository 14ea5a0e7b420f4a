"""The rows a process is conditioned on: those present, each once, with how often it counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays, copies, kernels, ties, validation
from posterity.arrays import Array
from posterity.inference.observations import HeldRows, Observations
from posterity.likelihoods import exposed_counts
from posterity.models import kernel_model
from posterity.row_groups import RowGroups


@dataclass(frozen=True)
class ColumnMoments:
    """Weight, mean, variance and range of columns, which can be merged.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.0], [2.0], [6.0]])
    >>> parts = [ColumnMoments.from_rows(y, np.ones(len(y))) for y in (Y[:1], Y[1:])]
    >>> both = parts[0].merge(parts[1])
    >>> both.mean, both.variance.round(3), both.high
    (array([3.]), array([4.667]), array([6.]))
    """

    weight: float
    mean: Array  # (K,)
    variance: Array  # (K,)
    low: Array  # (K,)
    high: Array  # (K,)

    @classmethod
    def from_rows(cls, Y: Array, weights: Array) -> ColumnMoments:
        """Compute the moments of rows in memory, each of positive weight."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the range will tell
            mean = np.average(Y, axis=0, weights=weights)
            variance = np.average((Y - mean) ** 2, axis=0, weights=weights)
        return cls(float(np.sum(weights)), mean, variance, Y.min(axis=0), Y.max(axis=0))

    def select_column(self, k: int) -> ColumnMoments:
        """Return the moments of one column."""
        one = slice(k, k + 1)
        parts = (a[one] for a in (self.mean, self.variance, self.low, self.high))
        return ColumnMoments(self.weight, *parts)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """Return the moments of both sets of rows together."""
        weight = self.weight + other.weight
        a, b = self.weight / weight, other.weight / weight
        between = other.mean - self.mean
        return ColumnMoments(
            weight,
            self.mean + b * between,
            a * self.variance + b * other.variance + a * b * between**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


@dataclass(frozen=True)
class Training:
    """N rows with their targets and weights, and where each row as it was given now stands."""

    rows: Any  # (N, D), or N objects
    Y: Array  # (N, K)
    weights: Array  # (N,), above zero
    known_noise: Array | None  # (N,)
    places: NDArray[np.intp]  # (number of rows given that count,)
    numbers: NDArray[np.intp]  # as many: which of all rows given

    @classmethod
    def from_present_rows(
        cls, rows: Any, Y: Array, weights: Array, known: Array | None
    ) -> Training:
        """Leave out rows of weight zero. The rows are copied: they may change later."""
        every, kept = np.arange(len(Y)), np.flatnonzero(weights)
        return cls(rows, Y, weights, known, every, every)._select(
            kept, weights=weights[kept], places=np.arange(len(kept)), numbers=kept
        )

    @classmethod
    def from_classes(
        cls, rows: Any, codes: Array, weights: Array, *, counts_copies: bool = False
    ) -> Training:
        """Without rows of weight zero; copies count once, or where asked for are warned of.

        Copies would make kernels sure. But whole weights cannot be shared.
        """
        if counts_copies:
            copies.warn_of_counted_copies(rows, codes, weights, is_class=True)
        else:
            weights = copies.weigh_copies_once(rows, codes, weights, is_class=True)
        return cls.from_present_rows(rows, codes[:, None], weights, None)

    def merge_equal_rows(self) -> Training:
        """Make rows one that are equal in all but weight, in the order of their first.

        A weight is a repetition, so nothing else changes. But equal rows with next to no noise make
        a matrix singular to rounding, and a search would see where.
        """
        if not isinstance(self.rows, np.ndarray):
            return self
        groups = RowGroups.of_equal(self.columns).by_appearance()
        if groups.n_groups == len(self.Y):
            return self
        counts = groups.count(self.weights)
        return self._select(groups.first, weights=counts, places=groups.number)

    @property
    def columns(self) -> Array:
        """Inputs that are numbers, targets and known noise side by side."""
        known = () if self.known_noise is None else (self.known_noise,)
        return np.column_stack([self.rows, exposed_counts.as_columns(self.Y), *known])

    @property
    def is_whole(self) -> bool:
        """Whether every row counts a whole number of times."""
        return bool(np.all(self.weights == np.floor(self.weights)))

    def repeat_rows(self) -> Training:
        """Repeat each row as often as it counts, which must be a whole number."""
        counts = self.weights.astype(np.intp)
        bad = np.flatnonzero(counts != self.weights)
        if bad.size:
            raise ValueError(
                f"sample_weight is {self.weights[bad[0]]:g} in row "
                f"{self._original_number(bad[0])}; "
                "expectation propagation repeats rows, so that weights must be whole numbers."
            )
        again = np.repeat(np.arange(len(counts)), counts)
        places = (np.cumsum(counts) - counts)[self.places]
        return self._select(again, weights=np.ones(len(again)), places=places)

    def require_single(self) -> None:
        """Refuse weights, which say how often there was noise."""
        if np.any(self.weights != 1.0):
            raise ValueError("Rows with weights need noise; noise_variance=0.0 leaves them none.")

    def require_one_target_per_input(self) -> Training:
        """Return each input once, as a function has one value there; refuse two targets at one."""
        once = replace(merged := self.merge_equal_rows(), weights=np.ones(len(merged.Y)))
        if isinstance(once.rows, np.ndarray):
            groups = RowGroups.of_equal(once.rows)
            equal = np.flatnonzero(groups.number == np.argmax(groups.count()))
            if len(equal) > 1:
                i, j = (once._original_number(place) for place in equal[:2])
                raise ValueError(
                    f"Rows {i} and {j} have equal inputs and different targets; with "
                    "noise_variance=0.0 no function goes through both."
                )
        return once

    @property
    def has_replicates(self) -> bool:
        """Whether repeated targets are no more than chance makes, so that they tell of noise.

        Rows are those that ``merge_equal_rows`` leaves. See :mod:`posterity.copies` for the rule.
        """
        if not isinstance(self.rows, np.ndarray):
            return True
        inputs = RowGroups.of_equal(self.rows)
        return ties.Ties.of_repeats(inputs, self.Y, self.weights).are_expected(self.Y)

    def merge_copies(self, groups: RowGroups) -> Training:
        """Make rows one that are one record, at the place of the first; repetitions do not add."""
        weights = groups.count(self.weights) / groups.count()
        return self._select(groups.first, weights=weights, places=groups.number[self.places])

    def count_copies_once(self) -> Training:
        """Let rows count once on average if they may be copies, and make near ones one; warn.

        Rows are those that ``merge_equal_rows`` leaves. For models that learn noise by how many
        observations there are; weights then say only which rows are more precise than others.
        """
        training, n_copies = self, 0
        if not self.has_replicates:
            training = replace(self, weights=self.weights / np.mean(self.weights))
            n_copies = len(self.places) - len(self.Y)
        near = copies.find_copies(self.rows, exposed_counts.as_columns(self.Y))
        if near is not None and near.n_groups >= 2:
            training, n_copies = training.merge_copies(near), n_copies + len(self.Y) - near.n_groups
        if n_copies:
            copies.warn_of_copies(n_copies, len(self.places), copies.COUNTED_ONCE)
        return training

    def append_rows(self, rows: Any, Y: Array) -> Training:
        """Append further rows, each counting once."""
        n, more = len(self.Y), len(Y)
        if Y.shape[1] != self.Y.shape[1]:
            raise ValueError(
                f"y has {Y.shape[1]} columns; the model was fitted to {self.Y.shape[1]}."
            )
        return replace(
            self,
            rows=kernel_model.join_rows(self.rows, rows),
            Y=np.vstack([self.Y, Y]),
            weights=np.append(self.weights, np.ones(more)),
            places=np.append(self.places, np.arange(n, n + more)),
            numbers=np.append(self.numbers, self.numbers[-1] + 1 + np.arange(more)),
        )

    def _original_number(self, place: np.intp) -> int:
        """Return the number of the first given row at this position."""
        return int(self.numbers[np.argmax(self.places == place)])

    def sample_rows(self, n: int, rng: np.random.Generator) -> Training:
        """Draw at most n of the rows as they were given; all if there are no more."""
        if len(self.numbers) <= n:
            return self
        drawn = np.sort(rng.choice(len(self.numbers), n, replace=False))
        kept = np.unique(self.places[drawn])
        places = np.searchsorted(kept, self.places[drawn])
        numbers = self.numbers[drawn]
        return self._select(kept, weights=self.weights[kept], places=places, numbers=numbers)

    def _select(self, kept: NDArray[np.intp], **changed: Any) -> Training:
        """Return copies of some rows, with other weights, and places for those as given."""
        rows = kernels.rows.select_rows(self.rows, kept)
        known = None if self.known_noise is None else self.known_noise[kept]
        return replace(self, rows=rows, Y=self.Y[kept], known_noise=known, **changed)

    def standardise_targets(self, centre: Array, scale: Array) -> HeldRows:
        """Return the rows as inference sees them: targets less the centre, divided by the scale."""
        Y = (self.Y - centre) / scale
        like = Y if isinstance(self.rows, list) else self.rows
        known = None if self.known_noise is None else self.known_noise / scale[0] ** 2
        y = Observations.from_targets(arrays.like(like, Y), weights=self.weights, known_noise=known)
        return HeldRows(self.rows, y)

    @property
    def target_moments(self) -> ColumnMoments:
        """Moments of the targets, each row weighted by its importance."""
        return ColumnMoments.from_rows(self.Y, self.importance)

    @property
    def total_weight(self) -> float:
        """Number of rows, each counted by its weight."""
        return float(np.sum(self.weights))

    @property
    def importance(self) -> Array:
        """Weights of the rows in a mean: their counts, divided by known noise variances."""
        return self.weights if self.known_noise is None else self.weights / self.known_noise

    @property
    def mean_known_noise(self) -> float | None:
        """Mean of the known noise variances over all repetitions."""
        if self.known_noise is None:
            return None
        return float(np.average(self.known_noise, weights=self.weights))


def refuse_noise_of_rows(noise_variance: Any) -> None:
    """Raise where the noise variance of a model is an array."""
    if np.ndim(noise_variance):
        raise ValueError(
            "noise_variance is one number for all rows, not an array of shape "
            f"{np.shape(noise_variance)}. Regressors take the known variance of each row in fit, "
            "as in fit(X, y, noise_variance=...)."
        )


def check_noise(noise_variance: float | None) -> float | None:
    """Check a noise variance; zero means interpolation, None that it is learned."""
    refuse_noise_of_rows(noise_variance)
    if noise_variance is None:
        return None
    if noise_variance == 0.0 and noise_variance is not False:
        return 0.0
    return validation.check_positive(noise_variance, "noise_variance")


def check_known_noise(noise_variance: ArrayLike | None, n: int) -> Array | None:
    """Check noise variances that are given row by row."""
    if noise_variance is None:
        return None
    return validation.check_positive(noise_variance, "noise_variance", length=n)


def make_query_noise(fitted: Any, noise_variance: ArrayLike | None, n: int) -> Array:
    """Noise variances at n queries, (n, K): those of the fit, or one or n numbers given instead."""
    of_outputs = np.atleast_1d(fitted)
    if noise_variance is None:
        return np.broadcast_to(of_outputs, (n, len(of_outputs)))
    noise = np.asarray(noise_variance, dtype=np.float64)
    if noise.shape not in ((), (n,)) or not np.all(np.isfinite(noise) & (noise >= 0.0)):
        raise ValueError(
            "noise_variance must be one finite number >= 0, or one for each query row."
        )
    return np.broadcast_to(noise[..., None], (n, len(of_outputs)))
