"""All forests have the same rows, trees and threads, and one function judges each."""

import json
from dataclasses import replace
from importlib import util

import numpy as np
import pytest
from benchmarks import (
    boosters,
    boosting,
    forest_models,
    forest_rows,
    forest_scores,
    forest_sets,
    forests,
    friedman,
    harness,
    real_sets,
    regression_forests,
)
from benchmarks.cases import Contender, Data, Size
from benchmarks.options import Options
from scipy import special, stats
from sklearn import ensemble, metrics
from threadpoolctl import threadpool_limits

from posterity import distributions

pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours
FOREST, TREES_AT_RANDOM = "scikit-learn RandomForestClassifier", "scikit-learn ExtraTreesClassifier"


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that wait for one another are slow where tests share the cores."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def covers():
    return forest_sets.cover_types(np.random.default_rng(0), Size(400, 54, 300))


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    monkeypatch.setattr(forest_scores, "SEEDS", 1)
    monkeypatch.setattr(forest_models, "TREES", 5)
    monkeypatch.setattr(forest_models, "ROUNDS", 5)


def small(benchmark, size, *names):
    task = replace(benchmark.tasks[0], size=size)
    contenders = tuple(c for c in benchmark.contenders if c.name in names)
    assert len(contenders) == len(names)
    return replace(benchmark, tasks=(task,), contenders=contenders)


def test_cover_types_are_numbers_and_two_categories(covers):
    X = covers.X
    assert X.shape == (400, 54)
    np.testing.assert_array_equal(X[:, 10:14].sum(axis=1), 1.0)
    np.testing.assert_array_equal(X[:, 14:].sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.unique(X[:, 10:]), [0.0, 1.0])
    assert set(np.unique(covers.y)) == set(range(7))


def test_the_law_of_cover_types_is_that_of_the_seed_and_not_of_the_size():
    few, many = (
        forest_sets.cover_types(np.random.default_rng(0), Size(n, 54, 2_000)) for n in (2_000, 8)
    )
    shares = [np.bincount(data.y_test.astype(int), minlength=7) / 2_000 for data in (few, many)]
    assert np.abs(shares[0] - shares[1]).max() < 0.06
    assert shares[0].max() > 2.0 * shares[0].min()


def test_a_rehearsal_has_fewer_rows_and_columns_but_all_classes():
    for task in forest_sets.real_tasks(forest_scores.of_classes):
        part = task.tenth()
        data = part.generate(np.random.default_rng(0), part.size)
        assert data.X.shape == (part.size.rows, part.size.columns)
        assert data.X_test.shape == (part.size.test_rows, part.size.columns)
        assert set(np.unique(data.y_test)) <= set(np.unique(data.y))


def test_a_set_of_full_size_is_the_set_itself():
    for task in forest_sets.real_tasks(forest_scores.of_classes):
        data = task.generate(np.random.default_rng(0), task.size)
        assert data.X.shape == (task.size.rows, task.size.columns)
        assert len(data.y_test) == task.size.test_rows


@pytest.mark.skipif(not real_sets.FOLDER.exists(), reason="the data are not here")
def test_rows_of_a_stored_set_keep_their_order():
    found = forest_sets.read_stored(real_sets.vowels, np.random.default_rng(0), Size(528, 9, 462))
    expected = real_sets.vowels(0)
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y_test, expected.y_test)


def test_scores_of_classes_are_scikit_learns(covers):
    model = ensemble.RandomForestClassifier(5, random_state=0).fit(covers.X, covers.y)
    P = model.predict_proba(covers.X_test)
    found = forest_scores.of_classes(covers, (P, None))
    y = covers.y_test
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, P, labels=range(7)))
    right = metrics.accuracy_score(y, P.argmax(axis=1))
    assert found["error_percent"] == pytest.approx(100.0 * (1.0 - right))
    assert found["brier"] == pytest.approx(np.mean(np.sum((np.eye(7)[y.astype(int)] - P) ** 2, 1)))
    nothing = np.mean([P[i, int(c)] == 0.0 for i, c in enumerate(y)])
    assert found["impossible_percent"] == pytest.approx(100.0 * nothing)
    assert nothing > 0.0


def test_scores_of_numbers_are_of_the_distribution_where_there_is_one():
    rng = np.random.default_rng(1)
    y, mean, std = rng.normal(size=300), rng.normal(size=300), rng.uniform(0.5, 2.0, size=300)
    empty = np.empty((300, 0))
    data = Data(empty, y, empty, y)
    found = forest_scores.of_numbers(data, distributions.Normal(mean, std))
    low, high = stats.norm.interval(0.9, mean, std)
    assert found["log_score"] == pytest.approx(stats.norm.logpdf(y, mean, std).mean())
    assert found["coverage_90"] == np.mean((low <= y) & (y <= high))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert forest_scores.of_numbers(data, (mean, None)) == pytest.approx({"rmse": found["rmse"]})


def test_the_spread_is_that_between_the_trees():
    data = friedman.generate(np.random.default_rng(0), Size(100, 5, 20))
    model = ensemble.RandomForestRegressor(7, random_state=0).fit(data.X, data.y)
    found = forest_models.predict_spread(model, data.X_test)
    answers = [tree.predict(data.X_test) for tree in model.estimators_]
    np.testing.assert_allclose(found.mean(), model.predict(data.X_test))
    np.testing.assert_allclose(found.standard_deviation(), np.std(answers, axis=0))


def test_trees_that_agree_are_not_certain():
    model = ensemble.RandomForestRegressor(3).fit(np.ones((9, 1)), np.full(9, 5.0))
    assert forest_models.predict_spread(model, np.ones((2, 1))).standard_deviation().min() > 0.0


def test_models_have_the_threads_of_the_process(monkeypatch):
    contenders = (*forest_models.classifiers(), *forest_models.regressors())
    some = [*contenders, boosters.ours(), boosters.light(0.1)]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    models = [contender.build() for contender in some if contender.is_here]
    jobs = [model.n_jobs for model in models if "n_jobs" in model.get_params()]
    assert len(jobs) >= 4
    assert set(jobs) == {3}
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert forest_models.threads() >= 1


@pytest.mark.parametrize(
    "contender",
    [
        *forest_models.classifiers(),
        *boosting.TWO_CLASSES.contenders,
        *forest_models.regressors(),
    ],
    ids=lambda contender: contender.name,
)
def test_every_contender_can_be_given_a_seed_and_be_pickled(contender, monkeypatch):
    if not contender.is_here:
        pytest.skip(f"needs {contender.needs}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0.0).astype(float)
    model = contender.build().set_params(random_state=1)
    for name in {"n_estimators", "max_iter"} & set(model.get_params()):
        assert model.get_params()[name] in (forest_models.TREES, boosters.ROUNDS)
        model.set_params(**{name: 3})
    fitted = contender.fit(model, X, y)
    assert 0.0 < contender.facts(fitted)["pickle_mb"] < 3.0
    contender.predict(fitted, X[:5])


def test_scores_of_few_rows_are_means_over_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(forest_scores, "SEEDS", 3)
    task = replace(forests.BENCHMARK.tasks[0], size=Size(200, 54, 100))
    data = task.generate(np.random.default_rng(0), task.size)
    data.save(tmp_path)
    contender = Contender("forest", Small, predict=forests.BENCHMARK.contenders[0].predict)
    numbers = forest_scores.measure(task, contender, tmp_path, 1)
    losses = []
    for seed in range(3):
        P = Small(random_state=seed).fit(data.X, data.y).predict_proba(data.X_test)
        losses.append(forest_scores.of_classes(data, (P, None))["log_loss"])
    assert numbers["log_loss"] == pytest.approx(np.mean(losses))
    monkeypatch.setattr(forest_scores, "FEW_ROWS", 200)
    assert forest_scores.measure(task, contender, tmp_path, 1)["log_loss"] == losses[0]


class Small(ensemble.ExtraTreesClassifier):
    """Ten trees."""

    def __init__(self, random_state=0):
        super().__init__(10, random_state=random_state)


def test_one_run_gives_the_page_of_scores_and_that_of_calibration(tmp_path, in_this_process):
    benchmark = small(forests.BENCHMARK, Size(300, 54, 200), FOREST, TREES_AT_RANDOM)
    forests.run(Options(repeats=1, threads=1, folder=tmp_path), benchmark)
    page = (tmp_path / "forests.md").read_text()
    scores = "| errors, % | log loss | called impossible, % | Brier score |"
    assert scores in page
    assert "| pickle, MB |" in page
    lines = (tmp_path / "calibration.md").read_text().splitlines()
    (row,) = [line.strip("| ").split(" | ") for line in lines if line.startswith(f"| {FOREST}")]
    assert len(row) == 13
    run, kept = (
        json.loads((tmp_path / f"{name}.json").read_text())["tasks"][0]["runs"][0]
        for name in ("forests", "calibration")
    )
    assert kept["diagram"] == run["diagram"]
    assert "log_loss" not in kept
    first = run["diagram"][0]
    assert row[1] == f"{first['stated']:.3f} {first['happened']:.3f}"


def test_rows_are_timed_alone_and_together_by_threads(tmp_path, in_this_process, monkeypatch):
    monkeypatch.setattr(forest_rows, "SINGLE_ROWS", 3)
    benchmark = small(forest_rows.BENCHMARK, Size(300, 54, 50), TREES_AT_RANDOM)
    monkeypatch.setattr(forest_rows, "BENCHMARK", benchmark)
    forest_rows.run(Options(repeats=1, threads=1, folder=tmp_path))
    run = json.loads((tmp_path / "forest_rows.json").read_text())["tasks"][0]["runs"][0]
    assert all(run[key] > 0.0 for key in ("row_1_ms", "row_2_ms", "rows_1_s", "rows_2_s"))
    assert (
        "| one row, ms | x posterity | by two threads, ms |"
        in (tmp_path / "forest_rows.md").read_text()
    )


def test_threads_are_the_models_own():
    model = ensemble.ExtraTreesClassifier(n_jobs=7)
    with forest_rows._threads(model, 2):
        assert model.n_jobs == 2
    with forest_rows._threads(ensemble.HistGradientBoostingClassifier(), 1):
        pass


def test_boosting_data_have_the_chances_told():
    data = boosting.generate(np.random.default_rng(0), Size(20_000, 50, 2))
    p = boosting.chance(data.X)
    assert p.mean() == pytest.approx(data.y.mean(), abs=0.01)
    entropy = -np.mean(special.xlogy(p, p) + special.xlog1py(1.0 - p, -p))
    assert f"is {entropy:.2f}." in boosting.TWO_CLASSES.note
    np.testing.assert_array_equal(p, boosting.chance(data.X[:, :5]))
    expected = 1.0 / (1.0 + np.exp(-3.0 * (np.sum(data.X[:9, :5] ** 2, axis=1) - 5.0)))
    np.testing.assert_allclose(p[:9], expected)


def test_boosters_have_one_threshold_a_tree():
    data = boosting.generate(np.random.default_rng(0), Size(300, 6, 2))
    model = boosters.histogram(0.3).build().fit(data.X, data.y)
    assert model.learning_rate == 0.3
    assert {len(tree.nodes) for (tree,) in model._predictors} == {3}
    if util.find_spec("lightgbm") is not None:
        trees = boosters.light(0.5).build().fit(data.X, data.y).booster_.trees_to_dataframe()
        assert set(trees.groupby("tree_index").size()) == {3}


def test_the_page_of_numbers_tells_log_score_and_coverage(tmp_path, in_this_process):
    names = ("scikit-learn ExtraTreesRegressor", "scikit-learn HistGradientBoostingRegressor")
    benchmark = small(regression_forests.BENCHMARK, Size(200, 10, 50), *names)
    harness.run(benchmark, Options(repeats=1, threads=1, folder=tmp_path))
    page = (tmp_path / "regression_forests.md").read_text()
    assert "| log score | RMSE | 90 % coverage | CRPS |" in page
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {names[1]}")]
    assert row.endswith("| - | - |")
