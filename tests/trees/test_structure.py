"""Trees in one array mean what they meant apart."""

import numpy as np

from posterity.trees.structure import Trees


def stump(column, threshold):
    return Trees(
        np.array([0], np.int32),
        np.array([[column]], np.int32),
        np.array([threshold]),
        np.array([[-1, -2]], np.int32),
        np.array([1.0], np.float32),
        2,
    )


def leaf():
    return Trees(
        np.array([-1], np.int32),
        np.empty((0, 1), np.int32),
        np.empty(0),
        np.empty((0, 2), np.int32),
        np.empty(0, np.float32),
        1,
    )


def test_nodes_and_leaves_are_numbered_through():
    both = Trees.join([stump(3, 0.5), leaf(), stump(7, -1.0)])
    assert both.n_trees == 3
    assert both.n_leaves == 5
    assert both.roots.tolist() == [0, -3, 1]
    assert both.children.tolist() == [[-1, -2], [-4, -5]]
    assert both.tests.tolist() == [[3], [7]]
    assert both.thresholds.tolist() == [0.5, -1.0]
    assert both.children.dtype == np.int32


def test_one_tree_joined_is_itself():
    one = Trees.join([stump(3, 0.5)])
    assert one.roots.tolist() == [0]
    assert one.children.tolist() == [[-1, -2]]
