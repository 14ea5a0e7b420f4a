"""One browser for all tests that look at pages; how much of the suite runs, and what it costs."""

from collections.abc import Iterator

import browser
import pytest

pytest_plugins = ["pytester", "support.effort", "support.budgets"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[browser.Browser]:
    with browser.opened() as opened:
        yield opened
