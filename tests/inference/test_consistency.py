"""Shapes and numbers that compiled loops would not look at are refused before they run."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels
from posterity.latent.gplvm.variational import radial
from posterity.latent.gplvm.variational.statistics import NormalPoints
from posterity.local.gated_tree.hard import HardTree
from posterity.local.gated_tree.soft import SoftTree


@for_each(
    ("gates", "experts"),
    [
        (np.zeros((2, 3)), np.zeros((4, 1, 3))),  # no complete tree
        (np.zeros((3, 3)), np.zeros((5, 1, 3))),
        (np.zeros((3, 3)), np.zeros((6, 1, 4))),
        (np.zeros((3, 3), dtype=np.float32), np.zeros((6, 1, 3))),
        (np.zeros(3), np.zeros((6, 1, 3))),
        (np.zeros((0, 3)), np.zeros((2, 1, 3))),
    ],
)
def test_logistic_trees_that_are_not_complete_are_refused(gates, experts):
    with pytest.raises(ValueError, match=r"\.$"):
        HardTree(SoftTree(gates, experts)).check_consistency()


def test_complete_logistic_trees_take_designs_of_their_width_only():
    for n in (0, 1, 3, 7):
        tree = HardTree(SoftTree(np.ones((n, 3)), np.ones((max(2 * n, 1), 2, 3))))
        tree.check_consistency()
        assert tree.latents(np.ones((4, 3))).shape == (4, 2)
        for ask in (tree.latents, tree.apply):
            with pytest.raises(ValueError, match="columns"):
                ask(np.ones((4, 2)))
    with pytest.raises(ValueError, match="tree"):
        HardTree(None).check_consistency()


@for_each("part", ["m", "S", "Z", "weights", "l2", "V", "H"])
def test_averages_of_points_whose_shapes_differ_are_refused(part):
    shapes = {"m": (4, 2), "S": (4, 2), "Z": (3, 2), "weights": (1, 4), "l2": (2,)}
    shapes |= {"V": (4, 3), "H": (1, 3, 3)}
    wrong = {**shapes, part: (shapes[part][0] + 1, *shapes[part][1:])}
    if part == "Z":
        wrong["Z"] = (3, 1)

    def ask(shapes):
        given = {name: np.ones(shape) for name, shape in shapes.items()}
        l2, V, H = (given.pop(name) for name in ("l2", "V", "H"))
        points = NormalPoints(**given)
        radial.first_moment(points, l2), radial.second_moment(points, l2)
        radial.pull_back(points, l2, V, H)

    ask(shapes)
    with pytest.raises(ValueError, match="shape"):
        ask(wrong)


@for_each(
    ("kernel", "name", "value"),
    [
        (kernels.Subsequence(2), "length", 0),
        (kernels.Subsequence(2), "decay", -1.0),
        (kernels.RBF(1.0), "length_scale", "1"),
        (kernels.Subsequence(2), "normalize", "yes"),
    ],
)
def test_kernels_are_asked_what_their_constructor_asks(kernel, name, value):
    kernel.check_consistency()
    object.__setattr__(kernel, name, value)
    with pytest.raises(ValueError, match=name):
        kernel.check_consistency()
