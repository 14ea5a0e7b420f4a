"""``posterity vision demo``: a page with a picture of every system, and files to try."""

import html.parser
import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from posterity import vision
from posterity.cli import app
from posterity.vision.commands.demo import people, run
from posterity.vision.commands.results import Demonstration


def show_dots(folder):
    """A system that takes no time."""
    vision.write_image(folder / "dots.png", np.zeros((2, 2), np.uint8))
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return Demonstration("dots", "Dots & lines", "Two.", figure, "90 % <b>", ("vision", "detect"))


class Parser(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.pictures, self.sections = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs))
        if tag == "section":
            self.sections.append(dict(attrs)["id"])


@pytest.fixture
def demo(tmp_path, monkeypatch):
    module = __import__("sys").modules[run.__module__]
    monkeypatch.setattr(module, "SYSTEMS", (show_dots, people.show_bodies))
    return lambda *more: CliRunner().invoke(
        app, ["vision", "demo", "--out", str(tmp_path / "shown"), *more]
    )


@pytest.mark.full
def test_the_page_has_a_picture_of_each_system_and_fetches_nothing(demo, tmp_path):
    result = demo("--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    text = (tmp_path / "shown" / "report.html").read_text()
    page = Parser(text)
    assert page.sections == ["dots", "body-parts"] == [one["name"] for one in told["systems"]]
    assert all(picture["src"].startswith("data:image/png;base64,") for picture in page.pictures)
    assert page.pictures[0]["alt"] == "90 % <b>"
    assert "Dots &amp; lines" in text
    assert "script-src &#39;none&#39;" in text
    for name in ("dots.png", "body-parts.png", "depth.png"):
        assert (tmp_path / "shown" / name).stat().st_size > 0
    again = demo()
    words = " ".join(again.output.replace("\u2502", "").split())
    assert (again.exit_code, "is not empty" in words) == (2, True)


@pytest.mark.full
def test_the_file_that_is_left_to_try_works(demo, tmp_path):
    assert demo().exit_code == 0
    depth = str(tmp_path / "shown" / "depth.png")
    told = json.loads(CliRunner().invoke(app, ["vision", "body-parts", depth, "--json"]).stdout)
    assert told["joints"] > 8
