"""Which models are measured on which table."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from support.for_each import for_each

import posterity
from posterity import comparison, models

TASKS = ("regression", "classification")


def last(estimator):
    """The estimator itself, or the last one of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def public(task):
    """Every class of the room that a user can make."""
    base = models.Regressor if task == "regression" else models.Classifier
    values = (getattr(posterity, name) for name in posterity.__all__)
    return {
        value
        for value in values
        if inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value)
    }


@for_each("task", TASKS)
def test_all_means_every_public_class(task):
    made = comparison.candidates(task, 100, 5, names=("all",))
    assert {type(last(one.estimator)) for one in made} == public(task)


@for_each("task", TASKS)
def test_the_table_of_the_family_names_the_class_that_is_made(task):
    made = {
        one.name: one
        for role in ("time", "groups")
        for one in comparison.candidates(task, 100, 5, names=("all",), role=role)
    }
    for row in comparison.family(task):
        assert type(last(made[row.name].estimator)).__name__ == row.estimator
        words = (row.likelihood, row.prior, row.feature_space, row.inference, row.cost, row.advice)
        assert all(words), row.name
        assert made[row.name].view == ("groups" if row.role == "groups" else "plain")


@for_each("task", TASKS)
@for_each("role", ["time", "groups"])
def test_models_of_times_and_groups_compete_where_the_table_has_them(task, role):
    known = {row.name for row in comparison.family(task) if row.role == role}
    without = {one.name for one in comparison.candidates(task, 100, 5, names=("all",))}
    usual = {one.name for one in comparison.candidates(task, 100, 5, role=role)}
    assert not known & without
    assert known
    assert known <= usual
    with pytest.raises(ValueError, match=f"needs the {role.rstrip('s')} of each row"):
        comparison.candidates(task, 100, 5, names=sorted(known))


def test_the_family_is_both_tasks_and_names_are_used_once_in_each():
    rows = comparison.family()
    assert rows == comparison.family("regression") + comparison.family("classification")
    assert len({(row.task, row.name) for row in rows}) == len(rows)


@for_each("task", TASKS)
@for_each(("n", "d"), [(50, 2), (500, 10), (5_000, 20), (1_000_000, 300)])
def test_the_usual_set_is_a_dozen_at_most_and_begins_with_the_linear_model(task, n, d):
    names = [one.name for one in comparison.candidates(task, n, d)]
    assert names[0] == "linear"
    assert len(names) <= 13
    assert set(names) <= {row.name for row in comparison.family(task)}


def test_larger_tables_are_spared_the_dear_models():
    usual = [one.name for one in comparison.candidates("regression", 1_000_000, 300)]
    every = [one.name for one in comparison.candidates("regression", 1_000_000, 300, names=["all"])]
    assert "process" not in usual
    assert not {"dual", "kernel-ridge", "vectors", "quadratic"} & set(every)


def test_many_classes_count_as_many_rows():
    two = [one.name for one in comparison.candidates("classification", 1_800, 64)]
    ten = [one.name for one in comparison.candidates("classification", 1_800, 64, n_classes=10)]
    assert "process" in two
    assert "process" not in ten


def test_processes_on_many_rows_are_carried_by_points():
    def points(task, n):
        (one,) = comparison.candidates(task, n, 5, names=["process"])
        return one.estimator.inducing_points

    assert points("regression", 500) is points("classification", 500) is None
    assert points("regression", 5_000) == points("classification", 5_000) == 200


def test_names_are_taken_whatever_the_size_and_in_the_order_of_the_family():
    made = comparison.candidates("regression", 1_000_000, 300, names=["vectors", "ridge"])
    assert [one.name for one in made] == ["ridge", "vectors"]


def test_the_seed_reaches_every_model_that_draws():
    for task in TASKS:
        for one in comparison.candidates(task, 100, 5, names=("all",), seed=7):
            assert one.estimator.get_params().get("random_state", 7) == 7, one.name


@for_each(
    ("name", "message"),
    [("forrest", "did you mean forest"), ("xyzzy", "choose from linear, least-squares, ridge")],
)
def test_a_name_that_is_none_is_answered_with_those_there_are(name, message):
    with pytest.raises(ValueError, match=message):
        comparison.candidates("regression", 10, 2, names=[name])


def test_one_word_is_not_a_sequence_of_names():
    with pytest.raises(TypeError, match=r"such as \('linear',\)"):
        comparison.candidates("regression", 10, 2, names="linear")


def test_a_task_that_is_none_is_refused():
    with pytest.raises(ValueError, match="must be 'regression' or 'classification'"):
        comparison.family("ranking")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@for_each("task", TASKS)
def test_every_candidate_takes_standardised_and_indicator_columns(task):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 2)), rng.random(40) < 0.5])
    counts = rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])) + 1.0
    y = counts if task == "regression" else (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    for one in comparison.candidates(task, 40, 3, names=("all",)):
        fitted = clone(one.estimator).fit(X, y)
        assert np.all(np.isfinite(fitted.predict(X))), one.name
