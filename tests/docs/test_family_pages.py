"""The pages of the families have one shape, and every model has its place on one of them."""

import re
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from support.for_each import for_each

import posterity

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FAMILIES = (
    "regression",
    "likelihoods",
    "gaussian_processes",
    "kernels",
    "classification",
    "sparse",
    "trees",
    "latent",
)
SHAPE = ["Which one", "When, and when not", "Parameters worth changing", "Costs", "The model"]
ESTIMATORS = [
    name
    for name in posterity.__all__
    if isinstance(getattr(posterity, name), type)
    and issubclass(getattr(posterity, name), BaseEstimator)
]
TAG = re.compile(r"\[([A-Z][A-Z0-9]*\b[^\[\]`]*)\](?!\()")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$", re.M | re.S)


def text_of(page):
    return (DOCS / f"{page}.md").read_text("utf-8")


def sections(page):
    """The text under each heading of the second level; what comes before them under none."""
    parts = re.split(r"^## (.*)$", text_of(page), flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def at_home(page):
    """Models in the first column of the tables of which no other page of a family is named."""
    others = "|".join(set(FAMILIES) - {page})
    rows = re.findall(r"^\|.*\|$", sections(page)["Which one"], re.M)
    mine = (row for row in rows if not re.search(rf"\(({others})\.md", row))
    return {name for row in mine for name in re.findall(r"`(\w+)", row.split("|")[1])}


def test_there_are_estimators():
    assert "BayesianLinearRegression" in ESTIMATORS
    assert "load" not in ESTIMATORS


@for_each("name", ESTIMATORS)
def test_an_estimator_is_at_home_on_one_page(name):
    assert len([page for page in FAMILIES if name in at_home(page)]) == 1


@for_each("page", FAMILIES)
def test_sections_come_in_one_order(page):
    found = [title for title in sections(page) if title in SHAPE]
    assert found == SHAPE
    assert list(sections(page))[1:4] == SHAPE[:3]
    assert list(sections(page))[-2:] == SHAPE[-2:]  # theory comes last


@for_each("page", FAMILIES)
def test_a_page_opens_with_sentences_an_example_and_a_picture(page):
    opening = sections(page)[""]
    places = [
        re.search(mark, opening, re.M) for mark in (r"^# ", r"^[A-Z]\w* ", "^```pycon", r"^!\[")
    ]
    assert all(places)
    starts = [place.start() for place in places]
    assert starts == sorted(starts)


@for_each("page", FAMILIES)
@for_each("other", ["compare_libraries", "performance", "accuracy"])
def test_a_page_leads_on(page, other):
    assert f"({other}.md" in text_of(page)


@for_each("page", FAMILIES)
def test_the_model_has_an_equation_with_its_source(page):
    model = sections(page)["The model"]
    assert "$$" in model
    assert TAG.search(model)


@for_each("page", FAMILIES)
def test_examples_fit_beside_the_contents(page):
    examples = re.findall(r"^```pycon\n(.*?)^```", text_of(page), re.M | re.S)
    lines = [line for example in examples for line in example.splitlines()]
    assert max(map(len, lines)) <= 90


@for_each("page", FAMILIES)
def test_pictures_are_drawn_by_the_gallery(page):
    pictures = re.findall(
        r"^!\[[^\]]+\]\(figures/(\w+)\.png\)\n\n\*(.*?)\*$", text_of(page), re.M | re.S
    )
    assert len(pictures) == text_of(page).count("![")
    for script, caption in pictures:
        assert f"`gallery/{script}.py`" in caption
        assert (ROOT / f"gallery/{script}.py").is_file()


@for_each("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_tags_name_sources(page):
    known = set(re.findall(r"^@\w+\{(\w+),", (DOCS / "references.bib").read_text("utf-8"), re.M))
    tags = TAG.findall(CODE.sub("", page.read_text("utf-8")))
    keys = {part.split()[0] for tag in tags for part in re.split(r",\s+", tag)}
    assert keys <= known


def references():
    pytest.importorskip("sphinx", reason="the documentation is built with the extra 'docs'")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import references
    finally:
        sys.path.pop(0)
    return references


def test_every_source_can_be_read():
    shown = references()
    text = shown.BIBLIOGRAPHY.read_text("utf-8")
    read = shown.entries(text)
    assert len(read) == text.count("\n@")
    for entry in read.values():
        lines = (shown.authors(entry.get("author", "")), entry["title"], shown.place(entry))
        assert not re.search(r"[{}\\]|--|\band$|, ,", " ".join(lines))
        assert entry["title"]
        assert shown.place(entry)


def test_names_and_places_are_written_out():
    shown = references()
    (entry,) = shown.entries(
        '@article{X,\n  author  = {Sch{\\"o}n, Ada and\n             Lee, Bo},\n'
        "  title   = {The {Bayes} way},\n  journal = {Proc},\n  volume  = {1},\n"
        "  number  = {2},\n  pages   = {3--4},\n  year    = {1999}\n}\n"
    ).values()
    assert shown.authors(entry["author"]) == "Ada Sch\u00f6n and Bo Lee"
    assert entry["title"] == "The Bayes way"
    assert shown.place(entry) == "Proc, 1(2), 3\u20134, 1999"


def test_a_tag_becomes_a_link_to_each_of_its_sources():
    parts = list(
        references()._linked("see [P8 8.36, P9 9.43], not [N x M]", "r.html", {"P8", "P9"})
    )
    links = {part.astext(): part["refuri"] for part in parts if part.tagname == "reference"}
    assert links == {"P8 8.36": "r.html#source-p8", "P9 9.43": "r.html#source-p9"}
    assert "".join(part.astext() for part in parts) == "see [P8 8.36, P9 9.43], not [N x M]"
