"""Scan the windows of one level of a pyramid.

The first trees are asked of all windows of a row at once, which compiles to vector instructions;
the windows that are left are gathered, and asked the others tree by tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision import integrals
from posterity.vision.windows import window_sum
from posterity.vision.windows.window_sum import CompiledSum, WindowSum

_ROOM = 4096  # windows of a level for which there is room at first
_BATCH = 20000  # windows that are followed together
_FEW = 24  # windows that are followed one by one


def scan_planes(
    cascade: WindowSum, planes: integrals.Pixels, stride: int
) -> tuple[Array, NDArray[np.int64]]:
    """Find the windows of an image that no bound rejects.

    Parameters
    ----------
    cascade : WindowSum
        What is asked.
    planes : array (P, H, W) of uint8
        The image.
    stride : int
        Step between windows, in both directions.

    Returns
    -------
    found : array (n, 3)
        Column, line and activation of windows.
    counts : array (2,)
        How many windows were looked at, and how many features.
    """
    _, height, width = cascade.shape
    _, lines, columns = planes.shape
    counts = np.zeros(2, dtype=np.int64)
    if lines < height or columns < width:
        return np.empty((0, 3)), counts
    sums = integrals.integrate_planes(planes, stride, tilted=bool(cascade.tilted.any()))
    compiled = window_sum.compile_sum(cascade, sums.shape)
    down, across = (lines - height) // stride + 1, (columns - width) // stride + 1
    found = np.empty((_ROOM, 3))
    while (
        n := _scan(sums.reshape(-1), sums.shape[3], down, across, stride, compiled, found, counts)
    ) > len(found):
        found, counts[:] = np.empty((n, 3)), 0
    found = found[:n]
    found[:, :2] *= stride
    return found, counts


@compilation.compile_at_first_call
def _scan(
    sums: integrals.Sums,
    columns: int,
    down: int,
    across: int,
    stride: int,
    c: CompiledSum,
    found: Array,
    counts: NDArray[np.int64],
) -> int:
    """Write column and line in strides, and activation; return how many windows passed."""
    n, m, most = 0, 0, _most_nodes(c)
    scale, alive = np.empty(across, dtype=np.float32), np.empty(across, dtype=np.bool_)
    activation = np.empty(across)
    values = np.empty((most, across + _BATCH), dtype=np.float32)
    places = np.empty(across + _BATCH, dtype=np.uint64)
    scales, sums_so_far = np.empty(across + _BATCH, dtype=np.float32), np.empty(across + _BATCH)
    for line in range(down):
        base = line * stride * columns
        _normalise(sums, base, c, scale, alive)
        activation[:] = c.offset
        for t in range(c.n_head):
            _add_tree(sums, base, t, c, scale, values, activation, alive)
        counts[1] += c.n_head * across
        j = 0
        while j < across:
            counts[0] += 1
            if alive[j]:
                places[m], scales[m], sums_so_far[m] = base + j, scale[j], activation[j]
                m += 1
            j += 2 if c.skips and scale[j] > 0 and not alive[j] else 1
        if m >= _BATCH or line == down - 1:
            m = _follow(sums, c, places, scales, sums_so_far, values, m, counts)
            for i in range(m):
                if n < len(found):
                    place = np.int64(places[i])
                    lines = place // (stride * columns)
                    found[n, 0], found[n, 1] = place - lines * stride * columns, lines
                    found[n, 2] = sums_so_far[i]
                n += 1
            m = 0
    return n


@compilation.compile_at_first_call
def _most_nodes(c: CompiledSum) -> int:
    most = 1
    for t in range(len(c.bounds)):
        most = max(most, c.roots[t + 1] - c.roots[t])
    return most


@compilation.compile_at_first_call
def _normalise(
    sums: integrals.Sums,
    base: int,
    c: CompiledSum,
    scale: NDArray[np.float32],
    alive: NDArray[np.bool_],
) -> None:
    """One over area times standard deviation of each window; zero where contrast is too low."""
    n = len(scale)
    k = c.normal
    s0, s1 = sums[base + k[0, 0] :][:n], sums[base + k[0, 1] :][:n]
    s2, s3 = sums[base + k[0, 2] :][:n], sums[base + k[0, 3] :][:n]
    q0, q1 = sums[base + k[1, 0] :][:n], sums[base + k[1, 1] :][:n]
    q2, q3 = sums[base + k[1, 2] :][:n], sums[base + k[1, 3] :][:n]
    for j in range(n):
        s = np.float64(np.int32(s0[j] - s1[j] - s2[j] + s3[j]))
        q = np.float64(np.uint32(q0[j] - q1[j] - q2[j] + q3[j]))
        square = c.area * q - s * s
        inverse = np.float32(1.0 / np.sqrt(square)) if square > 0.0 else np.float32(np.inf)
        enough = c.area * inverse * c.least_contrast < 1.0
        scale[j] = inverse if enough else np.float32(0.0)
        alive[j] = enough


@compilation.compile_at_first_call
def _add_tree(
    sums: integrals.Sums,
    base: int,
    t: int,
    c: CompiledSum,
    scale: NDArray[np.float32],
    values: NDArray[np.float32],
    activation: Array,
    alive: NDArray[np.bool_],
) -> None:
    """Add one tree to all windows of a row."""
    n, root, end = len(scale), c.roots[t], c.roots[t + 1]
    for node in range(root, end):
        _ask_row(sums, np.uint64(base), c.corners, c.weights, node, scale, values, node - root)
    _add_leaves(c, t, values, n, activation)
    bound = c.bounds[t]
    if bound > -np.inf:
        for j in range(n):
            alive[j] &= activation[j] >= bound
    if c.restarts[t] and t + 1 < len(c.bounds):
        activation[:] = 0.0


@compilation.compile_at_first_call
def _ask_row(
    sums: integrals.Sums,
    base: np.uint64,
    corners: NDArray[np.uint32],
    weights: NDArray[np.int32],
    node: int,
    scale: NDArray[np.float32],
    values: NDArray[np.float32],
    to: int,
) -> None:
    """One feature of all windows of a row.

    Corners are indices and not slices: a slice costs as much as twenty windows.
    """
    u, v, x = weights[node, 0], weights[node, 1], weights[node, 2]
    a0, a1 = base + corners[node, 0], base + corners[node, 1]
    a2, a3 = base + corners[node, 2], base + corners[node, 3]
    b0, b1 = base + corners[node, 4], base + corners[node, 5]
    b2, b3 = base + corners[node, 6], base + corners[node, 7]
    if x == 0:
        for i in range(len(scale)):
            j = np.uint64(i)
            total = u * (sums[a0 + j] - sums[a1 + j] - sums[a2 + j] + sums[a3 + j])
            total += v * (sums[b0 + j] - sums[b1 + j] - sums[b2 + j] + sums[b3 + j])
            values[to, i] = np.float32(np.int32(total)) * scale[i]
    else:
        d0, d1 = base + corners[node, 8], base + corners[node, 9]
        d2, d3 = base + corners[node, 10], base + corners[node, 11]
        for i in range(len(scale)):
            j = np.uint64(i)
            total = u * (sums[a0 + j] - sums[a1 + j] - sums[a2 + j] + sums[a3 + j])
            total += v * (sums[b0 + j] - sums[b1 + j] - sums[b2 + j] + sums[b3 + j])
            total += x * (sums[d0 + j] - sums[d1 + j] - sums[d2 + j] + sums[d3 + j])
            values[to, i] = np.float32(np.int32(total)) * scale[i]


@compilation.compile_at_first_call
def _add_leaves(
    c: CompiledSum, t: int, values: NDArray[np.float32], n: int, activation: Array
) -> None:
    """Find the leaf of each window, from the values of all nodes of the tree."""
    root, end = c.roots[t], c.roots[t + 1]
    threshold = c.thresholds[root]
    if end == root + 1:
        left, right = c.leaves[-1 - c.children[root, 0]], c.leaves[-1 - c.children[root, 1]]
        for j in range(n):
            activation[j] += left if values[0, j] < threshold else right
    elif end == root + 3 and c.children[root, 0] == root + 1 and c.children[root, 1] == root + 2:
        t_low, t_high = c.thresholds[root + 1], c.thresholds[root + 2]
        l0, l1 = c.leaves[-1 - c.children[root + 1, 0]], c.leaves[-1 - c.children[root + 1, 1]]
        l2, l3 = c.leaves[-1 - c.children[root + 2, 0]], c.leaves[-1 - c.children[root + 2, 1]]
        for j in range(n):
            left = l0 if values[1, j] < t_low else l1
            right = l2 if values[2, j] < t_high else l3
            activation[j] += left if values[0, j] < threshold else right
    else:
        for j in range(n):
            node = root
            while node >= 0:
                side = np.intp(values[node - root, j] >= c.thresholds[node])
                node = c.children[node, side]
            activation[j] += c.leaves[-1 - node]


@compilation.compile_at_first_call
def _follow(
    sums: integrals.Sums,
    c: CompiledSum,
    places: NDArray[np.uint64],
    scales: NDArray[np.float32],
    activation: Array,
    values: NDArray[np.float32],
    m: int,
    counts: NDArray[np.int64],
) -> int:
    """Ask the remaining trees, and drop windows as they are rejected; return how many are left."""
    for t in range(c.n_head, len(c.bounds)):
        if m <= _FEW:
            return _follow_singly(sums, c, t, places, scales, activation, m, counts)
        counts[1] += m
        root = c.roots[t]
        for node in range(root, c.roots[t + 1]):
            _ask(sums, c.corners, c.weights, node, places, scales, m, values, node - root)
        _add_leaves(c, t, values, m, activation)
        bound = c.bounds[t]
        if bound > -np.inf:
            kept = 0
            for i in range(m):  # without a branch
                places[kept], scales[kept] = places[i], scales[i]
                activation[kept] = activation[i]
                kept += activation[i] >= bound
            m = kept
        if c.restarts[t] and t + 1 < len(c.bounds):
            activation[:m] = 0.0
    return m


@compilation.compile_at_first_call
def _follow_singly(
    sums: integrals.Sums,
    c: CompiledSum,
    first: int,
    places: NDArray[np.uint64],
    scales: NDArray[np.float32],
    activation: Array,
    m: int,
    counts: NDArray[np.int64],
) -> int:
    """As ``_follow``, window by window, with only the nodes on the way to its leaf."""
    kept, n_trees = 0, len(c.bounds)
    corners, weights, thresholds, children = c.corners, c.weights, c.thresholds, c.children
    for i in range(m):
        place, scale, total, passed = places[i], scales[i], activation[i], True
        for t in range(first, n_trees):
            counts[1] += 1
            node = c.roots[t]
            while node >= 0:
                value = np.float32(_add_rectangles(sums, corners, weights, node, place)) * scale
                node = children[node, np.intp(value >= thresholds[node])]
            total += c.leaves[-1 - node]
            if total < c.bounds[t]:
                passed = False
                break
            if c.restarts[t] and t + 1 < n_trees:
                total = 0.0
        if passed:
            places[kept], scales[kept], activation[kept] = place, scale, total
            kept += 1
    return kept


@compilation.compile_at_first_call
def _add_rectangles(
    sums: integrals.Sums,
    corners: NDArray[np.uint32],
    weights: NDArray[np.int32],
    node: int,
    j: np.uint64,
) -> np.int32:
    """One feature of one window, before it is normalised."""
    total = 0
    for r in range(3):
        if weights[node, r] != 0:
            part = sums[j + corners[node, 4 * r]] - sums[j + corners[node, 4 * r + 1]]
            part += sums[j + corners[node, 4 * r + 3]] - sums[j + corners[node, 4 * r + 2]]
            total += weights[node, r] * part
    return np.int32(total)


@compilation.compile_at_first_call
def _ask(
    sums: integrals.Sums,
    corners: NDArray[np.uint32],
    weights: NDArray[np.int32],
    node: int,
    places: NDArray[np.uint64],
    scales: NDArray[np.float32],
    m: int,
    values: NDArray[np.float32],
    to: int,
) -> None:
    """One feature of some windows."""
    u, v, x = weights[node, 0], weights[node, 1], weights[node, 2]
    a0, a1, a2, a3 = corners[node, 0], corners[node, 1], corners[node, 2], corners[node, 3]
    b0, b1, b2, b3 = corners[node, 4], corners[node, 5], corners[node, 6], corners[node, 7]
    if x == 0:
        for i in range(m):
            j = places[i]
            total = u * (sums[a0 + j] - sums[a1 + j] - sums[a2 + j] + sums[a3 + j])
            total += v * (sums[b0 + j] - sums[b1 + j] - sums[b2 + j] + sums[b3 + j])
            values[to, i] = np.float32(np.int32(total)) * scales[i]
    else:
        d0, d1, d2, d3 = corners[node, 8], corners[node, 9], corners[node, 10], corners[node, 11]
        for i in range(m):
            j = places[i]
            total = u * (sums[a0 + j] - sums[a1 + j] - sums[a2 + j] + sums[a3 + j])
            total += v * (sums[b0 + j] - sums[b1 + j] - sums[b2 + j] + sums[b3 + j])
            total += x * (sums[d0 + j] - sums[d1 + j] - sums[d2 + j] + sums[d3 + j])
            values[to, i] = np.float32(np.int32(total)) * scales[i]
