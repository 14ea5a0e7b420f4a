"""How much of the suite runs: what a change must pass or, with ``--full``, all of it.

``@pytest.mark.full`` keeps a test for ``--full``; ``full(but=3)`` keeps all of its cases but three,
spread evenly. Simulations and fuzzing take a tenth of their draws without ``--full``.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import pytest

_CHOSEN = {"full": False}


def is_full() -> bool:
    """Whether everything runs; known before tests are collected."""
    return _CHOSEN["full"]


def draws(n_full: int, *, least: int = 1) -> int:
    """A tenth of a number of draws, but at least some; all of them with ``--full``."""
    return n_full if is_full() else min(n_full, max(least, n_full // 10))


def some(values: Sequence[Any], n: int) -> Sequence[Any]:
    """So many of the values, spread evenly; all of them with ``--full``."""
    return values if is_full() or n >= len(values) else _spread(values, n)


def _spread(values: Sequence[Any], n: int) -> list[Any]:
    return [values[i * len(values) // n] for i in range(n)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="every test, and all draws")


def pytest_configure(config: pytest.Config) -> None:
    _CHOSEN["full"] = config.getoption("full")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what waits for ``--full``; a case that is named on the command line stays."""
    if is_full() or any("::" in name for name in config.args):
        return
    waiting: dict[Any, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("full"):
            waiting.setdefault((item.path, getattr(item, "originalname", "")), []).append(item)
    left_out = {case for cases in waiting.values() for case in _leave_out(cases)}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def _leave_out(cases: list[pytest.Item]) -> set[pytest.Item]:
    """The cases of one test that wait, those that stay being other ones for another test."""
    marks = [case.get_closest_marker("full") for case in cases]
    n_kept = max(mark.kwargs.get("but", 0) for mark in marks if mark)
    shift = zlib.crc32(cases[0].nodeid.partition("[")[0].encode()) % len(cases)
    return set(cases) - set(_spread(cases[shift:] + cases[:shift], min(n_kept, len(cases))))
