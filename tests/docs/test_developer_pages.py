"""Pages for developers are listed, short, and name what exists; a fit goes as they say."""

import re
import sys
from pathlib import Path

import numpy as np
from support.for_each import for_each

import posterity

ROOT = Path(__file__).parents[2]
SRC = Path(posterity.__file__).parent
FOLDER = ROOT / "docs" / "developers"
PAGES = sorted(FOLDER.glob("*.md"))
PLACES = (ROOT, SRC, FOLDER)
PATH = re.compile(r"`([\w.]+(?:/[\w.]+)+)`|`(\w+\.(?:md|toml))`|\]\((\w+\.md)\)")
FRAME = re.compile(r"^(\w+/\S+\.py) +(\S+)  ", re.M)
MOST_WORDS = 600


def paths_in(text: str) -> list[str]:
    """Folders, files and pages that a text names."""
    return [next(filter(None, found)) for found in PATH.findall(text)]


def missing(text: str) -> list[str]:
    return [path for path in paths_in(text) if not any((at / path).exists() for at in PLACES)]


def test_every_page_is_listed():
    listed = paths_in((FOLDER / "README.md").read_text("utf-8"))
    assert {page.name for page in PAGES} - {"README.md"} <= set(listed)


@for_each("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_pages_name_places_that_exist(page):
    assert not missing(page.read_text("utf-8"))


def test_a_place_that_does_not_exist_is_found():
    assert missing("`inference/gone`, `GONE.md`, [gone](gone.md)") == [
        "inference/gone",
        "GONE.md",
        "gone.md",
    ]


@for_each("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_short(page):
    assert len(page.read_text("utf-8").split()) <= MOST_WORDS


def test_a_fit_goes_through_the_functions_that_contributing_names():
    called = []

    def follow(frame, event, arg):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SRC):
            called.append((path.relative_to(SRC).as_posix(), frame.f_code.co_qualname))

    x = np.linspace(-3.0, 3.0, 40)
    sys.setprofile(follow)
    try:
        posterity.BayesianLogisticRegression().fit(x[:, None], np.sin(5.0 * x) + x > 0.0)
    finally:
        sys.setprofile(None)
    named = FRAME.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    first = [called.index(frame) for frame in named if frame in called]
    assert len(named) == 10
    assert set(named) <= set(called)
    assert first == sorted(first)  # each is first called after the one above it
