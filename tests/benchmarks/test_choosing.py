"""The benchmark follows the decision figure, and says by how much its advice is right or wrong."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from benchmarks import advice, choosing, choosing_sets, compact, readings
from benchmarks.choosing_sets import PROBLEMS, TARGET, Problem
from benchmarks.options import Options
from support.for_each import for_each

from posterity import comparison, tables
from posterity.linear import RidgeRegression

PAGE = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text("utf-8")
FEW = ("linear", "sparse-quadratic")


def bend(n=24):
    x = np.linspace(0.0, 1.0, n)
    return {"x": x, TARGET: 3.0 * x**2 + 0.1 * np.random.default_rng(0).normal(size=n)}


SUM = "Nearly a sum of effects?"
TOYS = (
    Problem("small", "regression", SUM, bend),
    Problem("large", "regression", SUM, lambda: bend(30)),
)


def model(log_score, ahead=0.0, error=0.0, *, baseline=False, behind=0.0, behind_error=0.0):
    return {
        "baseline": baseline,
        "log_score": log_score,
        "ahead": ahead,
        "ahead_error": error,
        "behind": behind,
        "behind_error": behind_error,
    }


def task(**models):
    fixed = {"name": "toy", "rows": 1200, "columns": 3, "classes": 0, "question": "Toys?"}
    return fixed | {"leads_to": "Toy", "member": "toy", "models": models}


@for_each("problem", PROBLEMS, ids=lambda p: f"{p.name}, {p.task}")
def test_a_set_leads_to_the_model_that_is_measured_for_it(problem):
    name = choosing.leaf(problem).name
    if problem.model is not None:
        assert type(problem.model()).__name__ == name
    else:
        members = {one.name: one.estimator for one in comparison.family(problem.task)}
        assert members[choosing.MEMBERS[name]] == name


def test_every_box_of_the_figure_has_a_set():
    questions = choosing.figure().QUESTIONS
    boxes = {box.name for asked in questions for box in asked.numbers + asked.classes}
    assert boxes == {choosing.leaf(problem).name for problem in PROBLEMS}
    assert boxes == choosing.MEMBERS.keys()


@for_each("yes", ["Is the moon full?", "columns, of a special kind?"])
def test_a_yes_that_leads_nowhere_or_to_several_boxes_is_refused(yes):
    with pytest.raises(LookupError, match="does not ask"):
        choosing.leaf(Problem("odd", "regression", yes, bend))


@for_each("problem", PROBLEMS, ids=lambda p: f"{p.name}, {p.task}")
def test_sets_are_the_same_each_time_and_as_large_as_their_question_says(problem):
    first, second = problem.make(), problem.make()
    for name, column in first.items():
        np.testing.assert_array_equal(column, second[name])
    n_rows, n_columns = len(first[TARGET]), len(first) - 1
    assert not problem.yes.startswith("Fewer rows") or n_rows < n_columns


def test_special_targets_are_of_their_kind():
    assert np.min(choosing_sets.amounts()[TARGET]) > 0.0
    counted = choosing_sets.counts()[TARGET]
    np.testing.assert_array_equal(counted, np.floor(np.abs(counted)))
    words = choosing_sets.configurations()
    schema = tables.infer(words, TARGET, task="classification")
    assert {column.kind for column in schema.inputs} == {"category"}
    y = choosing_sets.outliers()[TARGET]
    assert np.sum(np.abs(y - np.median(y)) > 5.0) >= 5


def test_the_usual_models_are_measured_and_those_that_are_asked_for():
    vectors = Problem("p", "classification", "a small file?", bend, also=("dual",))
    member, models = choosing.contenders(vectors, 300, 2, 2)
    names = [one.name for one in models]
    usual = [one.name for one in comparison.candidates("classification", 300, 2)]
    assert member == "vectors-learned"
    assert {*usual, "dual", "vectors-learned", "sklearn-logistic"} <= {*names}
    assert "vectors-learned" not in usual
    many = choosing.contenders(vectors, 300, 2, 10)[1]
    assert "process-ard" in names
    assert "process-ard" not in [one.name for one in many]


def test_a_model_of_its_own_is_measured_beside_the_usual():
    own = Problem("p", "regression", SUM, bend, model=RidgeRegression)
    member, models = choosing.contenders(own, 24, 1, 0)
    assert member == models[-1].name
    assert models[-1].code == "RidgeRegression()"
    assert "linear" in [one.name for one in models]


@pytest.fixture
def toys(monkeypatch):
    monkeypatch.setattr(choosing, "PROBLEMS", TOYS)
    usual = comparison.candidates
    monkeypatch.setattr(
        comparison,
        "candidates",
        lambda task, names=None, **size: usual(task, names=names or FEW, **size),
    )


def test_differences_are_of_the_same_rows(toys):
    found = choosing.measure_problem(0, 3)
    schema = tables.infer(bend(), TARGET, task="regression")
    some = (
        *comparison.baselines("regression"),
        *comparison.candidates("regression", n_rows=24, n_columns=1),
    )
    results = {r.name: r for r in comparison.compare(bend(), schema, some, folds=3).results}
    assert found["member"] == "linear"
    assert found["models"].keys() == results.keys()
    best = results["sparse-quadratic"]
    assert best.log_score > results["linear"].log_score
    for name, scores in found["models"].items():
        for key, lead in (("ahead", results["linear"]), ("behind", best)):
            rows = lead.held_out.log_prob - results[name].held_out.log_prob
            assert scores[key] == pytest.approx(np.mean(rows), abs=1e-12)
            expected = np.std(rows, ddof=1) / np.sqrt(24)
            assert scores[key + "_error"] == pytest.approx(expected, abs=1e-12)
    assert (found["rows"], found["columns"], found["classes"]) == (24, 1, 0)


def test_a_run_writes_every_set_in_order_and_its_page(toys, monkeypatch, tmp_path):
    monkeypatch.setattr(choosing, "_pool", lambda: ThreadPoolExecutor(1))
    choosing.run(Options(folder=tmp_path, quick=True))
    record = json.loads((tmp_path / "choosing.json").read_text())
    assert [one["name"] for one in record["tasks"]] == ["small", "large"]
    assert record["folds"] == choosing.QUICK_FOLDS
    text = (tmp_path / "choosing.md").read_text()
    assert "## Nearly a sum of effects? Fewer rows" in text
    assert "### small, 24 x 1: `BayesianLinearRegression` as `linear`" in text
    assert text.count("| sklearn-boosting |") == 2
    (table,) = readings.read("choosing", tmp_path).tables
    assert table.rows["small, 24 x 1"]["leads_to"] == "BayesianLinearRegression"


def test_an_advised_model_that_fails_is_an_error(toys):
    with pytest.raises(RuntimeError, match="'forest' could not"):
        choosing._compare_results(
            comparison.compare(
                bend(),
                tables.infer(bend(), TARGET, task="regression"),
                comparison.candidates("regression", n_rows=24, n_columns=1),
            ).results,
            "forest",
        )


def test_the_best_other_is_of_the_family_and_the_peer_is_not_the_mean():
    found = task(
        mean=model(0.0, -2.0, 0.1, baseline=True),
        **{"sklearn-linear": model(-0.5, -1.5, 0.2, baseline=True)},
        **{"sklearn-boosting": model(-0.6, -1.4, 0.2, baseline=True)},
        other=model(-1.0, -1.0, 0.3),
        worse=model(-3.0, 1.0, 0.3),
        toy=model(-2.0),
    )
    assert advice.others(found) == advice.Lead("other", -1.0, 0.3)
    assert advice.peers(found) == advice.Lead("sklearn-linear", -1.5, 0.2)


@for_each(
    ("ahead", "error", "words", "is_behind"),
    [
        (0.36, 0.05, "0.36 +- 0.05", False),
        (-0.36, 0.05, "-0.36 +- 0.05", True),
        (-0.36, 0.19, "(-0.36 +- 0.19)", False),
        (-0.001, 1e-9, "(0.00 +- 0.00)", False),
        (-0.0011, 1e-9, "0.00 +- 0.00", True),
    ],
)
def test_a_difference_within_two_errors_or_a_thousandth_is_none(ahead, error, words, is_behind):
    lead = advice.Lead("other", ahead, error)
    assert (str(lead), lead.is_behind) == (words, is_behind)


def test_standing_counts_sets_where_nothing_is_clearly_ahead():
    peers = {"sklearn-linear": model(-1.0, 0.5, 0.1, baseline=True)}
    ahead = {"sklearn-linear": model(-1.0, -0.5, 0.1, baseline=True)}
    fine = task(
        linear=model(-2.0, 1.0, 0.1, behind=1.0, behind_error=0.1), toy=model(-1.0), **peers
    )
    beaten = task(linear=model(-0.5, -1.0, 0.1), toy=model(-1.0), **ahead)
    record = {"tasks": [fine, fine, beaten]}
    assert advice.count_standing(record) == advice.Standing(3, 2, 2, 1)


def test_the_table_of_the_documentation_has_a_row_a_set_below_its_question(tmp_path):
    peers = {"sklearn-linear": model(-1.0, 0.5, 0.1, baseline=True)}
    record = {"tasks": [task(other=model(-2.0, 1.0, 0.1), toy=model(-1.0), **peers)]}
    (tmp_path / "choosing.json").write_text(json.dumps(record))
    result = readings.read("choosing", tmp_path)
    (table,) = result.tables
    columns = compact.columns(result, "accuracy")
    cells = [compact.cell(table, "toy, 1,200 x 3", column) for column in columns]
    assert table.name == "Toys?"
    assert table.rows["toy, 1,200 x 3"]["best_other"] == "other"
    assert cells == ["Toy", "1.00 +- 0.10", "0.50 +- 0.10"]
    assert columns[0].heading == "the figure leads to"
    assert not compact.columns(result, "speed")


def measured(name, rows, model, key="log_score"):
    for found in readings.read("choosing").record["tasks"]:
        if (found["name"], found["rows"]) == (name, rows):
            return found["models"][model][key]
    raise LookupError(name)


def test_the_page_says_how_often_the_figure_was_right():
    found = advice.count_standing(readings.read("choosing").record)
    assert f"On {found.of_others} of the {found.sets} sets no other model of the family" in PAGE
    assert f"clearly ahead, and on {found.of_peers} neither of scikit-learn's" in PAGE
    assert f"On {found.of_linear} of the {found.sets} sets [below](#checked) nothing" in PAGE


@for_each(
    ("sentence", "sizes"),
    [
        ("behind a process by {:.2f} on the waves", [("waves", 300, "process", "ahead")]),
        ("and by {:.2f} on the bananas", [("bananas", 300, "process-ard", "ahead")]),
        (
            "a process of 200 points is ahead of boosted trees by {:.2f}",
            [("Friedman's first", 30_000, "process-ard", "ahead")],
        ),
        ("ahead of such a process by {:.2f}", [("clusters", 30_000, "process", "ahead")]),
        (
            "is ahead of boosted trees by {:.2f} on 3,000 rows of the thresholds",
            [("thresholds", 3_000, "forest", "ahead")],
        ),
        (
            "is {:.3f}, of the forest {:.3f}, of a process of 200 points {:.3f}, "
            "of the logistic regression {:.3f}",
            [("digits", 1_797, m) for m in ("boosted-trees", "forest", "process", "linear")],
        ),
        (
            "a log loss of {:.3f} against {:.3f}",
            [("breast cancer", 569, model) for model in ("process-ard", "linear")],
        ),
        (
            "-{:.1f} against -{:.1f} of the line",
            [("breast cancer", 569, model, "log_evidence") for model in ("process-ard", "linear")],
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_numbers_within_sentences_are_those_of_the_results(sentence, sizes):
    numbers = [abs(measured(*size)) for size in sizes]
    assert sentence.format(*numbers) in " ".join(PAGE.split())


def test_every_set_of_the_results_leads_where_the_figure_leads():
    record = readings.read("choosing").record
    measured_for = [(one["name"], one["leads_to"]) for one in record["tasks"]]
    assert measured_for == [(p.name, choosing.leaf(p).name) for p in PROBLEMS]
