"""Categories of boosted trees beside numbers and indicators, on a table that is drawn."""

from benchmarks import levels


def test_a_table_is_measured_and_shown(monkeypatch):
    monkeypatch.setattr(levels.report, "provenance", lambda result: [])
    found = {
        task: levels.measure(task, 100, 3, "own effects", 1) for task in ("classes", "numbers")
    }
    for one in found.values():
        assert abs(one["score"] - one["left_out"]) < 0.6
        assert {"numbers", "indicators"} <= one["lost"].keys()
    case = {"task": "classes", "rows": 100, "levels": 3, "effect": "slopes"} | found["classes"]
    assert "| classes | 100 | 3 | slopes |" in levels.page({"cases": [case]})
    assert len(set(levels.list_cases(None))) == len(list(levels.list_cases(1))) == 40
