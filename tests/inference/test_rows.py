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
