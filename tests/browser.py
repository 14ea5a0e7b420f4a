"""A real browser without a window, that opens files and tells what it thinks of them."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """Chromium, driven by the protocol that every browser has, and by its own."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Open a file; what was complained of before is forgotten."""
        self.complaints()
        self.requests()
        self.driver.get(path.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(script, *arguments)

    def settled(self, script: str = "return null", *arguments: Any) -> Any:
        """Run a piece of JavaScript, and wait until what it changed is drawn."""
        waiting = (
            "(function () {%s}).apply(null, arguments);"
            "const done = arguments[arguments.length - 1];"
            "requestAnimationFrame(() => requestAnimationFrame(() => done(null)));"
        )
        return self.driver.execute_async_script(waiting % script, *arguments)

    def text(self, selector: str) -> str:
        """The text of the first element."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def complaints(self) -> list[str]:
        """Errors and warnings in the console since the last call, violated policies among them."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Addresses outside the page that were asked for since the last call."""
        messages = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        sent = (m["params"] for m in messages if m["method"] == "Network.requestWillBeSent")
        addresses = (params["request"]["url"] for params in sent)
        return [address for address in addresses if not address.startswith("data:")]

    @contextlib.contextmanager
    def emulating(
        self, *, media: str = "", scheme: str = "light", width: int = 1000
    ) -> Iterator[None]:
        """A printer or a screen, light or dark, wide or narrow."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._tell("Emulation.setEmulatedMedia", media=media, features=features)
        self._tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        try:
            yield
        finally:
            self._tell("Emulation.setEmulatedMedia", media="", features=[])
            self._tell("Emulation.clearDeviceMetricsOverride")

    @contextlib.contextmanager
    def without_scripts(self) -> Iterator[None]:
        """A browser in which JavaScript is switched off."""
        self._tell("Emulation.setScriptExecutionDisabled", value=True)
        try:
            yield
        finally:
            self._tell("Emulation.setScriptExecutionDisabled", value=False)

    def _tell(self, command: str, **parameters: Any) -> None:
        self.driver.execute_cdp_cmd(command, parameters)


@contextlib.contextmanager
def opened() -> Iterator[Browser]:
    """A browser for as long as it is needed; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    service = shutil.which("chromedriver")
    if program is None or service is None:
        pytest.skip("no Chromium, or no chromedriver, on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for switch in _SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    try:
        driver.set_script_timeout(20)
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        )
        yield Browser(driver)
    finally:
        driver.quit()
