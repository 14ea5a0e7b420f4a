"""Truths have the oracle that their posterior is, and tables say what was simulated."""

import json

import numpy as np
import pytest
from benchmarks import few_rows, few_rows_tables, readings
from benchmarks.few_rows import CASES, Extent
from benchmarks.options import Options
from support.for_each import for_each

QUICK = ("Bayesian", "Dual", "Sparse", "GaussianProcessR", "Relevance", "Random", "GPLVM")


@for_each("case", [case for case in CASES if case.name.startswith(QUICK)], ids=lambda c: c.name)
def test_oracles_are_calibrated(case):
    rng = np.random.default_rng(0)
    drawn = [case.draw(rng, 10) for _ in range(40)]
    scores = [few_rows._score(one.oracle(), one, rng.random()) for one in drawn]
    if "log_odds" in scores[0]:
        odds, truth = (np.concatenate([s[key] for s in scores]) for key in ("log_odds", "truth"))
        assert few_rows.calibration_slope(odds, truth) == pytest.approx(1.0, abs=0.3)
    else:
        assert np.mean([s["coverage_90"] for s in scores]) == pytest.approx(0.9, abs=0.04)


def test_the_slope_undoes_confidence():
    a = np.random.default_rng(0).normal(size=200)
    truth = 1.0 / (1.0 + np.exp(-a))
    assert few_rows.calibration_slope(3.0 * a, truth) == pytest.approx(1.0 / 3.0)


def test_a_run_has_a_cell_for_each_number_of_rows(tmp_path):
    extent = Extent(("LinearRegression", "RandomTreeRegressor"), (6, 10), 10, processes=1)
    result = few_rows.run(Options(folder=tmp_path), extent)
    rows = few_rows_tables.arrange(result)["Coverage of 90 % intervals"]
    assert rows.keys() == set(extent.names)
    assert rows["LinearRegression"].keys() == {"6 rows", "10 rows"}
    assert 0.8 < rows["LinearRegression"]["6 rows"] <= 1.0
    assert "| LinearRegression | 0." in (tmp_path / "few_rows.md").read_text()
    again = few_rows.run(Options(folder=tmp_path), extent)
    assert (
        few_rows_tables.arrange(again)["Coverage of 90 % intervals"] == rows
    )  # the seeds are fixed
    table = readings.read("few_rows", tmp_path).table("Coverage of 90 % intervals")
    assert table.rows == rows


def test_estimators_that_are_not_measured_again_are_kept(tmp_path):
    for name in ("RandomTreeRegressor", "LinearRegression"):
        few_rows.run(Options(folder=tmp_path), Extent((name,), (6,), 10, processes=1))
    kept = few_rows_tables.arrange(json.loads((tmp_path / "few_rows.json").read_text()))
    assert list(kept["Fit, CPU ms, median"]) == ["LinearRegression", "RandomTreeRegressor"]


def test_an_unknown_estimator_is_refused():
    with pytest.raises(Exception, match="There is no 'Oracle'"):
        few_rows._known(["Oracle"])
