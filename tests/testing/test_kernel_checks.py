"""The checks for users' kernels find what is broken, and say what it is."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels, testing
from posterity.kernels import Tangent

X = np.random.default_rng(0).uniform(0.5, 2.0, size=(7, 2))


@dataclass(frozen=True, repr=False)
class Overlap(kernels.Kernel):
    """min(x, z) / length_scale, added over columns; right, and to be broken below."""

    length_scale: float = kernels.positive(1.0)

    def _block(self, X, Z):
        return sum(np.minimum(X[:, [d]], Z[:, d]) for d in range(X.shape[1])) / self.length_scale


def broken(**methods):
    """A subclass of that name with one thing wrong."""
    return type("Overlap", (Overlap,), methods)(1.5)


def tangent(parameters=1.0, inputs=1.0, value=1.0):
    """The right tangent with a factor on one of its parts."""

    def _tangent(self, X, Z):
        right = Overlap._tangent(self, X, Z)
        return Tangent(
            value * right.value,
            lambda G: parameters * right.parameters(G),
            lambda G: inputs * right.inputs(G),
        )

    return _tangent


def in_place(self, X, Z):
    X += 1e-3
    return Overlap._block(self, X, Z)


def centred(self, X, Z):
    return (X - X.mean(axis=0)) @ (Z - Z.mean(axis=0)).T


CACHE = {}


def remembered(self, X, Z):
    key = (X.tobytes(), Z.tobytes())
    if key not in CACHE:
        CACHE[key] = Overlap._block(self, X, Z)
    return CACHE[key]


def test_a_right_kernel_passes():
    testing.check_kernel(Overlap(1.5), X)
    testing.check_kernel(2.0 * Overlap(1.5) + kernels.White(0.1), X)


@for_each(
    ("kernel", "match"),
    [
        (broken(_block=lambda self, X, Z: X @ X.T[:, :1]), r"kernel\(X\) of 7 rows has shape"),
        (broken(_block=lambda self, X, Z: X @ Z.T - X[:, :1]), "Not symmetric: k is"),
        (broken(_block=lambda self, X, Z: -(X @ Z.T)), "below zero. Not positive semi-definite"),
        (broken(_block=lambda self, X, Z: X @ Z.T * np.nan), "k is nan between rows 0 and 0"),
        (broken(_block=in_place), "calling the kernel changes X|writing to|not the diagonal"),
        (broken(_block=remembered), "writing to kernel.X. changes the next one"),
        (broken(_block=centred), "not a block of the kernel of all rows"),
        (broken(_diag=lambda self, X: np.ones(len(X))), "diag.X. is not the diagonal"),
        (broken(_tangent=tangent(value=1.1)), "tangent.X, Z..value is not kernel"),
        (
            broken(_tangent=tangent(parameters=1.1)),
            "pullback without Z differs from finite differences in the par",
        ),
        (broken(_tangent=tangent(parameters=-1.0)), "pullback without Z differs"),
        (
            broken(_tangent=tangent(inputs=1.1)),
            "pullback_inputs differs from finite differences in the in",
        ),
        (broken(_diag_gradient=lambda self, X, g: np.ones(1)), "diag_pullback differs"),
        (broken(with_theta=lambda self, theta: self), "with_theta.theta. has a different theta"),
        (
            broken(with_theta=lambda self, theta: Overlap(1.0)),
            "with_theta.theta. has a different theta",
        ),
        (
            broken(_write=lambda self, short: "RBF(1.0)"),
            r"evaluating RBF\(1\.0\) gives a different kernel",
        ),
        (broken(__eq__=lambda self, other: self is other), "a copy is not equal"),
        (
            broken(search_start=lambda self, X, variance=1.0: (self, np.array([[2.0, 3.0]]))),
            "not between the bounds",
        ),
        (broken(search_start=lambda self, X, variance=1.0: (self, np.ones(2))), "bounds of shape"),
    ],
)
def test_what_is_broken_is_said(kernel, match):
    with pytest.raises(AssertionError, match=match):
        testing.check_kernel(kernel, X.copy())


def test_derivatives_of_both_sides_are_tried_too():
    class OneSided(kernels.Kernel):
        def _block(self, X, Z):
            return X @ Z.T

        def tangent(self, X, Z=None):
            return Tangent(
                self(X, Z),
                lambda G: np.empty(0),
                lambda G: 0.0 * X if Z is None else G @ Z,
            )

    with pytest.raises(AssertionError, match="pullback_inputs without Z differs"):
        testing.check_kernel(OneSided(), X)


def test_kernels_without_a_derivative_may_leave_out_the_inputs():
    kernel = broken(_tangent=tangent(inputs=np.nan))
    testing.check_kernel(kernel, X, inputs=False)
    with pytest.raises(AssertionError, match="pullback_inputs"):
        testing.check_kernel(kernel, X)


@dataclass(frozen=True, repr=False)
class SharedLetters(kernels.Kernel):
    """A kernel of words."""

    variance: float = kernels.positive()

    @property
    def takes_vectors(self):
        return False

    def _block(self, X, Z):
        counts = [[len(set(x) & set(z)) for z in Z] for x in X]
        return self.variance * np.array(counts, dtype=float).reshape(len(X), len(Z))


def test_kernels_of_objects_are_checked_as_well():
    words = ["kernel", "colonel", "corn", "acorn", "unicorn"]
    testing.check_kernel(SharedLetters(2.0), words)
    testing.check_kernel(SharedLetters() * SharedLetters(3.0) + kernels.White(0.1) + 2.0, words)

    class Forgetful(SharedLetters):
        def _block(self, X, Z):
            X.reverse()
            return SharedLetters._block(self, X, Z)

    with pytest.raises(AssertionError, match=r"changes X|not the diagonal|writing to"):
        testing.check_kernel(Forgetful(2.0), list(words))


def test_small_and_large_kernels_are_held_to_their_own_size():
    for unit in (1e-9, 1e9):
        testing.check_kernel(unit * Overlap(1.5), X)
        with pytest.raises(AssertionError, match="pullback_inputs"):
            testing.check_kernel(unit * broken(_tangent=tangent(inputs=1.01)), X)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="at least three rows; X has 2"):
        testing.check_kernel(Overlap(), X[:2])
