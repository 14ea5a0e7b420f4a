"""Sums of steps."""

import numpy as np
from support.for_each import for_each

from posterity.trees.boosting.steps import Steps
from posterity.trees.families import columns, projections


def some_steps(n_latents, seed=0, n_steps=7, n_columns=3):
    rng = np.random.default_rng(seed)
    return Steps(
        rng.normal(size=n_latents),
        rng.integers(n_columns, size=(n_steps, 1)).astype(np.int32),
        rng.normal(size=n_steps),
        rng.normal(size=(n_steps, 2, n_latents)),
        np.ones(n_steps),
    )


def by_hand(steps, X):
    """One row and one step at a time."""
    rows = []
    for x in X:
        a = steps.offset.copy()
        for (column,), threshold, (left, right) in zip(
            steps.tests, steps.thresholds, steps.values, strict=True
        ):
            a = a + (left if x[column] <= threshold else right)
        rows.append(a)
    return np.array(rows)


@for_each("n_latents", [1, 4])
def test_latent_values_are_the_offset_and_one_side_of_each_step(n_latents):
    X = np.random.default_rng(1).normal(size=(60, 3))
    X[::7, 1] = np.nan
    steps = some_steps(n_latents)
    family = columns.Columns().adapt_to(X)
    np.testing.assert_allclose(steps.latents(family, X), by_hand(steps, X), rtol=1e-12)


def test_a_row_on_the_threshold_is_on_the_left_and_a_missing_one_on_the_right():
    steps = Steps(np.zeros(1), np.zeros((1, 1), int), np.ones(1), np.array([[[3.0], [5.0]]]), None)
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [np.nan]])
    family = columns.Columns().adapt_to(X)
    np.testing.assert_array_equal(steps.latents(family, X).ravel(), [3.0, 5.0, 5.0])


def test_a_step_at_infinity_parts_missing_answers_from_all_others():
    sides = np.array([[[3.0], [5.0]]])
    steps = Steps(np.zeros(1), np.zeros((1, 1), int), np.array([np.inf]), sides, np.ones(1))
    X = np.array([[1e300], [np.nan]])
    family = columns.Columns().adapt_to(X)
    np.testing.assert_array_equal(steps.latents(family, X).ravel(), [3.0, 5.0])


def test_stages_are_the_latent_values_of_truncated_sums():
    X = np.random.default_rng(1).normal(size=(20, 3))
    steps, family = some_steps(2), columns.Columns().adapt_to(X)
    stages = list(steps.staged_latents(family, X))
    assert len(stages) == len(steps)
    for k, stage in enumerate(stages):
        np.testing.assert_array_equal(stage, steps.truncate(k + 1).latents(family, X))


def test_rows_answered_in_blocks_get_the_same_values(monkeypatch):
    X = np.random.default_rng(1).normal(size=(101, 3))
    steps, family = some_steps(2), columns.Columns().adapt_to(X)
    whole = steps.latents(family, X)
    monkeypatch.setattr("posterity.trees.boosting.steps._ANSWERS_AT_ONCE", 30)
    np.testing.assert_array_equal(steps.latents(family, X), whole)


def test_no_steps_leave_the_offset():
    X = np.zeros((4, 3))
    none = some_steps(2).truncate(0)
    latents = none.latents(columns.Columns().adapt_to(X), X)
    np.testing.assert_array_equal(latents, np.tile(none.offset, (4, 1)))
    assert list(none.staged_latents(columns.Columns().adapt_to(X), X)) == []


def test_any_family_can_answer():
    X = np.random.default_rng(1).normal(size=(50, 2))
    family = projections.Orientations(n_angles=6).adapt_to(X)
    tests = family.catalogue()[[1, 4, 1]]
    values = np.array([[[0.0], [1.0]], [[0.0], [10.0]], [[0.0], [100.0]]])
    steps = Steps(np.zeros(1), tests, np.array([0.1, -0.2, 0.5]), values, np.ones(3))
    nodes = np.zeros(50, dtype=np.int32)
    answers = family.respond(X, np.arange(50, dtype=np.int32), tests[None], nodes)
    expected = (answers > steps.thresholds[:, None]).T @ [1.0, 10.0, 100.0]
    np.testing.assert_allclose(steps.latents(family, X)[:, 0], expected)
