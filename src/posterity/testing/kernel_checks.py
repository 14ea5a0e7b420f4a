"""Checks of the contract of kernels, for user-defined ones."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays, kernels
from posterity.arrays import Array
from posterity.kernels.rows import count_rows, slice_rows
from posterity.testing.promises import describe_difference, difference_derivative, to_numpy

_STEP = 3e-5
_ROUNDING = 1e-9  # tolerance of equal values, relative to the largest entry
_SLOPE = 1e-5  # tolerance of derivatives


def check_kernel(
    kernel: kernels.Kernel, X: Any, *, inputs: bool = True, random_state: Any = 0
) -> None:
    """Raise AssertionError if a kernel violates the contract of kernels.

    Checks shapes, symmetry, blocks against the whole matrix, positive semi-definiteness,
    derivatives against central differences, printing, copying and comparing, and that inputs are
    unchanged.

    Parameters
    ----------
    kernel : Kernel
    X : array (N, D), or a sequence of objects where the kernel takes those
        At least three typical rows on which the kernel is evaluated.
    inputs : bool, default=True
        Whether to check derivatives with respect to the inputs. Ignored for kernels of objects.
    random_state : int or Generator, default=0
        Seed of the directions in which derivatives are checked.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from posterity import kernels, testing
    >>> @dataclass(frozen=True)
    ... class Brownian(kernels.Kernel):
    ...     def _block(self, X, Z):
    ...         return np.minimum(X, Z.T)
    >>> times = np.array([[0.5], [1.0], [4.0]])
    >>> testing.check_kernel(Brownian(), times)
    >>> testing.check_kernel(kernels.Function(lambda X, Z: X - Z.T), times)
    Traceback (most recent call last):
    AssertionError: Function(<lambda>): Not symmetric: k is -3.5 between rows 0 and 2, but 3.5
    between rows 2 and 0.
    """
    if count_rows(X) < 3:
        raise ValueError(f"check_kernel needs at least three rows; X has {count_rows(X)}.")
    trial = _KernelChecks(kernel, X, arrays.generator(random_state))
    trial.matrices()
    trial.blocks()
    trial.parameters()
    trial.check_printing()
    trial.parameter_slopes()
    if inputs and kernel.takes_vectors:
        trial.input_slopes()
        trial.slopes_of_both_sides()


@dataclass(frozen=True)
class _KernelChecks:
    """The checks of a kernel on some rows."""

    kernel: kernels.Kernel
    X: Any
    rng: np.random.Generator

    def matrices(self) -> None:
        """Check shape, symmetry, definiteness and diagonal, and that X is unchanged."""
        kernel, X, n = self.kernel, self.X, count_rows(self.X)
        before = copy.copy(X) if isinstance(X, list | tuple) else to_numpy(X).copy()
        K = kernel(X)
        self.require(tuple(K.shape) == (n, n), f"kernel(X) of {n} rows has shape {tuple(K.shape)}.")
        report = kernels.check_positive_definite(kernel, X)
        self.require(report.ok, str(report))
        first = to_numpy(K).copy()
        self.same(kernel.diag(X), np.diagonal(first), "diag(X) is not the diagonal of kernel(X)")
        K *= 2.0
        self.same(kernel(X), first, "writing to kernel(X) changes the next one")
        unchanged = (
            before == X if isinstance(X, list | tuple) else np.array_equal(to_numpy(X), before)
        )
        self.require(bool(unchanged), "calling the kernel changes X.")

    def blocks(self) -> None:
        """Check that blocks of the matrix do not depend on other rows."""
        kernel, X, n = self.kernel, self.X, count_rows(self.X)
        h = n // 2
        head, tail = slice_rows(X, 0, h), slice_rows(X, h, n)
        K, block = to_numpy(kernel(X)), kernel(head, tail)
        self.same(block, K[:h, h:], "kernel(X, Z) is not a block of the kernel of all rows")
        self.same(
            kernel(tail, head), to_numpy(block).T, "kernel(Z, X) is not kernel(X, Z) transposed"
        )
        self.same(
            kernel(head),
            K[:h, :h],
            "the kernel of some rows is not a block of the kernel of all rows",
        )
        self.same(kernel.diag(tail), np.diagonal(K)[h:], "diag(X) of a row depends on other rows")
        for Z in (None, tail):
            value = kernel.tangent(X, Z).value
            self.same(value, kernel(X, Z), "tangent(X, Z).value is not kernel(X, Z)")

    def parameters(self) -> None:
        """Check that parameters round-trip and start between their bounds."""
        kernel, theta = self.kernel, self.kernel.theta
        self.require(len(kernel.names) == len(theta), "names and theta differ in length.")
        for moved in (theta, theta + 0.1):
            self.same(
                kernel.with_theta(moved).theta, moved, "with_theta(theta) has a different theta"
            )
        self.same(
            kernel.with_theta(theta)(self.X),
            kernel(self.X),
            "with_theta(theta) is a different kernel",
        )
        started, bounds = kernel.search_start(self.X)
        p = started.theta
        self.require(
            bounds.shape == (len(p), 2), f"search_start(X) has bounds of shape {bounds.shape}."
        )
        inside = (bounds[:, 0] <= p) & (p <= bounds[:, 1])
        self.require(bool(inside.all()), "start(X) is not between the bounds of search_start(X).")

    def check_printing(self) -> None:
        """Check that a kernel equals its copy and the evaluation of its repr."""
        kernel, parts = self.kernel, list(_list_kernels(self.kernel))
        self.require(copy.deepcopy(kernel) == kernel, "a copy is not equal to the kernel.")
        if any(isinstance(part, kernels.Function) for part in parts):
            return  # the repr of a function cannot be evaluated here
        known = vars(kernels) | {type(part).__name__: type(part) for part in parts}
        self.require(
            eval(repr(kernel), known) == kernel, f"evaluating {kernel!r} gives a different kernel."
        )

    def parameter_slopes(self) -> None:
        """Check gradients of blocks and of the diagonal against central differences."""
        kernel, X = self.kernel, self.X
        Z = slice_rows(X, 0, count_rows(X) // 2)
        G, expected = self.slopes(lambda k: k(X))
        self.close(kernel.pullback(X, None, G), expected, "pullback without Z", "parameters")
        G, expected = self.slopes(lambda k: k(X, Z))
        self.close(kernel.pullback(X, Z, G), expected, "pullback", "parameters")
        g, expected = self.slopes(lambda k: k.diag(X))
        self.close(kernel.diag_pullback(X, g), expected, "diag_pullback", "parameters")

    def slopes(self, values: Callable[[kernels.Kernel], Any]) -> tuple[Any, Array]:
        """Return a random G = dL/dvalues, and dL/dtheta by differences."""
        like, theta = values(self.kernel), self.kernel.theta
        G = self.rng.standard_normal(tuple(like.shape))

        def differentiate_along(e: Array) -> float:
            return float(
                np.sum(
                    G
                    * difference_derivative(
                        lambda t: values(self.kernel.with_theta(theta + t * e)), _STEP
                    )
                )
            )

        return arrays.like(like, G), np.array([differentiate_along(e) for e in np.eye(len(theta))])

    def input_slopes(self) -> None:
        """Check the gradient in the first argument against differences."""
        kernel, n, units = self.kernel, count_rows(self.X), self.units
        Z, X = slice_rows(self.X, 0, n // 2), slice_rows(self.X, n // 2, n)
        G = self.rng.standard_normal((count_rows(X), count_rows(Z)))

        def differentiate_along(u: Array) -> Array:
            dK = difference_derivative(
                lambda t: kernel(arrays.like(X, to_numpy(X) + t * u), Z), _STEP
            )
            return np.sum(G * dK, axis=1)

        found = to_numpy(kernel.pullback_inputs(X, Z, arrays.like(kernel(X, Z), G)))
        expected = np.stack([differentiate_along(u) for u in np.diag(units)], axis=1)
        self.close(found * units, expected, "pullback_inputs", "inputs")

    def slopes_of_both_sides(self) -> None:
        """Check the gradient in the inputs of kernel(X, X) against differences."""
        kernel, X, rows = self.kernel, self.X, to_numpy(self.X)
        G = self.rng.standard_normal((len(rows), len(rows)))
        G += G.T
        U = self.rng.standard_normal(rows.shape) * self.units
        expected = np.sum(
            G * difference_derivative(lambda t: kernel(arrays.like(X, rows + t * U)), _STEP)
        )
        dX = to_numpy(kernel.pullback_inputs(X, None, arrays.like(kernel(X), G)))
        self.close(2.0 * np.sum(dX * U), expected, "pullback_inputs without Z", "inputs")

    @property
    def units(self) -> Array:
        """Scale of each column."""
        return np.maximum(np.abs(to_numpy(self.X)).max(axis=0), 1e-3)

    def require(self, holds: bool, sentence: str) -> None:
        if not holds:
            raise AssertionError(f"{self.kernel}: {sentence}")

    def same(self, found: Any, expected: Any, sentence: str) -> None:
        self.compare(found, expected, sentence, _ROUNDING)

    def close(self, found: Any, expected: Any, name: str, moved: str) -> None:
        sentence = f"{name} differs from finite differences in the {moved}"
        self.compare(found, expected, sentence, _SLOPE)

    def compare(self, found: Any, expected: Any, sentence: str, tolerance: float) -> None:
        """Raise if the largest relative difference exceeds the tolerance."""
        largest = (
            np.abs(to_numpy(v)).max(initial=0.0) for v in (expected, self.kernel.diag(self.X))
        )
        broken = describe_difference(found, expected, sentence, tolerance * max(largest))
        self.require(not broken, broken)


def _list_kernels(kernel: kernels.Kernel) -> Iterator[kernels.Kernel]:
    """Return the kernel and all its components."""
    yield kernel
    inner = kernel.get_params(deep=True).values()
    yield from (value for value in inner if isinstance(value, kernels.Kernel))
