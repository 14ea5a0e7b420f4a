"""BLAS has one thread while matrices are small, and every thread it had afterwards."""

import threading
from collections.abc import Iterator

import pytest
import threadpoolctl

from posterity import linalg
from posterity.linalg import threads


def counts():
    return {library["num_threads"] for library in threads._blas().info()}


def enter_and_leave():
    with linalg.limit_threads(10):
        pass


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if counts() != {2}:
            pytest.skip("BLAS has no threads to limit")
        yield


def test_one_thread_inside_and_all_of_them_after():
    with linalg.limit_threads(10):
        assert counts() == {1}
    assert counts() == {2}


def test_large_matrices_keep_their_threads():
    with linalg.limit_threads(threads._WORTH_THREADS):
        assert counts() == {2}
    with linalg.limit_threads(threads._WORTH_THREADS - 1):
        assert counts() == {1}


def test_numpy_and_scipy_are_both_limited():
    folders = {library["filepath"] for library in threads._blas().info()}
    every = {
        library["filepath"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
        and any(name in library["filepath"] for name in ("numpy", "scipy"))
    }
    assert folders >= every  # another package may bring its own
    assert every


def test_nested_contexts_are_one():
    with linalg.limit_threads(10):
        with linalg.limit_threads(20), linalg.limit_threads(10**6):
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


def test_an_error_inside_restores_the_threads():
    with pytest.raises(ZeroDivisionError), linalg.limit_threads(10):
        _ = 1 / 0
    assert counts() == {2}


def test_another_thread_does_not_lift_the_limit_of_the_first():
    with linalg.limit_threads(10):
        worker = threading.Thread(target=enter_and_leave)
        worker.start()
        worker.join()
        assert counts() == {1}
    assert counts() == {2}


def test_a_thread_that_outlasts_the_first_leaves_the_threads_as_they_were():
    entered, may_leave = threading.Event(), threading.Event()

    def first():
        with linalg.limit_threads(10):
            entered.set()
            may_leave.wait()

    worker = threading.Thread(target=first)
    worker.start()
    entered.wait()
    with linalg.limit_threads(10):
        may_leave.set()
        worker.join()
    assert counts() == {2}
    with linalg.limit_threads(10):
        assert counts() == {1}


def test_one_thread_is_left_alone(monkeypatch):
    class Untouchable:
        def info(self):
            return [{"num_threads": 1}, {"num_threads": None}]

    monkeypatch.setattr(threads, "_blas", Untouchable)
    with linalg.limit_threads(10):
        pass


def test_libraries_are_looked_for_only_once():
    assert threads._blas() is threads._blas()
