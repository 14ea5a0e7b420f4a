"""A family of test functions q[x; t]: a row answers each test with one number.  [P9 Sec 9.10]

Trees, ferns, forests and boosted steps see the data through a family alone: they never look at a
row. What a row is, is the family's business: a line of a table, a window of an image, a pixel.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms
from posterity.arrays import Array
from posterity.trees.families import compiled

Tests: TypeAlias = NDArray[Any]
"""Numbers that say which tests, P of them each: (..., P)."""

Places: TypeAlias = NDArray[np.int32]


class Family(abc.ABC):
    """Tests that can be drawn at random, and what rows answer to them.

    A family is a value: ``adapt_to`` returns a copy that knows the data. A subclass writes
    ``draw``; ``compile_answer`` or ``respond``; and where there are only so many tests,
    ``catalogue``. With ``compile_answer`` rows go down trees in one compiled loop, else level by
    level through ``respond``.

    An answer that is NaN is a missing one. It counts as larger than every number, so that a row
    goes right where it has no answer, and one threshold parts missing answers from all others.
    """

    is_of_columns: ClassVar[bool] = True
    """Whether rows are lines of an (N, D) matrix, which may hold NaN. Otherwise they are whatever
    ``respond`` takes, counted by ``len``."""

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows what rows look like, each of which counts so often as it weighs.

        What is learned from weights is to be what repeated rows would teach. A family that learns
        nothing leaves this as it is.
        """
        del X, weights
        return self

    def prepare_rows(self, X: Any) -> Any:
        """The rows in the form from which ``respond`` answers fastest while trees grow."""
        return X

    @abc.abstractmethod
    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> Tests:
        """Tests at random, (n_nodes, n_tests, P); those of one node differ where they can."""

    def catalogue(self) -> Tests:
        """All tests there are, (J, P); a family without an end to them raises TypeError."""
        raise TypeError(
            f"{type(self).__name__} has no end of tests, so that they cannot all be tried; draw "
            "some of them."
        )

    def compile_answer(self) -> compiled.Answer | None:
        """A function ``answer(rows, place, test)`` that numba compiles, or None.

        It gives the answer of the row at a place to one test (P,), a number, or NaN for no answer;
        ``rows`` are what ``unpack_rows`` makes of them. A function decorated with
        ``posterity.compilation.compile_at_first_call`` is compiled once on each machine, others
        once in each process. Compiled code does not look where it reads: see ``check_tests``.
        """
        return None

    def unpack_rows(self, rows: Any) -> Any:
        """The rows as compiled code takes them: an array, a tuple of arrays, a typed list."""
        return rows

    def respond(self, rows: Any, places: Places, tests: Tests, which: Places) -> NDArray[Any]:
        """Answers of some rows to the tests of the node each of them is in.

        Parameters
        ----------
        rows : Any
            All rows, as they were given or as ``prepared`` made them.
        places : array (m,)
            Which of them are asked.
        tests : array (A, K, P)
            The tests of each node.
        which : array (m,)
            The node of each row that is asked, from 0 to A - 1.

        Returns
        -------
        array (K, m)
            Float64; or, from prepared rows, uint8 codes that grow with the answer, where
            ``code <= c`` means that the answer is at most ``cuts(test)[c]``.
        """
        answer = self.compile_answer()
        if answer is None:
            raise TypeError(
                f"{type(self).__name__} has no answers: write respond, or compile_answer."
            )
        return compiled.respond(answer, self.unpack_rows(rows), places, tests, which)

    def cuts(self, tests: Tests) -> Array | None:
        """Return the thresholds (n, B) between codes, by test, of a family that answers with codes.

        None: it answers with numbers. Beyond the last code comes +inf, which only missing answers
        exceed.
        """
        del tests
        return None

    def column_order(self) -> NDArray[np.int32] | None:
        """The columns in an order that does not depend on their places; None: in none of its own.

        What is drawn by the place of a column, or added up from the first to the last, goes by it.
        """
        return None

    def default_tests(self) -> int:
        """Number of tests that a node chooses from by default."""
        return 10

    def check_tests(self, tests: Tests) -> None:
        """Raise ValueError unless rows can answer these tests, (n, P).

        A family whose answers are compiled, and so do not look where they read, looks here.
        """
        del tests

    def check_width(self, n_columns: Any) -> None:
        """Raise ValueError unless it is rows of so many columns that the family has learned of."""
        del n_columns

    def tested_columns(self) -> list[int]:
        """Return the column of each test; raise where a page cannot compute the tests."""
        name = type(self).__name__
        raise page_forms.NoFormError(f"Splits of type {name} cannot run in a page.")

    def __eq__(self, other: object) -> bool:
        """Whether both are of one kind and know the same."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment]


def drop_weightless_rows(X: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """The rows that count at all, and how often; None where each counts once."""
    if weights is None or np.all(weights > 0.0):
        return X, weights
    return X[weights > 0.0], weights[weights > 0.0]


@dataclass(frozen=True)
class Function(Family):
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
    sampler: Callable[[int, np.random.Generator], Tests]
    vectorised: bool = False

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> Tests:
        """Tests of the sampler, (n_nodes, n_tests, P)."""
        tests = np.asarray(self.sampler(n_nodes * n_tests, rng))
        if tests.ndim != 2 or len(tests) != n_nodes * n_tests:
            raise ValueError(
                f"sampler(n, rng) has to return n tests, an array (n, P), but for "
                f"n = {n_nodes * n_tests} it returned the shape {tests.shape}."
            )
        return tests.reshape(n_nodes, n_tests, tests.shape[1])

    def respond(self, rows: Any, places: Places, tests: Tests, which: Places) -> Array:
        """Answers of the function, (K, m)."""
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
