"""One boosted sum while it is trained, and how this is done.

Histograms of all outputs cost as many additions as there are outputs. The tests of a tree are as
good when they are chosen by what one Newton step along a few random directions in the space of
outputs gains; the values of its leaves are then found for all outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees, Round
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.objectives import Objective
from posterity.trees.boosting.screens import Codes
from posterity.trees.boosting.tree_records import TreeRules

_IRRATIONAL = 0.6180339887498949


def sketch_outputs(
    slopes: Array,
    curvatures: Array,
    weights: Array,
    order: NDArray[np.intp],
    n_directions: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Slopes and curvatures (N, n_directions) along random directions of L outputs.

    A direction r has normal entries, larger for outputs of little curvature, and unit length. Its
    slope is r g, its curvature the sum of r^2 h. Slopes are scaled by the root of L over the number
    of directions: the sum of G^2 / H over directions then estimates that over outputs, without bias
    where curvatures of outputs are proportional from leaf to leaf.

    Parameters
    ----------
    slopes, curvatures : array (N, L)
        Of each row's log-probability.
    weights : array (N,)
        How often rows count.
    order : array (L,)
        In which outputs draw, see :func:`order_outputs`.
    n_directions : int
        How many directions to draw.
    rng : Generator
        Draws them.

    Examples
    --------
    >>> import numpy as np
    >>> g, h = np.array([[1.0, -1.0, 0.0, 0.0]]), np.full((1, 4), 0.25)
    >>> G, H = sketch_outputs(g, h, np.ones(1), np.arange(4), 2, np.random.default_rng(0))
    >>> G.shape, H.round(6).tolist()
    ((1, 2), [[0.25, 0.25]])
    """
    L = slopes.shape[1]
    means = np.maximum(weights @ curvatures, np.finfo(float).tiny)
    directions = np.empty((L, n_directions))
    directions[order] = rng.standard_normal((L, n_directions))
    directions /= np.sqrt(means)[:, None]
    directions /= np.sqrt(np.sum(directions**2, axis=0))
    return slopes @ directions * np.sqrt(L / n_directions), curvatures @ directions**2


def order_outputs(codes: NDArray[np.uint8], slopes: Array, weights: Array) -> NDArray[np.intp]:
    """An order (L,) of outputs that neither other names of classes nor repeated rows change.

    Slopes at rows distinguish outputs. Each row has a number that depends on its codes alone,
    neither on its place nor on how often it stands there.

    Parameters
    ----------
    codes : array (J, N)
        What the rows answer.
    slopes : array (N, L)
        Of each row's log-probability.
    weights : array (N,)
        How often rows count.

    Examples
    --------
    >>> import numpy as np
    >>> codes, slopes = np.array([[0, 3, 1]], dtype=np.uint8), np.diag([1.0, 1.0, 1.0])
    >>> order_outputs(codes, slopes, np.ones(3)), order_outputs(codes, slopes[:, ::-1], np.ones(3))
    (array([1, 2, 0]), array([1, 0, 2]))
    """
    numbers = np.zeros(codes.shape[1])
    for j, code in enumerate(codes):
        numbers += np.sqrt(j + _IRRATIONAL) * code
    return np.argsort((weights * np.cos(numbers)) @ slopes)


@dataclass(frozen=True)
class BoostingPlan:
    """Rules by which members are trained.

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

    def add_tests(self, n_tests: int) -> BoostingPlan:
        """The same with further tests, in which no output need rise or fall."""
        given = self.tree.monotonic
        if given is None:
            return self
        signs = np.append(given, np.zeros(n_tests, dtype=np.int8))
        return replace(self, tree=replace(self.tree, monotonic=signs))


@dataclass(eq=False)
class Member:
    """One boosted sum while it is trained: the latents of all rows, and the trees so far."""

    weights: Array  # (N,), zero for rows that it leaves out
    latents: Array  # (N, L), of training rows without their own targets where the plan says so
    variances: Array  # (N, L), inverse precisions of leaf values, summed over trees
    offset: Array  # (L,)
    rounds: list[Round]
    rng: np.random.Generator
    has_grown: bool = True
    tests: NDArray[np.int64] | None = None  # that it may use; None: all
    order: NDArray[np.intp] | None = None  # of outputs

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
        return cls(weights, latents, variances, offset, [], rng)

    def boost(self, grower: Grower, objective: Objective, plan: BoostingPlan) -> None:
        """Add a tree."""
        slopes, curvatures = objective.derivatives(self.latents)
        rules = _cool_rules(plan, len(self.rounds), float(np.sum(self.weights)))
        prior = plan.tree.prior_precision * objective.measure_row(curvatures, self.weights)
        tree = grower.grow(
            *self._sketch_outputs(slopes, curvatures, grower.coded.codes, plan),
            _draw_weights(self.weights, plan, self.rng),
            replace(rules, prior_precision=prior),
            self.rng,
            _draw_tests(self.tests, len(grower.coded.codes), plan.n_tests, self.rng),
        )
        self.has_grown = len(tree.tests) > 0
        newton, precisions = tree.solve_leaves(
            tree.leaves, slopes, curvatures, self.weights, prior, plan.learning_rate
        )
        values = tree.bound_values(newton)
        self.rounds.append((replace(tree, leaves=_NO_LEAVES), values, precisions))
        _move_rows(
            tree.leaves,
            slopes,
            curvatures,
            self.weights * plan.leaves_own_target_out,
            plan.learning_rate,
            values,
            precisions,
            self.latents,
            self.variances,
        )

    def _sketch_outputs(
        self, slopes: Array, curvatures: Array, codes: Codes, plan: BoostingPlan
    ) -> tuple[Array, Array]:
        """Slopes and curvatures by which tests are chosen."""
        n_directions, weights = plan.n_directions, self.weights
        if n_directions is None or n_directions >= slopes.shape[1]:
            return slopes, curvatures
        if self.order is None:
            self.order = order_outputs(codes, slopes, weights)
        return sketch_outputs(slopes, curvatures, weights, self.order, n_directions, self.rng)

    def differentiate(self, objective: Objective, at_latents: bool) -> tuple[Array, Array]:
        """Slopes and curvatures (N, L), at the latents or at the best constant."""
        latents = self.latents
        if not at_latents:
            latents = np.tile(objective.fit_offset(self.weights), (len(latents), 1))
        return objective.derivatives(latents)

    def collect_trees(self, catalogue: Catalogue, n_rounds: int) -> BoostedTrees:
        """The first trees."""
        return BoostedTrees.from_rounds(catalogue, self.offset, self.rounds[:n_rounds])


_NO_LEAVES = np.empty(0, dtype=np.int32)  # rows need not be held once they have moved


def _draw_weights(weights: Array, plan: BoostingPlan, rng: np.random.Generator) -> Array:
    """Weights of rows in the choice of tests, in one round."""
    drawn = weights
    if plan.bootstrap == 1.0 and np.any(weights > 1.0):
        drawn = rng.standard_gamma(weights)  # a row of weight w is w rows, with a draw for each
    elif plan.bootstrap > 0.0:
        drawn = drawn * rng.standard_exponential(len(weights)) ** plan.bootstrap
    if plan.subsample < 1.0:
        times = np.maximum(np.floor(weights), 1.0).astype(np.int64)
        drawn = drawn * rng.binomial(times, plan.subsample) / times
    return drawn


def _draw_tests(
    own: NDArray[np.int64] | None, n_tests: int, n_drawn: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    if n_drawn is None or n_drawn >= (n_tests if own is None else len(own)):
        return own
    return np.sort(rng.choice(n_tests if own is None else own, n_drawn, replace=False))


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
