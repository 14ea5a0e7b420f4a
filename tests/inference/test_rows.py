"""Equal rows made one."""

import numpy as np

from posterity.inference import rows


def test_weights_repetition_and_order_come_to_the_same_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20).astype(float)
    w = rng.integers(0, 4, 20)
    order = rng.permutation(w.sum())
    repeated = np.repeat(X, w, axis=0)[order], np.repeat(y, w)[order]
    for one, other in zip(
        rows.merge_equal_rows(X, y, w.astype(float)), rows.merge_equal_rows(*repeated), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_rows_of_two_targets_stay_two():
    X, y, counts = rows.merge_equal_rows(np.ones((3, 1)), np.array([0.0, 1.0, 0.0]))
    assert X.tolist() == [[1.0], [1.0]]
    assert y.tolist() == [0.0, 1.0]
    assert counts.tolist() == [2.0, 1.0]


def test_rows_and_columns_are_sorted_alike_in_any_order():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 4)).astype(float), rng.integers(0, 2, 40).astype(float)
    X[:, 3] = rng.permutation(X[:, 0])  # the values of another column, in other rows
    place, order = rng.permutation(40), rng.permutation(4)
    found = rows.merge_and_sort(X, y)
    scaled = 1e3 * X[place][:, order] - 7.0
    moved = rows.merge_and_sort(np.vstack([scaled, scaled[:5]]), np.append(y[place], y[place[:5]]))
    np.testing.assert_array_equal(order[moved[3]], found[3])
    np.testing.assert_allclose(moved[0], 1e3 * found[0][:, order] - 7.0)
    np.testing.assert_array_equal(moved[1], found[1])
