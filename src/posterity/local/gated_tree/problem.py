"""The log posterior of a tree of gates and experts, or of a part of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from posterity import likelihoods
from posterity.arrays import Array
from posterity.inference import rows as equal_rows
from posterity.local.gated_tree.soft import SoftTree

_GATE_START = 2.0  # size of the gates' slopes at random: they part the rows, but not sharply
_EVEN_ODDS_VARIANCE = 4.0  # what one row leaves of the logit of one half


@dataclass(frozen=True)
class GatedTreeProblem:
    """Minus the log posterior of a tree, up to a constant, and its gradient.

    All weights are independent normals: about zero, of variance ``prior_variance``, but for the
    last column, the offsets. Those of the root's experts lie about the value that fits all rows
    best, all others about zero; each has one row's worth of information.

    The tree may be a branch of a larger one, the rest of which is held: its answers then count by
    ``reach``, the trust in its root, and are added to ``base``.
    """

    Z: Array  # (N, M)
    y: Array  # (N,)
    counts: Array  # (N,)
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    center: SoftTree
    variance: SoftTree
    base: Array  # (L, N)
    reach: Array  # (N,)

    @classmethod
    def from_rows(
        cls,
        Z: Array,
        y: Array,
        counts: Array,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        depth: int,
        prior_variance: float,
    ) -> GatedTreeProblem:
        """The problem of a whole tree."""
        value, one_row = likelihood.fit_constant(y, counts)
        K, M, L = 2**depth - 1, Z.shape[1], np.size(value)
        E = max(2 * K, 1)
        center = SoftTree(np.zeros((K, M)), np.zeros((E, L, M)))
        variance = SoftTree(np.full((K, M), prior_variance), np.full((E, L, M), prior_variance))
        center.experts[:2, :, -1] = value
        variance.gates[:, -1], variance.experts[:, :, -1] = _EVEN_ODDS_VARIANCE, one_row
        base, reach = np.zeros((L, len(Z))), np.ones(len(Z))
        return cls(Z, y, counts, likelihood, center, variance, base, reach)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value and its gradient."""
        tree = self.center.with_weights(x)
        value, slope = self.penalty(x), (x - self.center.flat) / self.variance.flat
        for rows in tree.iterate_blocks(len(self.y)):
            log_p, rise = self._value_of_rows(tree, rows)
            value, slope = value - log_p, slope - rise
        return value, slope

    def penalty(self, x: Array) -> float:
        """Minus the log prior, up to a constant."""
        return 0.5 * float(np.sum((x - self.center.flat) ** 2 / self.variance.flat))

    def log_posterior(self, value: float) -> float:
        """The log posterior, up to the log evidence, from the value that is minimised."""
        return -value - 0.5 * float(np.sum(np.log(2.0 * np.pi * self.variance.flat)))

    def log_prob(self, a: Array) -> Array:
        """log p(y | a) of each row, for latent values (N, L)."""
        return self.likelihood.log_prob(self.y, self.likelihood.shape_latents(a))

    def draw_start(self, rng: np.random.Generator) -> Array:
        """Draw a start: gates that split the rows in random directions, and equal experts.

        The rows that gates give them tell experts apart from the first step on. No class has
        numbers of its own at random, so that names of classes do not matter; nor do the places of
        columns, which are given theirs in an order of their own.
        """
        D = max(self.Z.shape[1] - 1, 1)
        gates = rng.standard_normal(self.center.gates.shape) * (_GATE_START / np.sqrt(D))
        gates = gates[:, np.argsort(equal_rows.sort_columns(self.Z, self.y))]
        return SoftTree(self.center.gates + gates, self.center.experts).flat

    def branch_objective(self, tree: SoftTree, k: int) -> GatedTreeProblem:
        """The gate of node k and the experts below it, all else held, and nothing below those."""
        pair = tree.experts_below(k)
        others = tree.with_branch(k, tree.gates[k], np.zeros_like(tree.experts[pair]))
        return replace(
            self,
            center=SoftTree(self.center.gates[[k]], self.center.experts[pair]),
            variance=SoftTree(self.variance.gates[[k]], self.variance.experts[pair]),
            base=others.latents(self.Z).T,
            reach=tree.node_probabilities(self.Z)[k],
        )

    def leaf_objective(self, tree: SoftTree, j: int, rows: NDArray[np.intp]) -> GatedTreeProblem:
        """The last expert on the way to leaf j, for rows that go nowhere else, all else held."""
        node = len(tree.gates) + j
        e = slice(node - tree.first, node - tree.first + 1)
        none, Z = tree.gates[:0], self.Z[rows]
        return replace(
            self,
            Z=Z,
            y=self.y[rows],
            counts=self.counts[rows],
            center=SoftTree(none, self.center.experts[e]),
            variance=SoftTree(none, self.variance.experts[e]),
            base=(tree.sum_to_nodes()[node] - tree.experts[e][0]) @ Z.T,
            reach=np.ones(len(Z)),
        )

    def _value_of_rows(self, tree: SoftTree, rows: slice) -> tuple[float, Array]:
        """The log likelihood of some rows, and its gradient."""
        Z = self.Z[rows]
        T, F = tree.node_probabilities(Z), tree.expert_latents(Z)
        T *= self.reach[rows]
        trust, (E, L, n) = T[tree.first :], F.shape
        log_p, D = self._value_and_slope(
            rows, self.base[:, rows] + np.einsum("en,eln->ln", trust, F)
        )
        c = trust * np.einsum("ln,eln->en", D, F)  # what each expert adds, in nats
        np.multiply(trust[:, None, :], D, out=F)
        of_gates, of_experts = _slope_of_gates(tree, Z, c), F.reshape(E * L, n) @ Z
        return log_p, np.concatenate([of_gates.ravel(), of_experts.ravel()])

    def _value_and_slope(self, rows: slice, A: Array) -> tuple[float, Array]:
        """The log likelihood of some rows, and its gradient in their latent values, (L, n)."""
        a, counts = self.likelihood.shape_latents(A.T), self.counts[rows]
        log_p, d1 = self.likelihood.value_and_slope(self.y[rows], a)
        return float(counts @ log_p), d1.T.reshape(A.shape) * counts


def _slope_of_gates(tree: SoftTree, Z: Array, c: Array) -> Array:
    """The gradient (K, M) of the log likelihood, from what each expert (E, n) adds to it."""
    K = len(tree.gates)
    subtree = np.zeros((2 * K + 1, len(Z)))
    subtree[tree.first :] = c
    for node in range(2 * K, 0, -1):
        subtree[(node - 1) // 2] += subtree[node]
    g = expit(tree.steepness * (tree.gates @ Z.T))
    return tree.steepness * ((subtree[2::2] - g * (subtree[1::2] + subtree[2::2])) @ Z)
