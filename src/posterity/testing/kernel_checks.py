"""The promises every kernel keeps, to be tried on one of your own."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays, kernels
from posterity.arrays import Array
from posterity.kernels.rows import between, count
from posterity.testing.promises import difference, numbers, slope

_STEP = 3e-5
_ROUNDING = 1e-9  # of the largest entry: what two ways of computing may differ by
_SLOPE = 1e-5  # what derivatives may differ from differences by


def check_kernel(
    kernel: kernels.Kernel, X: Any, *, inputs: bool = True, random_state: Any = 0
) -> None:
    """Raise AssertionError, with a sentence, at the first promise that a kernel does not keep.

    Shapes, symmetry, blocks that agree with the whole, positive semi-definiteness, derivatives
    against central differences, values that print, copy and compare, and inputs left alone.

    Parameters
    ----------
    kernel : Kernel
    X : array (N, D), or a sequence of objects where the kernel takes those
        At least three rows on which to try it: typical ones, not on the edge of what it is for.
    inputs : bool, default=True
        Whether derivatives in the inputs are tried. Never for kernels of objects, which have none.
    random_state : int or Generator, default=0
        Of the directions in which derivatives are tried.

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
    if count(X) < 3:
        raise ValueError(f"check_kernel needs at least three rows; X has {count(X)}.")
    trial = _Trial(kernel, X, arrays.generator(random_state))
    trial.matrices()
    trial.blocks()
    trial.parameters()
    trial.printing()
    trial.parameter_slopes()
    if inputs and kernel.takes_vectors:
        trial.input_slopes()
        trial.slopes_of_both_sides()


@dataclass(frozen=True)
class _Trial:
    """A kernel, the rows to try it on, and what it should keep to."""

    kernel: kernels.Kernel
    X: Any
    rng: np.random.Generator

    def matrices(self) -> None:
        """Shape, symmetry, definiteness, the diagonal, fresh memory, X as before."""
        kernel, X, n = self.kernel, self.X, count(self.X)
        before = copy.copy(X) if isinstance(X, list | tuple) else numbers(X).copy()
        K = kernel(X)
        self.require(tuple(K.shape) == (n, n), f"kernel(X) of {n} rows has shape {tuple(K.shape)}.")
        report = kernels.check_positive_definite(kernel, X)
        self.require(report.ok, str(report))
        first = numbers(K).copy()
        self.same(kernel.diag(X), np.diagonal(first), "diag(X) is not the diagonal of kernel(X)")
        K *= 2.0
        self.same(kernel(X), first, "writing to kernel(X) changes the next one")
        unchanged = (
            before == X if isinstance(X, list | tuple) else np.array_equal(numbers(X), before)
        )
        self.require(bool(unchanged), "calling the kernel changes X.")

    def blocks(self) -> None:
        """Rows are compared in the same way, whichever others come with them."""
        kernel, X, n = self.kernel, self.X, count(self.X)
        h = n // 2
        head, tail = between(X, 0, h), between(X, h, n)
        K, block = numbers(kernel(X)), kernel(head, tail)
        self.same(block, K[:h, h:], "kernel(X, Z) is not a block of the kernel of all rows")
        self.same(
            kernel(tail, head), numbers(block).T, "kernel(Z, X) is not kernel(X, Z) transposed"
        )
        self.same(kernel(head), K[:h, :h], "some rows by themselves are not as among all")
        self.same(kernel.diag(tail), np.diagonal(K)[h:], "diag(X) of a row depends on others")
        for Z in (None, tail):
            value = kernel.tangent(X, Z).value
            self.same(value, kernel(X, Z), "tangent(X, Z).value is not kernel(X, Z)")

    def parameters(self) -> None:
        """They go out and in, and start between their bounds."""
        kernel, theta = self.kernel, self.kernel.theta
        self.require(len(kernel.names) == len(theta), "names and theta differ in length.")
        for moved in (theta, theta + 0.1):
            self.same(kernel.at(moved).theta, moved, "at(theta) has another theta")
        self.same(kernel.at(theta)(self.X), kernel(self.X), "at(theta) is another kernel")
        started, bounds = kernel.tuned(self.X)
        p = started.theta
        self.require(bounds.shape == (len(p), 2), f"tuned(X) has bounds of shape {bounds.shape}.")
        inside = (bounds[:, 0] <= p) & (p <= bounds[:, 1])
        self.require(bool(inside.all()), "start(X) is not between the bounds of tuned(X).")

    def printing(self) -> None:
        """A value equals its copy, and what one gets by typing what it prints."""
        kernel, parts = self.kernel, list(_parts(self.kernel))
        self.require(copy.deepcopy(kernel) == kernel, "a copy is not equal.")
        if any(isinstance(part, kernels.Function) for part in parts):
            return  # a function prints by its name, which need not be known here
        known = vars(kernels) | {type(part).__name__: type(part) for part in parts}
        self.require(eval(repr(kernel), known) == kernel, f"typing {kernel!r} gives another.")

    def parameter_slopes(self) -> None:
        """Adjoints of blocks and of the diagonal against central differences."""
        kernel, X = self.kernel, self.X
        Z = between(X, 0, count(X) // 2)
        G, expected = self.slopes(lambda k: k(X))
        self.close(kernel.pullback(X, None, G), expected, "pullback without Z", "parameters")
        G, expected = self.slopes(lambda k: k(X, Z))
        self.close(kernel.pullback(X, Z, G), expected, "pullback", "parameters")
        g, expected = self.slopes(lambda k: k.diag(X))
        self.close(kernel.diag_pullback(X, g), expected, "diag_pullback", "parameters")

    def slopes(self, values: Callable[[kernels.Kernel], Any]) -> tuple[Any, Array]:
        """A random G, and dL/dtheta by differences if G = dL/dvalues."""
        like, theta = values(self.kernel), self.kernel.theta
        G = self.rng.standard_normal(tuple(like.shape))

        def along(e: Array) -> float:
            return float(np.sum(G * slope(lambda t: values(self.kernel.at(theta + t * e)), _STEP)))

        return arrays.like(like, G), np.array([along(e) for e in np.eye(len(theta))])

    def input_slopes(self) -> None:
        """The adjoint in the first argument against differences, where no row meets itself."""
        kernel, n, units = self.kernel, count(self.X), self.units
        Z, X = between(self.X, 0, n // 2), between(self.X, n // 2, n)
        G = self.rng.standard_normal((count(X), count(Z)))

        def along(u: Array) -> Array:
            dK = slope(lambda t: kernel(arrays.like(X, numbers(X) + t * u), Z), _STEP)
            return np.sum(G * dK, axis=1)

        found = numbers(kernel.pullback_inputs(X, Z, arrays.like(kernel(X, Z), G)))
        expected = np.stack([along(u) for u in np.diag(units)], axis=1)
        self.close(found * units, expected, "pullback_inputs", "inputs")

    def slopes_of_both_sides(self) -> None:
        """The adjoint as all rows move, on both sides of the kernel at once."""
        kernel, X, rows = self.kernel, self.X, numbers(self.X)
        G = self.rng.standard_normal((len(rows), len(rows)))
        G += G.T
        U = self.rng.standard_normal(rows.shape) * self.units
        expected = np.sum(G * slope(lambda t: kernel(arrays.like(X, rows + t * U)), _STEP))
        dX = numbers(kernel.pullback_inputs(X, None, arrays.like(kernel(X), G)))
        self.close(2.0 * np.sum(dX * U), expected, "pullback_inputs without Z", "inputs")

    @property
    def units(self) -> Array:
        """The size of each column."""
        return np.maximum(np.abs(numbers(self.X)).max(axis=0), 1e-3)

    def require(self, holds: bool, sentence: str) -> None:
        if not holds:
            raise AssertionError(f"{self.kernel}: {sentence}")

    def same(self, found: Any, expected: Any, sentence: str) -> None:
        self.compare(found, expected, sentence, _ROUNDING)

    def close(self, found: Any, expected: Any, name: str, moved: str) -> None:
        sentence = f"{name} is not what differences in the {moved} give"
        self.compare(found, expected, sentence, _SLOPE)

    def compare(self, found: Any, expected: Any, sentence: str, tolerance: float) -> None:
        """Raise at the largest difference above the tolerance, relative to the largest entry."""
        largest = (
            np.abs(numbers(v)).max(initial=0.0) for v in (expected, self.kernel.diag(self.X))
        )
        broken = difference(found, expected, sentence, tolerance * max(largest))
        self.require(not broken, broken)


def _parts(kernel: kernels.Kernel) -> Iterator[kernels.Kernel]:
    """The kernel and all kernels it is made of."""
    yield kernel
    inner = kernel.get_params(deep=True).values()
    yield from (value for value in inner if isinstance(value, kernels.Kernel))
