"""Categories of boosted trees beside numbers and indicators, on a table that is drawn."""

from benchmarks import levels


def test_a_table_is_measured_and_shown(monkeypatch):
    monkeypatch.setattr(levels.report, "provenance", lambda result: [])
    found = {
        task: levels.measure(task, 100, 3, "own effects", 1) for task in ("classes", "numbers")
    }
    for one in found.values():
        assert abs(one["score"] - one["left_out"]) < 0.6
        assert {"posterity, numbers", "posterity, indicators"} <= one["lost"].keys()
    task = {"name": "classes, 100 rows", "runs": levels.describe_runs(found["classes"])}
    assert "| classes, 100 rows |" in levels.page({"tasks": [task]})
    assert len(set(levels.list_cases(None))) == len(list(levels.list_cases(1))) == 40
