"""Inverse Hessians of many functions, learned from steps: in full, or as the last few steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array


class InverseHessians(Protocol):
    """Approximate inverse Hessians of n functions, each updated on its own."""

    learned: NDArray[np.bool_]  # (n,), of which functions anything is known

    def update(self, which: NDArray[np.intp], s: Array, y: Array) -> None:
        """Learn from steps s that changed gradients by y, of functions with s . y > 0."""

    def multiply(self, which: NDArray[np.intp], g: Array) -> Array:
        """The inverse Hessian of each function times its row of g."""

    def forget(self, which: NDArray[np.intp]) -> None:
        """Begin again, from the identity."""


class FullInverses:
    """The matrices themselves (BFGS).  [NW 6.1]"""

    def __init__(self, n: int, n_variables: int) -> None:
        self.learned = np.zeros(n, dtype=bool)
        self.H = np.tile(np.eye(n_variables), (n, 1, 1))

    def update(self, which: NDArray[np.intp], s: Array, y: Array) -> None:
        sy = dot_rows(s, y)
        scaled = (sy / dot_rows(y, y))[:, None, None] * np.eye(s.shape[1])  # [NW 6.20]
        before = np.where(self.learned[which, None, None], self.H[which], scaled)
        Hy = np.einsum("nij,nj->ni", before, y)
        across = np.einsum("ni,nj->nij", s / sy[:, None], Hy)
        along = ((1.0 + dot_rows(y, Hy) / sy) / sy)[:, None, None] * np.einsum("ni,nj->nij", s, s)
        self.H[which] = before - across - np.swapaxes(across, 1, 2) + along  # [NW 6.17]
        self.learned[which] = True

    def multiply(self, which: NDArray[np.intp], g: Array) -> Array:
        return np.einsum("nij,nj->ni", self.H[which], g)

    def forget(self, which: NDArray[np.intp]) -> None:
        self.H[which], self.learned[which] = np.eye(self.H.shape[1]), False


class LastSteps:
    """The last steps and changes of the gradient, oldest overwritten first (L-BFGS).  [NW 7.2]

    S and Y (n, m, Q) are the last m of them, r (n, m) one over their inner products, zero
    before the first steps.
    """

    def __init__(self, n: int, n_variables: int, memory: int) -> None:
        self.learned = np.zeros(n, dtype=bool)
        self.S, self.Y = np.zeros((2, n, memory, n_variables))
        self.r, self.scale = np.zeros((n, memory)), np.ones(n)
        self.next = np.zeros(n, dtype=np.intp)  # place of the next step: the oldest is there

    def update(self, which: NDArray[np.intp], s: Array, y: Array) -> None:
        sy, place = dot_rows(s, y), self.next[which]
        self.S[which, place], self.Y[which, place], self.r[which, place] = s, y, 1.0 / sy
        self.scale[which] = sy / dot_rows(y, y)  # [NW 7.20]
        self.next[which] = (place + 1) % self.r.shape[1]
        self.learned[which] = True

    def multiply(self, which: NDArray[np.intp], g: Array) -> Array:
        """Multiply by two loops over the steps.  [NW Alg 7.4]"""
        memory, last = self.r.shape[1], self.next[which] - 1
        q, a = g.copy(), np.zeros((memory, len(g)))
        for age in range(memory):
            place = (last - age) % memory
            a[age] = self.r[which, place] * dot_rows(self.S[which, place], q)
            q -= a[age][:, None] * self.Y[which, place]
        q *= self.scale[which][:, None]
        for age in reversed(range(memory)):
            place = (last - age) % memory
            b = self.r[which, place] * dot_rows(self.Y[which, place], q)
            q += (a[age] - b)[:, None] * self.S[which, place]
        return q

    def forget(self, which: NDArray[np.intp]) -> None:
        self.r[which], self.scale[which], self.learned[which] = 0.0, 1.0, False


def dot_rows(a: Array, b: Array) -> Array:
    """The inner product of each row of a with the same row of b.

    Examples
    --------
    >>> dot_rows(np.eye(2), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([3., 6.])
    """
    return np.einsum("ni,ni->n", a, b)
