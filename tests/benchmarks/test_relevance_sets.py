"""Sets are drawn and split as the literature does; what is kept is told beside the errors."""

import json
from functools import partial

import numpy as np
import pytest
from benchmarks import probabilities, real_sets, relevance_sets, tuned_machines
from benchmarks import relevance_problems as sets
from benchmarks.cases import Data
from benchmarks.options import Options
from support.for_each import for_each

here = pytest.mark.skipif(not real_sets.FOLDER.exists(), reason="the data are not here")
GRID = tuned_machines.Grid((1.0, 10.0), (0.25, 1.0))


def two_classes(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.logistic(size=90) > 0.5).astype(float)
    return Data(X[:60], y[:60], X[60:], y[60:])


def function(k):
    rng = np.random.default_rng(k)
    X = rng.uniform(-3.0, 3.0, size=(90, 1))
    f = 50.0 * np.sin(X[:, 0])
    y = f + rng.normal(size=90)
    return Data(X[:60], y[:60], X[60:], y[60:], f[60:])


PUBLISHED = (sets.Published("somebody", "9.5", "7"),)
TOYS = (
    sets.Problem("classes", "Toy classes", two_classes, 2, PUBLISHED),
    sets.Problem("function", "Toy function", function, 3, PUBLISHED, classes=False),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real_sets, "FOLDER", folder)
        patch.setattr(relevance_sets.harness, "in_new_process", lambda work, *a: work(*a))
        patch.setattr(tuned_machines, "Grid", lambda: GRID)
        relevance_sets.run(Options(folder=folder, threads=1), 2, TOYS)
    return folder


def test_the_page_has_vectors_errors_and_figures_of_others(results):
    lines = (results / "relevance_sets.md").read_text().splitlines()
    assert "## Toy classes: 60 x 2, 30 test rows, 2 splits" in lines
    assert "|  | errors, % | vectors | log loss | fit, s | predict, s |" in lines
    assert lines.count("| somebody | 9.5 | 7 | - | - | - |") == 2
    (row,) = [line for line in lines if line.startswith("| scikit-learn SVR |")]
    assert row.split(" | ")[3] == "-"


def test_means_are_over_the_splits(results):
    tasks = json.loads((results / "relevance_sets.json").read_text())["tasks"]
    assert [task["splits"] for task in tasks] == [2, 2]
    for task in tasks:
        assert [run["split"] for run in task["runs"]] == [0, 1, 0, 1]
        for name, found in task["summary"].items():
            own = [run for run in task["runs"] if run["contender"] == name]
            assert found["error"]["mean"] == pytest.approx(np.mean([run["error"] for run in own]))
            assert 0.0 < found["vectors"]["mean"] < 60.0


def test_relevance_vectors_are_fewer_than_support_vectors(results):
    for task in json.loads((results / "relevance_sets.json").read_text())["tasks"]:
        ours, theirs = task["summary"].values()
        assert ours["vectors"]["mean"] < theirs["vectors"]["mean"]


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(real_sets, "FOLDER", tmp_path / "absent")
    relevance_sets.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_errors_of_functions_are_beside_the_function_without_noise():
    data = function(0)
    machine = tuned_machines.TunedRegressor(GRID).fit(data.X, data.y)
    for root, expected in ((False, 4.0), (True, 2.0)):
        found = relevance_sets.function_score(machine, data, data.reference + 2.0, root)
        assert found == {"error": pytest.approx(expected)}


def test_errors_of_classes_are_of_the_machine_and_log_loss_of_its_probabilities():
    data = two_classes(0)
    machine = tuned_machines.TunedClassifier(GRID).fit(data.X, data.y)
    found = relevance_sets.classes_score(machine, data, 1.0 - data.y_test)
    assert found["error"] == 100.0
    told = probabilities.score(data, (machine.predict_proba(data.X_test), None))
    assert found["log_loss"] == told["log_loss"]


@for_each("pixels", [False, True])
def test_machines_choose_from_the_grid_in_units_of_what_they_see(pixels):
    data = two_classes(0)
    machine = tuned_machines.TunedClassifier(GRID, pixels).fit(1000.0 * data.X, data.y)
    chosen = machine.machine["machine"]
    unit = 1.0 / (2.0 * np.var(1000.0 * data.X)) if pixels else 0.5
    assert chosen.C in GRID.penalties
    assert any(chosen.gamma == pytest.approx(width * unit) for width in GRID.widths)
    assert machine.vectors == len(chosen.support_)


def test_regressors_answer_in_the_units_of_the_targets():
    data = function(0)
    machine = tuned_machines.TunedRegressor(GRID).fit(data.X, data.y)
    assert np.sqrt(np.mean((machine.predict(data.X_test) - data.reference) ** 2)) < 15.0
    assert 0 < machine.vectors <= 60


@for_each("uniform", [False, True])
def test_sinc_has_noise_of_size_a_tenth(uniform):
    draws = [sets.sinc(k, uniform) for k in range(20)]
    x = draws[0].X[:, 0]
    assert (x[0], x[-1], len(x)) == (-10.0, 10.0, 100)
    noise = np.concatenate([data.y - np.sinc(x / np.pi) for data in draws])
    deviation = 0.1 / np.sqrt(3.0) if uniform else 0.1
    assert noise.std() == pytest.approx(deviation, rel=0.05)
    assert (np.abs(noise).max() <= 0.1) == uniform
    np.testing.assert_allclose(draws[0].reference, np.sinc(draws[0].X_test[:, 0] / np.pi))


@for_each(("number", "columns", "noise"), [(1, 10, 1.0), (2, 4, 125.0), (3, 4, 0.1)])
def test_friedmans_functions_have_the_noise_of_the_literature(number, columns, noise):
    data = sets.friedman(3, number)
    assert data.X.shape == (240, columns)
    assert data.X_test.shape == (1_000, columns)
    assert np.std(data.y_test - data.reference) == pytest.approx(noise, rel=0.1)
    assert not np.array_equal(data.X, sets.friedman(4, number).X)


@here
@for_each(
    ("name", "rows", "columns", "test_rows", "splits"),
    [
        ("banana", 400, 2, 4900, 10),
        ("breast_cancer", 200, 9, 77, 10),
        ("german", 700, 20, 300, 10),
        ("ripley", 250, 2, 1000, 1),
        ("pima", 200, 7, 332, 1),
        ("usps", 7291, 256, 2007, 1),
        ("boston", 455, 13, 51, 20),
    ],
)
def test_sets_have_the_sizes_of_the_literature(name, rows, columns, test_rows, splits):
    (problem,) = [p for p in (*sets.CLASSES, *sets.FUNCTIONS) if p.name == name]
    data = problem.read(problem.splits - 1)
    assert data.X.shape == (rows, columns)
    assert data.X_test.shape == (test_rows, columns)
    assert problem.splits == splits
    if problem.classes:
        np.testing.assert_array_equal(np.unique(data.y), np.arange(len(np.unique(data.y))))


@here
def test_realisations_share_no_row_between_their_parts():
    read = partial(real_sets.realisation, "german")
    data = read(0)
    rows = {row.tobytes() for row in data.X}
    assert not np.array_equal(data.y, read(1).y)
    assert np.mean([row.tobytes() in rows for row in data.X_test]) < 0.05
