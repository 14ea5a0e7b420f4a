"""Reading ahead is map, with one read under way."""

import threading

import pytest

from posterity.designs.ahead import read_ahead


def test_results_come_in_order():
    assert list(read_ahead(lambda i: i * i, range(20))) == [i * i for i in range(20)]
    assert list(read_ahead(abs, [])) == []


def test_the_next_read_begins_while_the_caller_has_this_one():
    begun = [threading.Event() for _ in range(3)]
    results = read_ahead(lambda i: begun[i].set() or i, range(3))
    assert next(results) == 0
    assert begun[1].wait(timeout=5)
    assert not begun[2].is_set()
    results.close()


def test_an_error_is_raised_at_its_turn():
    results = read_ahead(lambda i: 1 // i, [1, 0, 1])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_thread_ends_with_the_generator():
    before = threading.active_count()
    results = read_ahead(abs, range(3))
    next(results)
    results.close()
    assert threading.active_count() == before
