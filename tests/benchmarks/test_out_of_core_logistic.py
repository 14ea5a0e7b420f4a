"""The files hold the model they say, and streaming them finds it, on a toy."""

import polars as pl
import pytest
from benchmarks import out_of_core_logistic, report
from scipy import special

COLUMNS = 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core_logistic, "ROWS_OF_A_FILE", 3_000)
    monkeypatch.setattr(out_of_core_logistic, "SAMPLE", 1_000)
    monkeypatch.setattr(out_of_core_logistic, "QUERIES", 20)
    out_of_core_logistic.write(tmp_path, 8_000, COLUMNS)
    return tmp_path


def test_files_hold_the_logistic_model_in_single_precision(folder):
    sizes = [len(pl.read_parquet(file)) for file in sorted(folder.glob("*.parquet"))]
    assert sizes == [3_000, 3_000, 2_000]
    rows = pl.read_parquet(folder / "*.parquet")
    assert set(rows.drop("y").dtypes) == {pl.Float32}
    weights, offset = out_of_core_logistic.truth(COLUMNS)
    p = special.expit(rows.drop("y").to_numpy() @ weights + offset)
    y = rows["y"].to_numpy()
    for chosen in (p < 0.2, (p > 0.2) & (p < 0.4), p > 0.4):
        assert y[chosen].mean() == pytest.approx(p[chosen].mean(), abs=0.05)


def test_the_page_reports_every_step(folder):
    steps = out_of_core_logistic.STEPS
    result = {
        "title": "Toy",
        "rows": 8_000,
        "columns": COLUMNS,
        "date": "today",
        "machine": dict.fromkeys(["cpu", "cores", "memory_gib", "os", "load_average_before"], 1),
        "versions": {},
        "tasks": [],
        "write": {"wall_s": 1.0, "file_mib": 1.0},
        "runs": [{"contender": k, **step(folder, COLUMNS, 1)} for k, step in steps.items()],
        "agreement": out_of_core_logistic.compare(folder),
    }
    result["summary"] = report.summarise(result["runs"])
    assert result["runs"][1]["largest_weight_error"] < 0.15
    assert result["runs"][1]["offset_error"] < 0.15
    agreement = result["agreement"]
    assert max(v for k, v in agreement.items() if k != "sample_rows") < 1e-8
    page = out_of_core_logistic.page(result)
    assert "| read and check |" in page
    assert "| LogisticRegression.fit |" in page
