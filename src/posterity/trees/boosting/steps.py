"""Sums of steps, a = phi_0 + sum_k phi_k heaviside[q(x; t_k) - tau_k]: what boosting returns."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.families import family

_ANSWERS_AT_ONCE = 500_000  # what a cache holds


@dataclass(frozen=True, eq=False)
class Steps:
    """R steps of L latent values.

    A row is on the left of a step where its answer is at most the threshold, and else, also where
    it has no answer, on the right. In the letters of [P9 9.53], a step contributes its left value
    to phi_0, and phi_k is the right value less the left one.
    """

    offset: Array  # (L,)
    tests: family.Tests  # (R, P)
    thresholds: Array  # (R,)
    values: Array  # (R, 2, L), of the left and of the right
    gains: Array  # (R,), nats of log-likelihood that each brought in training

    def __len__(self) -> int:
        return len(self.thresholds)

    def check_consistency(self) -> None:
        """Raise ValueError unless every step has a test, a threshold and two values."""
        validation.require_array(self.thresholds, "thresholds", np.float64, (None,))
        validation.require_array(self.offset, "offset", np.float64, (None,))
        R, L = len(self.thresholds), len(self.offset)
        validation.require_array(self.values, "values", np.float64, (R, 2, L))
        validation.require_array(self.gains, "gains", np.float64, (R,))
        validation.require_array(self.tests, "tests", (np.int32, np.int64, np.float64), (R, None))

    def truncate(self, n_steps: int) -> Steps:
        """The first steps only: what training of so many rounds gives.

        Examples
        --------
        >>> import numpy as np
        >>> two = Steps(np.zeros(1), np.zeros((2, 1)), np.zeros(2), np.ones((2, 2, 1)), np.ones(2))
        >>> len(two.truncate(1))
        1
        """
        return replace(
            self,
            tests=self.tests[:n_steps],
            thresholds=self.thresholds[:n_steps],
            values=self.values[:n_steps],
            gains=self.gains[:n_steps],
        )

    def extend(self, further: Steps) -> Steps:
        """These steps, and then those that were found from where these led."""
        return Steps(
            self.offset,
            np.concatenate([self.tests, further.tests]),
            np.concatenate([self.thresholds, further.thresholds]),
            np.concatenate([self.values, further.values]),
            np.concatenate([self.gains, further.gains]),
        )

    def latents(self, weak: family.Family, rows: Any) -> Array:
        """phi_0 and all steps, (n, L).  [P9 9.53]"""
        total = np.repeat(self.offset[:, None], len(rows), axis=1)
        tests, which = self._different_tests
        at_once = max(1, _ANSWERS_AT_ONCE // max(1, len(tests)))
        for first in range(0, len(rows), at_once):
            block = slice(first, min(first + at_once, len(rows)))
            answers = _answer_tests(weak, rows, block, tests)
            _add_steps(answers, which, self.thresholds, self.values, total[:, block])
        return total.T

    def staged_latents(self, weak: family.Family, rows: Any) -> Iterator[Array]:
        """Latent values (n, L) after the first step, after the second, and so on."""
        total = np.repeat(self.offset[:, None], len(rows), axis=1)
        for k in range(len(self)):
            answers = _answer_tests(weak, rows, slice(0, len(rows)), self.tests[k : k + 1])
            own = slice(k, k + 1)
            _add_steps(answers, np.zeros(1, int), self.thresholds[own], self.values[own], total)
            yield total.T.copy()

    def page_form(self, tests: list[int]) -> Form:
        """Return the form of the latent values of two or more classes."""
        page_forms.check_size(self.values.size, f"{len(self):,} steps")
        return {
            "kind": "steps",
            "offset": self.offset.tolist(),
            "tests": tests,
            "which": self.tests[:, 0],
            "thresholds": self.thresholds,
            "values": self.values,
        }

    @functools.cached_property
    def _different_tests(self) -> tuple[family.Tests, NDArray[np.int64]]:
        """Each test once, and which of them each step asks."""
        tests, which = np.unique(self.tests, axis=0, return_inverse=True)
        return tests, which.reshape(-1)


def _answer_tests(weak: family.Family, rows: Any, block: slice, tests: family.Tests) -> Array:
    """Answers of some rows to all tests, (K, m)."""
    places = np.arange(block.start, block.stop, dtype=np.int32)
    answers = weak.respond(rows, places, tests[None], np.zeros(len(places), dtype=np.int32))
    return np.ascontiguousarray(answers, dtype=np.float64)


@compilation.compile_at_first_call
def _add_steps(
    answers: Array, which: NDArray[np.int64], thresholds: Array, values: Array, total: Array
) -> None:
    """Add each step to the latent values (L, m)."""
    for k in range(len(which)):
        q, threshold = answers[which[k]], thresholds[k]
        for l in range(len(total)):
            left, right = values[k, 0, l], values[k, 1, l]
            for i in range(len(q)):
                total[l, i] += left if q[i] <= threshold else right
