"""The page as a whole: one file, strict, escaped, small, the same for the same story."""

import base64
import dataclasses
import functools
import hashlib
import itertools
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import numpy as np
import polars as pl
import pytest
from report import stories

from posterity import comparison, linear, report, tables
from posterity.report import pages

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></svg><b>",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!--",
    "\u202e\u2028&amp;",
)
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Elements with their attributes, complaints about nesting, and the text of each kind."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.complaints: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.complaints.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def hostile_story() -> report.ReportContents:
    rng = np.random.default_rng(0)
    n = 80
    x, level = rng.normal(size=n), rng.choice(HOSTILE[:4], n)
    y = x + (level == HOSTILE[0]) + 0.2 * rng.normal(size=n)
    frame = pl.DataFrame(
        {HOSTILE[0]: x, HOSTILE[1]: level, HOSTILE[2]: rng.normal(size=n), HOSTILE[3]: y}
    )
    story = stories.told(linear.BayesianLinearRegression(), frame, HOSTILE[3])
    schema = dataclasses.replace(
        story.schema, dropped=(tables.Dropped(HOSTILE[4], HOSTILE[5]),), notes=HOSTILE
    )
    story.model.schema_ = schema
    told = dataclasses.replace(
        story,
        title=HOSTILE[3],
        command=HOSTILE[0],
        source=HOSTILE[1],
        model_path=HOSTILE[4],
        notes=HOSTILE,
        inferred=HOSTILE,
    )
    return stories.compared(told, 0.1, 0.2)


@functools.cache
def written(name: str) -> str:
    made = {
        "numbers": stories.numbers,
        "classes": stories.classes,
        "vectors": stories.vectors,
        "compared": lambda: stories.compared(stories.numbers(), 0.1, 0.2),
        "hostile": hostile_story,
    }
    return report.page(made[name]())


ALL = pytest.mark.parametrize("name", ["numbers", "classes", "vectors", "compared", "hostile"])


@ALL
def test_elements_are_nested_and_closed(name: str) -> None:
    reader = Reader(written(name))
    assert reader.complaints == []
    assert reader.open == []


@ALL
def test_the_policy_allows_the_one_style_and_the_one_script_and_nothing_else(name: str) -> None:
    text = written(name)
    policy = Reader(text).elements
    content = next(
        a["content"] for t, a in policy if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in content.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    script = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(style) == len(script) == 1
    assert rules["style-src"] == digest(style[0])
    assert rules["script-src"] == digest(script[0])


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_without_a_panel_only_sorts_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = pages.what_if.NoPanel("No.")
    monkeypatch.setattr(pages.what_if, "payload", lambda model, first: refusal)
    (script,) = re.findall(r"<script[^>]*>(.*?)</script>", report.page(stories.numbers()), re.S)
    assert "table.sortable" in script
    assert "what-if" not in script


@ALL
def test_nothing_is_styled_or_run_by_an_attribute_and_nothing_is_fetched(name: str) -> None:
    for tag, attributes in Reader(written(name)).elements:
        assert tag not in {"img", "link", "iframe", "object", "embed", "form", "base"}
        assert not any(key.startswith("on") or key in {"style", "src"} for key in attributes)
        assert str(attributes.get("href", "#")).startswith(
            "data:text/csv;charset=utf-8," if "download" in attributes else "#"
        )


@ALL
def test_the_mark_stands_below_the_doctype(name: str) -> None:
    assert written(name).splitlines()[:2] == ["<!doctype html>", report.MARK]
    assert report.MARK == "<!-- posterity report -->"


def test_hostile_names_stay_text() -> None:
    text = written("hostile")
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "49" not in re.findall(r"<li>(.*?)</li>", text)
    reader = Reader(text)
    assert "".join(reader.texts["em"]) == HOSTILE[3]
    assert set(HOSTILE) <= {item.strip("\n") for item in reader.texts["li"]}
    assert Counter(tag for tag, _ in reader.elements)["script"] == 2  # the payload and the program


@ALL
def test_headings_go_down_one_step_at_a_time_under_one_title(name: str) -> None:
    levels = [
        int(tag[1]) for tag, _ in Reader(written(name)).elements if re.fullmatch("h[1-6]", tag)
    ]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


@ALL
def test_pictures_and_tables_can_be_read_without_seeing(name: str) -> None:
    elements = Reader(written(name)).elements
    for tag, attributes in elements:
        if tag == "svg":
            assert attributes.get("aria-hidden") or (
                attributes["role"] == "img" and attributes["aria-label"]
            )
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in elements}
    assert ("html", {"lang": "en"}) in elements
    names = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(names) == len(set(names))


@ALL
def test_links_within_the_page_lead_somewhere(name: str) -> None:
    elements = Reader(written(name)).elements
    places = {attributes.get("id") for _, attributes in elements}
    links = {a["href"] for tag, a in elements if tag == "a" and "download" not in a}
    assert {link.removeprefix("#") for link in links} <= places


@ALL
def test_no_number_is_missing_from_a_picture(name: str) -> None:
    shapes = re.findall(r' (?:d|cx|cy|x|y|r|width)="([^"]*)"', written(name))
    assert shapes
    assert not any("nan" in shape or "inf" in shape for shape in shapes)


def test_the_same_story_is_the_same_page() -> None:
    assert report.page(stories.numbers()) == written("numbers")


def test_a_page_of_many_columns_rows_and_classes_is_small() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40))
    columns = {f"a rather long name of column {j} {'x' * 200}": X[:, j] for j in range(40)}
    frame = pl.DataFrame({**columns, "y": X @ rng.normal(size=40)})
    story = stories.told(linear.BayesianLinearRegression(), frame, "y")
    assert len(report.page(story).encode()) < 1_000_000


@pytest.mark.parametrize("estimator", [linear.BayesianLinearRegression()])
def test_the_smallest_table_has_a_page(estimator: linear.BayesianLinearRegression) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.5, 2.0, 4.0]})
    story = stories.told(estimator, frame, "y")
    one = comparison.HeldOut(*(getattr(story.held_out, f)[:1] for f in FIELDS))
    assert Reader(report.page(dataclasses.replace(story, held_out=one))).complaints == []


FIELDS = ("rows", "y", "log_prob", "mean", "pit", "quantiles")


def test_a_file_appears_whole_and_replaces_another(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("old")
    report.write(place, stories.numbers())
    assert place.read_text(encoding="utf-8") == written("numbers")
    assert list(tmp_path.iterdir()) == [place]


def test_a_report_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "report.html"
    place.write_text("old")
    monkeypatch.setattr(pages.sections, "make_sections", lambda material: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.write(place, stories.numbers())
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_a_file_name_that_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    story = dataclasses.replace(stories.numbers(), source="caf\udce9.csv")
    report.write(tmp_path / "report.html", story)
    assert r"caf\udce9.csv" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_template_that_asks_for_what_is_not_there_fails() -> None:
    with pytest.raises(jinja2.UndefinedError):
        pages.make_environment().from_string("{{ nothing }}").render()


def test_texts_are_escaped_by_the_template() -> None:
    shown = pages.make_environment().from_string("{{ a }}").render(a="<b>")
    assert shown == "&lt;b&gt;"
