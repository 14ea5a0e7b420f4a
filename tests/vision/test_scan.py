"""The scan of an image against windows one by one."""

import numpy as np
import pytest

from posterity.vision import integrals
from posterity.vision.windows import scan
from posterity.vision.windows.window_sum import WindowSum

RNG = np.random.default_rng(3)
IMAGE = np.clip(
    np.kron(RNG.integers(256, size=(6, 8)), np.ones((5, 5))) + RNG.normal(0, 20, (30, 40)), 0, 255
).astype(np.uint8)
OTHER = IMAGE[::-1].copy()
HEIGHT, WIDTH = 9, 8


def make_sum(n_nodes, *, stages, skips, tilted=True, n_trees=16):
    rng = np.random.default_rng(n_nodes)
    n = n_trees * n_nodes
    rectangles = np.zeros((n, 3, 6), dtype=np.int32)
    is_tilted = tilted & (rng.random(n) < 0.4)
    for f in range(n):
        for r in range(rng.integers(1, 4)):
            if is_tilted[f]:
                h, w = rng.integers(1, 4, size=2)
                y, x = rng.integers(HEIGHT - h - w + 1), rng.integers(h, WIDTH - w + 1)
                plane = 0
            else:
                y, x, plane = rng.integers(HEIGHT), rng.integers(WIDTH), rng.integers(2)
                h, w = rng.integers(1, HEIGHT - y + 1), rng.integers(1, WIDTH - x + 1)
            rectangles[f, r] = plane, y, x, h, w, rng.choice([-2, -1, 1, 3])
    first, leaf = np.arange(n_trees) * n_nodes, np.arange(n_trees) * (n_nodes + 1)
    children = np.empty((n_trees, n_nodes, 2), dtype=np.int32)
    for t in range(n_trees):
        a, b = first[t], -1 - leaf[t]
        children[t] = {
            1: [[b, b - 1]],
            2: [[b, a + 1], [b - 1, b - 2]],
            3: [[a + 1, a + 2], [b, b - 1], [b - 2, b - 3]],
        }[n_nodes]
    restarts = np.zeros(n_trees, dtype=bool)
    bounds = np.full(n_trees, -np.inf)
    if stages:
        restarts[[1, 4, 15]], bounds[[1, 4, 15]] = True, [-1.0, -1.2, -1.5]
    else:
        bounds[:] = -1.5 - 0.1 * np.arange(n_trees)
    values = [features_of(rectangles, is_tilted, window) for window in some_windows()]
    return WindowSum(
        shape=(2, HEIGHT, WIDTH),
        inset=1,
        least_contrast=12.0,
        rectangles=rectangles,
        tilted=is_tilted,
        roots=first.astype(np.int32),
        features=np.arange(n, dtype=np.int32),
        thresholds=np.median(values, axis=0).astype(np.float32),
        children=children.reshape(-1, 2),
        leaves=rng.normal(size=n_trees * (n_nodes + 1)),
        offset=0.0 if stages else 0.25,
        bounds=bounds,
        restarts=restarts,
        skips=skips,
    )


def some_windows():
    planes = np.stack([IMAGE, OTHER])
    corners = [(y, x) for y in range(0, 20, 4) for x in range(0, 30, 4)]
    return [planes[:, y : y + HEIGHT, x : x + WIDTH] for y, x in corners]


def features_of(rectangles, tilted, window):
    """All features of a window over its contrast."""
    T = integrals.integrate_image(np.ascontiguousarray(window[0]), tilted=True)
    inner = window[0, 1:-1, 1:-1].astype(float)
    found = []
    for boxes, turned in zip(rectangles, tilted, strict=True):
        total = 0.0
        for plane, y, x, h, w, weight in boxes[boxes[:, 5] != 0]:
            part = window[plane, y : y + h, x : x + w].astype(float).sum()
            if turned:
                part = T[y, x] - T[y + h, x - h] - T[y + w, x + w] + T[y + w + h, x + w - h]
            total += weight * float(part)
        found.append(total / (inner.size * max(inner.std(), 1e-3)))
    return np.array(found)


def judge(cascade, window):
    """The stage that rejects a window, or None, and its activation; -1: no contrast."""
    if window[0, 1:-1, 1:-1].astype(float).std() <= cascade.least_contrast:
        return -1, 0.0
    values, total = features_of(cascade.rectangles, cascade.tilted, window), cascade.offset
    for t, root in enumerate(cascade.roots):
        node = root
        while node >= 0:
            below = values[cascade.features[node]] < cascade.thresholds[node]
            node = cascade.children[node, 0 if below else 1]
        total += cascade.leaves[-1 - node]
        if total < cascade.bounds[t]:
            return int(cascade.restarts[:t].sum()), 0.0
        if cascade.restarts[t] and t + 1 < len(cascade):
            total = 0.0
    return None, total


@pytest.mark.full(but=3)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("n_nodes", "stages"), [(1, True), (2, True), (3, False), (1, False)])
def test_scan_finds_what_windows_one_by_one_tell(n_nodes, stages, stride):
    cascade = make_sum(n_nodes, stages=stages, skips=stages)
    cascade.check_consistency()
    planes = np.stack([IMAGE, OTHER])
    expected = []
    for y in range(0, 30 - HEIGHT + 1, stride):
        x = 0
        while x <= 40 - WIDTH:
            rejected, total = judge(cascade, planes[:, y : y + HEIGHT, x : x + WIDTH])
            if rejected is None:
                expected.append((x, y, total))
            x += 2 * stride if cascade.skips and rejected == 0 else stride
    found, counts = scan.scan_planes(cascade, planes, stride)
    assert 5 < len(found) < 0.9 * counts[0]
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-9)


def test_there_is_room_for_many_windows_and_none_in_small_images():
    cascade = make_sum(1, stages=False, skips=False)
    cascade.bounds[:] = -np.inf
    planes = np.random.default_rng(0).integers(256, size=(2, 90, 90), dtype=np.uint8)
    found, _ = scan.scan_planes(cascade, planes, 1)
    assert len(found) == 82 * 83
    assert len(scan.scan_planes(cascade, planes[:, :5], 1)[0]) == 0


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("features", 3, 99),
        ("children", (2, 0), 0),
        ("children", (2, 0), -99),
        ("rectangles", (0, 0, 3), 50),
        ("rectangles", (0, 0, 1), -1),
        ("rectangles", (0, 0, 0), 2),
        ("roots", 0, -1),
    ],
)
def test_numbers_that_lead_astray_are_refused(name, place, value):
    cascade = make_sum(1, stages=False, skips=False, tilted=False)
    getattr(cascade, name)[place] = value
    with pytest.raises(ValueError, match=r"contains|leads back|reaches beyond"):
        cascade.check_consistency()
