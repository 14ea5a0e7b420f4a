"""The stopwatch measures one process alone, and steps end as they should, on a toy."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from benchmarks import command, mixed_tables, report, stopwatch

MIB_60 = "x = bytearray(60 * 2**20)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("command")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "TRAINING_ROWS", 300)
        told = command.prepare(place, {"linear": 0.3})
    (place / "told.json").write_text(json.dumps(told))
    return place


def _watched(code):
    words = [sys.executable, "-S", stopwatch.__file__, sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_stopwatch_sees_the_memory_of_its_command_alone():
    held = np.ones(2**24)
    bare, full = _watched("pass")["peak_mib"], _watched(MIB_60)["peak_mib"]
    assert bare < held.nbytes / 2**20 / 2
    assert 55.0 < full - bare < 75.0


def test_the_stopwatch_counts_waiting_as_wall_and_work_as_cpu():
    found = _watched("import time; time.sleep(0.5)")
    assert found["wall_s"] > 0.5 > found["cpu_s"] > 0.0


def test_the_stopwatch_tells_how_a_command_ended():
    code = "import sys; print('out'); sys.stderr.write('x' * 9_999 + 'the end'); sys.exit(7)"
    found = _watched(code)
    assert found["exit_code"] == 7
    assert found["errors"].endswith("xthe end")
    assert len(found["errors"]) == 2_000
    assert _watched("import os; os.abort()")["exit_code"] < 0


def test_tables_are_as_large_as_asked_and_have_one_header(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "BLOCK_ROWS", command.FIRST_ROWS)
    said = command.write(tmp_path / "rows.csv", 1.0)
    frame = pl.read_csv(tmp_path / "rows.csv", try_parse_dates=True)
    assert said == {"rows": len(frame), "bytes": (tmp_path / "rows.csv").stat().st_size}
    assert said["bytes"] == pytest.approx(1e6, rel=0.01)
    assert frame.width == command.COLUMNS + 1
    assert frame[mixed_tables.TARGET].dtype == pl.Float64
    assert frame.n_unique() == len(frame)


@pytest.mark.parametrize("word", ["--help", "--colour"])
def test_answers_at_once_end_as_they_should(word, tmp_path):
    [step] = [step for step in command.steps({}) if word in step.words]
    assert set(command.time_step(step, tmp_path)) == {"wall_s", "cpu_s", "peak_mib"}


def test_the_measured_prediction_answers_every_row(folder):
    told = json.loads((folder / "told.json").read_text())
    [step] = [step for step in command.steps({"linear": 0.3}) if step.reads]
    command.time_step(step, folder)
    answers = pl.read_csv(folder / "answers.csv")
    assert len(answers) == told["linear.csv"]["rows"]
    assert {"price_mean", "price_std", "price_q05", "price_q95"} <= set(answers.columns)


def test_a_step_that_ends_otherwise_ends_the_benchmark(tmp_path):
    step = command.Step("broken", (sys.executable, "-c", "raise SystemExit('no such thing')"))
    with pytest.raises(RuntimeError, match=r"'broken' ended with 1, not 0:\nno such thing"):
        command.time_step(step, tmp_path)


def test_steps_take_turns_and_only_those_that_read_have_a_speed(monkeypatch):
    order = []

    def pretend(step, folder):
        order.append(step.name)
        return {"wall_s": 2.0, "cpu_s": 1.0, "peak_mib": 10.0}

    monkeypatch.setattr(command, "time_step", pretend)
    todo = command.steps({"linear": 1.0})
    size = {"linear.csv": {"rows": 100.0, "bytes": 4e6}}
    runs = command._turns(todo, None, size, command.Options(repeats=2))
    names = [step.name for step in todo]
    assert order == [step.name for step in todo if step.is_short] + 2 * names
    fast = [run for run in runs if "mb_per_s" in run]
    assert [(run["mb_per_s"], run["rows_per_s"]) for run in fast] == [(2.0, 50.0)] * 2


def test_the_page_has_a_row_a_step_and_names_no_place(folder):
    seconds = {command.FLOOR: 1.0, command.IMPORT: 0.25, command.MODEL: 1.5}
    runs = [
        {"contender": step.name, "wall_s": seconds.get(step.name, 3.0), "cpu_s": 1.0}
        | {"peak_mib": 10.0}
        | ({"mb_per_s": 2.0, "rows_per_s": 50.0} if step.reads else {})
        for step in command.steps({"linear": 1.0})
    ]
    page = command.page(
        {
            "title": command.TITLE,
            "date": "today",
            "machine": dict.fromkeys(
                ["cpu", "cores", "memory_gib", "os", "load_average_before"], 1
            ),
            "versions": {},
            "tasks": [],
            "tables": json.loads((folder / "told.json").read_text()),
            "runs": runs,
            "summary": report.summarise(runs),
        }
    )
    assert "`import posterity` takes 0.75 s less, and the first model 0.50 s more." in page
    assert "| `posterity --help` | 3.00 (3.00 - 3.00) | 1.00 | 10.0 | - | - |" in page
    assert page.count("| 50.0 | 2.00 |") == 1
    assert str(folder) not in page
    assert sys.prefix not in page
