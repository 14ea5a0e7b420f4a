"""User-defined tests: any function of a row and the parameters of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from posterity.arrays import Array
from posterity.trees.families import compiled, family


@dataclass(frozen=True)
class Function(family.Family):
    """Tests that a function answers, q[x; t] = function(rows, place, t).

    The function is compiled by numba when it is first used, once in each process; one decorated
    with ``posterity.compilation.compile_at_first_call`` is kept on disk. Where it cannot be
    compiled, let it answer for many rows at once in NumPy. To be saved with a model it has to have
    a name in a module.

    Parameters
    ----------
    function : callable
        ``function(rows, place, test)`` gives the answer of ``rows[place]`` to one test (P,), a
        number, or NaN for no answer. It is a plain Python function that numba can compile,
        or one that numba has compiled. If ``vectorised``, ``function(rows, places, tests)`` gives
        the answers (m,) of the rows at ``places`` (m,) to ``tests`` (m, P), one each.
    sampler : callable
        ``sampler(n, rng)`` draws n tests at random, (n, P).
    vectorised : bool, default False
        Whether the function answers for many rows at once, and is not to be compiled.

    Examples
    --------
    Rows are images, and a test compares two of their pixels:

    >>> import numpy as np
    >>> from posterity.trees import Function
    >>> def brighter(images, place, test):
    ...     return images[place, test[0], test[1]] - images[place, test[2], test[3]]
    >>> def pixels(n, rng):
    ...     return rng.integers(8, size=(n, 4))
    >>> family = Function(brighter, pixels)
    >>> images = np.arange(128.0).reshape(2, 8, 8)
    >>> nodes = np.zeros(2, dtype=np.int32)
    >>> family.respond(images, np.arange(2, dtype=np.int32), np.array([[[1, 0, 0, 2]]]), nodes)
    array([[6., 6.]])
    """

    is_of_columns: ClassVar[bool] = False

    function: Callable[..., Any]
    sampler: Callable[[int, np.random.Generator], family.Tests]
    vectorised: bool = False

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """What the sampler draws, (n_nodes, n_tests, P)."""
        tests = np.asarray(self.sampler(n_nodes * n_tests, rng))
        if tests.ndim != 2 or len(tests) != n_nodes * n_tests:
            raise ValueError(
                f"sampler(n, rng) has to return n tests, an array (n, P), but for "
                f"n = {n_nodes * n_tests} it returned the shape {tests.shape}."
            )
        return tests.reshape(n_nodes, n_tests, tests.shape[1])

    def respond(
        self, rows: Any, places: family.Places, tests: family.Tests, which: family.Places
    ) -> Array:
        """What the function says, (K, m)."""
        if not self.vectorised:
            return compiled.respond(self.function, rows, places, tests, which)
        answers = np.empty((tests.shape[1], len(places)))
        for k in range(tests.shape[1]):
            answers[k] = _check_answers(self.function(rows, places, tests[which, k]), len(places))
        return answers

    def compile_answer(self) -> compiled.Answer | None:
        """The function, unless it answers for many rows at once."""
        return None if self.vectorised else self.function


def _check_answers(answers: Any, n: int) -> Any:
    if np.shape(answers) != (n,):
        raise ValueError(
            f"A vectorised function has to return one answer a row, here ({n},), but it returned "
            f"the shape {np.shape(answers)}."
        )
    return answers
