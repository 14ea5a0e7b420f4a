"""The README's examples run, word for word."""

import pathlib
import re
import runpy
from pathlib import Path

from matplotlib import figure
from support.for_each import for_each

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


def test_readme_has_an_example():
    assert BLOCKS


@for_each("block", BLOCKS, ids=lambda block: block.splitlines()[-1])
def test_readme_example_runs(block):
    exec(compile(block, str(README), "exec"), {"__name__": "readme"})


def test_readme_shows_what_its_first_example_prints(capsys):
    exec(compile(BLOCKS[0], str(README), "exec"), {})
    shown = re.search(r"^```text\n(.*?)^```", TEXT, re.M | re.S)[1]
    assert capsys.readouterr().out == shown


def test_the_first_example_is_about_ten_lines():
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 12


def test_the_caption_says_what_the_picture_says(monkeypatch):
    monkeypatch.setattr(pathlib.Path, "mkdir", lambda *_, **__: None)
    monkeypatch.setattr(figure.Figure, "savefig", lambda *_, **__: None)
    covered = runpy.run_path(str(README.parent / "gallery" / "hero.py"))["covered"]
    assert list(covered) == ["Maximum likelihood", "Bayesian"]
    for percent in covered.values():
        assert TEXT.count(f"{percent:.0f} %") >= 2  # in the caption and in the alternative text
