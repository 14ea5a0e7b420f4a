"""LogitBoost on windows: steps on Haar features that are drawn afresh in each round.  [P9 9.7.1]

Integral images of all windows lie side by side, so that a feature of many windows compiles to
vector instructions. A step may have children: a tree of two levels.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision import haar
from posterity.vision.haar import HaarFeatures, WindowRows
from posterity.vision.integrals import Pixels
from posterity.vision.windows.window_sum import WindowSum

_CODES = 64  # thresholds of a feature that are tried, evenly spaced
_REACH = 2.5  # standard deviations of a feature within which they lie
_SAMPLE = 1024  # windows that tell mean and spread of a feature
_BLOCK = 512  # windows whose integral images the cache holds
_NEWTON = 4  # steps to the value of a side
_LARGEST = 3.0  # value of a side


@dataclass(frozen=True)
class Rules:
    """Numbers of a round."""

    n_tests: int = 1000  # of each round
    depth: int = 1
    learning_rate: float = 0.5
    prior_precision: float = 1.0
    trimmed: float = 0.005  # weight of the windows that a block of rounds leaves out
    rounds_a_block: int = 8
    n_jobs: int = 1


@dataclass(eq=False)
class WindowTrees:
    """Trees of two values or four: root first, then the left and the right child."""

    rectangles: list[haar.Rectangles] = field(default_factory=list)  # (1 or 3, 3, 6)
    thresholds: list[NDArray[np.float32]] = field(default_factory=list)  # (1 or 3,)
    values: list[Array] = field(default_factory=list)  # (2 or 4,)

    def __len__(self) -> int:
        return len(self.thresholds)

    @classmethod
    def from_sum(cls, cascade: WindowSum) -> WindowTrees:
        """The trees of a sum that was learned."""
        ends = np.append(cascade.roots[1:], len(cascade.features))
        found, leaf = cls(), 0
        for first, end in zip(cascade.roots, ends, strict=True):
            found.rectangles.append(cascade.rectangles[cascade.features[first:end]])
            found.thresholds.append(cascade.thresholds[first:end])
            found.values.append(cascade.leaves[leaf : leaf + end - first + 1])
            leaf += end - first + 1
        return found

    def extend(self, other: WindowTrees) -> None:
        """Go on with other trees."""
        self.rectangles += other.rectangles
        self.thresholds += other.thresholds
        self.values += other.values


@dataclass(eq=False)
class BoostedWindows:
    """Windows, their classes and activations; ``boost`` moves these."""

    features: HaarFeatures
    rows: WindowRows
    is_object: NDArray[np.bool_]
    activation: Array

    def append_background(self, pixels: Pixels) -> None:
        """Take up further windows (n, P, h, w) without an object."""
        if len(pixels):
            self.rows = self.rows.append(WindowRows.from_pixels(pixels))
            self.is_object = np.append(self.is_object, np.zeros(len(pixels), dtype=np.bool_))
            self.activation = np.append(self.activation, np.zeros(len(pixels)))

    def weights(self) -> Array:
        """Both classes weigh alike, and a window one on average."""
        share = np.mean(self.is_object)
        return np.where(self.is_object, 0.5 / share, 0.5 / (1.0 - share))

    def boost(self, n_rounds: int, rules: Rules, rng: np.random.Generator) -> WindowTrees:
        """Add trees, each chosen from features drawn for it alone."""
        found = WindowTrees()
        for first in range(0, n_rounds, rules.rounds_a_block):
            slopes, _ = _differentiate(self.is_object, self.activation, self.weights())
            some = _find_heavy(np.abs(slopes), rules.trimmed)
            part = BoostedWindows(
                self.features, self.rows.take(some), self.is_object[some], self.activation[some]
            )
            weights = self.weights()[some]
            new = WindowTrees()
            for _ in range(min(rules.rounds_a_block, n_rounds - first)):
                part._add_tree(new, weights, rules, rng)
            self.activation += evaluate_trees(new, self.rows)
            found.extend(new)
        return found

    def log_loss(self) -> float:
        """Mean negative log-probability of the class of a window, classes weighted alike."""
        signed = np.where(self.is_object, -self.activation, self.activation)
        return float(np.mean(self.weights() * np.logaddexp(0.0, signed)))

    def _add_tree(
        self, found: WindowTrees, weights: Array, rules: Rules, rng: np.random.Generator
    ) -> None:
        rectangles = haar.find_rectangles(self.features.draw(1, rules.n_tests, rng)[0])
        slopes, curvatures = _differentiate(self.is_object, self.activation, weights)
        screen = _Screen.from_rows(self.rows, rectangles, rules, rng)
        everywhere = np.zeros(len(self.rows), dtype=np.int8)
        (root,) = screen.find_best(slopes, curvatures, everywhere, 1, rules.prior_precision)
        nodes = [root]
        right = (_respond(self.rows, rectangles[root[0]]) >= root[1]).astype(np.int8)
        side = right
        if rules.depth > 1:
            nodes += screen.find_best(slopes, curvatures, right, 2, rules.prior_precision)
            lower = [_respond(self.rows, rectangles[test]) >= at for test, at in nodes[1:]]
            side = 2 * right + np.where(right == 1, lower[1], lower[0])
        values = rules.learning_rate * _find_values(
            self.is_object, self.activation, weights, side, 2**rules.depth, rules.prior_precision
        )
        self.activation += values[side]
        found.rectangles.append(rectangles[[test for test, _ in nodes]])
        found.thresholds.append(np.array([at for _, at in nodes], dtype=np.float32))
        found.values.append(values)


def evaluate_trees(trees: WindowTrees, rows: WindowRows) -> Array:
    """Sum what trees add to the activation of windows, (N,)."""
    return sum_partially(trees, rows, keep=False)[-1]


def sum_partially(
    trees: WindowTrees, rows: WindowRows, *, keep: bool = True
) -> NDArray[np.float32] | Array:
    """Sums after each tree, (T, N); or the last of them alone, (1, N)."""
    total = np.zeros(len(rows))
    partial = np.empty((len(trees), len(rows)), dtype=np.float32) if keep else total[None]
    for t, (asked, at, values) in enumerate(
        zip(trees.rectangles, trees.thresholds, trees.values, strict=True)
    ):
        right = (_respond(rows, asked[0]) >= at[0]).astype(np.int8)
        if len(asked) > 1:
            lower = [_respond(rows, asked[k]) >= at[k] for k in (1, 2)]
            right = 2 * right + np.where(right == 1, lower[1], lower[0])
        total += values[right]
        if keep:
            partial[t] = total
    return partial


@dataclass(frozen=True, eq=False)
class _Screen:
    """Features of windows, as codes of evenly spaced thresholds."""

    lows: NDArray[np.float32]  # (K,)
    per: NDArray[np.float32]  # codes of one
    codes: NDArray[np.uint8]  # (K, N)
    pool: concurrent.futures.Executor
    blocks: list[slice]

    @classmethod
    def from_rows(
        cls, rows: WindowRows, rectangles: haar.Rectangles, rules: Rules, rng: np.random.Generator
    ) -> _Screen:
        pool = _open_pool(rules.n_jobs)
        ends = np.linspace(0, len(rectangles), rules.n_jobs + 1).astype(int)
        blocks = [slice(a, b) for a, b in itertools.pairwise(ends)]
        some = rng.choice(len(rows), min(len(rows), _SAMPLE), replace=False)
        sample = rows.take(np.sort(some))
        values = np.empty((len(rectangles), len(sample)), dtype=np.float32)
        _compute_features(sample.sums, sample.scale, rectangles, values)
        spread = np.maximum(values.std(axis=1), 1e-6)
        lows = values.mean(axis=1) - _REACH * spread
        per = _CODES / (2.0 * _REACH * spread)
        lows += (rng.random(len(rectangles)) / per).astype(np.float32)
        codes = np.empty((len(rectangles), len(rows)), dtype=np.uint8)

        def encode(b: slice) -> None:
            _encode(rows.sums, rows.scale, rectangles[b], lows[b], per[b], codes[b])

        list(pool.map(encode, blocks))
        return cls(lows, per, codes, pool, blocks)

    def find_best(
        self, slopes: Array, curvatures: Array, groups: NDArray[np.int8], n: int, precision: float
    ) -> list[tuple[int, np.float32]]:
        """Test and threshold of the step that gains most in each group of windows."""
        sums = np.zeros((len(self.codes), n, _CODES, 2))

        def add(b: slice) -> None:
            _sum_by_code(self.codes[b], slopes, curvatures, groups, sums[b])

        list(self.pool.map(add, self.blocks))
        left = np.cumsum(sums, axis=2)[:, :, :-1]
        right = sums.sum(axis=2, keepdims=True) - left
        gains = left[..., 0] ** 2 / (left[..., 1] + precision)
        gains += right[..., 0] ** 2 / (right[..., 1] + precision)
        best = []
        for group in range(n):
            test, code = divmod(int(np.argmax(gains[:, group])), _CODES - 1)
            best.append((test, np.float32(self.lows[test] + (code + 1) / self.per[test])))
        return best


@functools.cache
def _open_pool(n_jobs: int) -> concurrent.futures.Executor:
    return concurrent.futures.ThreadPoolExecutor(n_jobs)


def _differentiate(
    is_object: NDArray[np.bool_], activation: Array, weights: Array
) -> tuple[Array, Array]:
    """Slope and curvature of the log-probability of each window."""
    p = 1.0 / (1.0 + np.exp(-np.clip(activation, -40.0, 40.0)))
    return weights * (is_object - p), weights * np.maximum(p * (1.0 - p), 1e-12)


def _find_heavy(weights: Array, trimmed: float) -> NDArray[np.int64]:
    """Places of all windows but the lightest, which together have the given share of weight."""
    order = np.argsort(weights)
    light = np.searchsorted(np.cumsum(weights[order]), trimmed * weights.sum())
    return np.sort(order[light:])


def _find_values(
    is_object: NDArray[np.bool_],
    activation: Array,
    weights: Array,
    side: NDArray[np.int8],
    n: int,
    precision: float,
) -> Array:
    """The most probable value of each side, by Newton's method."""
    values = np.zeros(n)
    for _ in range(_NEWTON):
        slopes, curvatures = _differentiate(is_object, activation + values[side], weights)
        slope = np.bincount(side, slopes, n) - precision * values
        values += slope / (np.bincount(side, curvatures, n) + precision)
        values = np.clip(values, -_LARGEST, _LARGEST)
    return values


def _respond(rows: WindowRows, rectangles: haar.Rectangles) -> NDArray[np.float32]:
    """One feature of all windows, (N,)."""
    values = np.empty((1, len(rows)), dtype=np.float32)
    _compute_features(rows.sums, rows.scale, rectangles[None], values)
    return values[0]


@compilation.compile_at_first_call
def _add_rectangles(
    sums: NDArray[np.int32], rectangles: haar.Rectangles, start: int, total: NDArray[np.int32]
) -> None:
    """Weighted sums over the rectangles of one feature, in a block of windows."""
    n = len(total)
    total[:] = 0
    for r in range(rectangles.shape[0]):
        weight = rectangles[r, 5]
        if weight != 0:
            plane, y, x = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2]
            h, w = rectangles[r, 3], rectangles[r, 4]
            a, b = sums[plane, y, x, start:], sums[plane, y, x + w, start:]
            c, d = sums[plane, y + h, x, start:], sums[plane, y + h, x + w, start:]
            for i in range(n):
                total[i] += weight * (a[i] - b[i] - c[i] + d[i])


@compilation.compile_at_first_call
def _compute_features(
    sums: NDArray[np.int32],
    scale: NDArray[np.float32],
    rectangles: haar.Rectangles,
    values: NDArray[np.float32],
) -> None:
    total = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, len(scale), _BLOCK):
        n = min(_BLOCK, len(scale) - start)
        for k in range(len(rectangles)):
            _add_rectangles(sums, rectangles[k], start, total[:n])
            for i in range(n):
                values[k, start + i] = np.float32(total[i]) * scale[start + i]


@compilation.compile_at_first_call
def _encode(
    sums: NDArray[np.int32],
    scale: NDArray[np.float32],
    rectangles: haar.Rectangles,
    lows: NDArray[np.float32],
    per: NDArray[np.float32],
    codes: NDArray[np.uint8],
) -> None:
    total = np.empty(_BLOCK, dtype=np.int32)
    most = np.float32(_CODES - 1)
    for start in range(0, len(scale), _BLOCK):
        n = min(_BLOCK, len(scale) - start)
        mine = scale[start : start + n]
        for k in range(len(rectangles)):
            _add_rectangles(sums, rectangles[k], start, total[:n])
            low, steps = lows[k], per[k]
            out = codes[k, start : start + n]
            for i in range(n):
                code = (np.float32(total[i]) * mine[i] - low) * steps
                out[i] = np.uint8(np.int32(min(max(code, np.float32(0.0)), most)))


@compilation.compile_at_first_call
def _sum_by_code(
    codes: NDArray[np.uint8],
    slopes: Array,
    curvatures: Array,
    groups: NDArray[np.int8],
    sums: Array,
) -> None:
    for k in range(len(codes)):
        row, out = codes[k], sums[k]
        for i in range(len(row)):
            cell = out[groups[i], row[i]]
            cell[0] += slopes[i]
            cell[1] += curvatures[i]
