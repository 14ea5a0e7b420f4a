"""The controls of a panel in a real browser: of every kind, of many, and of none that was seen."""

from pathlib import Path

import browser
import numpy as np
import polars as pl
import pytest
from report import panel_cases

from posterity import linear, tables
from posterity.report import what_if


def write_panel(path: Path, model: tables.TableModel, first: tuple[str, ...] = ()) -> Path:
    """Write a page that holds nothing but the panel of a model."""
    payload = what_if.payload(model, first=first)
    assert not isinstance(payload, what_if.NoPanel)
    path.write_text(panel_cases.page(payload), encoding="utf-8")
    return path


def test_columns_of_one_value_or_none_can_be_moved(
    chromium: browser.Browser, tmp_path: Path
) -> None:
    frame = panel_cases.frame(30).with_columns(width=pl.lit(None, pl.Float64), age=pl.lit(5.0))
    schema = panel_cases.schema()
    model = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    chromium.open(write_panel(tmp_path / "panel.html", model))
    boxes = (
        "return [...document.querySelectorAll('#what-if input[type=number]')].map((e) => e.value)"
    )
    assert chromium.run(boxes) == ["", "5"]
    assert chromium.text("#what-if .answer .outside") == ""
    chromium.settled(panel_cases.SET, "age", "input[type=range]", "6")
    assert chromium.text("#what-if .is-outside .outside") == "outside the training data: 5 to 5"
    assert chromium.complaints() == []


def test_one_of_two_is_chosen_and_a_density_ends_where_the_model_has_none(
    chromium: browser.Browser, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    sex, habit = rng.integers(1, 3, 60).astype(float), rng.choice(["no", "yes"], 60)
    y = np.exp(0.5 * sex + (habit == "yes") + rng.normal(size=60))
    frame = pl.DataFrame({"sex": sex, "smokes": [*habit[:-1], None], "y": y})
    schema = tables.infer(frame, "y")
    model = tables.TableModel(linear.GammaRegression(), schema).fit(frame)
    chromium.open(write_panel(tmp_path / "panel.html", model))
    assert chromium.run("return document.querySelectorAll('#what-if [type=range]').length") == 0
    options = "return [...document.querySelectorAll('#what-if .pair')].map((e) => e.innerText)"
    assert [text.split() for text in chromium.run(options)] == [
        ["1", "2"],
        ["no", "yes", "(missing)"],
    ]
    press = "document.querySelectorAll('#what-if [type=radio]')[arguments[0]].click()"
    chromium.settled(press, 1)
    for place, smokes in ((3, "yes"), (4, None)):
        chromium.settled(press, place)
        row = pl.DataFrame({"sex": [2.0], "smokes": pl.Series([smokes], dtype=pl.String)})
        told = float(chromium.run(panel_cases.SAID)["mean"])
        assert told == pytest.approx(model.predict(row)[0], rel=1e-6)
    # Below zero, which is no value of a gamma distribution, there is an axis but no density.
    line = chromium.run("return document.querySelector('#what-if .line').getAttribute('d')")
    zero = chromium.run(
        "return [...document.querySelectorAll('#what-if .tick')]"
        ".find((e) => e.textContent === '0').getAttribute('x')"
    )
    assert float(line[1:].split(",")[0]) == pytest.approx(float(zero), abs=0.02)
    assert float(zero) > 24.0
    assert chromium.complaints() == []


@pytest.mark.parametrize("width", [360, 1000])
def test_names_of_classes_are_told_in_full_or_cut_where_their_bar_begins(
    width: int, chromium: browser.Browser, tmp_path: Path
) -> None:
    names = ["Grignolino", "W" * 60, "\U0001f377" * 40]
    frame = panel_cases.frame(60, 3)
    frame = frame.with_columns(y=frame["y"].replace_strict([f"class {c}" for c in range(3)], names))
    estimator = linear.BayesianLogisticRegression()
    model = tables.TableModel(estimator, panel_cases.schema(3)).fit(frame)
    path = write_panel(tmp_path / "panel.html", model)
    with chromium.emulating(width=width):
        chromium.open(path)
        bars = chromium.run(
            "const x = (e) => e.getBBox().x;"
            "return [...document.querySelectorAll('#what-if .bar-name')].map((e) => ({"
            " cut: e.querySelector('title') !== null, shown: e.firstChild.textContent,"
            " from: x(e), to: x(e) + e.getBBox().width,"
            " whole: e.querySelector('title')?.textContent ?? e.textContent}))"
        )
        left = chromium.run("return document.querySelector('#what-if .track').getBBox().x")
    assert sorted(bar["whole"] for bar in bars) == sorted(names)
    assert all(0.0 <= bar["from"] < bar["to"] < left for bar in bars)
    assert {bar["shown"] for bar in bars if not bar["cut"]} == {"Grignolino"}
    assert all(bar["shown"].endswith("\u2026") for bar in bars if bar["cut"])
    assert chromium.complaints() == []


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tables.TableModel]:
    """A panel of twenty inputs: times, moments, and a category of too many levels among them."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"x{i}": rng.normal(size=200) for i in range(17)}
    columns["clock"] = [f"{h:02d}:{m:02d}" for h, m in rng.integers((24, 60), size=(200, 2))]
    columns["moment"] = [f"2020-01-{d:02d} {h:02d}:30" for d, h in rng.integers(10, 24, (200, 2))]
    columns["town"] = [
        f"town {n}" for n in np.concatenate([np.arange(60), rng.integers(5, size=140)])
    ]
    columns["y"] = rng.normal(size=200) + 3.0 * (np.array(columns["town"]) == "town 1")
    frame = pl.DataFrame(columns)
    kinds = {"clock": "clock", "moment": "iso"}
    inputs = tuple(
        tables.Column(name, "date", style=kinds[name])
        if name in kinds
        else tables.Column(name, "category" if name == "town" else "number")
        for name in frame.columns[:-1]
    )
    schema = tables.Schema("y", "regression", inputs)
    model = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    path = tmp_path_factory.mktemp("many") / "panel.html"
    return write_panel(path, model, ("town", "clock", "moment")), model


def test_many_inputs_are_folded_and_those_that_matter_come_first(
    chromium: browser.Browser, many: tuple[Path, tables.TableModel]
) -> None:
    chromium.open(many[0])
    names = "return [...document.querySelectorAll('#what-if .name')].map((e) => e.textContent)"
    assert chromium.run(names)[:4] == ["town", "clock", "moment", "x0"]
    assert len(chromium.run(names)) == 20
    assert chromium.text("#what-if summary") == "8 more inputs"
    hidden = "return document.querySelectorAll('#what-if details .input').length"
    assert chromium.run(hidden) == 8


@pytest.mark.parametrize(("town", "option"), [("town 1", "town 1"), ("nowhere", "(other)")])
def test_times_moments_and_rare_levels_are_what_the_model_takes_them_for(
    town: str, option: str, chromium: browser.Browser, many: tuple[Path, tables.TableModel]
) -> None:
    path, model = many
    chromium.open(path)
    place = (
        "return [...document.querySelectorAll('#what-if option')]"
        ".find((e) => e.textContent === arguments[0]).value"
    )
    chromium.settled(panel_cases.SET, "town", "select", chromium.run(place, option))
    chromium.settled(panel_cases.SET, "clock", "input[type=time]", "13:45")
    chromium.settled(panel_cases.SET, "moment", "input[type=datetime-local]", "2020-01-05T06:15")
    row = {f"x{i}": [0.25] for i in range(17)}
    for name, (value,) in row.items():
        chromium.settled(panel_cases.SET, name, "input[type=number]", str(value))
    frame = pl.DataFrame({**row, "clock": "13:45", "moment": "2020-01-05 06:15", "town": town})
    expected = model.predict(frame)[0]
    assert float(chromium.run(panel_cases.SAID)["mean"]) == pytest.approx(expected, rel=1e-6)
    assert chromium.complaints() == []
