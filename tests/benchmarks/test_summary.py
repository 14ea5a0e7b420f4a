"""Tables of results say what the files of results say, and nothing else."""

import importlib.util
import json
import re
import shutil

import pytest
from benchmarks import compact, readings, report, summary
from benchmarks.highlights import ROWS
from support.for_each import for_each

DOCS = summary.README.parent / "docs"
DIRECTIVE = re.compile(r"^```\{results\} (\w+)\n:show: (\w+)\n```$", re.M)
PAGES = {"performance": "speed", "accuracy": "accuracy"}
SHOWS = PAGES | {"choosing": "accuracy", "groups": "accuracy"}
INCLUDE = re.compile(r"^```\{include\} \.\./benchmarks/results/(\w+)\.md$", re.M)
SHOWN = {page: DIRECTIVE.findall((DOCS / f"{page}.md").read_text("utf-8")) for page in SHOWS}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(readings.RESULTS, tmp_path / "results")


def change(folder, name, edit):
    path = folder / f"{name}.json"
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))


def lines_of(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_readme_has_the_tables_of_the_results_in_the_tree():
    text = summary.README.read_text("utf-8")
    assert summary.fill_readme(text) == text, "run python -m benchmarks.summary"


def test_every_result_is_on_a_page():
    shown = {name for shown in SHOWN.values() for name, _ in shown}
    included = {
        name for page in SHOWS for name in INCLUDE.findall((DOCS / f"{page}.md").read_text())
    }
    assert shown | included == set(readings.names())
    assert not shown & included


@for_each("page", SHOWS)
def test_a_page_shows_each_result_once_and_only_its_own_columns(page):
    names = [name for name, _ in SHOWN[page]]
    assert len(names) == len(set(names))
    for name, show in SHOWN[page]:
        assert show == SHOWS[page]
        assert compact.columns(readings.read(name), show)


def test_a_changed_number_changes_its_row_and_no_other(folder):
    def slower(record):
        for contender, measured in record["tasks"][1]["summary"].items():
            measured["fit_wall_s"]["median"] *= 1.0 if contender.startswith("posterity") else 1e3

    change(folder, "linear", slower)
    pairs = zip(lines_of(summary.render()), lines_of(summary.render(folder=folder)), strict=True)
    changed = [(a, b) for a, b in pairs if a != b]
    assert len(changed) == 1
    assert "least squares, 1,000 x 500" in changed[0][0]
    assert changed[0][1].endswith("| 643 |")


def test_dates_machines_and_versions_are_those_of_the_files(folder):
    def elsewhere(record):
        record["date"] = "2031-01-02"
        record["machine"]["cpu"] = "abacus"
        record["versions"]["numpy"] = "9.9"

    change(folder, "linear", elsewhere)
    text = summary.render(folder=folder)
    assert all(word in text for word in ("to 2031-01-02", "abacus", "numpy 2.4.6 and 9.9"))


def test_times_over_ours_are_the_ratios_of_the_files():
    record = json.loads((readings.RESULTS / "linear.json").read_text())
    expected = record["tasks"][1]["summary"]["scikit-learn LinearRegression"]["fit_wall_s"]["ratio"]
    line = next(line for line in lines_of(summary.render()) if "1,000 x 500" in line)
    assert expected < 1.0
    assert line.endswith(f"| {report.number(expected, 2)} |")


def test_a_changed_duration_changes_its_row_of_the_readme_and_no_other(folder):
    def slower(record):
        for task in record["tasks"]:
            for run in task["runs"]:
                run["fit_cpu_s"] *= 1e3 if run["contender"] == "boosted-trees" else 1.0

    change(folder, "durations", slower)
    lines = (lines_of(summary.render_advice(folder=f)) for f in (readings.RESULTS, folder))
    changed = [(a, b) for a, b in zip(*lines, strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0][1].startswith("| most tables | `BoostedTreesRegressor`")


def test_losses_are_shown():
    ratios = [line.split("|")[-2].strip() for line in lines_of(summary.render())[2:]]
    assert len(ROWS) == 8
    assert sum(float(ratio) < 1.0 for ratio in ratios) >= 4


def test_every_row_names_contenders_and_measurements_that_are_there():
    for row in ROWS:
        table = readings.read(row.benchmark).table(row.task)
        for contender in (row.ours, *(name for name, _ in row.peers)):
            assert row.measures[0].key in table.rows[contender], (row.label, contender)


def test_the_section_needs_its_marks():
    with pytest.raises(ValueError, match="put both"):
        summary.insert_section("no marks", "table", "measured")


def test_an_unknown_task_is_answered_with_those_there_are():
    with pytest.raises(KeyError, match="independent normal columns, 1,000 x 500"):
        readings.read("linear").table("3 x 3")


@pytest.mark.parametrize("name", ["linear", "forests", "saving", "principal"])
def test_readings_are_the_medians(name):
    result = readings.read(name)
    for task, table in zip(result.record["tasks"], result.tables, strict=True):
        for contender, measured in task["summary"].items():
            medians = {key: spread["median"] for key, spread in measured.items()}
            assert table.rows[contender] == medians


def test_what_others_published_stays_as_they_wrote_it():
    rows = readings.read("relevance_sets").table("Friedman 2, 240 x 4").rows
    assert rows["support vectors, as he reports"] == {"error": "4140", "vectors": "110.3"}
    rows = readings.read("uci_regression").table("energy, 20 splits").rows
    assert rows["exact GP"] == {"rmse": "0.48", "log_score": "-0.7"}


@for_each(
    ("name", "cells"),
    [
        ("calibration", "posterity, plain average of trees|0.105|0.0117"),
        ("nist", "posterity|14.0|13.5"),
        ("motion", "nearest neighbour|8.57"),
        ("posterior_accuracy", "posterity, nearest normal|0.0014|0.0063"),
        ("device_process", "GPyTorch, Cholesky|0.752|25.7"),
        ("device_cholesky", "the library's own|0.292"),
        ("structured_kernels", "shortest paths|86.1|82.2|87.3 +- 0.6"),
        ("out_of_core", "BayesianLinearRegression.fit|12.0|512"),
        ("oil_flow", "posterity KernelPCA|27"),
        ("pose", "1 nearest neighbour|2.70|1,927"),
        ("uci_regression", "posterity|-2.370|2.635"),
    ],
)
def test_files_of_other_shapes_are_read_as_their_own_pages_show_them(name, cells):
    result = readings.read(name)
    columns = [c for show in PAGES.values() for c in compact.columns(result, show) if not c.ratio]
    who, *expected = cells.split("|")
    found = [
        [compact.cell(table, who, column) for column in columns]
        for table in result.tables
        if who in table.rows
    ]
    assert any(all(_is_in(cell, row) for cell in expected) for row in found), found


def _is_in(cell, row):
    """Pages differ in their digits."""
    return any(other == cell or other.startswith(cell) for other in row) or any(
        re.fullmatch(r"-?[\d.]+", other) and f"{float(other):.4f}" == cell for other in row
    )


def test_ratios_are_shown_only_beside_a_peer_and_are_one_in_the_first_row():
    assert not any(c.ratio for c in compact.columns(readings.read("streamed_vectors"), "speed"))
    result = readings.read("linear")
    columns = [column for column in compact.columns(result, "speed") if column.ratio]
    table = result.tables[0]
    assert columns
    assert {compact.cell(table, next(iter(table.rows)), column) for column in columns} == {"1.00"}
    for name, measured in result.record["tasks"][0]["summary"].items():
        expected = [report.number(measured[column.key]["ratio"]) for column in columns]
        assert [compact.cell(table, name, column) for column in columns] == expected


@pytest.mark.parametrize("name", readings.names())
def test_no_column_is_on_both_pages(name):
    result = readings.read(name)
    speed, accuracy = ({c.key for c in compact.columns(result, show)} for show in PAGES.values())
    assert not speed & accuracy


def test_the_directive_shows_every_contender_of_every_task():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("results_directive", DOCS / "_ext/results.py")
    directive = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(directive)
    result = readings.read("linear")
    table = directive._table(result, compact.columns(result, "speed"))
    body = next(table.findall(directive.nodes.tbody))
    assert len(body.children) == sum(1 + len(task.rows) for task in result.tables)
    assert all(task.name in table.astext() for task in result.tables)
    assert "NumPy lstsq" in table.astext()


def test_memory_of_whole_processes_is_not_called_what_was_added():
    headings = {c.heading for c in compact.columns(readings.read("out_of_core"), "speed")}
    assert "whole process, MiB" in headings
    assert "memory, MiB" not in headings


def test_where_posterity_was_not_measured_nothing_is_compared_with_it():
    tables = {table.name: table for table in readings.read("device_process").tables}
    alone = tables["30,000 rows"]
    assert not any(compact.is_ours(contender) for contender in alone.rows)
    assert [compact.ratio(alone, contender, "seconds") for contender in alone.rows] == [None]
