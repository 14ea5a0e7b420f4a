"""Values of levels, which members of a boosted sum learn from their own rows.

The value of a level is a Newton step from the constant, shrunken by how much levels differ: its
posterior mean under a normal prior. Cuts lie in the middle between the values of neighbouring
levels, and rows that a member leaves out have the values of their levels, as new rows have.

A row that learns must not see its own target in the value of its level. It has the posterior mean
by the rows of its level that come before it in a random order (ordered target statistics). As a
posterior mean it is right on average however many rows come before, so that rows that learn and
new rows are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.boosting.catalogue import Catalogue, thin_thresholds
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.boosting.screens import Codes
from posterity.trees.families import binning

_MOST_INDICATORS = 255
_MOST_TABLES = 8  # along other columns, of a column and member
_LEAST_EXCESS = 3.0  # of squares along other columns, in standard deviations
_LEAST_NOISE = 0.01  # of all squares, where levels leave none: they may have few rows
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class LeveledRows:
    """The levels of N rows, and which rows belong together."""

    numbers: NDArray[np.int64]  # (c, N), of levels, by categorical column
    groups: NDArray[np.int32]  # (N,), from 0 on: rows of one are no news to each other
    most: int  # thresholds of a test
    plain: NDArray[np.intp]  # (d,), which tests are of columns that are not categorical


@dataclass(frozen=True, eq=False)
class LevelTable:
    """A value for each level of a column, and the codes by which trees grow."""

    owner: int  # which categorical column
    values: Array  # (V + 1,), zero beyond the levels
    edges: Array  # (255,)
    codes: NDArray[np.uint8]  # (N,)


def add_indicators(
    catalogue: Catalogue, codes: Codes, rows: LeveledRows
) -> tuple[Catalogue, Codes]:
    """Let tests separate the level of a column from all others, where it has more than two."""
    columns = catalogue.family
    assert isinstance(columns, LeveledColumns)
    tables = []
    for owner in columns.owners_in_order.tolist():
        levels = rows.numbers[owner]
        often = np.argsort(-np.bincount(levels), kind="stable")[:_MOST_INDICATORS]
        for level in np.sort(often) if columns.count_levels(owner) > 2 else ():
            values = np.zeros(columns.width)
            values[level] = 1.0
            edges = np.full(binning.N_EDGES, np.inf)
            edges[0] = 0.5
            tables.append(LevelTable(owner, values, edges, (levels == level).astype(np.uint8)))
    return add_tables(catalogue, codes, tables)


def add_tables(
    catalogue: Catalogue, codes: Codes, tables: Sequence[LevelTable]
) -> tuple[Catalogue, Codes]:
    """A catalogue with the tests of tables at its end, and the codes (J, N) of all."""
    columns = catalogue.family
    assert isinstance(columns, LeveledColumns)
    if not tables:
        return catalogue, codes
    numbers = columns.n_tests + np.arange(len(tables), dtype=np.int32)
    owners = np.array([table.owner for table in tables], dtype=np.int32)
    extended = Catalogue(
        columns.add_tables(owners, np.array([table.values for table in tables])),
        np.concatenate([catalogue.tests, numbers[:, None]]),
        np.concatenate([catalogue.cuts, np.array([table.edges for table in tables])]),
    )
    return extended, np.concatenate([codes, np.array([table.codes for table in tables])])


def learn_tables(
    columns: LeveledColumns,
    rows: LeveledRows,
    codes: Codes,
    slopes: Array,
    curvatures: Array,
    weights: Array,
    rng: np.random.Generator,
) -> list[LevelTable]:
    """The tables of a member: steps of levels, and how they change along other columns.

    None is made where levels differ by no more than their rows do, nor for columns of two levels,
    which the plain test separates.

    Parameters
    ----------
    columns : LeveledColumns
        Which columns are categorical.
    rows : LeveledRows
        Their levels in all rows.
    codes : array (J, N)
        What the rows answer to the plain tests.
    slopes, curvatures : array (N, L)
        Of each row's log-probability where nothing is known of the row.
    weights : array (N,)
        How often rows count; zero for those that the member leaves out.
    rng : Generator
        Draws the order of rows.
    """
    order = rng.permutation(int(rows.groups.max()) + 1)[rows.groups]
    tables: list[LevelTable] = []
    for owner in columns.owners_in_order.tolist():
        if columns.count_levels(owner) > 2:
            levels = rows.numbers[owner]
            found = _choose_steps(levels, codes[rows.plain], slopes, curvatures, weights)
            tables += [own.tabulate(owner, columns.width, order, rows.most) for own in found]
    return tables


def _choose_steps(
    levels: NDArray[np.int64], codes: Codes, slopes: Array, curvatures: Array, weights: Array
) -> list[_LevelSteps]:
    """Steps of levels by all outputs, and those along other columns that differ most."""
    constant, along = [], []
    for g, h in zip(slopes.T, curvatures.T, strict=True):
        constant.append(_LevelSteps.from_slopes(levels, np.ones(len(g)), g, h, weights))
        along += [
            _LevelSteps.from_slopes(levels, _centre(c, weights), g, h, weights) for c in codes
        ]
    chosen = sorted(
        (own for own in along if own.excess > _LEAST_EXCESS), key=lambda own: -own.excess
    )
    return [own for own in constant if own.excess > 0.0] + chosen[:_MOST_TABLES]


def _centre(code: NDArray[np.uint8], weights: Array) -> Array:
    """Codes about their mean."""
    along = code.astype(np.float64)
    along -= np.average(along, weights=weights)
    return along


@dataclass(frozen=True, eq=False)
class _LevelSteps:
    """Newton steps of levels along a function of the rows, and their normal prior."""

    levels: NDArray[np.int64]  # (N,)
    weights: Array  # (N,)
    sums: Array  # (N, 2), slope and curvature along the function, times weight
    excess: float  # of squares of steps over those of noise, in standard deviations of these
    prior: float  # precision

    @classmethod
    def from_slopes(
        cls, levels: NDArray[np.int64], along: Array, slopes: Array, h: Array, weights: Array
    ) -> _LevelSteps:
        """Learn by how much levels differ; what all have in common is taken off first."""
        curvatures = weights * h * along**2
        common = float(weights @ (slopes * along)) / max(float(np.sum(curvatures)), _TINY)
        sums = np.column_stack([weights * (slopes - h * along * common) * along, curvatures])
        G, H = np.bincount(levels, sums[:, 0]), np.bincount(levels, sums[:, 1])
        known = H > 0.0
        free = max(int(np.count_nonzero(known)) - 1, 1)
        squares = float(np.sum(G[known] ** 2 / H[known]))
        own = curvatures > 0.0
        total = float(np.sum(sums[own, 0] ** 2 / sums[own, 1]))
        rest = float(np.sum(weights[own])) - free - 1
        all_of_it = max(total / max(float(np.sum(weights[own])), 1.0), _TINY)
        noise = (total - squares) / rest if rest > 0.0 else all_of_it
        excess = squares / max(noise, _LEAST_NOISE * all_of_it) - free
        size = float(np.sum(H) - np.sum(H**2) / max(float(np.sum(H)), _TINY))
        return cls(levels, weights, sums, excess / np.sqrt(2.0 * free), size / max(excess, _TINY))

    def tabulate(self, owner: int, width: int, order: NDArray[np.int64], most: int) -> LevelTable:
        """Posterior means of steps: by all rows, and for each row by those before it."""
        G, H = (np.bincount(self.levels, s, width) for s in self.sums.T)
        values = G / (H + self.prior)
        before = _sum_before(self.levels, order, self.sums)
        seen = before[:, 0] / (before[:, 1] + self.prior)
        seen = np.where(self.weights > 0.0, seen, values[self.levels])
        counts = np.bincount(self.levels, minlength=width).astype(np.float64)
        edges = _find_edges(values, counts, most)
        return LevelTable(owner, values, edges, binning.encode(seen[:, None], edges[None])[:, 0])


def _sum_before(numbers: NDArray[np.int64], order: NDArray[np.int64], values: Array) -> Array:
    """Sums (N, ...) over the rows of a row's level that come before its own group."""
    by_level = np.lexsort((order, numbers))
    totals = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values[by_level], axis=0)])
    level, turn = numbers[by_level], order[by_level]
    starts_level = np.append(True, level[1:] != level[:-1])
    starts_group = starts_level | np.append(True, turn[1:] != turn[:-1])
    found = np.empty_like(values)
    first_of_level, first_of_group = (_last_start(s) for s in (starts_level, starts_group))
    found[by_level] = totals[first_of_group] - totals[first_of_level]
    return found


def _last_start(starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each place the last one at or before it at which something starts."""
    return np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))


def _find_edges(values: Array, counts: Array, most: int) -> Array:
    """Cuts (255,) in the middle between values of neighbouring levels that rows have."""
    return thin_thresholds(binning.find_edges(values[:, None], counts), most)[0]
