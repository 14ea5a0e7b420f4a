"""What a boosted sum chooses by the number of rows: members, held-out rows, rate and patience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.inference import rows as held_rows
from posterity.trees.boosting.catalogue import MOST_OFFSETS
from posterity.trees.boosting.members import NO_FOLD

_MOST_MEMBERS = 10
_ROWS_OF_MEMBERS = 15_000  # rows of all members together, where rows are few
_LEAST_LEFT_OUT = 0.1  # of the rows, by a member
_ROWS_OF_THRESHOLD, _LEAST_THRESHOLDS = 32, 64
_LEAST_MEMBERS_FOR_ALL = 5  # by whom every row is left out once


@dataclass(frozen=True)
class FoldPlan:
    """How many members there are, and the fraction of the rows that each leaves out."""

    n_members: int
    fraction: float

    @classmethod
    def choose(cls, n_rows: int, n_members: int | None) -> FoldPlan:
        """As many members as were asked for, or as their rows allow; 1: none leaves a row out.

        Ten where rows are few, which gain most from an average, and cost least. Where there are
        fewer than five, each leaves out a tenth of the rows only.
        """
        if n_members is not None:
            return cls(n_members, 1.0 / n_members if n_members > 1 else 0.0)
        chosen = int(np.clip(_ROWS_OF_MEMBERS // max(n_rows, 1), 1, _MOST_MEMBERS))
        return cls(chosen, 1.0 / chosen if chosen >= _LEAST_MEMBERS_FOR_ALL else _LEAST_LEFT_OUT)

    def draw(
        self, y: Array, groups: NDArray[np.signedinteger[Any]], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The member that leaves each row out, (N,), or -1; a share of every class, in groups.

        A class of a single group is seen by every member. Groups that hold several classes are
        shared out whatever these are.
        """
        strata = y[np.unique(groups, return_index=True)[1]]
        if not np.array_equal(strata[groups], y):
            strata = np.zeros(len(strata))
        if self.fraction == 0.0 or np.unique(strata, return_counts=True)[1].max() < 2:
            return np.full(len(y), NO_FOLD)
        folds = held_rows.draw_folds(strata, self.fraction, rng)[groups]
        return np.where(folds < self.n_members, folds, NO_FOLD)


def draw_second_folds(
    folds: NDArray[np.int64],
    groups: NDArray[np.signedinteger[Any]],
    share: float,
    rng: np.random.Generator,
) -> NDArray[np.int64] | None:
    """The next member for a share of the groups that each leaves out; of three members or more."""
    n_members = int(np.max(folds)) + 1
    if n_members < 3:
        return None
    chosen = (folds != NO_FOLD) & (rng.random(int(groups.max()) + 1) < share)[groups]
    return np.where(chosen, (folds + 1) % n_members, NO_FOLD)


def choose_rate(n_rows: float, n_rounds: int) -> float:
    """A learning rate with which so many rounds reach, and that many rows bear."""
    by_rows = 0.08 * (max(n_rows, 100.0) / 1000.0) ** 0.2
    return float(np.clip(by_rows * np.sqrt(300.0 / n_rounds), 0.02, 0.3))


def choose_patience(learning_rate: float) -> int:
    """Rounds without a better score after which a sum ends: those of four full steps."""
    return max(20, round(4.0 / learning_rate))


def choose_thresholds(n_rows: float) -> int:
    """The most thresholds of a test: with few rows, looking through them takes longest."""
    return int(np.clip(n_rows // _ROWS_OF_THRESHOLD, _LEAST_THRESHOLDS, MOST_OFFSETS))
