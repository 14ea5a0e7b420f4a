"""The harness measures what it says it measures, in the order it says."""

import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest
import toy_benchmark
from benchmarks import harness, report, scores, worker
from benchmarks.cases import Data, Size
from benchmarks.options import HERE, Options
from scipy import stats
from support.for_each import for_each

TIMES = ("fit_wall_s", "fit_cpu_s", "predict_wall_s", "predict_cpu_s")
MEMORY = ("fit_peak_mib", "peak_mib", "absolute_peak_mib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("results")
    harness.run(toy_benchmark.TOY, Options(repeats=2, threads=1, folder=path))
    return path


@pytest.fixture(scope="module")
def result(folder):
    return json.loads((folder / "toy.json").read_text())


def test_contenders_take_turns(result):
    runs = result["tasks"][0]["runs"]
    order = [(run["contender"], run["repeat"]) for run in runs]
    assert order == [("with std", 0), ("without", 0), ("with std", 1), ("without", 1)]


def test_every_run_has_a_process_of_its_own(result):
    processes = [run["process"] for run in result["tasks"][0]["runs"]]
    assert len({*processes, os.getpid()}) == 5


def test_every_run_keeps_its_raw_numbers(result):
    for run in result["tasks"][0]["runs"]:
        assert all(run[key] >= 0.0 for key in TIMES + MEMORY)
        assert run["absolute_peak_mib"] > run["peak_mib"] >= run["fit_peak_mib"]
        assert run["blas_threads"] == 1
        assert run["warnings"] == []


def test_memory_is_what_the_fit_adds_to_the_warm_process(result):
    needed = {run["contender"]: run["fit_peak_mib"] for run in result["tasks"][0]["runs"]}
    assert needed["with std"] < 10.0
    assert 85.0 < needed["without"] < 125.0  # 500 quarters, of which the warm-up had 100


def test_every_contender_sees_the_data_of_the_seed(result):
    data = toy_benchmark.noise(np.random.default_rng(3), toy_benchmark.SIZE)
    rmse = np.sqrt(np.mean((data.y_test - data.y.mean()) ** 2))
    assert [run["rmse"] for run in result["tasks"][0]["runs"]] == pytest.approx([rmse] * 4)


def test_machine_and_versions_are_told_but_no_names_or_paths(folder, result):
    assert {"date", "machine", "versions", "repeats", "benchmark", "title"} <= set(result)
    assert {"cpu", "cores", "memory_gib", "os"} <= set(result["machine"])
    assert {"python", "posterity", "numpy", "scipy", "scikit-learn"} <= set(result["versions"])
    for text in ((folder / "toy.json").read_text(), (folder / "toy.md").read_text()):
        assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", text)
        assert str(HERE.parent) not in text


def test_the_page_has_a_table_a_task_with_a_row_a_contender(folder):
    lines = (folder / "toy.md").read_text().splitlines()
    assert lines[0] == "# A toy"
    start = lines.index("## 500 x 2: noise") + 2
    heading, rule, first, second = (line.split(" | ") for line in lines[start : start + 4])
    assert len(heading) == len(rule) == len(first) == len(second)
    assert heading[1:3] == ["fit, s", "x posterity"]
    assert first[0] == "| with std"
    assert first[2] == "1.00"
    assert second[heading.index("log score")] == "-"


def test_summary_is_median_range_and_ratio_to_the_first():
    seconds = {"A": (3.0, 1.0, 2.0), "B": (9.0, 4.0, 5.0)}
    runs = [{"contender": c, "repeat": i, "s": seconds[c][i]} for i in range(3) for c in "AB"]
    assert report.summarise(runs) == {
        "A": {"s": {"median": 2.0, "min": 1.0, "max": 3.0, "ratio": 1.0}},
        "B": {"s": {"median": 5.0, "min": 4.0, "max": 9.0, "ratio": 2.5}},
    }


def test_ratio_to_nothing_is_left_out():
    runs = [{"contender": "A", "mib": 0.0}, {"contender": "B", "mib": 1.0}]
    assert report.summarise(runs)["B"]["mib"]["ratio"] is None


def test_a_rehearsal_leaves_the_kept_results_alone():
    assert Options().results == HERE / "results"
    assert Options(quick=True).results == HERE / "data" / "quick"


def test_data_survive_their_files(tmp_path):
    data = toy_benchmark.noise(np.random.default_rng(0), Size(5, 2, 3))
    data.save(tmp_path)
    loaded = Data.load(tmp_path)
    assert loaded.reference is None
    for name in ("X", "y", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(data, name))


@for_each(("rows", "columns"), [(300, 30), (30, 300)])
def test_the_warm_up_is_small_and_as_wide_as_the_data(rows, columns):
    X, y = np.ones((rows, columns)), np.ones(rows)
    small = Data(X, y, X, y).small()
    assert small.X.size < X.size / 4
    assert (small.X.shape[0] < small.X.shape[1]) == (rows < columns)


@for_each(
    ("value", "text"),
    [(0.0, "0"), (None, "-"), (1234.5, "1,234"), (0.012345, "0.0123"), (-0.5, "-0.500")],
)
def test_numbers_have_three_significant_digits(value, text):
    assert report.number(value) == text


def test_predictive_scores_match_their_definitions():
    rng = np.random.default_rng(1)
    y, mean, std = rng.normal(size=500), rng.normal(size=500), rng.uniform(0.5, 2.0, size=500)
    empty = np.empty((500, 0))
    found = scores.predictive(Data(empty, y, empty, y), (mean, std))
    lower, upper = stats.norm.interval(0.9, mean, std)
    assert found["log_score"] == pytest.approx(stats.norm.logpdf(y, mean, std).mean())
    assert found["rmse"] == pytest.approx(np.linalg.norm(y - mean) / np.sqrt(500))
    assert found["coverage_90"] == np.mean((lower <= y) & (y <= upper))


def test_a_contender_that_is_not_installed_is_left_out_with_a_sentence(tmp_path):
    first, second = toy_benchmark.TOY.contenders
    absent = replace(second, needs="a_package_that_is_not_there")
    installed = replace(first, needs="numpy")
    toy = replace(toy_benchmark.TOY, contenders=(installed, absent), note="A note.")
    result = harness.run(toy, Options(repeats=1, threads=1, folder=tmp_path))
    assert [run["contender"] for run in result["tasks"][0]["runs"]] == ["with std"]
    lines = (tmp_path / "toy.md").read_text().splitlines()
    assert "A note." in lines
    assert "Left out, because not installed: without." in lines


def test_what_a_model_says_of_itself_is_kept(result):
    runs = result["tasks"][0]["runs"]
    y = toy_benchmark.noise(np.random.default_rng(3), toy_benchmark.SIZE).y
    assert [run.get("log_evidence") for run in runs] == [pytest.approx(y.std()), None] * 2


def test_processes_are_told_their_threads_and_nothing_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NPROC", raising=False)
    with harness.threads_of_children(3):
        told = [harness.in_new_process(os.getenv, name) for name in ("OMP_NUM_THREADS", "NPROC")]
    assert told == ["3", "3"]
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NPROC" not in os.environ
    with harness.threads_of_children(None):
        assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.mark.skipif(not worker._CLEAR.exists(), reason="only Linux can lower the mark")
def test_memory_given_back_is_forgotten():
    np.ones(2**23)
    before = worker.peak_mib()
    worker.forget_peak()
    assert worker.peak_mib() < before - 30.0
