"""Every way brings the same model back, and rows that are in a file are found in it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks import mixed_tables, report, saved_models, saving
from benchmarks.cases import Size

from posterity import persistence, tables
from posterity.linear import BayesianLinearRegression, LinearRegression

SMALL = {task.name: replace(task, size=Size(120, 4, 5)) for task in saving.BENCHMARK.tasks}
every_task = pytest.mark.parametrize("task", SMALL.values(), ids=lambda task: task.name)
every_way = pytest.mark.parametrize(
    "contender", saving.BENCHMARK.contenders, ids=lambda contender: contender.name
)


@pytest.fixture(scope="module")
def fitted():
    return {
        name: task.generate(np.random.default_rng(task.seed), task.size)
        for name, task in SMALL.items()
    }


@every_way
@every_task
def test_every_way_brings_every_model_back(task, contender, fitted, tmp_path):
    path, model = tmp_path / "model", fitted[task.name]
    loaded, numbers = saving.there_and_back(contender.build(), model.model, path)
    assert model.is_like(loaded)
    assert numbers["file_bytes"] == path.stat().st_size
    assert min(numbers.values()) >= 0.0


@every_task
def test_rows_are_found_where_the_file_says_that_they_are(task, fitted, tmp_path):
    model = fitted[task.name]
    persistence.save(model.model, tmp_path / "model")
    found = saved_models.rows_inside(persistence.load(tmp_path / "model"), model.X)
    assert found == persistence.describe(tmp_path / "model").training_rows


def test_rows_that_a_pickle_takes_along_are_found(fitted):
    model = fitted["BayesianLogisticRegression"]
    assert saved_models.rows_inside(model.model, model.X) == 120


def test_rows_are_found_as_they_were_in_part_scaled_and_beside_an_offset():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert saved_models.rows_inside({"a": [X[3:7]]}, X) == 4
    assert saved_models.rows_inside((np.column_stack([np.ones(9), X[:9]]),), X) == 9
    assert saved_models.rows_inside([(X - 5.0) / 3.0], X) == 30
    assert saved_models.rows_inside([X.astype(np.float32), X[:, :2], X[:, 0], X.T @ X], X) == 0
    assert saved_models.rows_inside([np.ones((30, 3)), X[::-1] + 1.0], X) == 0
    assert saved_models.rows_inside([X + 0.01 * X[::-1]], X) == 0


def test_a_way_that_changes_the_model_is_refused(fitted, tmp_path):
    class Wrong:
        def save(self, model, path):
            path.write_bytes(b"")

        def prepare(self, path):
            pass

        def load(self, path):
            model = fitted["BayesianLinearRegression"]
            return BayesianLinearRegression().fit(model.X, model.X[:, 0])

    with pytest.raises(RuntimeError, match="Wrong brought back a model that answers otherwise"):
        saving._measure_way(Wrong(), fitted["BayesianLinearRegression"], tmp_path / "model")


def test_the_fitted_model_is_measured_from_its_file(fitted, tmp_path):
    model = fitted["BayesianLinearRegression"]
    model.save(tmp_path)
    contender = saving.BENCHMARK.contenders[0]
    numbers = saving.measure(SMALL["BayesianLinearRegression"], contender, tmp_path, 1)
    assert numbers["file_bytes"] == persistence.compute_size(model.model)
    assert numbers["rows_inside"] == 0.0
    assert [path.name for path in tmp_path.iterdir()] == ["fitted.pickle"]
    rows = report._task_table(report.summarise([{"contender": "posterity", **numbers}]))
    assert "| save, s | x posterity | save, CPU s | load, s |" in rows[0]
    assert "| bytes | x posterity | training rows inside |" in rows[0]


def test_a_mixed_table_has_every_kind_and_a_law_that_can_be_learned():
    train, test = (mixed_tables.table(np.random.default_rng(s), 2_000, 8) for s in (0, 1))
    schema = tables.infer(train, mixed_tables.TARGET)
    assert {column.kind for column in schema.inputs} == {"number", "category", "date"}
    assert len(schema.inputs) == 8
    assert 0 < train.null_count().select(pl.sum_horizontal(pl.all())).item() < 0.04 * 16_000
    model = tables.TableModel(LinearRegression(), schema).fit(train)
    noise = test[mixed_tables.TARGET].to_numpy() - model.predict(test)
    assert noise.std() == pytest.approx(mixed_tables.NOISE, rel=0.1)
