"""The decision figure and its page name every model, and lead to pages that exist."""

import importlib.util
import re
from pathlib import Path

from support.for_each import for_each

import posterity

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "choosing.md").read_text("utf-8")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHOOSING = load(DOCS / "_ext" / "choosing.py")
LEAVES = list(CHOOSING.leaves())
MODELS = [name for name in posterity.__all__ if isinstance(getattr(posterity, name), type)]


def headings(page):
    titles = re.findall(r"^#+ (.*)$", (DOCS / f"{page}.md").read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@for_each("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_a_box_names_a_model_of_the_front_door(leaf):
    assert leaf.name in posterity.__all__
    assert isinstance(getattr(posterity, leaf.name), type)


@for_each("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_a_box_leads_to_a_page_that_tells_of_its_model(leaf):
    page = (DOCS / f"{leaf.page}.md").read_text("utf-8")
    assert leaf.name in page
    assert not leaf.anchor or leaf.anchor in headings(leaf.page)


def test_every_model_is_on_the_page():
    assert "```{models}" in PAGE
    tables = load(DOCS / "_ext" / "family.py").family_tables()
    assert [name for name in MODELS if f"| `{name}` |" not in tables] == []


def test_the_picture_is_what_the_questions_draw():
    assert CHOOSING.PICTURE.read_text("utf-8") == CHOOSING.draw()


def test_every_question_but_the_last_has_a_way_on():
    assert [question.last for question in CHOOSING.QUESTIONS[:-1]] == [False] * 5
    assert CHOOSING.QUESTIONS[-1].last
    assert CHOOSING.draw().count(">no<") == CHOOSING.draw().count(">yes<") == 5


def test_boxes_stay_within_the_picture_and_apart():
    drawn = re.findall(
        r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" rx', CHOOSING.draw()
    )
    boxes = [tuple(map(int, box)) for box in drawn]
    width, height = map(int, re.search(r'viewBox="-4 0 (\d+) (\d+)"', CHOOSING.draw()).groups())
    assert len(boxes) == len(LEAVES)
    for i, (x, y, w, h) in enumerate(boxes):
        assert x + w <= width - 4
        assert y + h <= height
        for u, v, s, t in boxes[:i]:
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y
