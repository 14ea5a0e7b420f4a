"""Seconds of processor that each folder of tests takes, beside its budget.

A folder over its budget is named at the end of a run of the whole suite; nothing fails, since
times depend on the machine.
"""

import os
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_BUDGETS = Path(__file__).parents[1] / "budgets.toml"
_SPENT: Counter[str] = Counter()
_COLLECTION = "collection"  # once in each worker, with what tests import


def _spent_by_now() -> float:
    """Seconds of this process and of its children that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def _folder(path: Path, root: Path) -> str:
    """``src`` or a folder of ``tests``; files that lie in ``tests`` itself are one folder."""
    parts = path.relative_to(root).parts[:-1]
    return "/".join(parts[: 1 + (parts[0] == "tests")])


def pytest_collection_finish() -> None:
    _SPENT[_COLLECTION] = _spent_by_now()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _spent_by_now()
    done = yield
    _SPENT[_folder(item.path, item.config.rootpath)] += _spent_by_now() - before
    return done


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["spent"] = dict(_SPENT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _SPENT.update(getattr(node, "workeroutput", {}).get("spent", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.getoption("full") or config.args_source.name != "TESTPATHS":
        return
    budgets = tomllib.loads(_BUDGETS.read_text("utf-8"))
    terminalreporter.section("seconds of processor, and budget, a folder")
    for folder, seconds in sorted(_SPENT.items(), key=lambda item: -item[1]):
        budget = budgets.get(folder, 0)
        over = "  over its budget" if seconds > budget else ""
        terminalreporter.write_line(f"{seconds:7.1f} {budget:5}  {folder}{over}")
    terminalreporter.write_line(f"{sum(_SPENT.values()):7.1f} {sum(budgets.values()):5}  together")
