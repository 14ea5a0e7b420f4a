"""Rows on which boosted trees grow: coded, shared out to members, and equal ones made one."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection

from posterity import copies, designs, trees, validation
from posterity.arrays import Array
from posterity.models.streamed_rows import Source, check_targets
from posterity.row_groups import RowGroups
from posterity.trees import forests
from posterity.trees.boosting import members
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.level_tests import LeveledRows, add_indicators
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.boosting.members import NO_FOLD, CodedTable, StartingPoint
from posterity.trees.boosting.screens import Codes


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows that count, and have answered all tests; each may stand for several that are equal."""

    table: CodedTable
    kept: NDArray[np.intp]  # (N,), the first that each stands for, among the rows as given
    number: NDArray[np.intp]  # (n,), what stands for each row as given; -1: it does not count
    rows: Any = None  # what answers the tests, in memory

    def continue_from(self, family: trees.Family) -> PreparedRows:
        """The same rows with the tests of an earlier fit, which must be of the same kind."""
        now = self.table.catalogue.family
        if type(now) is not type(family) or not _has_tests_of(now, family):
            raise ValueError(
                "warm_start continues with the tests of the last fit, but splits, columns with "
                "missing values, or levels of categories are others now; set warm_start=False."
            )
        catalogue = replace(self.table.catalogue, family=family)
        return replace(self, table=replace(self.table, catalogue=catalogue))

    def start_after(self, grown: BoostedTrees) -> StartingPoint:
        """Latents of these rows in members that have been trained on them."""
        family = self.table.catalogue.family
        if self.rows is None:
            raise ValueError("warm_start continues with rows in memory only.")
        if max(1, int(self.table.folds.max()) + 1) != grown.n_members:
            raise ValueError(
                f"warm_start continues the {grown.n_members} members of the earlier fit; rows or "
                "cv are now of another number."
            )
        latents, variances = grown.member_moments(family, self.rows)
        return StartingPoint(latents[:, self.kept], variances[:, self.kept], is_continued=True)

    def expand(self, values: Array) -> Array:
        """Values (N, ...) for the rows as they were given, NaN where they do not count."""
        absent = np.full((1, *values.shape[1:]), np.nan)
        return np.concatenate([values, absent])[self.number]


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """Rows in memory, with their targets, weights and groups."""

    rows: Any
    keys: Array  # (n, K), targets, and latents where these are given
    strata: Array  # (n,), classes, or numbers of pieces of a target
    weights: Array  # (n,)
    groups: NDArray[np.int32] | None
    n_thresholds: int | None = None  # the most of a test; None: chosen by the number of rows

    def code(
        self,
        family: trees.Family,
        count_members: Callable[[int], Any],
        max_features: Any,
        rng: np.random.Generator,
    ) -> PreparedRows:
        """Draw folds, and let the rows that count answer all tests of the family."""
        of_tests, of_folds = rng.spawn(2)
        kept = np.flatnonzero(self.weights > 0.0)
        weights = self.weights[kept]
        catalogue, codes = _code_rows(family, self.rows, kept, weights, max_features, of_tests)
        most = self.n_thresholds or members.choose_thresholds(float(np.sum(weights)))
        catalogue, codes = catalogue.thin(codes, most)
        numbers = None
        if isinstance(catalogue.family, LeveledColumns):
            numbers = catalogue.family.number_levels(self.rows[kept])
        coded = _CodedRows.sort(catalogue, codes, kept, self.weights, self.keys, numbers)
        cv, groups = count_members(coded.n_different), coded.number_groups(self.groups)
        if cv is None or is_count(cv):
            plan = members.FoldPlan.choose(coded.n_different, cv)
            folds = plan.draw(self.strata[coded.kept], groups, of_folds)
        else:
            folds = self._assign_folds(cv)[coded.kept]
        is_apart = self.groups is not None or numbers is not None
        merged = coded.merge(self.weights, folds, groups, most, is_apart=is_apart)
        return replace(merged, rows=self.rows)

    def _assign_folds(self, cv: Any) -> NDArray[np.int64]:
        """The split of a splitter, or of a list of them, that holds each row out; -1: none does."""
        splitter = model_selection.check_cv(cv, self.strata, classifier=True)
        folds = np.full(len(self.weights), NO_FOLD)
        for k, (_, held_out) in enumerate(splitter.split(self.rows, self.strata, self.groups)):
            if np.any(folds[held_out] != NO_FOLD):
                raise ValueError(
                    f"Split {k} of cv holds out rows that an earlier split holds out; each row may "
                    "be held out once."
                )
            folds[held_out] = k
        return folds


def code_streamed_rows(
    family: trees.Family,
    source: Source,
    strata: Array,
    keys: Array,
    weights: Array,
    count_members: Callable[[int], Any],
    rng: np.random.Generator,
    *,
    is_class: bool,
) -> PreparedRows:
    """Codes of rows that are never in memory together, a byte for each test.

    Chunks are coded block by block; partitions of Dask collections by the workers. Rows that answer
    all tests alike, and have the same number as target, may be copies, and are then a group.
    """
    if isinstance(source, designs.Partitions):
        source = source.encode_targets(_ignore_targets)  # labels may be text
    fitted = forests.fit_family(family, source)
    catalogue = Catalogue.from_rows(
        fitted, np.empty((0, 0)), np.empty(0, np.int32), fitted.catalogue()
    )
    if isinstance(source, designs.Partitions):
        codes = source.reduce(partial(_encode_block, catalogue), _join_codes)
    else:
        codes = np.empty((len(catalogue.tests), len(strata)), dtype=np.uint8)
        for block in source:
            codes[:, block.span] = _encode_block(catalogue, block)
    coded = _CodedRows.sort(catalogue, codes, np.arange(len(strata)), weights, keys, None)
    cv, groups = count_members(coded.n_different), coded.number_groups(None)
    if not is_class and cv != 1 and coded.has_copies(keys):
        n = len(coded.kept)
        copies.warn_of_copies(n - coded.n_different, n, f"{copies.HELD_TOGETHER}.")
        groups = coded.equal
    if cv is not None and not is_count(cv):
        raise ValueError("Rows that are not in memory take a number of members as cv, or None.")
    folds = members.FoldPlan.choose(coded.n_different, cv).draw(strata[coded.kept], groups, rng)
    return coded.merge(weights, folds, groups, 0, is_apart=False)


@dataclass(frozen=True, eq=False)
class _CodedRows:
    """Rows that count, in an order in which draws are the same however often they are repeated.

    Rows that no test distinguishes, of equal targets, are equal. Where there are such rows, or
    weights, rows are sorted by what they answered: what is drawn for the different ones in turn is
    then the same whether a row is repeated or has a weight, and in any order of rows.
    """

    catalogue: Catalogue
    codes: Codes  # (J, m)
    kept: NDArray[np.intp]  # (m,)
    equal: NDArray[np.intp]  # (m,), which of the different rows each is
    numbers: NDArray[np.int64] | None  # (c, m), of levels

    @classmethod
    def sort(
        cls,
        catalogue: Catalogue,
        codes: Codes,
        kept: NDArray[np.intp],
        weights: Array,
        keys: Array,
        numbers: NDArray[np.int64] | None,
    ) -> _CodedRows:
        every = [*keys[kept].T, *([] if numbers is None else numbers), *codes]
        found = RowGroups.of_equal_keys(len(kept), every)
        if found.n_groups == len(kept) and np.all(weights[kept] == 1.0):
            return cls(catalogue, codes, kept, np.arange(len(kept)), numbers)
        order = np.argsort(found.number, kind="stable")
        numbers = None if numbers is None else numbers[:, order]
        codes = np.ascontiguousarray(codes[:, order])
        return cls(catalogue, codes, kept[order], found.number[order], numbers)

    @property
    def n_different(self) -> int:
        return int(self.equal.max()) + 1

    def has_copies(self, keys: Array) -> bool:
        """Return whether equal rows, of these targets as given, may be one record."""
        if self.n_different == len(self.kept):
            return False
        one = RowGroups.of_equal(self.equal)
        inputs = RowGroups.of_equal_keys(one.n_groups, self.codes[:, one.first])
        return copies.are_copies(inputs, keys[self.kept[one.first]], one.count())

    def number_groups(self, groups: NDArray[np.int32] | None) -> NDArray[np.intp]:
        """The groups (m,) of rows as given, in the order of their first rows; None: one each."""
        if groups is None:
            return np.arange(len(self.kept))
        return RowGroups.of_equal(groups[self.kept]).by_appearance().number

    def merge(
        self,
        weights: Array,
        folds: NDArray[np.int64],
        groups: NDArray[np.intp],
        most: int,
        *,
        is_apart: bool,
    ) -> PreparedRows:
        """Make equal rows of a fold one, and of a group where those of others are apart."""
        m, keys = len(self.kept), [self.equal, folds, *([groups] if is_apart else [])]
        one = RowGroups.of_equal_keys(m, keys)
        first = one.first
        codes = self.codes if one.n_groups == m else np.ascontiguousarray(self.codes[:, first])
        number = np.full(len(weights), -1)
        number[self.kept] = one.number
        own = RowGroups.of_equal(groups[first]).number.astype(np.int32)
        counts, numbers = one.count(weights[self.kept]), self.numbers
        levels, catalogue = None, self.catalogue
        if numbers is not None and isinstance(catalogue.family, LeveledColumns):
            plain = catalogue.family.find_plain(catalogue.tests)
            levels = LeveledRows(numbers[:, first], own, most, plain)
            catalogue, codes = add_indicators(catalogue, codes, levels)
        table = CodedTable(catalogue, codes, counts, folds[first], own, levels)
        return PreparedRows(table, self.kept[first], number)


def gather_targets(partitions: designs.Partitions) -> tuple[Array, Array]:
    """Targets and weights of all rows of Dask collections, (N,), in their order."""
    y, weights = partitions.reduce(_read_block, _join_targets, description="Reading targets")
    validation.warn_of_few_repetitions(weights)
    return y, weights


def _ignore_targets(y: NDArray[Any]) -> Array:
    return np.zeros(len(y))


def _encode_block(catalogue: Catalogue, block: designs.RowBlock) -> Codes:
    return catalogue.encode_rows(block.X, np.arange(len(block), dtype=np.int32))


def _join_codes(a: Codes, b: Codes) -> Codes:
    return np.concatenate([a, b], axis=1)


def _read_block(block: designs.RowBlock) -> tuple[Array, Array]:
    return check_targets(block), block.make_weights()


def _join_targets(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _code_rows(
    family: trees.Family,
    rows: Any,
    kept: NDArray[np.intp],
    weights: Array,
    max_features: Any,
    rng: np.random.Generator,
) -> tuple[Catalogue, Codes]:
    """All tests of a family, and what rows answer that are kept.

    Where a family has no end of tests, as many as were asked for are drawn.
    """
    whole = np.zeros(len(rows))
    whole[kept] = weights
    fitted = family.adapt_to(rows, whole)
    try:
        tests = fitted.catalogue()
    except TypeError:
        if not isinstance(max_features, numbers.Integral):
            raise
        validation.check_count(max_features, "max_features")
        tests = fitted.draw(1, int(max_features), rng)[0]
    places = kept.astype(np.int32)
    catalogue = Catalogue.from_rows(fitted, rows, places, tests, weights=weights)
    return catalogue, catalogue.encode_rows(rows, places)


def _has_tests_of(now: trees.Family, earlier: trees.Family) -> bool:
    """Whether tests of an earlier family that saw other rows mean the same."""
    names = ("missing", "categorical", "levels", "n_levels")
    return all(
        np.array_equal(vars(now)[name], vars(earlier)[name], equal_nan=name == "levels")
        for name in names
        if name in vars(now)
    )


def is_count(cv: Any) -> bool:
    """Return whether this is a number of members, not a list of splits."""
    return isinstance(cv, numbers.Integral)
