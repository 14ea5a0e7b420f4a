"""Rows that may be one record twice: found, judged and reported by one rule.

Exactly equal targets of equal or nearly equal rows do not show that noise is low, because they may
be one record twice, unless so many ties are expected at the resolution of the targets under the
noise that the other rows show. A row weight remains a repetition: it counts in what is learned of
the function as often as it says, but a repetition of a target says no more of the noise than a
copy does. Rows that are only nearly equal cannot come from weights, and may be made one.
"""

from __future__ import annotations

import itertools
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from posterity import callers, ties
from posterity.arrays import Array
from posterity.row_groups import RowGroups

HELD_TOGETHER = "Copies were not split between rows that learn and rows that judge"
"""Action where copies are a group."""
COUNTED_ONCE = "They were not counted as further observations."
"""Action where copies are made one."""
COUNTED = "They count as further observations, which makes {} too sure."
"""Consequence where copies are counted, for predictions or probabilities."""
_NEAR = 1e-3  # of the standard deviation of a column
_AHEAD = 7  # rows along a random direction with which each is compared
_COARSE = 0.1  # chance of a tie of unrelated rows, above which inputs must be continuous too
_DISTINCT = 0.5  # of the rows, different values of a continuous column
_MOST_JUDGES = 2_000
_FEW_DIFFERENT = 20  # rows, of which it is not known how often they agree
_MOST_DIFFERING = 3  # columns that are left out in turn
_PROBES = 3  # continuous columns, two of which copies share
_FEW_ROWS = 50  # for each column of a linear model


class CopiedRowsWarning(UserWarning):
    """Rows are copies of others, and were not taken for independent observations.

    Examples
    --------
    >>> issubclass(CopiedRowsWarning, UserWarning)
    True
    """


def warn_of_copies(n_copies: int, n_rows: int, action: str) -> None:
    """Warn once of the rows that repeat others, and say what was done about it."""
    callers.warn_caller(
        f"{n_copies:,} of {n_rows:,} rows are copies of others: equal or nearly equal inputs with "
        f"exactly equal targets. {action} Remove copies, or use sample_weight for observations "
        "that were made several times.",
        CopiedRowsWarning,
    )


def warn_of_counted_copies(
    X: Any,
    y: Array,
    weights: Array | None = None,
    *,
    is_class: bool = False,
    is_linear: bool = False,
) -> None:
    """Warn of copies where they count as further observations, as a weight does.

    Parameters
    ----------
    X, y, is_class
        See :func:`find_copies`.
    weights : array (N,), optional
        Rows of weight zero are absent.
    is_linear : bool, default=False
        Whether each column has one weight: copies then matter only where rows are few, and are not
        looked for where there are more than 50 rows for each column.
    """
    if is_linear and len(X) > _FEW_ROWS * X.shape[1]:
        return
    kept = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    found = find_copies(X[kept] if isinstance(X, np.ndarray) else X, y[kept], is_class=is_class)
    if found is not None:
        _warn_of_counted(found, is_class=is_class)


def _warn_of_counted(found: RowGroups, *, is_class: bool) -> None:
    what, n = "probabilities" if is_class else "predictions", len(found.number)
    warn_of_copies(n - found.n_groups, n, COUNTED.format(what))


def find_copies(X: Any, y: Array, *, is_class: bool = False) -> RowGroups | None:
    """Find rows that may be one record twice in a table, without a kernel.

    Inputs are near where no column differs by more than a thousandth of its standard deviation.
    Rows may differ in one column, such as the date of an export, where others are continuous.

    Parameters
    ----------
    X : array (N, D)
        Inputs, NaN where missing; of rows of other kinds nothing is found.
    y : array (N,) or (N, K)
        Targets, or numbers of classes.
    is_class : bool, default=False
        Whether targets are classes, whose ties are judged by how often nearest rows agree.

    Returns
    -------
    RowGroups or None
        None where no rows are copies.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> find_copies(X, X[:, 0]) is None
    True
    >>> copies = find_copies(np.vstack([X, X[:5]]), np.append(X[:, 0], X[:5, 0]))
    >>> copies.n_groups, copies.number[-5:]
    (30, array([0, 1, 2, 3, 4]))
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub" or len(X) < 2:
        return None
    Y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    if len(np.unique(Y[:, 0])) == len(Y):
        return None  # no targets tie
    Z = _standardise(X)
    found = [_find_near_ties(Z, Y, is_class=is_class)]
    for column in _find_differing_columns(Z, Y, is_class=is_class):
        others = np.delete(Z, column, axis=1)
        found.append(_find_near_ties(others, Y, is_class=is_class, is_partial=True))
    pairs = [(one.first[one.number], np.arange(len(X))) for one in found if one is not None]
    return RowGroups.of_pairs(tuple(np.concatenate(pairs, axis=1)), len(X)) if pairs else None


def _find_near_ties(
    Z: Array, Y: Array, *, is_class: bool, is_partial: bool = False
) -> RowGroups | None:
    """Find rows of near inputs with equal targets, if there are more than chance makes.

    Inputs are partial where a column was left out: rows of few values are then equal by chance.
    """
    along = np.sum(Z * np.random.default_rng(0).standard_normal(Z.shape[1]), axis=1)
    links = _compare_ahead(Z, np.lexsort([along, *Y.T]))
    tied = np.all(Y[links[0]] == Y[links[1]], axis=1)
    if not tied.any():
        return None
    copies = RowGroups.of_pairs((links[0][tied], links[1][tied]), len(Z))
    found = ties.Ties.of_pairs(_compare_ahead(Z, np.argsort(along, kind="stable")), Y)
    is_coarse = is_class or is_partial or ties.find_chance(Y[copies.first]) > _COARSE
    # One column alone brings rows of equal classes near each other by chance.
    least = 1 + (is_class and is_partial)
    if is_coarse and len(_find_continuous_columns(Z[copies.first], least)) < least:
        return None
    if is_class:
        codes = RowGroups.of_equal(Y[copies.first])
        agreement = _chance_of_agreement(Z[copies.first], np.eye(codes.n_groups)[codes.number])
        expected = found.are_common(_slacken(agreement))
    else:
        expected = found.are_expected(Y[copies.first])
    return None if expected else copies


def _find_differing_columns(Z: Array, Y: Array, *, is_class: bool) -> list[int]:
    """Columns that alone distinguish rows of equal targets, those of most such rows first."""
    n, D = Z.shape
    orders, probes = [np.lexsort(Y.T)], Z[:, :0]
    if is_class:
        probes = Z[:, _find_continuous_columns(Z, _PROBES)]
        orders = [np.argsort(probe) for probe in probes.T]
    counts = np.zeros(D)
    for order in orders if D > 1 else ():
        for ahead in range(1, min(_AHEAD, n - 1) + 1):
            a, b = order[:-ahead], order[ahead:]
            tied = np.flatnonzero(np.all(Y[a] == Y[b], axis=1))
            apart = np.sum(np.abs(probes[a[tied]] - probes[b[tied]]) > _NEAR, axis=1)
            tied = tied[apart <= 1]
            differs = np.abs(Z[a[tied]] - Z[b[tied]]) > _NEAR
            counts += np.sum(differs[np.sum(differs, axis=1) == 1], axis=0)
    most = np.argsort(-counts, kind="stable")[:_MOST_DIFFERING]
    return [int(j) for j in most if counts[j]]


@overload
def weigh_copies_once(X: Any, y: Array, weights: Array, *, is_class: bool = ...) -> Array: ...
@overload
def weigh_copies_once(
    X: Any, y: Array, weights: Array | None, *, is_class: bool = ...
) -> Array | None: ...
def weigh_copies_once(
    X: Any, y: Array, weights: Array | None, *, is_class: bool = False
) -> Array | None:
    """Return row weights with which copies count as one observation, and warn of them.

    Of equal rows the first counts, as often as they do in the mean; nearly equal rows share that,
    and keep their inputs. Copies of fewer than 20 different rows count, and are warned of.

    Parameters
    ----------
    X, y, is_class
        See :func:`find_copies`.
    weights : array (N,), optional
        How often each row counts; rows of weight zero are absent. None: once.

    Returns
    -------
    array (N,) or None
        As given where no rows are copies.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> X, y = np.vstack([X, X[:1], X[1:2] + 1e-6]), np.append(X[:, 0], X[:2, 0])
    >>> weigh_copies_once(X, y, None)[[0, 1, 2, 30, 31]]
    array([1. , 0.5, 1. , 0. , 0.5])
    """
    kept = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    rows = X[kept] if isinstance(X, np.ndarray) else X
    found = find_copies(rows, y[kept], is_class=is_class)
    if found is None:
        return weights
    if found.n_groups < _FEW_DIFFERENT:
        _warn_of_counted(found, is_class=is_class)
        return weights
    warn_of_copies(len(kept) - found.n_groups, len(kept), COUNTED_ONCE)
    own = np.ones(len(kept)) if weights is None else weights[kept]
    equal = _group_equal_rows(rows, found.number)
    of_group = RowGroups.of_equal(found.number[equal.first])
    once = np.zeros(len(y))
    shares = equal.count(own) / equal.count() / of_group.count()[of_group.number]
    once[kept[equal.first]] = shares
    return once


def _group_equal_rows(rows: Array, number: NDArray[np.intp]) -> RowGroups:
    """Find equal rows of a group, missing values being equal to each other."""
    columns = np.nan_to_num(rows.astype(np.float64), nan=np.inf).T
    return RowGroups.of_equal_keys(len(rows), (number, *columns)).by_appearance()


def _slacken(agreement: float) -> float:
    """Repeated observations disagree half as often as nearest rows, or more often."""
    return 0.5 * (1.0 + agreement)


def are_copies(inputs: RowGroups, Y: Array, counts: Array) -> bool:
    """Return whether rows that count more than once are copies, where no inputs are at hand.

    Parameters
    ----------
    inputs : RowGroups
        Groups of the rows whose inputs are equal, or answer all tests alike.
    Y : array (N, K)
        Targets, of rows that differ in inputs or targets. Of few values nothing is said.
    counts : array (N,)
        How often each row stands there.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=(60, 1))
    >>> rows = RowGroups.of_equal(np.arange(60))
    >>> are_copies(rows, y, np.full(60, 2.0)), are_copies(rows, np.round(y), np.full(60, 2.0))
    (True, False)
    """
    if len(Y) < 2 or ties.find_chance(Y) > _COARSE:
        return False
    return not ties.Ties.of_repeats(inputs, Y, counts).are_expected(Y)


def group_copies(
    groups: NDArray[np.int32] | None,
    X: Any,
    y: Array,
    weights: Array | None = None,
    *,
    is_class: bool = False,
) -> NDArray[np.int32] | None:
    """Return the groups that were given, or without any groups of copies, which are not split.

    Parameters
    ----------
    groups : array (N,) or None
        Groups of rows, numbered from 0. Who names them says which rows are independent.
    X, y, is_class
        See :func:`find_copies`.
    weights : array (N,), optional
        Rows of weight zero are absent.

    Returns
    -------
    groups : array (N,) or None
        None where none were given and no rows are copies.

    Examples
    --------
    >>> X = np.array([[0.3], [0.1], [0.2], [0.3]])
    >>> group_copies(None, X, np.array([0.7, 0.5, 0.6, 0.7]))
    array([0, 1, 2, 0], dtype=int32)
    """
    if groups is not None or not isinstance(X, np.ndarray):
        return groups
    kept = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    found = find_copies(X[kept], y[kept], is_class=is_class)
    if found is None:
        return None
    action = f"{HELD_TOGETHER}; groups=range(N) takes all for independent."
    warn_of_copies(len(kept) - found.n_groups, len(kept), action)
    numbers = np.zeros(len(y), dtype=np.int32)
    numbers[kept] = found.number
    return numbers


def _standardise(X: Array) -> Array:
    """Columns of unit variance, missing values far from all others."""
    Z = X.astype(np.float64)
    missing = np.isnan(Z)
    counts = np.maximum(np.sum(~missing, axis=0), 1)
    Z -= np.sum(np.where(missing, 0.0, Z), axis=0) / counts
    with np.errstate(over="ignore"):
        scale = np.sqrt(np.sum(np.where(missing, 0.0, Z) ** 2, axis=0) / counts)
    Z /= np.where((scale > 0.0) & np.isfinite(scale), scale, 1.0)
    Z[missing] = 2.0 * np.sqrt(len(Z))  # of unit variance, no value can lie there
    return Z


def _compare_ahead(Z: Array, order: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of near rows among those that follow each other closely in an order."""
    first, second = [], []
    for ahead in range(1, min(_AHEAD, len(order) - 1) + 1):
        a, b = order[:-ahead], order[ahead:]
        near = np.flatnonzero(np.abs(Z[a, 0] - Z[b, 0]) <= _NEAR)
        near = near[np.all(np.abs(Z[a[near]] - Z[b[near]]) <= _NEAR, axis=1)]
        first.append(a[near])
        second.append(b[near])
    return np.concatenate(first), np.concatenate(second)


def _chance_of_agreement(Z: Array, shares: Array) -> float:
    """Chance that a row and its nearest other row are of the same class, by shares of classes."""
    if len(Z) < 2:
        return 1.0
    some = np.random.default_rng(0).permutation(len(Z))[:_MOST_JUDGES]
    from sklearn.neighbors import NearestNeighbors  # takes as long to import as a fit

    near = NearestNeighbors(n_neighbors=1).fit(Z[some]).kneighbors(return_distance=False)
    return float(np.mean(np.sum(shares[some] * shares[some[near[:, 0]]], axis=1)))


def _find_continuous_columns(X: Array, most: int) -> list[int]:
    """The first columns most of whose values differ, so that no rows are equal by chance."""
    different = (j for j, x in enumerate(X.T) if len(np.unique(x)) > _DISTINCT * len(x))
    return list(itertools.islice(different, most))
