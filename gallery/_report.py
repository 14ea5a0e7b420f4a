"""The picture of a report: ``python -m gallery._report posterity-demo/report.html``.

Writes docs/figures/report.png from the report of ``posterity demo``, with Chromium and its driver:
on the left the verdict and the ranking, on the right predictions and the panel that answers.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
from pathlib import Path
from typing import Any

from gallery import _pictures
from PIL import Image

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
WIDTH, HEIGHT, SCALE = 780, 1370, 1.15  # of a column in pixels of the page, and their size
PREDICTIONS = 600  # the height that they have in the right column


def photograph(driver: Any, top: float, height: float) -> Image.Image:
    """A part of the page over its whole width."""
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height, "scale": SCALE}
    answer = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    return Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("RGB")


def find_top(driver: Any, section: str) -> float:
    """Where a section begins, below the top of the page."""
    found = "return document.getElementById(arguments[0]).getBoundingClientRect().top + scrollY"
    return float(driver.execute_script(found, section))


def draw(driver: Any, report: Path) -> Image.Image:
    """Both columns of the picture."""
    driver.get(report.resolve().as_uri())
    predictions = photograph(driver, find_top(driver, "prediction"), PREDICTIONS)
    panel = photograph(driver, find_top(driver, "what-if-section"), HEIGHT - PREDICTIONS)
    left = photograph(driver, 0, HEIGHT)
    picture = Image.new("RGB", (2 * left.width, left.height), "white")
    picture.paste(left, (0, 0))
    picture.paste(predictions, (left.width, 0))
    picture.paste(panel, (left.width, predictions.height))
    return picture


def main(report: Path) -> None:
    """Open the report in a browser without a window, and write the picture."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for switch in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(switch)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        _pictures.palette(draw(driver, report)).save(PICTURE, optimize=True)
    finally:
        driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
