"""Trees whose gates are steps: each row goes to one leaf, and meets one linear function there.

A step has no slope to learn from: the gates are those of a tree with soft gates, which are made
steeper, all weights moving along, before they are cut at one half. What leads to a leaf adds up to
one linear function, whose last term is then fitted again to the rows that come to it. Its prior
stays what it was, so that a leaf of few rows says what the branch above it says, one whose gates
were sharp says what it said, and each leaf has one maximum.  [P9 Sec 9.8]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, optimize, validation
from posterity.arrays import Array
from posterity.inference import minima
from posterity.local.gated_tree.problem import GatedTreeProblem
from posterity.local.gated_tree.soft import SoftTree

_STEEPNESSES = (4.0, 16.0)  # steeper still changes little, and is hard to search


@dataclass(frozen=True)
class HardTree:
    """A tree whose rows go right wherever the gate is above one half."""

    tree: SoftTree

    def check_consistency(self) -> None:
        """Raise ValueError unless the tree is one."""
        validation.require(isinstance(self.tree, SoftTree), "the tree is not a SoftTree.")
        self.tree.check_consistency()

    @cached_property
    def _leaves(self) -> Array:
        return self.tree.sum_to_leaves()

    def apply(self, Z: Array) -> NDArray[np.intp]:
        """The leaf of each row, (N,)."""
        return _find_leaves(
            self._check_design(Z), _copy_for_compiled(self.tree.gates), self.tree.depth
        )

    def leaf_probabilities(self, Z: Array) -> Array:
        """One at the leaf of each row, zero elsewhere, (N, K + 1)."""
        trust = np.zeros((len(Z), len(self._leaves)))
        trust[np.arange(len(Z)), self.apply(Z)] = 1.0
        return trust

    def latents(self, Z: Array) -> Array:
        """The latent values of each row, (N, L)."""
        gates, leaves = _copy_for_compiled(self.tree.gates), _copy_for_compiled(self._leaves)
        return _compute_latents(self._check_design(Z), gates, leaves, self.tree.depth).T

    def _check_design(self, Z: Array) -> Array:
        """The design, if it is as wide as the tree: compiled loops run along it unasked."""
        M = self.tree.gates.shape[1]
        validation.require(Z.shape[1] == M, f"the design has {Z.shape[1]} columns, not {M}.")
        return _copy_for_compiled(Z)


def harden_tree(
    problem: GatedTreeProblem, tree: SoftTree, *, max_iter: int
) -> tuple[HardTree, list[optimize.Optimum]]:
    """The hard tree that a soft one leads to, and the searches on the way."""
    gated, ends = _steepen_gates(problem, tree, max_iter) if len(tree.gates) else (tree, [])
    fitted, more = refit_leaves(problem, gated, max_iter=max_iter)
    return HardTree(fitted), [*ends, *more]


def refit_leaves(
    problem: GatedTreeProblem, tree: SoftTree, *, max_iter: int
) -> tuple[SoftTree, list[optimize.Optimum]]:
    """The tree whose last experts are the most probable ones where gates are steps."""
    home, refitted, ends = HardTree(tree).apply(problem.Z), tree.experts.copy(), []
    for j in range(len(tree.gates) + 1):
        e = len(tree.gates) + j - tree.first
        leaf = problem.leaf_objective(tree, j, np.flatnonzero(home == j))
        best, _ = minima.minimise_with_restarts(leaf, [tree.experts[e].ravel()], max_iter=max_iter)
        refitted[e] = best.x.reshape(refitted[e].shape)
        ends.append(best)
    return replace(tree, experts=refitted), ends


def _steepen_gates(
    problem: GatedTreeProblem, tree: SoftTree, max_iter: int
) -> tuple[SoftTree, list[optimize.Optimum]]:
    """The best tree near this one when gates are ever steeper."""
    x, ends = tree.flat, []
    for steepness in _STEEPNESSES:
        steep = replace(problem, center=replace(problem.center, steepness=steepness))
        best, _ = minima.minimise_with_restarts(steep, [x], max_iter=max_iter)
        x = best.x
        ends.append(best)
    return tree.with_weights(x), ends


def _copy_for_compiled(x: Array) -> Array:
    """An array of the one kind that functions are compiled for: in rows, and writable."""
    return np.require(x, requirements=["C", "W", "E"])


# Sums may be taken in any order, so that several terms are added at a time.
_compiled = compilation.compile_at_first_call(fastmath={"reassoc"})


@_compiled
def _dot(w: Array, z: Array) -> float:
    total = 0.0
    for m in range(len(z)):
        total += w[m] * z[m]
    return total


@_compiled
def _find_leaf(z: Array, gates: Array, depth: int) -> int:
    """The leaf of one row."""
    node = 0
    for _ in range(depth):
        node = 2 * node + (2 if _dot(gates[node], z) > 0.0 else 1)
    return node - len(gates)


@_compiled
def _find_leaves(Z: Array, gates: Array, depth: int) -> NDArray[np.intp]:
    """The leaf of each row."""
    home = np.empty(len(Z), dtype=np.intp)
    for n in range(len(Z)):
        home[n] = _find_leaf(Z[n], gates, depth)
    return home


@_compiled
def _compute_latents(Z: Array, gates: Array, leaves: Array, depth: int) -> Array:
    """The latent values (L, N): as many products as a row has gates on its way, and L more."""
    A = np.empty((leaves.shape[1], len(Z)))
    for n in range(len(Z)):
        W = leaves[_find_leaf(Z[n], gates, depth)]
        for c in range(len(W)):
            A[c, n] = _dot(W[c], Z[n])
    return A
