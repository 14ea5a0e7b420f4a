"""Histograms of slopes and curvatures over codes, and the cuts that gain most by them.

Slope and curvature of a row share one 64-bit word of integers, so that a row, a column of codes and
an output cost one addition. Sums of integers are exact: neither the order of rows nor the number of
threads nor a subtraction shows in the result. What rounding costs is about 1e-7 of a gain.

Codes are read eight columns at a time. Of two sibling nodes only the smaller is summed; the other
is what their parent has besides. Tests of few codes share a column, see ``screens``, and are read
from their joint histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

Words = NDArray[np.int64]
Counts = tuple[Array, NDArray[np.int64]]  # shares and repeats, see RowCounts
HALF = 32
"""Bits of either sum; the lower ones are the curvature."""
MASK = (1 << HALF) - 1

_LARGEST_SUM = float(2 ** (HALF - 1) - 1)
_COARSE = 2.0**28  # of squared repeats: beyond, rounding before repeating shows in a sum
_WHOLE = 1.5 * 2.0**52
_LEAST_TOTAL = 1e-290  # whose unit still has an inverse

Table = tuple[
    NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]
]
"""Codes, and what is asked of them.

Blocks (Q, N) hold the codes of eight columns in each word, the first in its lowest byte; (q,) says
which of them have tests to look at, and (8 Q,) how many codes each column has. Tests of column k of
the chosen block i begin at place 8 i + k of (8 q + 1,). Each test (n, 5) has its number, its stride
and number of codes in its column, and the least and the largest code at which it may be cut.
"""
Terms = tuple[Array, float, NDArray[np.int8], float, float]
"""Numbers on which gains and scores depend.

Units (L, 2) of slopes and curvatures; the precision of the normal prior of a value; by test 1
or -1 where the value may only grow or fall with the code, else 0 (J,); the least weight of a side,
or 0 where it is not counted: else the curvatures of the last output count rows, and every node has
a line of its own; the standard deviation of random scores, 0 where the gain is the score.
"""

_ROUNDING = 1e-12  # of what the nodes are worth: less than that is not a gain
# What stands in the line of a test that is asked.
TEST, STRIDE, N_CODES, LOW, HIGH = range(5)
SLOT = 3  # in the line of a node
MOST_CODES = 256


@dataclass(frozen=True, eq=False)
class RowCounts:
    """Counts of rows: each stands for ``repeats`` rows of weight ``shares``."""

    shares: Array  # (N,)
    repeats: NDArray[np.int64]  # (N,)

    @classmethod
    def from_weights(cls, weights: Array) -> RowCounts:
        """Whole weights, unless huge, repeat a row after it was rounded, as if it stood there."""
        if np.all(weights == np.rint(weights)) and float(weights @ weights) <= _COARSE:
            return cls(np.ones_like(weights), weights.astype(np.int64))
        return cls(weights, np.ones(len(weights), dtype=np.int64))

    def pack(
        self, slopes: Array, curvatures: Array, rows: NDArray[np.int64]
    ) -> tuple[Words, Array]:
        """Words of the slope (high half) and curvature >= 0 (low half) of some rows, (L, m).

        Also the unit of each half, (L, 2). Rows are those of slopes and curvatures (N, L); their
        counts, in the same order, are these.
        """
        room = _LARGEST_SUM - 0.5 * float(self.repeats.sum())
        totals = np.zeros((slopes.shape[1], 2))
        counts = self.shares, self.repeats
        _sum_sizes((slopes, curvatures), rows, counts, totals)
        units = 2.0 ** np.ceil(np.log2(np.maximum(totals, _LEAST_TOTAL) / room))
        words = np.empty((slopes.shape[1], len(rows)), dtype=np.int64)
        _pack((slopes, curvatures), rows, counts, 1.0 / units, words)
        return words, units


@compilation.compile_at_first_call
def _sum_sizes(
    pairs: tuple[Array, Array], rows: NDArray[np.int64], counts: Counts, totals: Array
) -> None:
    slopes, curvatures = pairs
    shares, repeats = counts
    for i in range(len(rows)):
        weight = shares[i] * repeats[i]
        for l in range(len(totals)):
            totals[l, 0] += weight * abs(slopes[rows[i], l])
            totals[l, 1] += weight * curvatures[rows[i], l]


@compilation.compile_at_first_call
def _pack(
    pairs: tuple[Array, Array],
    rows: NDArray[np.int64],
    counts: Counts,
    per_unit: Array,
    words: Words,
) -> None:
    """Round every row to whole units."""
    slopes, curvatures = pairs
    shares, repeats = counts
    for i in range(len(rows)):
        for l in range(len(words)):
            # Beside this number only whole ones have room: faster than a call to round.
            g = (shares[i] * slopes[rows[i], l] * per_unit[l, 0] + _WHOLE) - _WHOLE
            h = (shares[i] * curvatures[rows[i], l] * per_unit[l, 1] + _WHOLE) - _WHOLE
            words[l, i] = repeats[i] * ((np.int64(g) << HALF) + np.int64(h))


@compilation.compile_at_first_call
def screen_tests(*arguments: Any) -> None:
    """Call :func:`screen_blocks`, which has no entry from Python of its own: threads do."""
    screen_blocks(*arguments)


@compilation.compile_for_callers
def screen_blocks(
    first: int,
    last: int,
    table: Table,
    rows: NDArray[np.uint32],
    words: Words,
    parts: NDArray[np.int64],
    nodes: NDArray[np.int64],
    sums: Words,
    terms: Terms,
    keys: NDArray[np.uint64],
    gains: Array,
    scores: Array,
    cuts: NDArray[np.int64],
) -> None:
    """The best cut of each test: one for all nodes of a level, or one for every node by itself.

    Parameters
    ----------
    first, last : int
        Which of the chosen blocks to look at, up to the last but one; the first has its histograms
        in ``sums[0]``.
    table : tuple
        Blocks of codes, and which of them are asked, see :data:`Table`.
    rows : array (m,)
        Rows in the order of nodes.
    words : array (L, m)
        Their packed slopes and curvatures, by output.
    parts : array (p, 4)
        Nodes to be summed: first and last but one of their rows, the slot of their sums, and that
        of their parent, which becomes the sibling's; -1 for the root.
    nodes : array (A, 4)
        The nodes, each with the slot of its sums in the last place.
    sums : array (k, S, L, 8, B)
        Words by block, slot, output, column and code.
    terms : tuple
        What gains and scores depend on, see :data:`Terms`.
    keys : array (R,)
        From which random scores are drawn, by line.
    gains, scores, cuts : array (R, n)
        Written: what the test gains, its score, and the last code on its left. One line for all
        nodes together, or a line for each of them.
    """
    _, chosen, sizes, starts, asked = table
    _, _, _, least, strength = terms
    n_nodes = len(nodes) // len(gains)  # of a line
    total, before = np.empty((8, sums.shape[4])), np.empty((3, sums.shape[4]), np.int64)
    for q in range(first, last):
        _sum_block(q, first, table, rows, words, parts, sums)
        for line in range(8 * len(gains)):
            k, r = line % 8, line // 8
            begin, end = starts[8 * q + k], starts[8 * q + k + 1]
            for a in range(begin, end):
                for c in range(sums.shape[4]):  # whole slices take seconds to compile
                    total[a - begin, c] = 0.0
            for node in range(r * n_nodes, (r + 1) * n_nodes * (end > begin)):
                of_node = sums[q - first, nodes[node, SLOT]]
                _add_column(of_node, k, asked[begin:end], terms, before, total)
            for a in range(begin, end):
                own = total[a - begin, : asked[a, N_CODES]]
                low, high = asked[a, LOW], asked[a, HIGH]
                if least > 0.0:
                    counts = sums[q - first, nodes[r, SLOT], -1, k, : sizes[8 * chosen[q] + k]]
                    low, high = _find_range(counts, asked[a], least / terms[0][-1, 1], before[0])
                key = keys[r] + np.uint64(asked[a, TEST] * MOST_CODES)
                cut, score = _find_best_cut(own, low, high, strength, key)
                cuts[r, a], scores[r, a] = cut, score
                gains[r, a] = own[cut] - own[-1] if cut >= 0 else -np.inf


@compilation.compile_for_callers
def _sum_block(
    q: int,
    first: int,
    table: Table,
    rows: NDArray[np.uint32],
    words: Words,
    parts: NDArray[np.int64],
    sums: Words,
) -> None:
    """Sum the parts of the columns of a block, and take them from the sums of their parents."""
    blocks, chosen, _, starts, _ = table
    block, n_wanted, wanted = blocks[chosen[q]], 0, np.empty((1, 8), np.int64)[0]
    for k in range(8):
        if starts[8 * q + k + 1] > starts[8 * q + k]:
            wanted[n_wanted] = k
            n_wanted += 1
    for p in range(len(parts)):
        begin, end, slot, parent = parts[p, 0], parts[p, 1], parts[p, 2], parts[p, 3]
        for l in range(len(words)):
            own = sums[q - first, slot, l]
            _sum_part(block, wanted[:n_wanted], rows[begin:end], words[l, begin:end], own)
            if parent >= 0:
                _subtract(own.reshape(-1), sums[q - first, parent, l].reshape(-1))


@compilation.compile_for_callers
def _sum_part(
    block: NDArray[np.uint64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint32],
    words: Words,
    own: Words,
) -> None:
    """Sum rows of one node over the codes of the columns that are wanted."""
    flat = own.reshape(-1)
    for i in range(len(flat)):
        flat[i] = 0
    if len(wanted) > 5:
        _sum_eight(block, rows, words, flat)
        return
    for k in wanted:
        _sum_one(block, k, rows, words, own[k])


@compilation.compile_for_callers
def _subtract(small: Words, parent: Words) -> None:
    for i in range(len(parent)):
        parent[i] -= small[i]


@compilation.compile_for_callers
def _sum_eight(
    block: NDArray[np.uint64], rows: NDArray[np.uint32], words: Words, own: Words
) -> None:
    """Eight columns in turn: equal codes in neighbouring rows then do not wait for each other."""
    byte, B = np.uint64(255), np.uint64(len(own) // 8)
    for i in range(len(rows)):
        c, word = block[rows[i]], words[i]
        own[c & byte] += word
        own[B + ((c >> np.uint64(8)) & byte)] += word
        own[np.uint64(2) * B + ((c >> np.uint64(16)) & byte)] += word
        own[np.uint64(3) * B + ((c >> np.uint64(24)) & byte)] += word
        own[np.uint64(4) * B + ((c >> np.uint64(32)) & byte)] += word
        own[np.uint64(5) * B + ((c >> np.uint64(40)) & byte)] += word
        own[np.uint64(6) * B + ((c >> np.uint64(48)) & byte)] += word
        own[np.uint64(7) * B + (c >> np.uint64(56))] += word


@compilation.compile_for_callers
def _sum_one(
    block: NDArray[np.uint64], k: int, rows: NDArray[np.uint32], words: Words, own: Words
) -> None:
    shift = np.uint64(8) * np.uint64(k)
    for i in range(len(rows)):
        own[(block[rows[i]] >> shift) & np.uint64(255)] += words[i]


@compilation.compile_for_callers
def _add_column(
    sums: Words, k: int, asked: NDArray[np.int64], terms: Terms, before: Words, total: Array
) -> None:
    """Add what one node, of sums (L, 8, B), gains by each cut of the tests in its column k.

    Tests are the digits of the column. The highest is read first, and the column then summed over
    it. Where rows are counted, the last output does, and gains nothing.
    """
    units, precision, signs, least, _ = terms
    last, joint, alone = len(asked) - 1, before[1], before[2]
    for l in range(len(sums) - (least > 0.0)):
        column = sums[l, k]
        if last > 0:
            for c in range(len(joint)):
                joint[c] = column[c]
        for a in range(last, -1, -1):
            n, own = asked[a, N_CODES], column
            if last > 0:
                _take_digit(asked[a, STRIDE], n, joint, alone)
                own = alone
            if asked[a, LOW] <= asked[a, HIGH]:
                sign = signs[asked[a, TEST]]
                _add_gains(own[:n], units[l], precision, sign, before[0], total[a])


@compilation.compile_for_callers
def _take_digit(stride: int, n: int, joint: Words, alone: Words) -> None:
    """The histogram of the highest digit, over which the joint one is then summed."""
    for c in range(n):
        alone[c] = 0
        for j in range(stride):
            alone[c] += joint[c * stride + j]
        for j in range(stride * (c > 0)):
            joint[j] += joint[c * stride + j]


@compilation.compile_for_callers
def _add_gains(
    own: Words, unit: Array, precision: float, sign: int, before: Words, total: Array
) -> None:
    """Add what one node gains by each cut; -inf where its values would go against the sign."""
    n, left = len(own), np.int64(0)
    for c in range(n):
        left += own[c]
        before[c] = left
    g, h = unit[0], unit[1]
    G, H = (left >> HALF) * g, (left & MASK) * h
    for c in range(n):
        # Either half fits in 32 bits, which convert many at a time.
        G_l, H_l = np.int32(before[c] >> HALF) * g, np.int32(before[c] & MASK) * h
        G_r, H_r = G - G_l, H - H_l + precision
        H_l += precision
        total[c] += 0.5 * (G_l * G_l * H_r + G_r * G_r * H_l) / (H_l * H_r)  # [P9 9.8]
    if sign != 0:
        for c in range(n - 1):
            G_l, H_l = (before[c] >> HALF) * g, (before[c] & MASK) * h
            change = (G - G_l) / (H - H_l + precision) - G_l / (H_l + precision)
            if sign * change < 0.0:
                total[c] = -np.inf


@compilation.compile_for_callers
def _find_range(
    column: Words, asked: NDArray[np.int64], least: float, counts: Words
) -> tuple[int, int]:
    """The least and the largest code at which both sides have enough rows, counted in a column."""
    stride, n = asked[STRIDE], asked[N_CODES]
    if asked[LOW] > asked[HIGH]:
        return 1, 0
    total, left = 0, 0
    for c in range(n):
        counts[c] = 0
    for j in range(len(column)):
        counts[(j // stride) % n] += column[j]
        total += column[j]
    low, high = n, -1
    for c in range(n - 1):
        left += counts[c]
        if left >= least and low == n:
            low = c
        if total - left >= least:
            high = c
    return low, high


@compilation.compile_for_callers
def _find_best_cut(
    total: Array, low: int, high: int, strength: float, key: np.uint64
) -> tuple[int, float]:
    """The cut with the best score, -1 where none gains, and the score.

    A cut gains over the nodes as they are, which is what they are worth where all rows are on the
    left. A cut at a code that no row has is that before it.
    """
    least = total[-1] + _ROUNDING * total[-1]
    best, code, last = -np.inf, -1, least
    for c in range(low, min(high, len(total) - 2) + 1):
        if total[c] > least and total[c] != last:
            score = total[c]
            if strength > 0.0:
                score = np.sqrt(2.0 * total[c]) + strength * _draw_normal(key + np.uint64(c))
            if score > best:
                best, code = score, c
        last = total[c]
    return code, best


@compilation.compile_for_callers
def _draw_normal(key: np.uint64) -> float:
    """A number that is nearly normal, from a key: four uniform ones, of a word that is well mixed.

    Drawn in place, so that neither threads nor the tests that are tried change what a cut draws.
    """
    z = key * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    part, mask = 0.0, np.uint64(0xFFFF)
    for shift in range(np.uint64(0), np.uint64(64), np.uint64(16)):
        part += np.float64((z >> shift) & mask)
    return (part - 131070.0) * (np.sqrt(3.0) / 65536.0)
