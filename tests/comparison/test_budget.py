"""Time that may be spent, and how it ends."""

import signal
import sys
import threading
import time

import pytest
from support.for_each import for_each

from posterity.comparison import budget


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_a_block_that_takes_too_long_is_stopped():
    start = time.perf_counter()
    with pytest.raises(budget.OutOfTime), budget.limit_time(0.05):
        busy(30.0)
    assert time.perf_counter() - start < 15.0


def test_no_handler_of_exceptions_on_the_way_keeps_it():
    def stubborn():
        try:
            busy(30.0)
        except Exception:
            pytest.fail("kept")

    with pytest.raises(budget.OutOfTime), budget.limit_time(0.05):
        stubborn()


def test_an_alarm_that_was_lost_comes_again(monkeypatch):
    monkeypatch.setattr(budget, "_AGAIN", 0.05)
    heard = []

    def deaf():
        try:
            busy(30.0)
        except budget.OutOfTime:
            heard.append(1)
        busy(30.0)

    with pytest.raises(budget.OutOfTime), budget.limit_time(0.05):
        deaf()
    assert heard == [1]


def test_an_alarm_that_a_destructor_loses_is_not_reported(monkeypatch, capfd):
    monkeypatch.setattr(budget, "_AGAIN", 0.05)

    class Slow:
        def __del__(self):
            busy(30.0)

    def drop():
        slow = Slow()
        del slow
        busy(30.0)

    hook = sys.unraisablehook
    with pytest.raises(budget.OutOfTime), budget.limit_time(0.05):
        drop()
    assert capfd.readouterr().err == ""
    assert sys.unraisablehook is hook


def test_afterwards_alarms_are_as_before():
    before = signal.getsignal(signal.SIGALRM)
    with budget.limit_time(60.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_without_a_limit_no_alarm_is_set():
    with budget.limit_time(float("inf")):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_an_alarm_of_another_is_left_alone():
    signal.setitimer(signal.ITIMER_REAL, 100.0)
    try:
        with budget.limit_time(1e-3):
            busy(0.02)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def test_other_threads_take_their_time():
    done = []

    def work():
        with budget.limit_time(1e-3):
            busy(0.02)
        done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]


def test_a_clock_without_a_budget_never_ends_and_one_with_it_does():
    assert budget.Clock(None).read_remaining() == float("inf")
    clock = budget.Clock(1e-9)
    assert clock.read_remaining() < 0.0 < clock.read_elapsed()


@for_each("wrong", [0, -1.0, float("nan")])
def test_a_budget_is_a_positive_number(wrong):
    with pytest.raises(ValueError, match="positive number of seconds"):
        budget.Clock(wrong)
