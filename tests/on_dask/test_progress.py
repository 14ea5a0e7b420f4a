"""A bar of what a cluster has done: drawn for a person, never in the way of the work."""

import contextlib
import io
import re
import time

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from posterity import progress  # noqa: E402
from posterity.designs import dask_graph  # noqa: E402


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Closed(Terminal):
    def write(self, text):
        raise ValueError("I/O operation on closed file")


@pytest.fixture
def person(monkeypatch):
    """The environment of an interactive run."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return monkeypatch


def slowly(piece, number):
    time.sleep(0.1)
    return piece


def at_once(piece, number):
    return piece


def total(description="Learning", work=slowly, pieces=range(12)):
    return dask_graph.map_and_merge(pieces, work, int.__add__, description=description)


def seen(stream, **options):
    """The answer, and what a person saw on the way to it."""
    with contextlib.redirect_stderr(stream):
        return total(**options), stream.getvalue()


def n_watchers(client):
    """What the scheduler does for bars: counts tasks, and feeds those who ask."""

    def watchers(dask_scheduler):
        counting = sum("progress" in str(name) for name in dask_scheduler.plugins)
        return counting + list(dask_scheduler._comms.values()).count("feed")

    return client.run_on_scheduler(watchers)


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def settles(question, answer, seconds=5.0):
    """Whether the answer to a question becomes this."""
    end = time.monotonic() + seconds
    while question() != answer and time.monotonic() < end:
        time.sleep(0.05)
    return question() == answer


def test_the_bar_says_what_is_done_and_how_much_of_it(client, person):
    answer, text = seen(Terminal())
    assert answer == sum(range(12))
    assert "Learning" in text
    # 12 pieces, 3 merges, and what is told to all of either.
    done = [int(count) for count in re.findall(r"(\d+) of 17 tasks", text)]
    assert done == sorted(done)
    assert 0 <= done[0] < done[-1] <= 17


def test_nothing_is_drawn_where_nobody_watches(client, person):
    assert seen(io.StringIO()) == (sum(range(12)), "")


def test_short_work_draws_nothing_and_asks_nothing(client, person):
    person.setattr(progress, "make_bar", pytest.fail)
    person.setattr(dask_graph, "_PATIENCE", 60.0)  # work is short on a busy machine, too
    assert seen(Terminal(), work=at_once) == (sum(range(12)), "")


def test_work_without_a_cluster_needs_no_bar(person):
    with dask.config.set(scheduler="synchronous"):
        assert seen(Terminal(), work=at_once) == (sum(range(12)), "")


@pytest.mark.full
def test_the_scheduler_stops_counting_when_the_work_is_done(client, person):
    seen(Terminal())
    assert settles(lambda: (n_watchers(client), n_tasks(client)), (0, 0))


def test_a_scheduler_that_is_asked_late_stops_counting_too(client, person):
    # The bar begins at the moment at which the work ends.
    person.setattr(dask_graph, "_PATIENCE", 0.0)
    for _ in range(5):
        seen(Terminal(), work=at_once, pieces=range(2))
    assert settles(lambda: (n_watchers(client), n_tasks(client)), (0, 0))


def test_an_error_of_the_work_is_told_as_without_a_bar(client, person):
    def fails(piece, number):
        time.sleep(0.5)
        raise ValueError("partition 3 is odd")

    with pytest.raises(ValueError, match="partition 3 is odd"):
        seen(Terminal(), work=fails)


def test_an_interrupted_wait_leaves_no_work_behind(client, person):
    def interrupt(description):
        raise KeyboardInterrupt

    person.setattr(progress, "make_bar", interrupt)
    with pytest.raises(KeyboardInterrupt):
        seen(Terminal())
    assert settles(lambda: n_tasks(client), 0)


@pytest.mark.full
def test_a_terminal_that_has_gone_is_no_reason_to_fail(client, person):
    assert seen(Closed())[0] == sum(range(12))


def test_a_scheduler_that_does_not_report_is_no_reason_to_fail(client, person):
    class Mute:
        async def listen(self):
            raise OSError("the scheduler is gone")

    person.setattr(dask_graph, "_make_reports", lambda *arguments: Mute())
    assert seen(Terminal())[0] == sum(range(12))
