"""A bar when a person is watching; nothing, and no rich, when not."""

import ast
import contextlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from posterity import designs, progress

BLOCKS = [np.zeros((3000, 2)), np.zeros((2000, 2)), np.zeros((234, 2))]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def person(monkeypatch):
    """The environment of an interactive run."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return monkeypatch


def shown(stream, *arguments, **options):
    """The tracked items, and what the stream received meanwhile."""
    with contextlib.redirect_stderr(stream):
        items = list(progress.track(*arguments, description="Reading", **options))
    return items, stream.getvalue()


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_items_pass_through_untouched(person, stream):
    items, _ = shown(stream(), BLOCKS, total=5234)
    assert all(item is block for item, block in zip(items, BLOCKS, strict=True))


def test_the_bar_counts_the_rows_of_each_block(person):
    _, text = shown(Terminal(), BLOCKS, total=5234)
    for part in ("Reading", "5,234 rows", "rows/s", "100%"):
        assert part in text


def test_the_time_that_is_left_is_shown(person):
    _, text = shown(Terminal(), BLOCKS, total=10_000)
    assert "0:00:0" in text.split("rows/s")[-1]


def test_nothing_is_written_where_nobody_watches(person):
    assert shown(io.StringIO(), BLOCKS, total=5234)[1] == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_automated_runs_and_dumb_terminals_are_not_watched(person, name, value):
    person.setenv(name, value)
    assert shown(Terminal(), BLOCKS)[1] == ""


def test_a_process_without_stderr_is_not_watched(person):
    person.setattr(sys, "stderr", None)
    assert not progress.is_watched()


def test_steps_may_be_counted_in_any_unit(person):
    items, text = shown(Terminal(), range(7), total=7, unit="trees", size=lambda i: 1)
    assert items == list(range(7))
    assert "7 trees" in text


def test_an_unknown_total_is_no_obstacle(person):
    assert "5,234 rows" in shown(Terminal(), iter(BLOCKS))[1]


def test_the_cursor_comes_back_when_the_caller_stops_early(person):
    with contextlib.redirect_stderr(Terminal()) as stream:
        tracked = progress.track(BLOCKS, description="Reading", total=5234)
        next(tracked)
        tracked.close()
    hide, show = "\x1b[?25l", "\x1b[?25h"
    assert stream.getvalue().count(hide) == stream.getvalue().count(show) == 1


def test_one_tracked_loop_may_run_inside_another(person):
    with contextlib.redirect_stderr(Terminal()) as stream:
        for _ in progress.track(range(2), description="Outer", size=lambda i: 1):
            assert len(list(progress.track(BLOCKS, description="Inner"))) == 3
    assert "Inner" in stream.getvalue()


def test_rich_and_polars_are_imported_only_when_they_are_needed():
    folder = Path(designs.__file__).parent
    files = [Path(progress.__file__), *(f for f in folder.glob("*.py") if f.name != "parquet.py")]
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                text = ast.unparse(node)
                assert not any(name in text for name in ("rich", "polars", "parquet")), text
