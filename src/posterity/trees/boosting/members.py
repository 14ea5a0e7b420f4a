"""Boosted sums that are trained without some rows each, and judged by these: cross-fitted members.

Rows are assigned to folds, and member k gives the rows of fold k no weight. These still fall into
leaves, so that every row has latents of a member that has not seen its target, round by round. They
say how many rounds are best and how sure the sum may be, without a test set; the prediction is the
mean over members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.inference import rows as held_rows
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import MOST_OFFSETS, Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.level_tests import LeveledRows, LevelTable, add_tables, learn_tables
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.boosting.member import BoostingPlan, Member
from posterity.trees.boosting.objectives import Objective
from posterity.trees.boosting.screens import Codes
from posterity.trees.families.family import Family

NO_FOLD = -1  # of rows that no member leaves out


@dataclass(frozen=True, eq=False)
class StartingPoint:
    """Latents at which members begin, where these are given: the offset is then zero."""

    latents: Array  # (K, N, L), or (1, N, L) for all members
    variances: Array  # the same shape
    is_continued: bool = False  # whether they are those of trees

    @classmethod
    def at_latents(cls, latents: Array) -> StartingPoint:
        """The same certain latents (N, L) for all members."""
        return cls(latents[None], np.zeros_like(latents)[None])

    def of_member(self, k: int) -> tuple[Array, Array]:
        """Copies of the latents and variances of one member."""
        own = k if len(self.latents) > 1 else 0
        return self.latents[own].copy(), self.variances[own].copy()


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Members up to the round that suits left-out rows best, and the latents of these rows."""

    family: Family  # with the tests that members learned
    trees: BoostedTrees  # of all members
    held_out_latents: Array  # (N, L), NaN where no member left the row out
    held_out_variances: Array  # (N, L), what leaf values leave open of them
    second_latents: Array  # (N, L), by another member that left the row out; NaN without one
    scores: Array  # (1 + R,), mean log-probability of left-out rows, at first and by round
    n_rounds: int
    stop_reason: str

    def append_to(self, earlier: BoostedTrees, scores: Array | None) -> CrossFit:
        """The same after the trees of an earlier fit, and the scores of its rounds."""
        n_before = int(np.diff(earlier.members).max(initial=0))
        before = self.scores[:0] if scores is None else scores[:n_before]
        return replace(
            self,
            trees=earlier.append(self.trees),
            scores=np.concatenate([before, self.scores]),
            n_rounds=n_before + self.n_rounds,
        )


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Rows that have answered all tests, and the members that leave them out."""

    catalogue: Catalogue
    codes: Codes  # (J, N), what the rows answer
    weights: Array  # (N,), how often they count
    folds: NDArray[np.int64]  # (N,), the member, from 0 on, that leaves the row out; -1: none does
    groups: NDArray[np.int32]  # (N,), from 0 on: rows of one do not judge each other
    levels: LeveledRows | None = None  # of categorical columns; members learn values of these


def cross_fit(
    table: CodedTable,
    objective: Objective,
    plan: BoostingPlan,
    rng: np.random.Generator,
    start: StartingPoint | None = None,
    second: NDArray[np.int64] | None = None,
) -> CrossFit:
    """Train a member for each fold, all of them round by round, and keep the best round.

    Parameters
    ----------
    table : CodedTable
        The rows.
    objective : Objective
        Targets and likelihood.
    plan : BoostingPlan
        How.
    rng : Generator
        Draws weights, tests and scores; members have streams of their own.
    start : StartingPoint, optional
        Where training starts; None: at the best constant.
    second : array (N,), optional
        Another member that leaves the row out, or -1: such rows say how far members disagree.
    """
    folds, weights = table.folds, table.weights
    n_members = max(1, int(np.max(folds, initial=NO_FOLD)) + 1)
    other = np.full(len(folds), NO_FOLD) if second is None else second
    members = [
        Member.start(
            objective,
            np.where((folds == k) | (other == k), 0.0, weights),
            own,
            None if start is None else start.of_member(k),
        )
        for k, own in enumerate(rng.spawn(n_members))
    ]
    judge = _HeldOutScore.of_folds(objective, folds, other, weights, n_members)
    judge.note(members)
    reason = f"{plan.n_rounds} rounds were asked for"
    every = range(plan.n_rounds)
    if table.levels is not None:
        table, plan = _add_level_tests(table, objective, plan, table.levels, members, start)
    catalogue = table.catalogue
    with Grower.open(table.codes, plan.n_jobs, weights) as grower:
        for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
            for member in members:
                member.boost(grower, objective, plan)
            if not any(member.has_grown for member in members):
                reason = "no further tree gained"
                break
            judge.note(members)
            if plan.patience is not None and judge.n_rounds_since_best >= plan.patience:
                reason = f"rows held out gained nothing in {plan.patience} rounds"
                break
    n_rounds = judge.best if judge.scores else max(len(m.rounds) for m in members)
    shape = members[0].latents.shape
    return CrossFit(
        catalogue.family,
        BoostedTrees.join([member.collect_trees(catalogue, n_rounds) for member in members]),
        judge.spread(judge.latents, *shape),
        judge.spread(judge.variances, *shape),
        judge.spread_second(*shape),
        np.array(judge.scores),
        n_rounds,
        reason,
    )


def _add_level_tests(
    table: CodedTable,
    objective: Objective,
    plan: BoostingPlan,
    levels: LeveledRows,
    members: Sequence[Member],
    start: StartingPoint | None,
) -> tuple[CodedTable, BoostingPlan]:
    """Let members learn values of levels, each by its own rows."""
    columns, plain = table.catalogue.family, np.arange(len(table.codes))
    assert isinstance(columns, LeveledColumns)
    is_given = start is not None and not start.is_continued
    tables: list[LevelTable] = []
    for member in members:
        derivatives = member.differentiate(objective, is_given)
        own = learn_tables(columns, levels, table.codes, *derivatives, member.weights, member.rng)
        member.tests = np.append(plain, len(plain) + len(tables) + np.arange(len(own)))
        tables += own
    catalogue, codes = add_tables(table.catalogue, table.codes, tables)
    return replace(table, catalogue=catalogue, codes=codes), plan.add_tests(len(tables))


@dataclass(eq=False)
class _HeldOutScore:
    """The log score of rows by the members that left them out, and their latents at its best."""

    objective: Objective
    places: list[NDArray[np.int64]]  # of the rows that each member leaves out
    shares: Array  # (m,), of these rows, one member after the other; they sum to one
    shared: list[tuple[int, NDArray[np.int64]]]  # a member, and rows that it leaves out as second
    scores: list[float] = field(default_factory=list)
    best: int = 0
    latents: Array = field(default_factory=lambda: np.empty((0, 0)))  # (m, L)
    variances: Array = field(default_factory=lambda: np.empty((0, 0)))  # (m, L)
    second: list[Array] = field(default_factory=list)  # latents of shared rows

    @classmethod
    def of_folds(
        cls,
        objective: Objective,
        folds: NDArray[np.int64],
        second: NDArray[np.int64],
        weights: Array,
        n_members: int,
    ) -> _HeldOutScore:
        places = [np.flatnonzero((folds == k) & (weights > 0.0)) for k in range(n_members)]
        counts = weights[np.concatenate(places)]
        shared = [
            (k, np.flatnonzero((second == k) & (weights > 0.0)))
            for k in np.unique(second[second >= 0])
        ]
        return cls(objective, places, counts / np.sum(counts) if len(counts) else counts, shared)

    @property
    def n_rounds_since_best(self) -> int:
        return max(0, len(self.scores) - 1 - self.best)

    def note(self, members: Sequence[Member]) -> None:
        """Judge the members as they are now."""
        if not len(self.shares):
            return
        pairs = list(zip(members, self.places, strict=True))
        latents = np.concatenate([member.latents[own] for member, own in pairs])
        log_prob = self.objective.log_prob(latents, np.concatenate(self.places))
        self.scores.append(float(self.shares @ log_prob))
        if len(self.scores) == 1 or self.scores[-1] > self.scores[self.best]:
            self.best, self.latents = len(self.scores) - 1, latents
            self.variances = np.concatenate([member.variances[own] for member, own in pairs])
            self.second = [members[l].latents[own] for l, own in self.shared]

    def spread(self, values: Array, n_rows: int, n_outputs: int) -> Array:
        """Values of rows that a member left out, (N, L); NaN for others."""
        spread = np.full((n_rows, n_outputs), np.nan)
        if len(self.shares):
            spread[np.concatenate(self.places)] = values
        return spread

    def spread_second(self, n_rows: int, n_outputs: int) -> Array:
        """Latents of rows by second members, (N, L); NaN for others."""
        spread = np.full((n_rows, n_outputs), np.nan)
        for (_, own), latents in zip(self.shared, self.second, strict=True):
            spread[own] = latents
        return spread


_MOST_MEMBERS = 10
_ROWS_OF_MEMBERS = 15_000  # rows of all members together, where rows are few
_LEAST_LEFT_OUT = 0.1  # of the rows, by a member
_ROWS_OF_THRESHOLD, _LEAST_THRESHOLDS = 32, 64
_LEAST_MEMBERS_FOR_ALL = 5  # by whom every row is left out once


@dataclass(frozen=True)
class FoldPlan:
    """The number of members, and the fraction of the rows that each leaves out."""

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
