"""Parameters that all boosted trees share, checked, and the plan that they make."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import trees, validation
from posterity.trees.boosting import members
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.boosting.member import BoostingPlan
from posterity.trees.boosting.members import CodedTable
from posterity.trees.boosting.tree_records import GROWTHS, TreeRules
from posterity.trees.estimators.split_model import count_candidates

_DIRECTIONS = 1  # of several outputs: as accurate as all, at the price of one


def plan_boosting(model: Any, table: CodedTable, n_columns: int | None) -> BoostingPlan:
    """The plan by which a model with the parameters of boosted trees trains on these rows."""
    n_rows = float(np.sum(table.weights))
    rate = model.learning_rate
    if rate is None:
        rate = members.choose_rate(n_rows, model.n_estimators)
    else:
        check_fraction(rate, "learning_rate")
    patience = model.n_iter_no_change
    family, J = table.catalogue.family, len(table.catalogue.tests)
    n_tests = min(J, count_candidates(model.max_features, family, J))
    tree = TreeRules(
        growth=model.growth,
        max_depth=model.max_depth,
        max_leaf_nodes=model.max_leaf_nodes,
        min_samples_leaf=validation.check_positive(model.min_samples_leaf, "min_samples_leaf"),
        prior_precision=validation.check_positive(model.l2_regularization, "l2_regularization"),
        random_strength=_check_not_negative(model.random_strength, "random_strength"),
        monotonic=_sign_tests(model, table, n_columns),
    )
    return BoostingPlan(
        n_rounds=model.n_estimators,
        learning_rate=float(rate),
        tree=tree,
        bootstrap=float(bool(model.bootstrap)),
        subsample=check_fraction(model.subsample, "subsample"),
        n_tests=None if model.max_features is None else n_tests,
        n_directions=_DIRECTIONS,
        patience=members.choose_patience(rate) if patience is None else patience,
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


def _sign_tests(model: Any, table: CodedTable, n_columns: int | None) -> NDArray[np.int8] | None:
    """The direction of each test, from that of its column."""
    given = model.monotonic_cst
    if given is None or n_columns is None:
        return None
    family = table.catalogue.family
    if not isinstance(family, trees.Columns):
        raise ValueError("monotonic_cst is for splits of single columns.")
    signs = _sign_columns(model, n_columns)
    if isinstance(family, LeveledColumns) and np.any(signs[family.categorical]):
        raise ValueError("monotonic_cst of a categorical column must be 0.")
    found: NDArray[np.int8] = signs[family.columns_of(table.catalogue.tests)]
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


def check_fraction(value: Any, name: str) -> float:
    """A number above 0 and at most 1, checked."""
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
