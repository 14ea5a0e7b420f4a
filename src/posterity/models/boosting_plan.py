"""Parameters that all boosted trees share, checked, and the rows on which these grow."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection

from posterity import designs, trees, validation
from posterity.arrays import Array
from posterity.models.split_model import count_candidates
from posterity.models.streamed_rows import Source, check_block_weights, check_targets
from posterity.trees import forests
from posterity.trees.boosting import choices
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.grown import GROWTHS, TreeRules
from posterity.trees.boosting.level_tests import LeveledRows, add_indicators
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.boosting.member import BoostingPlan
from posterity.trees.boosting.members import NO_FOLD, StartingPoint
from posterity.trees.boosting.screens import Codes

_DIRECTIONS = 1  # of several outputs: as accurate as all, at the price of one


@dataclass(frozen=True, eq=False)
class BoostedRows:
    """Rows that count, and have answered all tests."""

    catalogue: Catalogue
    codes: Codes  # (J, N)
    weights: Array  # (N,)
    folds: NDArray[np.int64]  # (N,)
    levels: LeveledRows | None
    kept: NDArray[np.intp]  # (N,), the place of each among the rows as they were given
    n_given: int  # how many rows these are
    rows: Any = None  # what answers the tests, in memory
    places: NDArray[np.intp] | None = None  # (N,), of these rows there

    def continue_from(self, family: trees.Family) -> BoostedRows:
        """The same rows with the tests of an earlier fit, which must be of the same kind."""
        now = self.catalogue.family
        if type(now) is not type(family) or not _has_tests_of(now, family):
            raise ValueError(
                "warm_start continues with the tests of the last fit, but splits, columns with "
                "missing values, or levels of categories are others now; set warm_start=False."
            )
        return replace(self, catalogue=replace(self.catalogue, family=family))

    def start_after(self, grown: BoostedTrees) -> StartingPoint:
        """Where these rows are in members that have been trained on them."""
        family = self.catalogue.family
        if self.places is None:
            raise ValueError("warm_start continues with rows in memory only.")
        if max(1, int(self.folds.max()) + 1) != grown.n_members:
            raise ValueError(
                f"warm_start continues the {grown.n_members} members of the earlier fit; rows or "
                "cv are now of another number."
            )
        latents, variances = grown.member_moments(family, self.rows)
        return StartingPoint(latents[:, self.places], variances[:, self.places], is_continued=True)

    def expand(self, values: Array) -> Array:
        """Values (N, ...) for the rows as they were given, NaN where they do not count."""
        expanded = np.full((self.n_given, *values.shape[1:]), np.nan)
        expanded[self.kept] = values
        return expanded


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """What is given of rows in memory: the rows, what they count and belong to, and categories."""

    rows: Any
    strata: Array  # (n,), classes, or numbers of pieces of a target
    weights: Array  # (n,)
    groups: NDArray[np.int32] | None
    n_thresholds: int | None = None  # the most of a test; None: chosen by the number of rows

    def code(
        self, family: trees.Family, cv: Any, max_features: Any, rng: np.random.Generator
    ) -> BoostedRows:
        """Draw folds, and let the rows that count answer all tests of the family."""
        of_tests, of_folds = rng.spawn(2)
        kept = np.flatnonzero(self.weights > 0.0)
        weights, folds = self.weights[kept], self._draw_folds(kept, cv, of_folds)
        catalogue, codes = _code_rows(family, self.rows, kept, weights, max_features, of_tests)
        most = self.n_thresholds or choices.choose_thresholds(float(np.sum(weights)))
        catalogue, codes = catalogue.thin(codes, most)
        levels, n_rows = None, len(self.weights)
        if isinstance(catalogue.family, LeveledColumns):
            groups = np.arange(n_rows) if self.groups is None else self.groups
            numbers = catalogue.family.number_levels(self.rows[kept])
            plain = catalogue.family.find_plain(catalogue.tests)
            levels = LeveledRows(numbers, _number_from_zero(groups[kept]), most, plain)
            catalogue, codes = add_indicators(catalogue, codes, levels)
        return BoostedRows(catalogue, codes, weights, folds, levels, kept, n_rows, self.rows, kept)

    def _draw_folds(
        self, kept: NDArray[np.intp], cv: Any, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        if cv is not None and not _is_count(cv):
            return self._assign_folds(cv)[kept]
        groups = None if self.groups is None else _number_from_zero(self.groups[kept])
        return choices.FoldPlan.choose(len(kept), cv).draw(self.strata[kept], groups, rng)

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
    weights: Array,
    cv: Any,
    rng: np.random.Generator,
) -> BoostedRows:
    """Codes of rows that are never in memory together, a byte for each test.

    Chunks are coded block by block; partitions of Dask collections by the workers.
    """
    if cv is not None and not _is_count(cv):
        raise ValueError("Rows that are not in memory take a number of members as cv, or None.")
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
            codes[:, block.first_row : block.first_row + len(block)] = _encode_block(
                catalogue, block
            )
    folds = choices.FoldPlan.choose(len(strata), cv).draw(strata, None, rng)
    every = np.arange(len(strata))
    return BoostedRows(catalogue, codes, weights, folds, None, every, len(every))


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
    return check_targets(block), check_block_weights(block)


def _join_targets(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def plan_boosting(model: Any, rows: BoostedRows, n_columns: int | None) -> BoostingPlan:
    """How a model with the parameters of boosted trees trains on these rows."""
    n_rows = float(np.sum(rows.weights))
    rate = model.learning_rate
    if rate is None:
        rate = choices.choose_rate(n_rows, model.n_estimators)
    elif validation.check_positive(rate, "learning_rate") > 1.0:
        raise ValueError(f"learning_rate={rate} must be at most 1.")
    patience = model.n_iter_no_change
    family, J = rows.catalogue.family, len(rows.catalogue.tests)
    n_tests = min(J, count_candidates(model.max_features, family, J))
    tree = TreeRules(
        growth=model.growth,
        max_depth=model.max_depth,
        max_leaf_nodes=model.max_leaf_nodes,
        min_samples_leaf=validation.check_positive(model.min_samples_leaf, "min_samples_leaf"),
        prior_precision=validation.check_positive(model.l2_regularization, "l2_regularization"),
        random_strength=_check_not_negative(model.random_strength, "random_strength"),
        monotonic=_sign_tests(model, rows, n_columns),
    )
    return BoostingPlan(
        n_rounds=model.n_estimators,
        learning_rate=float(rate),
        tree=tree,
        bootstrap=float(bool(model.bootstrap)),
        subsample=_check_fraction(model.subsample, "subsample"),
        n_tests=None if model.max_features is None else n_tests,
        n_directions=_DIRECTIONS,
        patience=choices.choose_patience(rate) if patience is None else patience,
        n_jobs=model.n_jobs,
    )


def check_boosting_parameters(model: Any) -> None:
    """Raise ValueError where a parameter cannot be used, whatever the rows."""
    validation.check_count(model.n_estimators, "n_estimators")
    validation.check_count(model.max_depth, "max_depth")
    for name in ("max_leaf_nodes", "n_iter_no_change", "cv"):
        value = getattr(model, name)
        if value is not None and (name != "cv" or isinstance(value, numbers.Number)):
            validation.check_count(getattr(model, name), name)
    if model.growth not in GROWTHS:
        raise ValueError(f"growth={model.growth!r} must be one of {', '.join(map(repr, GROWTHS))}.")


def find_columns(chosen: Any, name: str, model: Any) -> tuple[int, ...]:
    """The places of columns that are given by number, by name or by a mask of all."""
    if chosen is None:
        return ()
    n_columns = model.n_features_in_
    names = list(getattr(model, "feature_names_in_", ()))
    listed = list(chosen) if isinstance(chosen, Iterable) and not isinstance(chosen, str) else None
    if listed is None:
        raise ValueError(f"{name}={chosen!r} must list columns, by number or by name.")
    if len(listed) == n_columns and all(isinstance(c, bool | np.bool_) for c in listed):
        return tuple(np.flatnonzero(listed).tolist())
    return tuple(sorted({_find_column(c, names, n_columns, name) for c in listed}))


def _find_column(column: Any, names: list[Any], n_columns: int, parameter: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    is_number = isinstance(column, numbers.Integral) and not isinstance(column, bool)
    if is_number and 0 <= int(column) < n_columns:
        return int(column)
    raise ValueError(
        f"{parameter} names column {column!r}, which X does not have; it has {n_columns} columns."
    )


def _sign_tests(model: Any, rows: BoostedRows, n_columns: int | None) -> NDArray[np.int8] | None:
    """The direction of each test, from that of its column."""
    given = model.monotonic_cst
    if given is None or n_columns is None:
        return None
    family = rows.catalogue.family
    if not isinstance(family, trees.Columns):
        raise ValueError("monotonic_cst is for splits of single columns.")
    signs = _sign_columns(model, n_columns)
    if isinstance(family, LeveledColumns) and np.any(signs[family.categorical]):
        raise ValueError("monotonic_cst of a categorical column must be 0.")
    found: NDArray[np.int8] = signs[family.columns_of(rows.catalogue.tests)]
    return found


def _sign_columns(model: Any, n_columns: int) -> NDArray[np.int8]:
    """1, 0 or -1 for each column."""
    given, signs = model.monotonic_cst, np.zeros(n_columns, dtype=object)
    if isinstance(given, dict):
        for column, sign in given.items():
            signs[find_columns([column], "monotonic_cst", model)[0]] = sign
    elif np.shape(given) == (n_columns,):
        signs[:] = given
    else:
        raise ValueError(
            f"monotonic_cst has shape {np.shape(given)}; give a sign for each of the {n_columns} "
            "columns, or a dict."
        )
    for column, sign in enumerate(signs.tolist()):
        if not isinstance(sign, numbers.Real) or sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst is {sign!r} for column {column}; it must be 1, 0 or -1."
            )
    return signs.astype(np.int8)


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


def _is_count(cv: Any) -> bool:
    return isinstance(cv, numbers.Integral)


def _number_from_zero(groups: NDArray[Any]) -> NDArray[np.int32]:
    return np.unique(groups, return_inverse=True)[1].astype(np.int32)


def _check_fraction(value: Any, name: str) -> float:
    if validation.check_positive(value, name) > 1.0:
        raise ValueError(f"{name}={value!r} must be at most 1.")
    return float(value)


def _check_not_negative(value: Any, name: str) -> float:
    if (
        not isinstance(value, numbers.Real)
        or isinstance(value, bool)
        or not 0.0 <= float(value) < np.inf
    ):
        raise ValueError(f"{name}={value!r} must be a number from 0 on.")
    return float(value)
