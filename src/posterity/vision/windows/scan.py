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
    places = np.empty(across + _BATCH, dtype=np.int64)
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
                    lines = places[i] // (stride * columns)
                    found[n, 0], found[n, 1] = places[i] - lines * stride * columns, lines
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
        k, w = c.corners[node], c.weights[node]
        value = values[node - root]
        a0, a1 = sums[base + k[0] :][:n], sums[base + k[1] :][:n]
        a2, a3 = sums[base + k[2] :][:n], sums[base + k[3] :][:n]
        b0, b1 = sums[base + k[4] :][:n], sums[base + k[5] :][:n]
        b2, b3 = sums[base + k[6] :][:n], sums[base + k[7] :][:n]
        u, v = w[0], w[1]
        if w[2] == 0:
            for j in range(n):
                total = u * (a0[j] - a1[j] - a2[j] + a3[j]) + v * (b0[j] - b1[j] - b2[j] + b3[j])
                value[j] = np.float32(np.int32(total)) * scale[j]
        else:
            d0, d1 = sums[base + k[8] :][:n], sums[base + k[9] :][:n]
            d2, d3 = sums[base + k[10] :][:n], sums[base + k[11] :][:n]
            x = w[2]
            for j in range(n):
                total = u * (a0[j] - a1[j] - a2[j] + a3[j]) + v * (b0[j] - b1[j] - b2[j] + b3[j])
                total += x * (d0[j] - d1[j] - d2[j] + d3[j])
                value[j] = np.float32(np.int32(total)) * scale[j]
    _add_leaves(c, t, values, n, activation)
    bound = c.bounds[t]
    if bound > -np.inf:
        for j in range(n):
            alive[j] &= activation[j] >= bound
    if c.restarts[t] and t + 1 < len(c.bounds):
        activation[:] = 0.0


@compilation.compile_at_first_call
def _add_leaves(
    c: CompiledSum, t: int, values: NDArray[np.float32], n: int, activation: Array
) -> None:
    """Find the leaf of each window, from the values of all nodes of the tree."""
    root, end = c.roots[t], c.roots[t + 1]
    threshold = c.thresholds[root]
    value = values[0]
    if end == root + 1:
        left, right = c.leaves[-1 - c.children[root, 0]], c.leaves[-1 - c.children[root, 1]]
        for j in range(n):
            activation[j] += left if value[j] < threshold else right
    elif end == root + 3 and c.children[root, 0] == root + 1 and c.children[root, 1] == root + 2:
        low, high = values[1], values[2]
        t_low, t_high = c.thresholds[root + 1], c.thresholds[root + 2]
        l0, l1 = c.leaves[-1 - c.children[root + 1, 0]], c.leaves[-1 - c.children[root + 1, 1]]
        l2, l3 = c.leaves[-1 - c.children[root + 2, 0]], c.leaves[-1 - c.children[root + 2, 1]]
        for j in range(n):
            left = l0 if low[j] < t_low else l1
            right = l2 if high[j] < t_high else l3
            activation[j] += left if value[j] < threshold else right
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
    places: NDArray[np.int64],
    scales: NDArray[np.float32],
    activation: Array,
    values: NDArray[np.float32],
    m: int,
    counts: NDArray[np.int64],
) -> int:
    """Ask the remaining trees, and drop windows as they are rejected; return how many are left."""
    for t in range(c.n_head, len(c.bounds)):
        if m == 0:
            return 0
        counts[1] += m
        root = c.roots[t]
        for node in range(root, c.roots[t + 1]):
            _ask(sums, c.corners[node], c.weights[node], places, scales, m, values[node - root])
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
def _ask(
    sums: integrals.Sums,
    k: NDArray[np.uint32],
    w: NDArray[np.int32],
    places: NDArray[np.int64],
    scales: NDArray[np.float32],
    m: int,
    value: NDArray[np.float32],
) -> None:
    """One feature of some windows."""
    a0, a1, a2, a3 = sums[k[0] :], sums[k[1] :], sums[k[2] :], sums[k[3] :]
    b0, b1, b2, b3 = sums[k[4] :], sums[k[5] :], sums[k[6] :], sums[k[7] :]
    u, v = w[0], w[1]
    if w[2] == 0:
        for i in range(m):
            j = np.uint64(places[i])
            total = u * (a0[j] - a1[j] - a2[j] + a3[j]) + v * (b0[j] - b1[j] - b2[j] + b3[j])
            value[i] = np.float32(np.int32(total)) * scales[i]
    else:
        d0, d1, d2, d3 = sums[k[8] :], sums[k[9] :], sums[k[10] :], sums[k[11] :]
        x = w[2]
        for i in range(m):
            j = np.uint64(places[i])
            total = u * (a0[j] - a1[j] - a2[j] + a3[j]) + v * (b0[j] - b1[j] - b2[j] + b3[j])
            total += x * (d0[j] - d1[j] - d2[j] + d3[j])
            value[i] = np.float32(np.int32(total)) * scales[i]
