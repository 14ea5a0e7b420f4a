"""Classes that lie in the plane as interlocking bananas: no line parts them, and they overlap."""

import numpy as np

from benchmarks.cases import Array, Data, Size

SPREAD = 0.3
RADIUS = 1.0


def generate(rng: np.random.Generator, size: Size, classes: int = 2) -> Data:
    """Equally many rows of each class, as chance has it."""
    return Data(*_rows(rng, size.rows, classes), *_rows(rng, size.test_rows, classes))


def _rows(rng: np.random.Generator, n: int, classes: int) -> tuple[Array, Array]:
    """Class k is half a ring, turned and moved so that its horn is in the hollow of the next."""
    k = rng.integers(classes, size=n)
    turn, angle = 2.0 * np.pi * k / classes, rng.uniform(0.0, np.pi, n)
    x, y = RADIUS * np.cos(angle) - RADIUS / 2.0, RADIUS * np.sin(angle) - RADIUS / 4.0
    X = np.column_stack([np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y])
    return X + SPREAD * rng.standard_normal((n, 2)), k.astype(np.float64)
