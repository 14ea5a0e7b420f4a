"""Local minima: down from several starts, and to where rounding no longer shows.

A search that stops once it gains little stops somewhere near the minimum, and where exactly depends
on the last digits of sums. What follows from its end, other searches above all, then depends on the
machine. Newton's method squares what is left of the error with each step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import joblib
import numpy as np
from numpy.typing import NDArray

from posterity import linalg, optimize
from posterity.arrays import Array

_COARSE_GAIN = 1e-4  # nats: valleys are long and flat, and more than this separates two of them
_FINE_GAIN = 1e-7


def minimise_with_restarts(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    starts: Iterable[Array],
    *,
    max_iter: int,
    n_jobs: int | None = None,
) -> tuple[optimize.Optimum, list[optimize.Optimum]]:
    """Find the best local minimum by L-BFGS from several starts, and the end of each search.

    Warns
    -----
    ConvergenceWarning
        When the best search did not end by itself.

    Examples
    --------
    >>> import numpy as np
    >>> wells = lambda x: (float((x @ x - 1.0) ** 2 + x[0]), 4.0 * (x @ x - 1.0) * x + 1.0)
    >>> best, ends = minimise_with_restarts(wells, [np.ones(1), -np.ones(1)], max_iter=50)
    >>> [round(end.value, 1) for end in ends], round(best.value, 1)
    ([0.9, -1.1], -1.1)
    """
    tasks = (
        joblib.delayed(_search)(value_and_gradient, start, max_iter, _COARSE_GAIN)
        for start in starts
    )
    ends = list(joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))
    best = min(ends, key=lambda end: end.value)
    if best.converged:
        bottom = _search(value_and_gradient, best.x, max_iter, _FINE_GAIN)
        best = replace(bottom, n_iter=best.n_iter + bottom.n_iter)
        if best.converged:
            best = settle_minimum(value_and_gradient, best)
    return optimize.optimum.warn_unless_converged(best), ends


def _search(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    max_iter: int,
    least_gain: float,
) -> optimize.Optimum:
    return optimize.minimise_lbfgs(
        value_and_gradient, start, max_iter=max_iter, least_gain=least_gain, announce=False
    )


_DIFFERENCE = float(np.finfo(np.float64).eps) ** 0.5  # of a variable of size one
_LITTLE = 1e-2  # of the slope at which a Hessian was found
_MOST_VARIABLES = 300  # up to which a Hessian takes no longer than a search


def settle_minimum(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    found: optimize.Optimum,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> optimize.Optimum:
    """The minimum by Newton's method from where a search ended; variables at a bound stay there.

    The Hessian is one of differences of the gradient, an evaluation for each variable, which should
    be of size one. Where there are more than 300 the search ends as it did.

    Examples
    --------
    >>> valley = lambda x: (float(np.exp(x[0]) - 2.0 * x[0]), np.exp(x) - 2.0)
    >>> rough = optimize.minimise_lbfgs(valley, np.zeros(1), tol=1e-2)
    >>> settled = settle_minimum(valley, rough)
    >>> [bool(abs(end.x[0] - np.log(2.0)) < 1e-8) for end in (rough, settled)]
    [False, True]
    """
    low, high = np.transpose(bounds) if bounds is not None else (-np.inf, np.inf)
    free = (found.x > low) & (found.x < high)
    if not 0 < np.count_nonzero(free) <= _MOST_VARIABLES:
        return found
    problem = _FreeVariables(value_and_gradient, found.x, free)
    with warnings.catch_warnings():
        # The search has converged: there may be nothing to gain that values show.
        warnings.simplefilter("ignore", optimize.ConvergenceWarning)
        end = optimize.minimise_newton(
            problem.value, problem.gradient, problem.solve_shifted, problem.start
        )
    x = problem.fill(end.x)
    if np.any(x < low) or np.any(x > high):
        return found
    value, gradient = value_and_gradient(x)
    return replace(found, x=x, value=value, gradient=gradient, n_iter=found.n_iter + end.n_iter)


class _FreeVariables:
    """A function of some variables while others stay, with what is known of the last point."""

    def __init__(
        self,
        value_and_gradient: Callable[[Array], tuple[float, Array]],
        x: Array,
        free: NDArray[np.bool_],
    ) -> None:
        self._function, self._all, self._free = value_and_gradient, x, free
        self.start = x[free]
        self._z = self._z_of_hessian = np.empty(0)
        self._slope_of_hessian = 0.0

    def fill(self, z: Array) -> Array:
        """All variables, these being the free ones."""
        x = self._all.copy()
        x[self._free] = z
        return x

    def value(self, z: Array) -> float:
        """The value of the function at these free variables."""
        return self._evaluate_at(z)[0]

    def gradient(self, z: Array) -> Array:
        """Its gradient in the free variables."""
        return self._evaluate_at(z)[1]

    def solve_shifted(self, z: Array, g: Array, shift: float) -> Array:
        """(H + shift * its mean diagonal)^-1 g.

        A step may ask for several shifts, and H serves for more steps where one took it so near
        that little of the slope is left.
        """
        size = float(np.linalg.norm(g))
        if not (np.array_equal(z, self._z_of_hessian) or size < _LITTLE * self._slope_of_hessian):
            self._H, self._z_of_hessian = self._differentiate_gradient(z, g), z
            self._slope_of_hessian = size
        diagonal = np.diagonal(self._H)
        shifted = self._H + np.diag(np.full(len(z), shift * float(np.mean(np.abs(diagonal)))))
        return linalg.solve_cholesky(linalg.cholesky(shifted, max_jitter=0.0), g)

    def _evaluate_at(self, z: Array) -> tuple[float, Array]:
        if not np.array_equal(z, self._z):
            value, gradient = self._function(self.fill(z))
            self._last, self._z = (value, gradient[self._free]), z.copy()
        return self._last

    def _differentiate_gradient(self, z: Array, g: Array) -> Array:
        """The symmetric Hessian to half of its digits."""
        steps = _DIFFERENCE * np.maximum(1.0, np.abs(z))
        moved = [self._function(self.fill(z + e))[1][self._free] for e in np.diag(steps)]
        if not np.all(np.isfinite(moved)):
            raise np.linalg.LinAlgError("The domain ends here.")
        rows = (np.array(moved) - g) / steps[:, None]
        return 0.5 * (rows + rows.T)
