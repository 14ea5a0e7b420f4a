"""Every package is asked for the same coefficients, in the same order."""

import json

import numpy as np
import pytest
from support.for_each import for_each

pytest.importorskip("statsmodels", reason="one of the packages compared; `make bench` installs it")

from benchmarks import nist
from benchmarks.options import Options


@for_each("package", nist.PACKAGES)
@for_each(
    ("model", "exact"),
    [("poly", ["1", "2", "3"]), ("noint", ["2"]), ("lin", ["1", "2", "-3"])],
)
def test_every_package_solves_every_form_of_model(package, model, exact):
    x = np.arange(6.0)[:, None]
    w = np.array(exact, dtype=float)
    inputs = np.hstack([x, (x - 2.0) ** 2 % 5.0]) if model == "lin" else x
    problem = {"model": model, "degree": 2, "level": "toy", "exact_beta_30": exact}
    columns = {"poly": np.hstack([x**0, x, x**2]), "noint": x, "lin": np.hstack([x**0, inputs])}
    problem |= {"x": inputs.tolist(), "y": (columns[model] @ w).tolist()}
    digits = nist._digits_of("toy", problem)["log_relative_error"][package]
    assert len(digits) == len(exact)
    assert min(digits) > 10.0


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(nist, "DATA", tmp_path / "absent.json")
    nist.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_the_page_shows_the_worst_coefficient_of_each_package(monkeypatch, tmp_path):
    sets = tmp_path / "sets.json"
    exact = ["1", "2.0002"]
    line = {"model": "lin", "degree": 1, "level": "toy", "exact_beta_30": exact}
    sets.write_text(json.dumps({"Line": line | {"x": [["0"], ["1"], ["2"]], "y": [1, 3, 5]}}))
    monkeypatch.setattr(nist, "DATA", sets)
    nist.run(Options(folder=tmp_path))
    (row,) = [s for s in (tmp_path / "nist.md").read_text().splitlines() if s.startswith("| Line")]
    assert row.split(" | ")[0] == "| Line (toy)"
    assert [cell.strip(" |") for cell in row.split(" | ")[1:]] == ["4.0"] * len(nist.PACKAGES)
    (task,) = json.loads((tmp_path / "nist.json").read_text())["tasks"]
    assert task["log_relative_error"]["posterity"][1] == pytest.approx(4.0, abs=0.01)
