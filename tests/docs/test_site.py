"""The documentation as it was built: links lead somewhere, pages open without a network."""

import pytest
from docs import site

PAGES = site.pages()
pytestmark = pytest.mark.skipif(not PAGES, reason="nothing is built: `make docs` does it")
# Written by hand, or drawn: the pages of classes all come from one template.
PROSE = [path for path in PAGES if "stubs" not in path.parts]


def test_there_is_a_page_for_everything_the_front_page_promises():
    names = {path.stem for path in PAGES}
    assert {"index", "start", "choosing", "gallery", "pictures", "extending", "errata"} <= names
    assert {"scikit_learn", "performance", "accuracy", "command", "api"} <= names


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


def test_pages_open_without_complaint(chromium):
    for path in PROSE:
        chromium.open(path)
        assert chromium.complaints() == [], path.name
        assert [r for r in chromium.requests() if not r.startswith("file:")] == [], path.name
        broken = chromium.run(
            "return [...document.images].filter(i => i.loading !== 'lazy' && !i.naturalWidth)"
            ".map(i => i.src)"
        )
        assert broken == [], path.name


def test_formulas_have_a_size_on_the_screen(chromium):
    for path in PROSE:
        if site.page(path).formulas:
            chromium.open(path)
            flat = chromium.run(
                "return [...document.querySelectorAll('math')].filter(m => {"
                "  const box = m.getBoundingClientRect();"
                "  return box.width < 3 || box.height < 3;"
                "}).map(m => m.textContent)"
            )
            assert flat == [], path.name


def test_pages_fit_a_phone(chromium):
    with chromium.emulating(width=380):
        wide = []
        for path in PROSE:
            chromium.open(path)
            width = chromium.run("return document.documentElement.scrollWidth")
            wide += [f"{path.name}: {width}"] * (width > 380)
    assert not wide
