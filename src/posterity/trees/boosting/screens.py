"""Codes in words, rows of a tree that grows, and threads that look through all tests for splits.

Eight columns of codes fill a word, and tests of few codes share a column. A test of two codes, such
as a column of zeros and ones, fills one bit of a byte. Tests whose codes multiply to few enough
share a column: its code has theirs as digits. The histogram of the column is their joint one, from
which that of each is read by summing over the digits of the others.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, linalg
from posterity.arrays import Array
from posterity.trees.boosting import histograms
from posterity.trees.boosting.histograms import RowCounts, Words
from posterity.trees.boosting.tree_records import TreeRules

Codes = NDArray[np.uint8]

_MOST_DIGITS = 8
_ROWS_A_CODE = 128  # with fewer, reading tests from joint histograms takes longer than summing


@dataclass(frozen=True, eq=False)
class CodeBlocks:
    """The codes of all tests, and where each test is."""

    words: NDArray[np.uint64]  # (Q, N), eight columns each
    sizes: NDArray[np.int64]  # (8 Q,), codes of each column
    column: NDArray[np.int64]  # (J,), of each test
    stride: NDArray[np.int64]  # (J,), of the digit that the test is in its column
    n_codes: NDArray[np.int64]  # (J,)

    @classmethod
    def from_codes(cls, codes: Codes) -> CodeBlocks:
        """Tests of few codes together, those of the fewest first; the others follow."""
        J, N = codes.shape
        n_codes = codes.max(axis=1, initial=0).astype(np.int64) + 1
        groups = _group_tests(n_codes, min(histograms.MOST_CODES, N // _ROWS_A_CODE))
        Q = -(-len(groups) // 8)
        bytes_of_rows = np.zeros((Q, N, 8), dtype=np.uint8)
        sizes, column = np.ones(8 * Q, dtype=np.int64), np.empty(J, dtype=np.int64)
        stride = np.empty(J, dtype=np.int64)
        for k, group in enumerate(groups):
            own = bytes_of_rows[k // 8, :, k % 8]
            for j in group:
                column[j], stride[j] = k, sizes[k]
                own += codes[j] * np.uint8(sizes[k])
                sizes[k] *= n_codes[j]
        words = bytes_of_rows.view("<u8")[:, :, 0].astype(np.uint64, copy=False)
        return cls(words, sizes, column, stride, n_codes)

    def lay_out(
        self, tests: NDArray[np.int64], ranges: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Blocks, starts and tests that are asked, see ``histograms.Table``."""
        inside = np.flatnonzero(np.isin(self.column, self.column[tests]))  # all digits of these
        order = inside[np.lexsort((self.stride[inside], self.column[inside]))]
        chosen = np.unique(self.column[order] // 8)
        place = 8 * np.searchsorted(chosen, self.column[order] // 8) + self.column[order] % 8
        starts = np.searchsorted(place, np.arange(8 * len(chosen) + 1)).astype(np.int64)
        asked = np.empty((len(order), 5), dtype=np.int64)
        asked[:, histograms.TEST], asked[:, histograms.STRIDE] = order, self.stride[order]
        asked[:, histograms.N_CODES] = self.n_codes[order]
        asked[:, histograms.LOW :] = np.where(np.isin(order, tests)[:, None], ranges[order], (1, 0))
        return chosen, starts, asked


def _group_tests(n_codes: NDArray[np.int64], most: int) -> list[list[int]]:
    """Tests that share a column, by column."""
    groups: list[list[int]] = [[]]
    size = 1
    for j in np.argsort(n_codes, kind="stable").tolist():
        if size * int(n_codes[j]) > most or len(groups[-1]) == _MOST_DIGITS:
            groups.append([])
            size = 1
        groups[-1].append(j)
        size *= int(n_codes[j])
    return [group for group in groups if group]


STAGE = np.uint64(1 << 40)
"""Between the keys of random scores in one stage of growth and the next."""
_NO_KEY = np.uint64(0)
_WORTH_A_THREAD = 400_000  # additions
_ROUNDING = 1e-12  # of the weight of all rows
_MOST_SUMS = 1 << 25  # words of histograms that are held: 256 MiB


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The answers of all rows to all tests, and threads."""

    codes: Codes  # (J, N)
    blocks: CodeBlocks
    up_to: Array  # (J, B), weight of the rows of at most a code
    pool: concurrent.futures.Executor | None
    n_threads: int
    scratch: dict[str, Any]  # what one tree leaves for the next

    @classmethod
    @contextmanager
    def open(
        cls, codes: Codes, n_jobs: int | None = None, weights: Array | None = None
    ) -> Iterator[CodedRows]:
        """Rows whose threads end with the context; small work gets none."""
        codes = np.ascontiguousarray(codes)
        blocks = CodeBlocks.from_codes(codes)
        counts = np.zeros((len(codes), int(blocks.n_codes.max(initial=1))))
        _count_codes(codes, np.ones(codes.shape[1]) if weights is None else weights, counts)
        most = max(1, 8 * blocks.words.size // _WORTH_A_THREAD)
        n_threads = min(linalg.threads.count_threads(n_jobs), most, len(blocks.words))
        up_to = np.cumsum(counts, axis=1)
        if n_threads <= 1:
            yield cls(codes, blocks, up_to, None, 1, {})
            return
        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            yield cls(codes, blocks, up_to, pool, n_threads, {})

    def lay_out(self, tests: NDArray[Any] | None, least: float) -> _Layout:
        """The columns and tests to look through; that of all tests is kept."""
        if tests is None and self.scratch.get("least") == least:
            return self.scratch["layout"]
        n_tests = len(self.codes)
        asked = np.arange(n_tests) if tests is None else np.sort(np.asarray(tests, dtype=np.int64))
        chosen, starts, lines = self.blocks.lay_out(asked, self._find_ranges(least))
        layout = _Layout(chosen, starts, lines, np.argsort(lines[:, histograms.TEST]))
        if tests is None:
            self.scratch.update(least=least, layout=layout)
        return layout

    def reserve_sums(self, n_blocks: int, n_slots: int, n_outputs: int) -> Words:
        """Sums of all blocks; or of as many as there is room for, and no subtraction."""
        B = max(int(self.blocks.sizes.max(initial=1)), 1)
        n_held = max(self.n_threads, _MOST_SUMS // (8 * n_slots * B * n_outputs))
        shape = (min(n_blocks, n_held), n_slots, n_outputs, 8, B)
        sums = self.scratch.get("sums")
        if sums is None or sums.shape != shape:
            sums = self.scratch["sums"] = np.empty(shape, dtype=np.int64)
        return sums

    def _find_ranges(self, least: float) -> NDArray[np.int64]:
        """The least and the largest code that leave enough weight on both sides, (J, 2)."""
        whole = self.up_to[:, -1:]
        enough = np.maximum(least, np.finfo(float).tiny) - _ROUNDING * whole
        fits = (self.up_to > 0.0) & (self.up_to >= enough) & (whole - self.up_to >= enough)
        fits &= self.up_to < whole
        low = np.where(fits.any(axis=1), np.argmax(fits, axis=1), 1)
        high = np.where(fits.any(axis=1), fits.shape[1] - 1 - np.argmax(fits[:, ::-1], axis=1), 0)
        return np.column_stack([low, high])


@dataclass(frozen=True, eq=False)
class _Layout:
    chosen: NDArray[np.int64]  # (q,), see ``histograms.Table``
    starts: NDArray[np.int64]  # (8 q + 1,), likewise
    asked: NDArray[np.int64]  # (n, 5), likewise
    order: NDArray[np.int64]  # (n,), of the tests by number


@dataclass(frozen=True, eq=False)
class GrowingTree:
    """State of the growth of one tree."""

    coded: CodedRows
    rules: TreeRules
    layout: _Layout
    rows: NDArray[np.uint32]  # (m,), those that have weight, in the order of nodes
    words: Words  # (L, m), in the same order
    units: Array  # (L, 2); where rows are counted, the last output does
    signs: NDArray[np.int8]  # (J,)
    sums: Words  # (q or fewer, S, L, 8, B)
    least: float  # rows of a side; 0: these are not counted
    key: np.uint64  # of random scores

    @classmethod
    def start(
        cls,
        coded: CodedRows,
        slopes: Array,
        curvatures: Array,
        weights: Array,
        rules: TreeRules,
        rng: np.random.Generator,
        tests: NDArray[Any] | None,
    ) -> GrowingTree:
        """All rows at the root."""
        L = slopes.shape[1]
        signs = np.zeros(len(coded.codes), dtype=np.int8)
        if rules.monotonic is not None:
            signs = np.asarray(rules.monotonic, dtype=np.int8)
            if L > 1:
                raise ValueError(f"Monotone constraints are for one output; there are {L}.")
        rows = np.flatnonzero(weights > 0.0)
        # A side that gains has a row, so that a least weight which any row has need not be counted.
        least = 0.0 if rules.growth == "oblivious" else rules.min_samples_leaf
        least = 0.0 if least <= np.min(weights[rows], initial=np.inf) else least
        if least > 0.0:
            slopes = np.column_stack([slopes, np.zeros(len(weights))])
            curvatures = np.column_stack([curvatures, np.ones(len(weights))])
        counts = RowCounts.from_weights(weights if len(rows) == len(weights) else weights[rows])
        words, units = counts.pack(slopes, curvatures, rows)
        layout = coded.lay_out(tests, rules.min_samples_leaf if least == 0.0 else 0.0)
        n_slots = _count_slots(rules, len(rows))
        sums = coded.reserve_sums(len(layout.chosen), n_slots, len(words))
        slots = rows.astype(np.uint32)
        key = rng.integers(1 << 63, dtype=np.uint64) if rules.random_strength > 0.0 else _NO_KEY
        return cls(coded, rules, layout, slots, words, units, signs, sums, least, key)

    @property
    def subtracts(self) -> bool:
        """Whether sums of all blocks are held, so that a sibling follows by subtraction."""
        return len(self.sums) == len(self.layout.chosen)

    def screen(
        self,
        parts: NDArray[np.int64],
        nodes: NDArray[np.int64],
        stage: int,
        n_lines: int,
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        """Gains, scores and cuts of all tests, some of them in each thread.

        They have one line for all nodes together, or a line for each; tests are in the order of
        ``layout.asked[layout.order]``. Random scores differ from stage to stage.
        """
        layout, coded = self.layout, self.coded
        shape = (n_lines, len(layout.asked))
        gains, scores, cuts = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int64)
        keys = self.key + (np.uint64(stage) + np.arange(shape[0], dtype=np.uint64)) * STAGE
        for first, last in _part_evenly(len(layout.chosen), len(self.sums)):
            work = [
                (
                    first + begin,
                    first + end,
                    self.table,
                    self.rows,
                    self.words,
                    parts,
                    nodes,
                    self.sums[begin:end],
                    self.terms,
                    keys,
                    gains,
                    scores,
                    cuts,
                )
                for begin, end in _part_among(last - first, coded.n_threads)
            ]
            if coded.pool is None:
                histograms.screen_tests(*work[0])
            else:
                list(coded.pool.map(histograms.screen_tests, *zip(*work, strict=True)))
        return gains[:, layout.order], scores[:, layout.order], cuts[:, layout.order]

    @property
    def table(self) -> histograms.Table:
        """Blocks of codes, and which of them are asked."""
        layout, blocks = self.layout, self.coded.blocks
        return blocks.words, layout.chosen, blocks.sizes, layout.starts, layout.asked

    @property
    def terms(self) -> histograms.Terms:
        """Numbers on which gains and scores depend."""
        rules = self.rules
        return self.units, rules.prior_precision, self.signs, self.least, rules.random_strength

    def find_test(self, place: int) -> int:
        """The number of the test at a place in the order of gains."""
        return int(self.layout.asked[self.layout.order[place], histograms.TEST])


def _count_slots(rules: TreeRules, n_rows: int) -> int:
    """Number of nodes that hold sums at the same time: leaves are not screened."""
    most = 1 << max(rules.max_depth - 1, 0)
    if rules.growth != "oblivious" and rules.max_leaf_nodes is not None:
        most = min(most, rules.max_leaf_nodes)
    return max(1, min(most, n_rows))


def _part_evenly(n: int, at_once: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, at_once):
        yield first, min(first + at_once, n)


def _part_among(n: int, n_parts: int) -> list[tuple[int, int]]:
    ends = np.linspace(0, n, n_parts + 1).round().astype(int).tolist()
    return list(itertools.pairwise(ends))


@compilation.compile_at_first_call
def _count_codes(codes: Codes, weights: Array, counts: Array) -> None:
    for j in range(len(codes)):
        for i in range(codes.shape[1]):
            counts[j, codes[j, i]] += weights[i]
