"""Estimates of how long a comparison takes."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.for_each import for_each

from posterity import comparison
from posterity.comparison import durations

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "durations.json"


@pytest.fixture(autouse=True)
def same_machine(monkeypatch):
    reference = durations._read_measured()["reference_s"]
    monkeypatch.setattr(durations, "time_reference", lambda: reference)


def test_the_package_keeps_what_the_benchmark_wrote():
    benchmark = pytest.importorskip("benchmarks.durations")
    written = json.loads(RESULTS.read_text("utf-8"))
    assert benchmark.shorten(written) == durations._read_measured()


@for_each("task", ["regression", "classification"])
def test_at_measured_sizes_an_estimate_is_what_was_measured(task):
    """Within a factor of two of all, and of a quarter in the mean."""
    ratios = [
        durations._interpolate(rows, *row[:3]) / row[3]
        for rows in durations._read_measured()[task].values()
        for row in rows
    ]
    assert max(ratios) < 2.5
    assert min(ratios) > 0.4
    assert abs(np.mean(np.log(ratios))) < np.log(1.25)


def test_the_usual_models_of_a_table_are_estimated():
    for task, n in (("regression", 3_000), ("classification", 3_000)):
        names = [one.name for one in comparison.candidates(task, n, 10)]
        assert set(names) - {"negative-binomial"} <= set(durations._read_measured()[task])


def test_more_rows_columns_and_models_take_longer():
    def estimate(names=("forest",), n=5_000, d=10):
        return durations.estimate_seconds("regression", names, n, d)

    assert estimate() < estimate(n=50_000)
    assert estimate() < estimate(d=80)
    assert estimate() < estimate(("forest", "units"))
    assert estimate(("mean",)) == 0.0
