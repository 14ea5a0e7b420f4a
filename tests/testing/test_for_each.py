"""A test over many values runs them all and names every one that fails."""

import pytest
from support.for_each import for_each


def grid(test):
    return for_each("a", [1, 2, 3])(for_each(("b", "c"), [(1, 1), (2, 4)])(test))


def test_every_value_is_tried():
    seen = []
    grid(lambda a, b, c: seen.append((a, b, c)))()
    assert seen == [(a, b, b * b) for a in (1, 2, 3) for b in (1, 2)]


def test_all_values_that_fail_are_named():
    @for_each("a", [1, 2, 3])
    def test(a):
        assert a == 2

    with pytest.raises(BaseExceptionGroup, match="2 of 3 values fail") as caught:
        test()
    assert [e.__notes__ for e in caught.value.exceptions] == [["with a=1"], ["with a=3"]]


def test_one_value_that_fails_is_its_error():
    @for_each("a", [1, 2])
    def test(a):
        with pytest.raises(ZeroDivisionError):
            1 / (a - 2)

    with pytest.raises(pytest.fail.Exception) as caught:
        test()
    assert caught.value.__notes__ == ["with a=1"]


def test_fixtures_and_values_of_outer_marks_still_come(tmp_path):
    @pytest.mark.parametrize("b", [5])
    @for_each("a", [1, 2])
    def test(a, b):
        raise NotImplementedError

    assert [mark.name for mark in test.pytestmark] == ["parametrize"]
    with pytest.raises(BaseExceptionGroup):
        test(b=5)


def test_a_function_that_gives_the_values_is_called_when_the_test_runs():
    found = []
    test = for_each("a", lambda: found or None.never)(lambda a: a.no_such_attribute)
    found.append(1)
    with pytest.raises(AttributeError, match="no_such_attribute"):
        test()


def test_no_value_at_all_is_a_mistake():
    with pytest.raises(AssertionError, match="no value"):
        for_each("a", [])
