"""One browser for all tests that look at pages."""

from collections.abc import Iterator

import browser
import pytest


@pytest.fixture(scope="session")
def chromium() -> Iterator[browser.Browser]:
    with browser.opened() as opened:
        yield opened
