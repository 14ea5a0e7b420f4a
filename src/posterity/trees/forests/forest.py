"""Many trees, each grown from rows of its own, and the search for concentration and sharpness."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from posterity import linalg, optimize, progress, validation
from posterity.arrays import Array
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import routing, sampling
from posterity.trees.growth import growing
from posterity.trees.structure import Trees

_FEW_ROWS = 2048  # which one thread is done with before others have begun

R = TypeVar("R")


class Leaves(Protocol):
    """Leaves of trees, and the rows that each of them has counted."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        ...

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """The leaves of several trees, numbered through."""
        ...

    def add(self, other: Self) -> Self:
        """Add the statistics of the same leaves."""
        ...


L = TypeVar("L", bound=Leaves)
F_co = TypeVar("F_co", bound="Forest", covariant=True)


class LeafScores(Protocol):
    """Leaves that predict rows which some of their trees have not seen."""

    def gather(
        self, found: NDArray[np.int32], target: NDArray[Any], weights: Array, own: Array
    ) -> Any:
        """Rows by their leaves (T, r), -1 where a tree has seen the row, of which ``own`` (r,) is
        the row's own and is taken out."""
        ...

    def learn(self, unseen: Any, plan: ForestPlan) -> Any:
        """Learn how leaves become predictions, from rows as ``gather`` returns them."""
        ...

    def score(self, unseen: Any, learned: Any) -> tuple[Array, Array]:
        """Log-probability of each row, (r,), and whether it is right, or its squared error."""
        ...


class TargetKind(Protocol[L, F_co]):
    """Kind of targets of trees, classes or numbers: a value, which can go wherever rows are."""

    holds_out: ClassVar[bool]  # whether a single tree learns from rows held out of others
    keeps_samples: ClassVar[bool]  # whether leaves may know the rows of their own tree alone

    @property
    def criterion(self) -> growing.SplitCriterion:
        """The criterion of a good split."""
        ...

    def targets(self, y: Array) -> NDArray[Any]:
        """The targets of rows, (n, ...), as trees take them."""
        ...

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> L:
        """Statistics of leaves from the leaf, the target and the weight of each row."""
        ...

    def summarise(self, target: NDArray[Any], weights: Array) -> Array:
        """Summary of targets without any tree: frequencies (C,), or variances (K,)."""
        ...

    def count_numbers(self, n_trees: int, overall: Array) -> tuple[int, int]:
        """Numbers of values that are held of each row to score it, and to learn from it."""
        ...

    def score_leaves(self, leaves: L, trees: Trees, overall: Array) -> LeafScores:
        """The leaves of these trees as they predict."""
        ...

    def make_forest(
        self, family: Family, trees: Trees, leaves: L, overall: Array, learned: Any
    ) -> F_co:
        """The forest of what was learned."""
        ...


@dataclass(frozen=True)
class ForestPlan:
    """Rules by which a forest is grown.

    ``grow`` grows one tree by the rules: :func:`growing.grow`, or :func:`growing.grow_fern`.
    ``max_samples`` rows, or that fraction of all, are drawn for each tree, with replacement where
    ``bootstrap`` says so. ``concentration`` is how many rows the belief is worth from which leaves
    start, and ``sharpness`` the power to which predictions are raised; what is None is learned
    from the rows that trees have not seen.
    """

    n_trees: int
    rules: growing.GrowthRules
    bootstrap: bool = True
    max_samples: float | None = None
    concentration: float | None = None
    sharpness: float | None = None
    n_jobs: int | None = None
    grow: Callable[..., growing.GrownTree] = growing.grow

    @property
    def holds_out(self) -> bool:
        """Whether one tree sees every row, and others that do not have something to teach it."""
        is_learned = self.concentration is None or self.sharpness is None
        return self.n_trees == 1 and not self.bootstrap and is_learned

    def draw_rows(
        self, weights: Array, rng: np.random.Generator, groups: NDArray[np.int32] | None = None
    ) -> sampling.Bag:
        """The rows of one tree."""
        size = sampling.sample_size(weights, self.max_samples)
        if groups is None:
            return sampling.draw_rows(weights, size, rng, bootstrap=self.bootstrap)
        return sampling.draw_groups(weights, groups, size, rng, bootstrap=self.bootstrap)

    def grow_tree(
        self,
        family: Family,
        rows: Any,
        places: Places,
        target: NDArray[Any],
        counts: Array,
        kind: TargetKind[L, Any],
        rng: np.random.Generator,
    ) -> tuple[Trees, L]:
        """One tree of these places among the rows, and what its leaves know of them."""
        grown = self.grow(family, rows, places, target, counts, kind.criterion, self.rules, rng)
        return grown.tree, kind.leaves(grown.leaf, target, counts, grown.tree.n_leaves)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on a family of tests; subclasses know what their leaves say."""

    family: Family
    trees: Trees

    @functools.cached_property
    def router(self) -> routing.Router:
        """The way to the leaves."""
        return routing.Router(self.family, self.trees)

    def apply(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int32]:
        """The leaf of every row in every tree, (n, T), leaves being numbered through all trees."""
        leaves = np.empty((len(X), self.trees.n_trees), dtype=np.int32)

        def write(places: Places) -> None:
            leaves[places[0] : places[-1] + 1] = self.router.leaves(X, places).T

        map_blocks(write, len(X), self.router.rows_at_once, n_jobs)
        return leaves

    def check_consistency(self) -> None:
        """Raise ValueError unless rows can answer every test and come to a leaf of each tree."""
        validation.require(isinstance(self.family, Family), "the family of tests is not a Family.")
        validation.require(isinstance(self.trees, Trees), "the trees are not Trees.")
        if isinstance(self.family, validation.Checked):
            self.family.check_consistency()
        self.trees.check_consistency()
        self.family.check_tests(self.trees.tests)

    def __getstate__(self) -> dict[str, Any]:
        """Only what cannot be worked out again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class GrownTrees(NamedTuple, Generic[L]):
    """Trees, their leaves, and a bit for each tree and row: whether the tree has seen the row."""

    trees: Trees
    leaves: list[L]
    seen: NDArray[np.uint8]  # (T, ceil(N / 8))

    def join_leaves(self) -> L:
        """The leaves of all trees, numbered through."""
        return type(self.leaves[0]).join(self.leaves)


def grow_trees(
    family: Family,
    rows: Any,
    target: NDArray[Any],
    weights: Array,
    kind: TargetKind[L, Any],
    plan: ForestPlan,
    rng: np.random.Generator,
    *,
    groups: NDArray[np.int32] | None = None,
    positions: NDArray[np.int32] | None = None,
) -> GrownTrees[L]:
    """Grow all trees; tree t depends on the t-th child of ``rng`` alone.

    They grow by threads, or wherever joblib's backend takes them: rows are arguments of each task,
    so that a backend can send them there once.

    Parameters
    ----------
    family, rows
        Tests, and the rows that they were prepared for.
    target, weights : array (N, ...), array (N,)
        Targets that leaves predict, and weights of the rows.
    kind : Kind
        What makes a good split, and what leaves know.
    plan : ForestPlan
    rng : numpy.random.Generator
    groups : array (N,), optional
        Rows that a tree draws together, or not at all.
    positions : array (N,), optional
        Where among ``rows`` each row stands, when they are only those that some tree draws.
    """
    given = (family, rows, target, weights, groups, positions, kind, plan)
    tasks = (joblib.delayed(_grow_one_tree)(*given, child) for child in rng.spawn(plan.n_trees))
    working = joblib.Parallel(n_jobs=plan.n_jobs, prefer="threads", return_as="generator")(tasks)
    tracked = progress.track(
        working, total=plan.n_trees, description="Growing trees", unit="trees", size=lambda _: 1
    )
    trees, leaves, seen = zip(*tracked, strict=True)
    return GrownTrees(Trees.join(trees), list(leaves), np.stack(seen))


def _grow_one_tree(
    family: Family,
    rows: Any,
    target: NDArray[Any],
    weights: Array,
    groups: NDArray[np.int32] | None,
    positions: NDArray[np.int32] | None,
    kind: TargetKind[L, Any],
    plan: ForestPlan,
    rng: np.random.Generator,
) -> tuple[Trees, L, NDArray[np.uint8]]:
    """One tree, its leaves, and the rows that it has seen."""
    drawn, counts = plan.draw_rows(weights, rng, groups)
    places = drawn if positions is None else positions[drawn]
    tree, leaves = plan.grow_tree(family, rows, places, target[drawn], counts, kind, rng)
    seen = np.zeros(len(weights), dtype=np.bool_)
    seen[drawn] = True
    return tree, leaves, np.packbits(seen)


def map_blocks(
    function: Callable[[Places], R], n: int, rows_at_once: int, n_jobs: int | None
) -> list[R]:
    """The function of all places 0, ..., n - 1, a block at a time, several at once by threads."""
    if n <= min(rows_at_once, _FEW_ROWS):
        return [function(np.arange(n, dtype=np.int32))] if n else []
    jobs = min(_count_threads(n_jobs), joblib.cpu_count(), -(-n // _FEW_ROWS))
    n_blocks = jobs * -(-n // (rows_at_once * jobs))
    blocks = np.array_split(np.arange(n, dtype=np.int32), n_blocks)
    tasks = (joblib.delayed(function)(block) for block in blocks if len(block))
    return list(joblib.Parallel(n_jobs=jobs, require="sharedmem")(tasks))


def _count_threads(n_jobs: int | None) -> int:
    """Number of threads that are asked for."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be a whole number of threads, -1 for one a processor, or None."
        )
    return linalg.threads.count_threads(n_jobs)


PRECISIONS = np.array([0.25, 1.0])
"""Prior precisions of log concentration and log sharpness, whose prior means are zero."""

_STARTS = (0.1, 1.0, 10.0)  # of the concentration
_LEAST_GAIN = 1e-7  # nats a row
_NEARLY_ALL = 0.9  # of the rows, which then speak for all

Range: TypeAlias = tuple[float, float]


class Trend(NamedTuple):
    """A number that says how concentration or sharpness change with the number of trees."""

    expected: float
    ends: Range


def tune(
    loss: Callable[[Array], tuple[float, Array]],
    given: tuple[float | None, float | None],
    ranges: tuple[Range, Range],
    trends: Sequence[Trend] = (),
) -> Array:
    """Logs of concentration and sharpness, and the trends, of the least loss.

    Parameters
    ----------
    loss : callable
        Value and gradient at these.
    given, ranges : pair
        Concentration and sharpness where they are given, and between which ends they are sought
        where they are None.
    trends : sequence of Trend
    """
    bounds = [_log_bounds(*pair) for pair in zip(given, ranges, strict=True)]
    bounds += [trend.ends for trend in trends]
    low, high = np.transpose(bounds)
    expected = [trend.expected for trend in trends]
    starts = [np.clip([np.log(start), 0.0, *expected], low, high) for start in _STARTS]
    end = optimize.minimise_lbfgs(
        loss,
        min(starts, key=lambda x: loss(x)[0]),
        bounds=bounds,
        least_gain=_LEAST_GAIN,
        announce=False,
    )
    return end.x


def settle(
    given: tuple[float | None, float | None], left_out: NDArray[np.bool_], weights: Array
) -> tuple[float | None, float | None]:
    """Concentration and sharpness as given, one where rows cannot tell, None where they can.

    The sharpness says by how much the mean of all trees is too cautious, and so needs rows of
    every kind. Rows that are there often are left out seldom: where those left out weigh less than
    nine tenths of as many rows at random, it stays one.

    Parameters
    ----------
    given : pair
    left_out : array (r,)
        Rows that some tree has not seen.
    weights : array (r,)

    Examples
    --------
    >>> settle((None, None), np.array([True, False, True]), np.ones(3))
    (None, None)
    >>> settle((None, None), np.array([True, False, True]), np.array([1.0, 9.0, 1.0]))
    (None, 1.0)
    """
    s, beta = given
    if not left_out.any():
        return s or 1.0, beta or 1.0
    at_random = np.average(left_out[weights > 0.0])
    is_telling = np.average(left_out, weights=weights) >= _NEARLY_ALL * at_random
    return s, beta if is_telling else beta or 1.0


def _log_bounds(given: float | None, ends: Range) -> Range:
    """Logs of the ends between which a parameter is sought."""
    low, high = ends if given is None else (given, given)
    return float(np.log(low)), float(np.log(high))
