"""A predefined set of weak classifiers: tests, each cut at many thresholds.  [P9 9.7.1]"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families import binning
from posterity.trees.families.family import Family, Places, Tests

MOST_OFFSETS = binning.N_EDGES - 1
_NUMBERS_AT_ONCE = 8_000_000  # answers held before they are coded
_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Tests of a family, and the thresholds at which each of them may step."""

    family: Family  # fitted
    tests: Tests  # (J, P)
    cuts: Array  # (J, 255), increasing; the last is +inf

    @classmethod
    def from_rows(
        cls,
        weak: Family,
        rows: Any,
        places: Places,
        tests: Tests,
        n_offsets: int = MOST_OFFSETS,
        weights: Array | None = None,
    ) -> Catalogue:
        """Thresholds of the family's own, or else quantiles of what the rows answer.

        Parameters
        ----------
        weak : Family
            Fitted to the rows.
        rows : Any
            As they were given.
        places : array (N,)
            Which of them count.
        tests : array (J, P)
            Which tests.
        n_offsets : int, default=254
            The most thresholds of a test, where the family answers with numbers.
        weights : array (N,), optional
            How often each of these rows counts.
        """
        own = weak.cuts(tests)
        if own is not None:
            return cls(weak, tests, own)
        blocks = [
            thin_thresholds(binning.find_edges(answers.T, weights), n_offsets)
            for answers in _answer_tests(weak, rows, places, tests)
        ]
        return cls(weak, tests, np.concatenate(blocks))

    def encode_rows(self, rows: Any, places: Places) -> NDArray[np.uint8]:
        """Codes of answers to each test, (J, N): the number of cuts below; 255 where it is NaN."""
        codes, first = np.empty((len(self.tests), len(places)), dtype=np.uint8), 0
        if self.family.cuts(self.tests[:1]) is not None:
            for block in _part_rows(len(places)):
                prepared = self.family.prepare_rows(rows[places[block]])
                own = np.arange(len(prepared), dtype=np.int32)
                which = np.zeros(len(prepared), dtype=np.int32)
                codes[:, block] = self.family.respond(prepared, own, self.tests[None], which)
            return codes
        for answers in _answer_tests(self.family, rows, places, self.tests):
            last = first + len(answers)
            codes[first:last] = binning.encode(answers.T, self.cuts[first:last]).T
            first = last
        return codes

    def thin(self, codes: NDArray[np.uint8], most: int) -> tuple[Catalogue, NDArray[np.uint8]]:
        """Tests of at most so many thresholds, evenly from all, and the codes (J, N) by them.

        Missing answers have the code after the last.
        """
        cuts, thinned = np.full_like(self.cuts, np.inf), np.empty_like(codes)
        for j, n in enumerate(binning.count_edges(self.cuts).tolist()):
            kept = _spread_evenly(n, most)
            cuts[j, : len(kept)] = self.cuts[j, kept]
            table = np.searchsorted(kept, np.arange(binning.N_EDGES + 1)).astype(np.uint8)
            table[binning.N_EDGES] = len(kept) + 1
            thinned[j] = table[codes[j]]
        return replace(self, cuts=cuts), thinned


def _part_rows(n: int) -> Iterator[slice]:
    """Blocks of rows, so that few are held in another form while they are coded."""
    for first in range(0, n, _ROWS_AT_ONCE):
        yield slice(first, min(first + _ROWS_AT_ONCE, n))


def _answer_tests(weak: Family, rows: Any, places: Places, tests: Tests) -> Iterator[Array]:
    """Answers of the rows, (K, N), for some tests at a time."""
    which = np.zeros(len(places), dtype=np.int32)
    at_once = max(1, _NUMBERS_AT_ONCE // len(places))
    for first in range(0, len(tests), at_once):
        answers = weak.respond(rows, places, tests[None, first : first + at_once], which)
        yield np.asfortranarray(answers, dtype=np.float64)


def thin_thresholds(edges: Array, n_offsets: int) -> Array:
    """At most so many thresholds of each test, evenly from all of them; the rest is +inf."""
    kept = np.full_like(edges, np.inf)
    for j, n in enumerate(np.isfinite(edges).sum(axis=1).tolist()):
        chosen = _spread_evenly(n, n_offsets)
        kept[j, : len(chosen)] = edges[j, chosen]
    return kept


def _spread_evenly(n: int, most: int) -> NDArray[np.int64]:
    """At most this many of the numbers from 0 to n - 1, evenly from all."""
    n_kept = min(n, most)
    return ((np.arange(n_kept) + 0.5) * n / max(n_kept, 1)).astype(np.int64)
