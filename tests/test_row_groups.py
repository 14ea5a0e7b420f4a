"""Equal rows: grouped as a loop over all pairs would."""

import numpy as np
from support.for_each import for_each

from posterity.row_groups import RowGroups


@for_each("shape", [(40, 2), (40,), (1, 3), (0, 2)])
def test_groups_are_those_of_comparing_every_pair(shape):
    rows = np.random.default_rng(0).integers(0, 3, shape).astype(float)
    groups = RowGroups.of_equal(rows)
    same = [[np.array_equal(a, b) for b in rows] for a in rows]
    np.testing.assert_array_equal(
        groups.number[:, None] == groups.number, np.array(same, dtype=bool).reshape(2 * [len(rows)])
    )
    firsts = [same[i].index(True) for i in range(len(rows))]
    np.testing.assert_array_equal(groups.first[groups.number], firsts)
    assert groups.n_groups == len(set(firsts))
    values = rows[groups.first].tolist()
    assert values == sorted(values)


def test_counts_are_sums_of_weights_and_appearance_keeps_the_groups():
    rng = np.random.default_rng(1)
    rows, weights = rng.integers(0, 3, (30, 2)).astype(float), rng.uniform(size=30)
    groups = RowGroups.of_equal(rows).by_appearance()
    assert np.all(np.diff(groups.first) > 0)
    expected = [weights[groups.number == g].sum() for g in range(groups.n_groups)]
    np.testing.assert_allclose(groups.count(weights), expected)
    assert groups.count().sum() == 30.0
