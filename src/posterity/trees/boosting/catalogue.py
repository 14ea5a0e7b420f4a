"""A predefined set of weak classifiers: tests, each cut at many thresholds.  [P9 9.7.1]"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families import binning
from posterity.trees.families.family import Family, Places, Tests

MOST_OFFSETS = binning.N_EDGES - 1
_NUMBERS_AT_ONCE = 8_000_000  # answers held before they are coded


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
            _thin_thresholds(binning.find_edges(answers.T, weights), n_offsets)
            for answers in _answer_tests(weak, rows, places, tests)
        ]
        return cls(weak, tests, np.concatenate(blocks))

    def encode_rows(self, rows: Any, places: Places) -> NDArray[np.uint8]:
        """What rows answer to each test, (J, N): how many cuts it exceeds; 255 where it is NaN."""
        if self.family.cuts(self.tests[:1]) is not None:
            which = np.zeros(len(places), dtype=np.int32)
            return self.family.respond(
                self.family.prepare_rows(rows), places, self.tests[None], which
            )
        codes, first = np.empty((len(self.tests), len(places)), dtype=np.uint8), 0
        for answers in _answer_tests(self.family, rows, places, self.tests):
            last = first + len(answers)
            codes[first:last] = binning.encode(answers.T, self.cuts[first:last]).T
            first = last
        return codes


def _answer_tests(weak: Family, rows: Any, places: Places, tests: Tests) -> Iterator[Array]:
    """What the rows answer, (K, N), for some tests at a time."""
    which = np.zeros(len(places), dtype=np.int32)
    at_once = max(1, _NUMBERS_AT_ONCE // len(places))
    for first in range(0, len(tests), at_once):
        answers = weak.respond(rows, places, tests[None, first : first + at_once], which)
        yield np.asfortranarray(answers, dtype=np.float64)


def _thin_thresholds(edges: Array, n_offsets: int) -> Array:
    """At most so many thresholds of each test, evenly from all of them; the rest is +inf."""
    kept = np.full_like(edges, np.inf)
    for j, n in enumerate(np.isfinite(edges).sum(axis=1).tolist()):
        n_kept = min(n, n_offsets)
        chosen = ((np.arange(n_kept) + 0.5) * n / max(n_kept, 1)).astype(int)
        kept[j, :n_kept] = edges[j, chosen]
    return kept
