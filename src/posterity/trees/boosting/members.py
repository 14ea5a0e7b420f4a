"""Boosted sums that are trained without some rows each, and judged by these: cross-fitted members.

Rows are assigned to folds, and member k gives the rows of fold k no weight. These still fall into
leaves, so that every row has latents of a member that has not seen its target, round by round. They
say how many rounds are best and how sure the sum may be, without a test set; the prediction is the
mean over members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, progress
from posterity.arrays import Array
from posterity.trees.boosting import sketching
from posterity.trees.boosting.boosted_trees import BoostedTrees, Round
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.grown import TreeRules, sum_by_leaf
from posterity.trees.boosting.objectives import Objective
from posterity.trees.boosting.screens import Codes

NO_FOLD = -1  # of rows that no member leaves out


@dataclass(frozen=True)
class BoostingPlan:
    """How members are trained.

    Parameters
    ----------
    n_rounds : int
        The most rounds.
    learning_rate : float
        Of a Newton step of a leaf's value, what is added.
    tree : TreeRules
        How trees grow. Their ``random_strength`` is that of the first round, and falls.
    bootstrap : float, default=1
        Power of the exponential weights that rows are given in the choice of tests: 1 is the
        Bayesian bootstrap, 0 counts all rows alike.
    subsample : float, default=1
        Fraction of the rows that take part in the choice of tests, drawn in every round.
    n_tests : int, optional
        How many tests are tried in a round; None: all.
    n_directions : int, optional
        How many random directions of the outputs choose the tests; None: all outputs do.
    leaves_own_target_out : bool, default=True
        Whether a training row moves by the value that its leaf would have without the row.
    patience : int, optional
        Rounds without a better score of left-out rows after which training ends; None: it does not
        end early.
    n_jobs : int, optional
        Threads; the result does not depend on their number.
    """

    n_rounds: int
    learning_rate: float
    tree: TreeRules = field(default_factory=TreeRules)
    bootstrap: float = 1.0
    subsample: float = 1.0
    n_tests: int | None = None
    n_directions: int | None = None
    leaves_own_target_out: bool = True
    patience: int | None = 50
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class StartingPoint:
    """Latents at which members begin, where these are given: the offset is then zero."""

    latents: Array  # (K, N, L), or (1, N, L) for all members
    variances: Array  # the same shape

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

    trees: tuple[BoostedTrees, ...]  # of each part of the objective, all members
    held_out_latents: Array  # (N, L), NaN where no member left the row out
    held_out_variances: Array  # (N, L), what leaf values leave open of them
    second_latents: Array  # (N, L), by another member that left the row out; NaN without one
    scores: Array  # (1 + R,), mean log-probability of left-out rows, at first and by round
    n_rounds: int
    stop_reason: str

    @property
    def held_out_log_score(self) -> float:
        """Mean log-probability of the targets of left-out rows; NaN without any."""
        return float(self.scores[self.n_rounds]) if len(self.scores) else float("nan")


def cross_fit(
    catalogue: Catalogue,
    codes: Codes,
    objective: Objective,
    weights: Array,
    folds: NDArray[np.int64],
    plan: BoostingPlan,
    rng: np.random.Generator,
    start: StartingPoint | None = None,
    second: NDArray[np.int64] | None = None,
) -> CrossFit:
    """Train a member for each fold, all of them round by round, and keep the best round.

    Parameters
    ----------
    catalogue : Catalogue
        The tests.
    codes : array (J, N)
        What the rows answer.
    objective : Objective
        Targets and likelihood.
    weights : array (N,)
        How often rows count.
    folds : array (N,)
        The member, from 0 to K - 1, that leaves the row out; -1: none does.
    plan : BoostingPlan
        How.
    rng : Generator
        Draws weights, tests and scores; members have streams of their own.
    start : StartingPoint, optional
        Where training starts; None: at the best constant.
    second : array (N,), optional
        Another member that leaves the row out, or -1: such rows say how far members disagree.
    """
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
    with Grower.open(codes, plan.n_jobs, weights) as grower:
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
    n_rounds = judge.best if judge.scores else max(len(m.rounds[0]) for m in members)
    shape = members[0].latents.shape
    return CrossFit(
        tuple(
            BoostedTrees.join([m.collect_trees(catalogue, objective, p, n_rounds) for m in members])
            for p in range(len(objective.parts))
        ),
        judge.spread(judge.latents, *shape),
        judge.spread(judge.variances, *shape),
        judge.spread_second(*shape),
        np.array(judge.scores),
        n_rounds,
        reason,
    )


@dataclass(eq=False)
class Member:
    """One boosted sum while it is trained: the latents of all rows, and the trees so far."""

    weights: Array  # (N,), zero for rows that it leaves out
    latents: Array  # (N, L), of training rows without their own targets where the plan says so
    variances: Array  # (N, L), inverse precisions of leaf values, summed over trees
    offset: Array  # (L,)
    rounds: list[list[Round]]  # by part
    rng: np.random.Generator
    has_grown: bool = True
    orders: dict[int, NDArray[np.intp]] = field(default_factory=dict)  # of outputs, by part

    @classmethod
    def start(
        cls,
        objective: Objective,
        weights: Array,
        rng: np.random.Generator,
        given: tuple[Array, Array] | None,
    ) -> Member:
        """No trees yet."""
        offset = objective.fit_offset(weights)
        latents, variances = given or (np.tile(offset, (len(weights), 1)), None)
        if variances is None:
            variances = np.zeros_like(latents)
        else:
            offset = np.zeros_like(offset)
        return cls(weights, latents, variances, offset, [[] for _ in objective.parts], rng)

    def boost(self, grower: Grower, objective: Objective, plan: BoostingPlan) -> None:
        """Add a tree for each part of the objective."""
        self.has_grown = False
        for part, outputs in enumerate(objective.parts):
            slopes, curvatures = objective.derivatives(self.latents, outputs)
            rules = _cool_rules(plan, len(self.rounds[part]), float(np.sum(self.weights)))
            prior = plan.tree.prior_precision * objective.measure_row(curvatures, self.weights)
            tree = grower.grow(
                *self._sketch_outputs(part, slopes, curvatures, grower.coded.codes, plan),
                _draw_weights(self.weights, plan, self.rng),
                replace(rules, prior_precision=prior),
                self.rng,
                _draw_tests(len(grower.coded.codes), plan.n_tests, self.rng),
            )
            self.has_grown |= len(tree.tests) > 0
            sums, curvature_sums = (
                sum_by_leaf(tree.leaves, x, self.weights, tree.n_leaves)
                for x in (slopes, curvatures)
            )
            newton = sums / (curvature_sums + prior)
            values = tree.bound_values(plan.learning_rate * newton)
            precisions = (curvature_sums + prior) / plan.learning_rate**2
            self.rounds[part].append((replace(tree, leaves=_NO_LEAVES), values, precisions))
            _move_rows(
                tree.leaves,
                slopes,
                curvatures,
                self.weights * plan.leaves_own_target_out,
                plan.learning_rate,
                values,
                precisions,
                self.latents[:, outputs],
                self.variances[:, outputs],
            )

    def _sketch_outputs(
        self, part: int, slopes: Array, curvatures: Array, codes: Codes, plan: BoostingPlan
    ) -> tuple[Array, Array]:
        """Slopes and curvatures by which tests are chosen."""
        n_directions, weights = plan.n_directions, self.weights
        if n_directions is None or n_directions >= slopes.shape[1]:
            return slopes, curvatures
        if part not in self.orders:
            self.orders[part] = sketching.order_outputs(codes, slopes, weights)
        order = self.orders[part]
        return sketching.sketch_outputs(slopes, curvatures, weights, order, n_directions, self.rng)

    def collect_trees(
        self, catalogue: Catalogue, objective: Objective, part: int, n_rounds: int
    ) -> BoostedTrees:
        """The first trees of a part."""
        offset = self.offset[objective.parts[part]]
        return BoostedTrees.from_rounds(catalogue, offset, self.rounds[part][:n_rounds])


_NO_LEAVES = np.empty(0, dtype=np.int32)  # rows need not be held once they have moved


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
        """What rows have that a member left out, (N, L); NaN for others."""
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


def _draw_weights(weights: Array, plan: BoostingPlan, rng: np.random.Generator) -> Array:
    """How often rows count in the choice of tests, in one round."""
    drawn = weights
    if plan.bootstrap > 0.0:
        drawn = drawn * rng.standard_exponential(len(weights)) ** plan.bootstrap
    if plan.subsample < 1.0:
        drawn = drawn * (rng.random(len(weights)) < plan.subsample)
    return drawn


def _draw_tests(
    n_tests: int, n_drawn: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    if n_drawn is None or n_drawn >= n_tests:
        return None
    return np.sort(rng.choice(n_tests, n_drawn, replace=False))


def _cool_rules(plan: BoostingPlan, n_done: int, n_rows: float) -> TreeRules:
    """Random scores that vanish once the model is as long as the rows are many."""
    left = n_rows * np.exp(-plan.learning_rate * n_done)
    return replace(plan.tree, random_strength=plan.tree.random_strength * left / (1.0 + left))


@compilation.compile_at_first_call
def _move_rows(
    leaves: NDArray[np.int32],
    slopes: Array,
    curvatures: Array,
    weights: Array,
    rate: float,
    values: Array,
    precisions: Array,
    latents: Array,
    variances: Array,
) -> None:
    """Move each row by the value of its leaf, without what rows with a weight add to it.

    A leaf has the value v = rate G / P, where P = rate^2 precision is the sum of curvatures and
    prior. Without a row of slope g and curvature h it is rate (G - g) / (P - h). Of a row that
    counts several times, one is left out, as if each stood by itself.
    """
    for i in range(len(leaves)):
        k, w = leaves[i], weights[i]
        for l in range(latents.shape[1]):
            v, total = values[k, l], rate * rate * precisions[k, l]
            if w > 0.0:
                once = min(w, 1.0)
                g, h = once * slopes[i, l], once * curvatures[i, l]
                v = (v * total - rate * g) / (total - h)
            latents[i, l] += v
            variances[i, l] += 1.0 / precisions[k, l]
