"""Functions of one's own: compiled or vectorised, of tables, images or what else has a length."""

import numba
import numpy as np
import pytest
from support.for_each import for_each

from posterity.trees.families.family import Function


def brighter(images, place, test):
    return images[place, test[0], test[1]] - images[place, test[2], test[3]]


def brighter_at_once(images, places, tests):
    return images[places, tests[:, 0], tests[:, 1]] - images[places, tests[:, 2], tests[:, 3]]


def pixels(n, rng):
    return rng.integers(5, size=(n, 4))


IMAGES = np.random.default_rng(0).normal(size=(12, 5, 5))
PLACES = np.array([3, 0, 11, 3], dtype=np.int32)
WHICH = np.array([1, 0, 1, 1], dtype=np.int32)


def asked(family, rows):
    return family.respond(rows, PLACES, family.draw(2, 3, np.random.default_rng(7)), WHICH)


@pytest.mark.full
@for_each("function", [brighter, numba.njit(brighter)], ids=["plain", "compiled"])
def test_rows_may_be_images(function):
    family = Function(function, pixels)
    at_once = Function(brighter_at_once, pixels, vectorised=True)
    assert not family.is_of_columns
    np.testing.assert_array_equal(asked(family, IMAGES), asked(at_once, IMAGES))


@pytest.mark.full
def test_rows_may_be_images_of_different_sizes():
    rows = numba.typed.List([image[: 4 + i % 2] for i, image in enumerate(IMAGES)])

    def top(images, place, test):
        return images[place][test[0] % len(images[place]), test[1]]

    tests = pixels(6, np.random.default_rng(7)).reshape(2, 3, 4)
    pairs = list(zip(PLACES, WHICH, strict=True))
    expected = [
        [rows[p][tests[a, k, 0] % len(rows[p]), tests[a, k, 1]] for p, a in pairs] for k in range(3)
    ]
    np.testing.assert_array_equal(asked(Function(top, pixels), rows), expected)


def test_a_function_may_have_no_answer():
    def only_if_positive(rows, place, test):
        return rows[place, 0] if rows[place, 0] > test[0] else np.nan

    family = Function(only_if_positive, lambda n, rng: np.zeros((n, 1)))
    rows = np.linspace(-1.0, 1.0, 12)[:, None]
    np.testing.assert_array_equal(asked(family, rows)[0], [np.nan, np.nan, 1.0, np.nan])


def test_a_function_may_answer_with_whole_numbers():
    family = Function(lambda rows, place, test: rows[place] % 3, lambda n, rng: np.zeros((n, 1)))
    answers = asked(family, np.arange(12))
    assert answers.dtype == np.float64
    np.testing.assert_array_equal(answers[0], [0.0, 0.0, 2.0, 0.0])


def test_functions_that_look_alike_are_kept_apart():
    def scaled(factor):
        return Function(
            lambda rows, place, test: factor * rows[place], lambda n, rng: np.zeros((n, 1))
        )

    rows = np.arange(12.0)
    np.testing.assert_array_equal(asked(scaled(2.0), rows), 2.0 * asked(scaled(1.0), rows))


def test_a_function_that_cannot_be_compiled_says_what_to_do():
    def through_an_object(rows, place, test):
        return rows.no_such_thing

    with pytest.raises(TypeError, match=r"(?s)numba cannot compile .* vectorised=True"):
        asked(Function(through_an_object, pixels), IMAGES[0])


def test_one_answer_a_row_is_asked_for():
    family = Function(lambda rows, places, tests: tests, pixels, vectorised=True)
    with pytest.raises(ValueError, match=r"here \(4,\), but it returned the shape \(4, 4\)"):
        asked(family, IMAGES)


@for_each("shape", [(6,), (5, 4), (2, 3, 4)])
def test_a_sampler_has_to_return_as_many_tests_as_it_is_asked_for(shape):
    family = Function(brighter, lambda n, rng: np.zeros(shape))
    with pytest.raises(ValueError, match="n = 6 it returned the shape"):
        family.draw(2, 3, np.random.default_rng(0))
