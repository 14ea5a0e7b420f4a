"""Where the steps of a round come from: tests that are coded once, or fresh ones in every round.

Fresh tests are for families of millions, such as the Haar features of a window. A round draws some
of them, codes what rows answer, and forgets them but for the one that is chosen. It holds a byte
for each of its tests and rows.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.grown import TreeRules
from posterity.trees.boosting.rows import BoostedRows, Sides
from posterity.trees.boosting.screens import Codes
from posterity.trees.families import family

_ROWS_FOR_THRESHOLDS = 4096  # quantiles of fresh tests are right to a hundredth


@dataclass(frozen=True, eq=False)
class Step:
    """A test cut at a threshold, and the side of each row that took part."""

    test: family.Tests  # (1, P)
    threshold: float
    left: Sides  # (N,)
    place: int  # of the test among those that were tried
    code: int  # the last one on the left


class Candidates(abc.ABC):
    """Rows, and tests of which each round finds the best step."""

    @abc.abstractmethod
    def take(self, chosen: NDArray[np.bool_]) -> Self:
        """The same tests of some of the rows."""

    @abc.abstractmethod
    @contextmanager
    def open(self, selection: str) -> Iterator[StepFinder]:
        """What finds steps, until the context ends."""

    @abc.abstractmethod
    def find_sides(self, step: Step) -> Sides:
        """Which of the rows are on the left of a step of the same tests."""

    @property
    @abc.abstractmethod
    def no_tests(self) -> family.Tests:
        """None of the tests, (0, P)."""


class StepFinder(abc.ABC):
    """What finds the best step of a round."""

    @abc.abstractmethod
    def find(self, rows: BoostedRows) -> Step | None:
        """The step that gains most; None where none does."""


@dataclass(frozen=True, eq=False)
class CodedTests(Candidates):
    """Tests that all rows have answered."""

    catalogue: Catalogue
    codes: Codes  # (J, N), their answers
    n_jobs: int | None

    def take(self, chosen: NDArray[np.bool_]) -> CodedTests:
        """The same tests of some of the rows."""
        return replace(self, codes=np.ascontiguousarray(self.codes[:, chosen]))

    @property
    def no_tests(self) -> family.Tests:
        """None of the tests, (0, P)."""
        return self.catalogue.tests[:0]

    @contextmanager
    def open(self, selection: str) -> Iterator[StepFinder]:
        """What finds steps, until the context ends."""
        with Grower.open(self.codes, self.n_jobs) as grower:
            yield _CodedFinder(self, grower, selection)

    def find_sides(self, step: Step) -> Sides:
        """Which of the rows are on the left of a step of the same tests."""
        return self.codes[step.place] <= step.code


@dataclass(frozen=True, eq=False)
class FreshTests(Candidates):
    """Tests that are drawn anew in every round."""

    weak: family.Family  # fitted
    rows: Any
    places: family.Places  # (N,)
    n_tests: int
    n_offsets: int
    rng: np.random.Generator
    n_jobs: int | None

    def take(self, chosen: NDArray[np.bool_]) -> FreshTests:
        """The same tests of some of the rows."""
        return replace(self, places=self.places[chosen])

    @contextmanager
    def open(self, selection: str) -> Iterator[StepFinder]:
        """What finds steps, until the context ends."""
        yield _FreshFinder(self, selection)

    def find_sides(self, step: Step) -> Sides:
        """Which of the rows are on the left of a step of the same tests."""
        return answer_test(self.weak, self.rows, self.places, step.test) <= step.threshold

    @property
    def no_tests(self) -> family.Tests:
        """None of the tests, (0, P)."""
        return self.weak.draw(1, 1, np.random.default_rng(0))[0][:0]

    def draw(self) -> CodedTests:
        """Some tests, and what the rows answer."""
        tests = self.weak.draw(1, self.n_tests, self.rng)[0]
        some = self.places
        if len(some) > _ROWS_FOR_THRESHOLDS:
            some = np.sort(self.rng.choice(some, _ROWS_FOR_THRESHOLDS, replace=False))
        catalogue = Catalogue.from_rows(self.weak, self.rows, some, tests, self.n_offsets)
        codes = catalogue.encode_rows(self.rows, self.places)
        return CodedTests(catalogue, codes, self.n_jobs)


@dataclass(frozen=True, eq=False)
class _CodedFinder(StepFinder):
    tests: CodedTests
    grower: Grower
    selection: str

    def find(self, rows: BoostedRows) -> Step | None:
        if self.selection == "full":
            found = _find_best_by_optimum(self.tests.codes, rows)
        else:
            found = _find_best_by_one_step(self.grower, rows)
        if found is None:
            return None
        (test, code), catalogue = found, self.tests.catalogue
        threshold = float(catalogue.cuts[test, code])
        left = self.tests.codes[test] <= code
        return Step(catalogue.tests[test : test + 1], threshold, left, test, code)


@dataclass(frozen=True, eq=False)
class _FreshFinder(StepFinder):
    tests: FreshTests
    selection: str

    def find(self, rows: BoostedRows) -> Step | None:
        with self.tests.draw().open(self.selection) as finder:
            return finder.find(rows)


def answer_test(weak: family.Family, rows: Any, places: family.Places, test: family.Tests) -> Array:
    """What some rows answer to one test (1, P), (n,)."""
    which = np.zeros(len(places), dtype=np.int32)
    return np.asarray(weak.respond(rows, places, test[None], which)[0], dtype=np.float64)


def _find_best_by_one_step(grower: Grower, rows: BoostedRows) -> tuple[int, int] | None:
    """The test, and the last code on its left, that gain most by one Newton step."""
    slopes, curvatures = (np.column_stack(x) for x in zip(*rows.derivatives(), strict=True))
    rules = TreeRules(max_depth=1, prior_precision=rows.screening_precision)
    tree = grower.grow(slopes, curvatures, rows.weights, rules, _UNUSED)
    return (int(tree.tests[0]), int(tree.codes[0])) if len(tree.tests) else None


def _find_best_by_optimum(codes: Codes, rows: BoostedRows) -> tuple[int, int] | None:
    """The test, and the last code on its left, that gain most once their values are optimal."""
    gained, best = -np.inf, None
    for test, own in enumerate(codes):
        for code in np.unique(own)[:-1].tolist():
            values: Array = rows.optimum(own <= code)
            gain = rows.gain(own <= code, values)
            if gain > gained:
                gained, best = gain, (test, code)
    return best


_UNUSED = np.random.default_rng(0)  # scores of steps are not random
