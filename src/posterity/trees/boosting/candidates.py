"""Tests that are coded once, or drawn anew in every round: for steps, and for trees of fresh tests.

Fresh tests are for families of millions, such as the Haar features of a window. A round draws
tests, codes what some rows answer, grows a step or tree, and forgets all tests but those of it,
which every row then answers. It holds a byte for each test and row that chooses, eight million
answers before they are coded, and what the outputs of all rows take.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.trees.boosting import member, splitting
from posterity.trees.boosting.boosted_trees import BoostedTrees, Round
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.class_rows import BoostedRows, Sides
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.screens import Codes
from posterity.trees.boosting.tree_records import GrownTree, TreeRules
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


FindStep = Callable[[BoostedRows], Step | None]
"""From rows at their latent values to the step that gains most; None where none does."""


class Candidates(abc.ABC):
    """Rows, and tests of which each round finds the best step."""

    @abc.abstractmethod
    def take(self, chosen: NDArray[np.bool_]) -> Self:
        """The same tests of some of the rows."""

    @abc.abstractmethod
    @contextmanager
    def open(self, selection: str) -> Iterator[FindStep]:
        """A function that finds the step of a round, until the context ends."""

    @abc.abstractmethod
    def find_sides(self, step: Step) -> Sides:
        """Whether each row is on the left of a step of the same tests."""

    @property
    @abc.abstractmethod
    def no_tests(self) -> family.Tests:
        """None of the tests, (0, P)."""


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
    def open(self, selection: str) -> Iterator[FindStep]:
        """A function that finds the step of a round, until the context ends."""
        if selection == "full":
            yield lambda rows: self._make_step(_find_best_by_optimum(self.codes, rows))
            return
        with Grower.open(self.codes, self.n_jobs) as grower:
            yield lambda rows: self._make_step(_find_best_by_one_step(grower, rows))

    def _make_step(self, found: tuple[int, int] | None) -> Step | None:
        """A step by the number of a test and the last code on its left."""
        if found is None:
            return None
        test, code = found
        threshold = float(self.catalogue.cuts[test, code])
        left = self.codes[test] <= code
        return Step(self.catalogue.tests[test : test + 1], threshold, left, test, code)

    def find_sides(self, step: Step) -> Sides:
        """Whether each row is on the left of a step of the same tests."""
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
    def open(self, selection: str) -> Iterator[FindStep]:
        """A function that finds the step of a round, until the context ends."""

        def find(rows: BoostedRows) -> Step | None:
            with self.draw().open(selection) as find_among:
                return find_among(rows)

        yield find

    def find_sides(self, step: Step) -> Sides:
        """Whether each row is on the left of a step of the same tests."""
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


def answer_test(weak: family.Family, rows: Any, places: family.Places, test: family.Tests) -> Array:
    """Answers of some rows to one test (1, P), (n,)."""
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


Derivatives = Callable[[Array], tuple[Array, Array]]
"""From latents (N, L) to slopes and curvatures (N, L) of each row's log-probability."""

_NO_LEAVES = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class FreshRules:
    """Rules of boosting trees of fresh tests.

    Parameters
    ----------
    n_rounds : int
        Trees to add.
    n_tests : int
        Tests that a round draws.
    learning_rate : float, default=0.1
        Of a Newton step of a leaf's value, what is added.
    tree : TreeRules
        How trees grow; monotone constraints are of no use here.
    n_rows : int, optional
        Rows that choose the tests of a round, drawn at random by weight; None: all.
    n_offsets : int, default=64
        The most thresholds of a test, at quantiles of what 4096 rows answer.
    n_directions : int, optional
        Random directions in the space of outputs along which tests are chosen; None: all outputs.
    """

    n_rounds: int
    n_tests: int
    learning_rate: float = 0.1
    tree: TreeRules = field(default_factory=TreeRules)
    n_rows: int | None = None
    n_offsets: int = 64
    n_directions: int | None = None


def boost_fresh_tests(
    weak: family.Family,
    rows: Any,
    derivatives: Derivatives,
    weights: Array,
    start: Array,
    rules: FreshRules,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> tuple[BoostedTrees, Array]:
    """Trees that are added to given latents, and the latents after them, (N, L).

    The offset of the trees is zero. Training goes on from the latents of earlier trees where these
    are ``start``.

    Parameters
    ----------
    weak : Family
        Tests, fitted.
    rows : Any
        All rows, counted by ``len``.
    derivatives : callable
        From latents (N, L) to slopes and curvatures (N, L).
    weights : array (N,)
        How often rows count; rows of weight 0 only follow.
    start : array (N, L)
        Latents at which training begins.
    rules : FreshRules
        How.
    rng : Generator
        Draws rows and tests.
    n_jobs : int, optional
        Threads; the result does not depend on their number.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Projections
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X.sum(axis=1) > 0.0) * 1.0
    >>> def derivatives(A):
    ...     p = 1.0 / (1.0 + np.exp(-A))
    ...     return y[:, None] - p, p * (1.0 - p)
    >>> trees, A = boost_fresh_tests(
    ...     Projections(n_columns=2).adapt_to(X), X, derivatives, np.ones(300), np.zeros((300, 1)),
    ...     FreshRules(20, 10, tree=TreeRules(max_depth=1)), np.random.default_rng(0),
    ... )
    >>> trees.n_trees, round(float(np.mean((A[:, 0] > 0.0) == y)), 2)
    (20, 1.0)
    """
    latents, found = start.copy(), []
    counted = np.flatnonzero(weights > 0.0).astype(np.int32)
    tests = FreshTests(weak, rows, counted, rules.n_tests, rules.n_offsets, rng, n_jobs)
    catalogues: list[Catalogue] = []
    every = range(rules.n_rounds)
    for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
        slopes, curvatures = derivatives(latents)
        chosen = _draw_rows(counted, weights, rules.n_rows, rng)
        catalogue, tree = _grow_tree(tests, chosen, slopes, curvatures, weights, rules, rng)
        leaves = _find_leaves(rows, catalogue, tree)
        values, precisions = tree.solve_leaves(
            leaves, slopes, curvatures, weights, rules.tree.prior_precision, rules.learning_rate
        )
        latents += values[leaves]
        found.append((tree, values, precisions))
        catalogues.append(catalogue)
    return _collect(tests, np.zeros(start.shape[1]), catalogues, found), latents


def _draw_rows(
    counted: family.Places, weights: Array, n_rows: int | None, rng: np.random.Generator
) -> family.Places:
    if n_rows is None or n_rows >= len(counted):
        return counted
    shares = weights[counted] / np.sum(weights[counted])
    drawn = rng.choice(counted, n_rows, replace=False, p=shares)
    return np.sort(drawn).astype(np.int32)


def _grow_tree(
    tests: FreshTests,
    chosen: family.Places,
    slopes: Array,
    curvatures: Array,
    weights: Array,
    rules: FreshRules,
    rng: np.random.Generator,
) -> tuple[Catalogue, GrownTree]:
    """A tree of fresh tests, and the catalogue of its tests alone."""
    coded = replace(tests, places=chosen).draw()
    # Rows that were drawn by weight count once each.
    counts = weights[chosen] if len(chosen) == len(tests.places) else np.ones(len(chosen))
    g, h = slopes[chosen], curvatures[chosen]
    if rules.n_directions is not None and rules.n_directions < g.shape[1]:
        order = member.order_outputs(coded.codes, g, counts)
        g, h = member.sketch_outputs(g, h, counts, order, rules.n_directions, rng)
    with Grower.open(coded.codes, tests.n_jobs) as grower:
        tree = grower.grow(g, h, counts, rules.tree, rng)
    used, which = np.unique(tree.tests, return_inverse=True)
    whole = coded.catalogue
    catalogue = Catalogue(whole.family, whole.tests[used], whole.cuts[used])
    return catalogue, replace(tree, tests=which.reshape(-1).astype(np.int64), leaves=_NO_LEAVES)


def _find_leaves(rows: Any, catalogue: Catalogue, tree: GrownTree) -> NDArray[np.int32]:
    """The leaf of every row, which answers the tests of the tree."""
    codes = catalogue.encode_rows(rows, np.arange(len(rows), dtype=np.int32))
    return splitting.find_leaves(codes, tree.tests, tree.codes, tree.children)


def _collect(
    tests: FreshTests, offset: Array, catalogues: list[Catalogue], found: list[Round]
) -> BoostedTrees:
    if found:
        return BoostedTrees.from_rounds(catalogues, offset, found)
    empty = Catalogue(tests.weak, tests.no_tests, np.empty((0, 255)))
    return BoostedTrees.from_rounds(empty, offset, [])
