"""A tree of soft gates whose branches add up to the latent value of a classifier.  [P9 9.56]

Each inner node has a gate, the sigmoid of a linear function, which says how far its right branch
is trusted, and its left branch by the rest. Each branch has a linear function, an expert, which
counts by the product of the gates on its way. A tree without gates has one expert, and is logistic
regression; with one gate it is branching logistic regression.  [P9 9.54]

Branches above the leaves have experts of their own, as in the text, though the leaves alone could
say as much: the gates of a node sum to one, so that an expert could be handed down to both
branches below it. Training branch by branch needs it, since a branch is fitted before those below.
The prior settles how much is said where: at a mode an inner expert is the sum of the two below it,
each counted from its prior mean, so that what two branches agree upon is said once, above them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from posterity import validation
from posterity.arrays import Array

_AT_A_TIME = 2**17  # answers of experts: larger arrays take longer to come by than to fill


@dataclass(frozen=True)
class SoftTree:
    """Weights of a complete binary tree on a design of M columns, the last of which is constant.

    Nodes are numbered from the root down, each level from left to right: those below node k are
    2k + 1 and 2k + 2. The branch that leads to a node has an expert; the root has one only where
    it is the whole tree.
    """

    gates: Array  # (K, M), of the inner nodes
    experts: Array  # (E, L, M), of L latent values each
    steepness: float = 1.0  # of the gates, times their weights

    def check_consistency(self) -> None:
        """Raise ValueError unless the tree is complete, and every branch has its expert."""
        validation.require_array(self.gates, "gates", np.float64, (None, None))
        K, M = self.gates.shape
        validation.require(K & (K + 1) == 0, f"{K} gates do not make a complete tree.")
        E = 2 * K + 1 - self.first
        validation.require_array(self.experts, "experts", np.float64, (E, None, M))
        validation.require_positive(self.steepness, "steepness")

    @property
    def depth(self) -> int:
        """Gates on the way to a leaf."""
        return len(self.gates).bit_length()

    @property
    def first(self) -> int:
        """The node that the first expert belongs to."""
        return min(len(self.gates), 1)

    @property
    def flat(self) -> Array:
        """All weights in one array."""
        return np.concatenate([self.gates.ravel(), self.experts.ravel()])

    def with_weights(self, x: Array) -> SoftTree:
        """The same shapes, filled from one array."""
        gates, experts = np.split(x, [self.gates.size])
        return replace(
            self,
            gates=gates.reshape(self.gates.shape),
            experts=experts.reshape(self.experts.shape),
        )

    def experts_below(self, k: int) -> slice:
        """The two experts below node k."""
        left = 2 * k + 1 - self.first
        return slice(left, left + 2)

    def with_branch(self, k: int, gate: Array, pair: Array) -> SoftTree:
        """The same tree with another gate at node k, and other experts (2, L, M) below it."""
        gates, experts = self.gates.copy(), self.experts.copy()
        gates[k], experts[self.experts_below(k)] = gate, pair
        return replace(self, gates=gates, experts=experts)

    def sum_to_leaves(self) -> Array:
        """The sum of the experts on the way to each leaf, (K + 1, L, M)."""
        return self.sum_to_nodes()[len(self.gates) :]

    def sum_to_nodes(self) -> Array:
        """The sum of the experts on the way to each node, (2K + 1, L, M)."""
        total = np.zeros((2 * len(self.gates) + 1, *self.experts.shape[1:]))
        total[self.first :] = self.experts
        for node in range(1, len(total)):
            total[node] += total[(node - 1) // 2]
        return total

    def node_probabilities(self, Z: Array) -> Array:
        """The product of the gates on the way to each node, (2K + 1, N)."""
        s = self.steepness * (self.gates @ Z.T)
        T = np.ones((2 * len(s) + 1, len(Z)))
        for k in range(len(s)):
            np.multiply(T[k], expit(-s[k]), out=T[2 * k + 1])
            np.multiply(T[k], expit(s[k]), out=T[2 * k + 2])  # [P9 9.55]
        return T

    def expert_latents(self, Z: Array) -> Array:
        """Latent values of each row by each expert, (E, L, N)."""
        E, L, M = self.experts.shape
        return (self.experts.reshape(E * L, M) @ Z.T).reshape(E, L, len(Z))

    def latents(self, Z: Array) -> Array:
        """The latent values of each row, (N, L)."""
        A = np.empty((self.experts.shape[1], len(Z)))
        for rows in self.iterate_blocks(len(Z)):
            T, F = self.node_probabilities(Z[rows])[self.first :], self.expert_latents(Z[rows])
            np.einsum("en,eln->ln", T, F, out=A[:, rows])  # [P9 9.56]
        return A.T

    def iterate_blocks(self, n_rows: int) -> Iterator[slice]:
        """Slices of all rows, a bounded number at a time."""
        E, L, _ = self.experts.shape
        size = max(_AT_A_TIME // (E * L), 1)
        return (slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size))

    def leaf_probabilities(self, Z: Array) -> Array:
        """The probability of each leaf for each row, (N, K + 1)."""
        return self.node_probabilities(Z)[len(self.gates) :].T

    def apply(self, Z: Array) -> NDArray[np.intp]:
        """The most probable leaf of each row, (N,)."""
        return np.argmax(self.leaf_probabilities(Z), axis=1)
