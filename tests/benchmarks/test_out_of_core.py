"""The files hold the model they say, and streaming them finds it, on a toy."""

import numpy as np
import polars as pl
import pytest
from benchmarks import out_of_core, report


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "ROWS_OF_A_FILE", 800)
    monkeypatch.setattr(out_of_core, "SAMPLE", 1_000)
    monkeypatch.setattr(out_of_core, "QUERIES", 20)
    out_of_core.write(tmp_path, 2_000)
    return tmp_path


def test_files_hold_the_linear_model(folder):
    sizes = [len(pl.read_parquet(file)) for file in sorted(folder.glob("*.parquet"))]
    assert sizes == [800, 800, 400]
    rows = pl.read_parquet(folder / "*.parquet")
    weights, offset = out_of_core.truth()
    noise = rows["y"].to_numpy() - rows.drop("y").to_numpy() @ weights - offset
    assert np.var(noise) == pytest.approx(out_of_core.NOISE_VARIANCE, rel=0.15)


def test_the_page_reports_every_step(folder):
    result = {
        "title": "Toy",
        "rows": 2_000,
        "columns": out_of_core.COLUMNS,
        "date": "today",
        "machine": dict.fromkeys(["cpu", "cores", "memory_gib", "os", "load_average_before"], 1),
        "versions": {},
        "tasks": [],
        "write": {"wall_s": 1.0, "file_mib": 1.0},
        "runs": [{"contender": k, **step(folder, 1)} for k, step in out_of_core.STEPS.items()],
        "agreement": out_of_core.compare(folder),
    }
    result["summary"] = report.summarise(result["runs"])
    assert result["runs"][1]["largest_weight_error"] < 0.1
    assert result["runs"][1]["noise_variance"] == pytest.approx(0.25, rel=0.15)
    assert max(v for k, v in result["agreement"].items() if k != "sample_rows") < 1e-10
    page = out_of_core.page(result)
    assert "| read and check |" in page
    assert "| BayesianLinearRegression.fit |" in page
