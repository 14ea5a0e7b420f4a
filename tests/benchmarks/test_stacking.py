"""The comparison of mixtures and simple choices, on a set that is drawn."""

import numpy as np
from benchmarks import stacking


def test_a_set_is_measured_and_shown(monkeypatch):
    monkeypatch.setattr(stacking, "ROWS", 80)
    monkeypatch.setattr(stacking, "NUMBER_MODELS", ("linear", "tree"))
    x = np.random.default_rng(0).normal(size=(2, 200))
    y = x[0] + np.sign(x[0]) + 0.5 * x[1]
    line = stacking.measure("regression", {"x": x[0], "target": y})
    assert line["best"] in ("linear", "tree")
    assert line["simple"] == "linear" or line["simple"] == line["best"]
    assert line["simple_gain"] == (0.0, 0.0) or line["simple"] != line["best"]
    line = line | {"best": "tree", "simple_gain": (-0.5, 0.1), "simple_1_gain": (0.25, 0.1)}
    result = {"machine": {}, "sets": {"drawn": line}}
    monkeypatch.setattr(stacking.report, "provenance", lambda result: [])
    assert "| drawn | tree |" in stacking.page(
        result | {"sets": {"drawn": line | {"held_out_gain": (0.0, 0.1), "stack_gain": (0.1, 0.1)}}}
    )
