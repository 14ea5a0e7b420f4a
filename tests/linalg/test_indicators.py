"""Groups of rows from eigenvectors: found whatever the rotation."""

import numpy as np
from support.for_each import for_each

from posterity.linalg import indicators


@for_each("k", [1, 2, 5])
@for_each("noise", [0.0, 0.02])
def test_rotated_indicators_are_turned_back(k, noise):
    rng = np.random.default_rng(k)
    groups = np.arange(60) % k
    Z = (groups[:, None] == np.arange(k)) / np.sqrt(60 / k)
    turn, _ = np.linalg.qr(rng.normal(size=(k, k)))
    found = indicators.find_row_groups(
        Z @ turn + noise * rng.normal(size=(60, k)) / np.sqrt(60 / k)
    )
    pairs = np.unique(np.column_stack([groups, found]), axis=0)
    assert len(pairs) == k
    assert len(np.unique(found)) == k
