"""Trees of gates and experts, trained together or branch by branch.

The problem has many valleys: several searches are made, and the deepest is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from posterity import likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.inference import minima
from posterity.local.gated_tree.hard import HardTree, harden_tree
from posterity.local.gated_tree.problem import GatedTreeProblem
from posterity.local.gated_tree.soft import SoftTree


@dataclass(frozen=True)
class TreeFit:
    """The most probable tree that was found."""

    tree: SoftTree  # the weights, whichever way its gates are read
    model: SoftTree | HardTree  # the same weights, as rows meet them
    log_posterior: float  # of the weights, up to the log evidence of the data
    n_iter: int  # of all searches that this tree came from
    stop_reason: str


@dataclass(frozen=True)
class TreeTrainer:
    """The fitting of trees, with all its settings."""

    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    prior_variance: float = 10.0
    jointly: bool = True  # all weights at once, rather than branch by branch
    hard: bool = False  # gates are steps
    n_restarts: int = 4
    max_iter: int = 1000
    n_jobs: int | None = None

    def fit(
        self, Z: Array, y: Array, counts: Array, *, depth: int, rng: np.random.Generator
    ) -> TreeFit:
        """The most probable tree of this depth on standardised columns and a one.

        Warns
        -----
        ConvergenceWarning
            When a search that it comes from did not end by itself.
        """
        problem = GatedTreeProblem.from_rows(
            Z, y, counts, self.likelihood, depth=depth, prior_variance=self.prior_variance
        )
        with linalg.threads.limit_threads(len(y)):
            tree, ends = self._fit_jointly(problem, rng)
            if not self.hard:
                return _summarize_searches(problem, tree, tree, problem(tree.flat)[0], ends)
            model, more = harden_tree(problem, tree, max_iter=self.max_iter)
        loss = -float(counts @ problem.log_prob(model.latents(Z)))
        value = loss + problem.penalty(model.tree.flat)
        return _summarize_searches(problem, model.tree, model, value, [*ends, *more])

    def _fit_jointly(
        self, problem: GatedTreeProblem, rng: np.random.Generator
    ) -> tuple[SoftTree, Sequence[optimize.Optimum]]:
        if not len(problem.center.gates):
            best = self._search_best(problem, [problem.center.flat])
            return problem.center.with_weights(best.x), [best]
        if not self.jointly:
            return self._fit_by_growth(problem, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optimize.ConvergenceWarning)  # it is a start only
            grown, _ = self._fit_by_growth(problem, rng)
        starts = [grown.flat, *(problem.draw_start(rng) for _ in range(self.n_restarts))]
        best = self._search_best(problem, starts)
        return problem.center.with_weights(best.x), [best]

    def _fit_by_growth(
        self, problem: GatedTreeProblem, rng: np.random.Generator
    ) -> tuple[SoftTree, list[optimize.Optimum]]:
        tree, ends = problem.center, []
        for tree, best in self.grow_branches(problem, rng):
            ends.append(best)
        return tree, ends

    def grow_branches(
        self, problem: GatedTreeProblem, rng: np.random.Generator
    ) -> Iterator[tuple[SoftTree, optimize.Optimum]]:
        """The tree after each branch, from the top and the left; it never gets worse."""
        tree = problem.center
        for k in range(len(tree.gates)):
            branch = problem.branch_objective(tree, k)
            # The first start adds nothing yet, and no search ends above its start.
            starts = [
                branch.center.flat,
                *(branch.draw_start(rng) for _ in range(1 + self.n_restarts)),
            ]
            best = self._search_best(branch, starts)
            pair = branch.center.with_weights(best.x)
            tree = tree.with_branch(k, pair.gates[0], pair.experts)
            yield tree, best

    def _search_best(self, problem: GatedTreeProblem, starts: Sequence[Array]) -> optimize.Optimum:
        best, _ = minima.minimise_with_restarts(
            problem, starts, max_iter=self.max_iter, n_jobs=self.n_jobs
        )
        return best


def _summarize_searches(
    problem: GatedTreeProblem,
    tree: SoftTree,
    model: SoftTree | HardTree,
    value: float,
    ends: Sequence[optimize.Optimum],
) -> TreeFit:
    """The fit, with the record of the first search that did not converge, or else of the last."""
    told = next((end for end in ends if not end.converged), ends[-1])
    n_iter = sum(end.n_iter for end in ends)
    return TreeFit(tree, model, problem.log_posterior(value), n_iter, told.stop_reason)


def score_depths(
    trainer: TreeTrainer,
    Z: Array,
    y: Array,
    counts: Array,
    held: Array,
    *,
    max_depth: int,
    rng: np.random.Generator,
) -> Array:
    """Mean log score of each depth from 0 to the largest, on what is held out of the counts."""
    rest = counts - held
    kept, new = np.flatnonzero(rest), np.flatnonzero(held)
    means = np.empty(max_depth + 1)
    for depth in range(max_depth + 1):
        found = trainer.fit(Z[kept], y[kept], rest[kept], depth=depth, rng=rng)
        a = trainer.likelihood.shape_latents(found.model.latents(Z[new]))
        log_p = trainer.likelihood.log_prob(y[new], a)
        means[depth] = np.average(log_p, weights=held[new])
    return means
