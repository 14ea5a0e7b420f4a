"""The documentation as it was built: links lead somewhere, pages open without a network."""

import pytest
from docs import site

PAGES = site.pages()
pytestmark = pytest.mark.skipif(not PAGES, reason="nothing is built: `make docs` does it")
# Written by hand, or drawn: the pages of classes all come from one template.
PROSE = [path for path in PAGES if "stubs" not in path.parts]
PHONE = 380
LOOK = """
const size = (m) => m.getBoundingClientRect();
return {
  "pictures without a size": [...document.images]
    .filter(i => i.loading !== "lazy" && !i.naturalWidth).map(i => i.src),
  "formulas without a size": [...document.querySelectorAll("math")]
    .filter(m => size(m).width < 3 || size(m).height < 3).map(m => m.textContent),
};
"""


def test_there_is_a_page_for_everything_the_front_page_promises():
    names = {path.stem for path in PAGES}
    assert not [path for path in PAGES if "developers" in path.parts]
    assert {"index", "start", "choosing", "gallery", "pictures", "extending", "errata"} <= names
    assert {
        "scikit_learn",
        "performance",
        "accuracy",
        "command",
        "compare_libraries",
        "api",
    } <= names


def test_links_lead_to_pages_and_anchors_that_exist():
    broken = [
        f"{path.relative_to(site.BUILT)}: {link}"
        for path in PAGES
        for link, file, anchor in site.page(path).targets()
        if not file.exists()
        or (anchor and file.suffix == ".html" and anchor not in site.page(file).anchors)
    ]
    assert not broken, f"{len(broken)} links lead nowhere: {broken[:20]}"


def test_nothing_is_loaded_from_a_network():
    foreign = {
        address
        for path in PAGES
        for address in site.page(path).loaded
        if "//" in address or address.startswith("http")
    }
    assert not foreign


def test_every_picture_is_described_in_words():
    silent = {
        f"{path.name}: {picture}" for path in PAGES for picture in site.page(path).without_words
    }
    assert not silent


def test_formulas_are_typeset_and_not_written_in_tex():
    formulas = [(path.name, formula) for path in PAGES for formula in site.page(path).formulas]
    assert len(formulas) > 100
    assert not [(name, f) for name, f in formulas if "\\" in f or not f.strip()]


def test_every_page_has_one_title():
    built = [path for path in PROSE if path.stem != "search"]  # which a script fills
    assert not [path.name for path in built if site.page(path).headings != 1]


def test_pages_open_in_a_browser_without_a_network(chromium):
    noticed = {path.stem: visited(chromium, path) for path in PROSE}
    assert {name: seen for name, seen in noticed.items() if any(seen.values())} == {}


def visited(chromium, path):
    """What is wrong with a page, wide and then as narrow as a phone: lists, empty if nothing."""
    chromium.open(path)
    seen = chromium.run(LOOK)
    seen["complaints"] = chromium.complaints()
    seen["from outside"] = [r for r in chromium.requests() if not r.startswith("file:")]
    with chromium.emulating(width=PHONE):
        width = chromium.run("return document.documentElement.scrollWidth")
    seen["wider than a phone"] = [width] if width > PHONE else []
    return seen
