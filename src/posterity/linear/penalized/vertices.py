"""Weighted sums of |a_n.x - y_n|^p with p < 1: a search over the points where rows are met exactly.

Between its rows such a sum is concave, so every local minimum is a vertex: as many rows as there
are unknowns have residual zero. From a vertex, each of its rows in turn is let go and the whole
line that this frees is searched for a better one. What cannot be improved so is the local minimum
returned; several starts make it a good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.linear.penalized.problem import PenalizedPoint, PenalizedRows

_SMALL = 400  # rows up to which everything is searched; more are first searched in a sample
_VALUES = 200_000  # of powers at once
_DRAWS = 30
_KEPT = 4  # of the draws, searched further; more while a pass costs fewer powers than
_CHEAP = 10_000
_INDEPENDENT = 1e-8
_ROUNDING = 1e-14
_BETTER = 1e-12


@dataclass(frozen=True)
class LinePieces:
    """sum_n v_n |y_n - a_n.x|^powers_n. Penalties are rows too: they come last, with y = 0."""

    A: Array  # (N, k)
    y: Array  # (N,)
    v: Array  # (N,)
    powers: Array  # (N,)
    n_data: int  # rows that are not penalties

    def rounding_error(self, x: Array) -> Array:
        """Residuals up to this size are rounding: |r|^p makes much of them where p is small."""
        return _ROUNDING * (np.abs(self.y) + np.abs(self.A) @ np.abs(x))

    def objective(self, x: Array) -> float:
        distance = _distances(self.y - self.A @ x, self.rounding_error(x))
        return float(self.v @ distance**self.powers)

    def sample_rows(self, size: int, rng: np.random.Generator) -> LinePieces:
        """The same problem with fewer data rows, which count for all of them."""
        chosen = rng.choice(self.n_data, size, replace=False)
        rows = np.concatenate([chosen, np.arange(self.n_data, len(self.y))])
        v = self.v[rows]
        v[:size] *= self.n_data / size
        return LinePieces(self.A[rows], self.y[rows], v, self.powers[rows], size)

    @classmethod
    def from_rows(cls, rows: PenalizedRows) -> LinePieces:
        """The problem of the rows, with x = (w, b), or w without an offset."""
        N, M = rows.Z.shape
        penalised = np.flatnonzero(rows.penalty)
        A = np.zeros((N + penalised.size, M + rows.offset))
        A[:N, :M] = rows.Z
        A[:N, M:] = 1.0
        A[N + np.arange(penalised.size), penalised] = 1.0
        return cls(
            A=A,
            y=np.append(rows.y, np.zeros(penalised.size)),
            v=np.append(rows.v, rows.penalty[penalised]),
            powers=np.append(np.full(N, rows.p), np.full(penalised.size, rows.q)),
            n_data=N,
        )


@dataclass(frozen=True)
class Vertex:
    """A point found by exchanges, and how many passes over its rows that took."""

    x: Array  # (k,)
    objective: float
    n_iter: int
    converged: bool

    def to_point(self, rows: PenalizedRows) -> PenalizedPoint:
        """Weights and offset taken apart."""
        M = rows.Z.shape[1]
        b = float(self.x[M]) if rows.offset else 0.0
        return PenalizedPoint(self.x[:M], b, self.n_iter, self.converged)


def stack_unknowns(rows: PenalizedRows, point: PenalizedPoint) -> Array:
    """Weights and offset as one vector."""
    return np.append(point.w, [point.b] * rows.offset)


def search_vertices(
    problem: LinePieces, starts: Sequence[Array], *, max_iter: int, rng: np.random.Generator
) -> Vertex:
    """The best vertex reached from the starts and from random ones."""
    small = problem.sample_rows(_SMALL, rng) if problem.n_data > _SMALL else problem
    drawn = sorted({_draw_rows(small, rng) for _ in range(_DRAWS)})
    draws = [linalg.least_squares(small.A[[*n]], small.y[[*n]]).solution for n in drawn]
    kept = max(_KEPT, _CHEAP // (len(small.y) ** 2 * small.A.shape[1]))  # more where they are cheap
    tried = [*starts, *sorted(draws, key=small.objective)[:kept]]
    found = [exchange_rows(small, x, max_iter=max_iter) for x in tried]
    n_iter = sum(vertex.n_iter for vertex in found)
    if small is not problem:
        second = sorted([*starts, *(vertex.x for vertex in found)], key=problem.objective)[:2]
        found = [exchange_rows(problem, x, max_iter=max_iter) for x in second]
        n_iter += sum(vertex.n_iter for vertex in found)
    best = min(found, key=lambda vertex: vertex.objective)
    return Vertex(best.x, best.objective, n_iter, best.converged)


def exchange_rows(problem: LinePieces, start: Array, *, max_iter: int) -> Vertex:
    """Exchange rows of the vertex nearest to ``start`` while that lowers the objective."""
    basis = _select_nearest_rows(problem, start)
    x, D = _solve_rows(problem, basis)
    value = problem.objective(x)
    for n_iter in range(1, max_iter + 1):
        basis = _offer_rows(problem, basis, x, D)
        x_new, D = _solve_rows(problem, basis)
        value_new = problem.objective(x_new)
        if value_new >= value * (1.0 - _BETTER):
            return Vertex(x, value, n_iter, True)
        x, value = x_new, value_new
    return Vertex(x, value, max_iter, False)


def _solve_rows(problem: LinePieces, basis: list[int]) -> tuple[Array, Array]:
    """The point where the rows are met, and the direction that lets go of each, as columns."""
    right = np.column_stack([problem.y[basis], np.eye(len(basis))])
    solution = linalg.least_squares(problem.A[basis], right).solution
    penalties = [n for n in basis if n >= problem.n_data]
    solution[np.argmax(problem.A[penalties], axis=1), 0] = 0.0  # to the last bit
    return solution[:, 0], solution[:, 1:]


def _offer_rows(problem: LinePieces, basis: list[int], x: Array, D: Array) -> list[int]:
    """The basis after each of its rows was offered in exchange once."""
    rows, D_now, r = list(basis), D.copy(), problem.y - problem.A @ x
    rounding = problem.rounding_error(x)
    r[rows] = 0.0
    value = float(problem.v @ _distances(r, rounding) ** problem.powers)
    for i in range(len(rows)):
        d = D_now[:, i].copy()
        s = problem.A @ d
        s[rows] = 0.0
        s[rows[i]] = 1.0
        n, value_new = _find_best_on_line(problem, r, s, rounding)
        if value_new >= value * (1.0 - _BETTER):
            continue
        r -= (r[n] / s[n]) * s
        rows[i], value = n, value_new
        r[rows] = 0.0
        d /= s[n]
        D_now -= np.outer(d, problem.A[n] @ D_now)  # a pivot: row n takes the place of row i
        D_now[:, i] = d
    return rows


def _find_best_on_line(
    problem: LinePieces, r: Array, s: Array, rounding: Array
) -> tuple[int, float]:
    """Return the row, of those met somewhere on r - t s, where the objective is least."""
    candidates = np.flatnonzero(np.abs(s) > _INDEPENDENT * np.max(np.abs(s)))
    width = max(_VALUES // len(r), 16)
    t = r[candidates] / s[candidates]
    if candidates.size > width:
        near = np.argpartition(np.abs(t), width)[:width]
        candidates, t = candidates[near], t[near]
    distances = _distances(r[:, None] - s[:, None] * t, rounding[:, None])
    values = problem.v @ distances ** problem.powers[:, None]
    best = int(np.argmin(values))
    return int(candidates[best]), float(values[best])


def _distances(r: Array, rounding: Array) -> Array:
    """|r|, and zero where it is only rounding."""
    size = np.abs(r)
    return np.where(size > rounding, size, 0.0)


def _select_nearest_rows(problem: LinePieces, x: Array) -> list[int]:
    """Linearly independent rows, as many as there are, those of small residual first."""
    distance = _distances(problem.y - problem.A @ x, problem.rounding_error(x))
    order = np.argsort(distance, kind="stable")  # rows that are met stay in their order
    left = problem.A[order]
    size = np.linalg.norm(left, axis=1)
    chosen: list[int] = []
    for _ in range(problem.A.shape[1]):
        norms = np.linalg.norm(left, axis=1)
        independent = norms > _INDEPENDENT * size
        if not independent.any():
            break
        first = int(np.argmax(independent))
        unit = left[first] / norms[first]
        left = left - np.outer(left @ unit, unit)
        chosen.append(int(order[first]))
    return chosen


def _draw_rows(problem: LinePieces, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw as many rows as there are unknowns, in order, so that equal draws are equal."""
    size = min(problem.n_data, problem.A.shape[1])
    return tuple(sorted(rng.choice(problem.n_data, size, replace=False).tolist()))
