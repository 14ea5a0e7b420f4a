"""Estimates of how long a comparison takes."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.for_each import for_each

from posterity import comparison, linalg, tables
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


def estimate(names=("forest",), n=5_000, d=10):
    numbers = np.random.default_rng(0).normal(size=(d + 1, 20))
    table = {f"x{k}": column for k, column in enumerate(numbers)}
    models = comparison.candidates("regression", n, d, names=names) if names else ()
    return durations.estimate_duration(tables.infer(table, "x0"), models, n)


def test_more_rows_columns_and_models_take_longer():
    assert estimate().seconds < estimate(n=50_000).seconds
    assert estimate().seconds < estimate(d=80).seconds
    assert estimate().seconds < estimate(["forest", "units"]).seconds
    assert estimate(None).seconds == 0.0


def test_whoever_wins_the_estimate_of_a_large_table_holds_within_a_factor_of_two():
    """One fold of each slow model, and one fit to all rows, by the seconds that were measured."""
    names = ["additive", "robust", "forest", "boosted-trees"]
    models = comparison.candidates("regression", 100_000, 30, names=names)
    measured, cores = durations._read_measured()["regression"], linalg.threads.count_threads(-1)
    fold = {
        one.name: durations._interpolate(measured[one.name], 80_000, 30, 2)
        / (cores if hasattr(one.estimator, "n_jobs") else 1)
        for one in models
    }
    found = estimate(names, 100_000, 30)
    besides = durations._BESIDES + durations._BESIDES_CELL * 100_000 * 30
    for winner in names:
        taken = besides + sum(fold.values()) + fold[winner] * (1.25 if fold[winner] > 4.0 else 5.25)
        assert 0.5 < found.seconds / taken < 2.0
    assert fold["forest"] < found.longest_fit < 2.0 * fold["forest"]


def test_a_limit_says_what_may_come_after_it():
    long = durations.Duration(200.0, 60.0)
    assert "60 s more" in long.describe(100.0, "budget")
    assert "budget limits it" in long.describe(1_000.0, "budget")
    assert durations.Duration(9.0, 3.0).describe(None, "budget") == ""
    assert durations.Duration(9.0, 3.0).describe(5.0, "budget") == ""
