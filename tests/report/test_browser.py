"""A report, opened by a real browser: it is drawn, it moves, and nothing in the data runs."""

import json
from pathlib import Path

import browser
import numpy as np
import polars as pl
import pytest
from report import panel_cases

from posterity import comparison, linear, report, tables, trees

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
HOSTILE = (SCRIPT, IMAGE, "</script><script>alert(2)</script>", "{{ 7 * 7 }}", "\u2028<!--")


def story(model: tables.TableModel, frame: pl.DataFrame, title: str) -> report.ReportContents:
    held_out = comparison.evaluate(model, frame).held_out
    return report.ReportContents(
        title, "posterity compare data.csv --target y", model, frame, held_out
    )


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tables.TableModel]:
    """A report of numbers, and its model."""
    model = panel_cases.fitted(linear.BayesianLinearRegression())
    path = tmp_path_factory.mktemp("numbers") / "report.html"
    report.write(path, story(model, panel_cases.frame(60), "data.csv"))
    return path, model


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of classes, where every name is an attack."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            SCRIPT: rng.normal(size=60),
            IMAGE: rng.choice([*HOSTILE, "plain"], 60),
            HOSTILE[2]: rng.normal(size=60),
            HOSTILE[4]: rng.choice(HOSTILE[:3], 60),
        }
    )
    kinds = {SCRIPT: "number", HOSTILE[2]: "number"}
    inputs = tuple(tables.Column(name, kinds.get(name, "category")) for name in frame.columns[:3])
    schema = tables.Schema(HOSTILE[4], "classification", inputs)
    model = tables.TableModel(trees.RandomForestClassifier(5, random_state=0), schema)
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    report.write(path, story(model.fit(frame), frame, IMAGE))
    return path


def test_a_report_is_drawn_without_a_complaint_and_asks_for_nothing(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    assert chromium.run("return document.querySelectorAll('main svg').length") > 3
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0
    assert chromium.complaints() == []
    assert chromium.requests() == [numbers[0].as_uri()]


def test_the_panel_says_what_the_model_says_of_what_is_set(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    path, model = numbers
    chromium.open(path)
    before = chromium.text("#what-if .said")
    chromium.settled(panel_cases.SET, "width", "input[type=range]", "1.5")
    chromium.settled(panel_cases.SET, "age", "input[type=number]", "7.25")
    chromium.settled(panel_cases.SET, "kind", "select", "0")
    chromium.settled(panel_cases.SET, "day", "input[type=date]", "2020-02-29")
    row = pl.DataFrame({"width": 1.5, "age": 7.25, "kind": "x", "day": "2020-02-29"})
    dist = model.predict_dist(row)
    told = chromium.run(panel_cases.SAID)
    assert float(told["mean"]) == pytest.approx(dist.mean()[0], rel=1e-6)
    assert float(told["q05"]) == pytest.approx(dist.icdf(0.05)[0], rel=1e-6)
    after = chromium.text("#what-if .said")
    assert after != before
    low, mean, high = (f"{x[0]:.1f}" for x in (dist.icdf(0.05), dist.mean(), dist.icdf(0.95)))
    assert after == f"y{mean}90 % interval: {low} to {high}"
    assert chromium.complaints() == []


def test_a_click_on_a_heading_sorts_a_table(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    cells = (
        "return [...document.querySelectorAll('#surprises tbody tr')]"
        ".map((row) => row.cells[arguments[0]].textContent)"
    )
    press = "document.querySelectorAll('#surprises th button')[arguments[0]].click()"
    rows = chromium.run(cells, 0)
    chromium.settled(press, 0)
    assert chromium.run(cells, 0) == sorted(rows, key=int) != rows
    chromium.settled(press, 0)
    assert chromium.run(cells, 0) == sorted(rows, key=int, reverse=True)
    assert chromium.run(
        "return document.querySelector('#surprises th').getAttribute('aria-sort')"
    ) == ("descending")
    column = chromium.run(
        "return [...document.querySelectorAll('#surprises thead th')].map((e) => e.textContent)"
    ).index("width")
    chromium.settled(press, column)
    widths = chromium.run(cells, column)
    known = [float(text.replace("\u2212", "-")) for text in widths if text != "\u2013"]
    assert known == sorted(known)
    assert widths[len(known) :] == ["\u2013"] * (len(widths) - len(known))  # missing ones last
    assert chromium.complaints() == []


def test_keys_move_a_slider_and_reset_brings_all_back(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    before = chromium.run(panel_cases.SAID)
    slider = chromium.driver.find_element("css selector", "#what-if input[type=range]")
    slider.send_keys("\ue014" * 10)  # the right arrow
    chromium.settled()
    assert chromium.run(panel_cases.SAID)["mean"] != before["mean"]
    chromium.settled("document.querySelector('#what-if button').click()")
    assert chromium.run(panel_cases.SAID) == before


def test_what_was_never_seen_is_pointed_out_and_an_empty_box_is_missing(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    path, model = numbers
    chromium.open(path)
    assert chromium.text("#what-if .answer .outside") == ""
    chromium.settled(panel_cases.SET, "age", "input[type=number]", "99")
    assert "outside the range of the training data" in chromium.text("#what-if .answer .outside")
    assert "outside the training data: 0" in chromium.text("#what-if .is-outside .outside")
    chromium.settled(panel_cases.SET, "age", "input[type=number]", "5")
    chromium.settled(panel_cases.SET, "width", "input[type=number]", "")
    assert chromium.text("#what-if .answer .outside") == ""  # as some rows had it
    chromium.settled(panel_cases.SET, "age", "input[type=number]", "")
    assert chromium.text("#what-if .is-outside .outside") == "never missing in the training data"
    chromium.settled(panel_cases.SET, "kind", "select", "missing")
    chromium.settled(panel_cases.SET, "day", "input[type=date]", "2020-02-29")
    row = pl.DataFrame(
        {"width": [None], "age": [None], "kind": [None], "day": ["2020-02-29"]},
        schema_overrides={"width": pl.Float64, "age": pl.Float64, "kind": pl.String},
    )
    assert float(chromium.run(panel_cases.SAID)["mean"]) == pytest.approx(
        model.predict(row)[0], rel=1e-6
    )


def test_there_is_no_answer_where_numbers_end(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    before = chromium.text("#what-if .said")
    chromium.settled(panel_cases.SET, "age", "input[type=number]", "1e308")
    assert "no prediction" in chromium.text("#what-if .said")
    chromium.settled("document.querySelector('#what-if button').click()")
    assert chromium.text("#what-if .said") == before
    assert chromium.complaints() == []


def test_names_and_values_of_the_data_stay_text(chromium: browser.Browser, hostile: Path) -> None:
    chromium.open(hostile)
    assert chromium.complaints() == []
    assert chromium.run("return document.images.length") == 0
    assert chromium.run("return document.scripts.length") == 2
    texts = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    assert sorted(chromium.run(texts, "#what-if .name")) == sorted([SCRIPT, IMAGE, HOSTILE[2]])
    assert set(HOSTILE[:4]) <= set(chromium.run(texts, "#what-if option"))
    chromium.settled(panel_cases.SET, IMAGE, "select", "1")
    chromium.settled(panel_cases.SET, SCRIPT, "input[type=number]", "3")
    assert sum(json.loads(chromium.run(panel_cases.SAID)["probabilities"])) == pytest.approx(1.0)
    assert chromium.text("#what-if .said strong") in HOSTILE
    assert chromium.run("return document.images.length") == 0
    assert chromium.complaints() == []


def test_the_policy_stops_what_is_not_of_the_report(
    chromium: browser.Browser, hostile: Path
) -> None:
    chromium.open(hostile)
    chromium.settled(
        "const script = document.createElement('script'); script.textContent = 'window.ran = 1';"
        "document.body.append(script); const image = new Image();"
        "image.src = 'https://example.org/x.png'; document.body.append(image)"
    )
    assert chromium.run("return window.ran") is None
    complaints = chromium.complaints()
    assert len(complaints) == 2
    assert all("Content Security Policy" in complaint for complaint in complaints)


@pytest.mark.parametrize("which", ["numbers", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_on_a_phone(
    which: str, scheme: str, chromium: browser.Browser, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(which)
    with chromium.emulating(width=360, scheme=scheme):
        chromium.open(found[0] if which == "numbers" else found)
        assert chromium.run("return innerWidth") == 360
        assert chromium.run("return document.documentElement.scrollWidth") <= 360


def test_dark_is_dark_and_light_is_light(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    brightness = []
    for scheme in ("light", "dark"):
        with chromium.emulating(scheme=scheme):
            colour = chromium.run("return getComputedStyle(document.body).backgroundColor")
            brightness.append(sum(int(part) for part in colour[4:-1].split(",")))
    assert brightness[0] > 600
    assert brightness[1] < 150


def test_what_cannot_be_moved_is_not_printed(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(numbers[0])
    shown = "return document.querySelector('#what-if input').getClientRects().length"
    assert chromium.run(shown) > 0
    with chromium.emulating(media="print"):
        assert chromium.run(shown) == 0
        assert chromium.run("return document.querySelector('main svg').getClientRects().length") > 0


def test_without_scripts_all_but_the_panel_is_there(
    chromium: browser.Browser, numbers: tuple[Path, tables.TableModel]
) -> None:
    with chromium.without_scripts():
        chromium.open(numbers[0])
        drawn = chromium.driver.find_elements("css selector", "main svg")
        assert len(drawn) > 3
        assert not chromium.driver.find_elements("css selector", "#what-if input")
        assert chromium.driver.find_elements("css selector", "table.sortable")
        assert not chromium.driver.find_elements("css selector", "th button")
        assert "posterity predict" in chromium.driver.find_element("id", "what-if-section").text
