"""Rows that depend on each other are found, and exchangeable rows are not called dependent."""

import datetime

import numpy as np
import pytest
from support.for_each import for_each

from posterity import comparison, tables

N = 160


def dates(n=N):
    return [datetime.date(2022, 1, 1) + datetime.timedelta(days=k) for k in range(n)]


def walk(rng):
    return {"date": dates(), "x": rng.normal(size=N), "y": rng.normal(size=N).cumsum()}


def classes_of_a_walk(rng):
    table = walk(rng)
    y = np.asarray(table["y"])
    return {**table, "y": np.where(y > np.median(y), "high", "low")}


def counted_walk(rng):
    table = walk(rng)
    return {"row": np.arange(1, N + 1), "x": table["x"], "y": table["y"]}


def unnamed_walk(rng):
    return {"x": rng.normal(size=N), "y": rng.normal(size=N).cumsum()}


def patients(rng):
    """Each has a base value, by which a flexible model recognises the patient."""
    g = np.repeat(np.arange(20), 8)
    base, b = rng.normal(size=(2, 20))
    return {"patient": g, "base": base[g], "y": 2.0 * b[g] + rng.normal(size=N)}


def field(rng):
    L = 10.0 * rng.random((N, 2))
    K = np.exp(-np.linalg.norm(L[:, None] - L[None], axis=2) / 3.0)
    y = np.linalg.cholesky(K + 1e-8 * np.eye(N)) @ rng.normal(size=N)
    return {"lat": L[:, 0], "lon": L[:, 1], "y": 2.0 * y + 0.2 * rng.normal(size=N)}


@for_each(
    ("make", "kind", "words"),
    [
        (walk, "time", "Use --time date to measure later rows"),
        (classes_of_a_walk, "time", "Rows close in 'date' depend on each other"),
        (counted_walk, "time", "--time row"),
        (unnamed_walk, "order", "add a column with the time and name it with --time"),
        (patients, "groups", "Use --group patient to measure new ones"),
        (field, "blocks", "Use --blocks lat,lon to measure new regions"),
    ],
)
def test_dependent_rows_are_found_and_the_option_is_named(make, kind, words):
    table = make(np.random.default_rng(0))
    (found,) = comparison.find_dependence(table, tables.infer(table, "y"))
    assert found.kind == kind
    assert words in found.sentence


def shuffled(make):
    def mixed(rng):
        table = make(rng)
        return {**table, "y": np.asarray(table["y"])[rng.permutation(N)]}

    return mixed


def trend(rng):
    return {**walk(rng), "y": 0.02 * np.arange(N) + rng.normal(size=N)}


def curve_of_an_input_that_drifts(rng):
    x = rng.normal(size=N)
    for k in range(1, N):
        x[k] = 0.8 * x[k - 1] + 0.6 * x[k]
    return {"date": dates(), "x": x, "y": 3.0 * x**2 + rng.normal(size=N)}


def smooth_effect_of_age(rng):
    age = rng.integers(20, 60, N)
    return {"age": age, "x": rng.normal(size=N), "y": 3 * np.sin(age / 8) + rng.normal(size=N)}


def sorted_by_target(rng):
    return {"x": rng.normal(size=N), "y": np.sort(rng.normal(size=N))}


@for_each(
    "make",
    [
        *(shuffled(make) for make in (walk, classes_of_a_walk, counted_walk, patients, field)),
        *(trend, smooth_effect_of_age, sorted_by_target, curve_of_an_input_that_drifts),
    ],
)
@for_each("seed", [0, 1])
def test_exchangeable_rows_are_not_called_dependent(make, seed):
    table = make(np.random.default_rng(seed))
    assert not comparison.find_dependence(table, tables.infer(table, "y"))


@pytest.mark.filterwarnings("ignore")
def test_a_comparison_with_random_folds_warns_and_restricts_its_scope():
    table = patients(np.random.default_rng(0))
    models = comparison.candidates("regression", N, 2, names=["linear"])
    found = comparison.compare(table, tables.infer(table, "y"), models, folds=2)
    assert found.scope == "for new rows of a known 'patient'"
    assert found.cautions[0].endswith("Use --group patient to measure new ones.")
