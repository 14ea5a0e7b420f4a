"""Cross-validation folds of a table, without leaks from test rows to training rows."""

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import comparison, tables
from posterity.comparison import folds


def frame(n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(10.0, 3.0, size=n)
    colour = rng.choice(["red", "green"], size=n)
    return pl.DataFrame({"x": x, "colour": colour, "y": 2.0 * x + rng.normal(size=n)})


def labelled(counts):
    labels = [label for label, count in counts.items() for _ in range(count)]
    x = np.random.default_rng(1).normal(size=len(labels))
    return pl.DataFrame({"x": x, "y": labels})


def schema_of(table, task=None, **options):
    return tables.infer(table, "y", task=task, **options)


def fold_of(y, n_folds, seed, stratified):
    fold = np.full(len(y), -1)
    for number, (train, test) in enumerate(
        folds.split_rows(y, n_folds, seed, stratified=stratified)
    ):
        assert np.all(fold[test] == -1)
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(len(y)), test))
        fold[test] = number
    return fold


@for_each("n_folds", [2, 3, 5])
def test_every_row_is_held_out_once_and_folds_are_equally_large(n_folds):
    sizes = np.bincount(fold_of(np.arange(43.0), n_folds, 0, stratified=False))
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1


def test_classes_are_spread_evenly_over_the_folds():
    y = np.repeat([0, 1, 2], [30, 11, 3])
    fold = fold_of(y, 5, 0, stratified=True)
    for label in range(3):
        sizes = np.bincount(fold[y == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_the_largest_class_limits_the_number_of_folds():
    y = np.repeat(np.arange(6), [3, 2, 2, 2, 2, 2])
    assert fold_of(y, 5, 0, stratified=True).max() == 2


def test_the_seed_decides_the_folds_and_nothing_else_does():
    y = np.zeros(30)
    assert np.array_equal(fold_of(y, 5, 1, False), fold_of(y, 5, 1, False))
    assert not np.array_equal(fold_of(y, 5, 1, False), fold_of(y, 5, 2, False))


def test_the_encoder_has_seen_the_training_rows_only():
    table = frame()
    parts = folds.split_table(table, schema_of(table), comparison.Holdout(folds=4))
    for fold in parts.folds:
        standard = fold.X_train[:, 0]
        assert standard.mean() == pytest.approx(0.0, abs=1e-12)
        assert standard.std() == pytest.approx(1.0, rel=1e-12)
        train = np.setdiff1d(np.arange(len(table)), fold.rows)
        x = table["x"].to_numpy()
        expected = (x[fold.rows] - x[train].mean()) / x[train].std()
        np.testing.assert_allclose(fold.X_test[:, 0], expected, rtol=1e-12)


def test_what_is_held_out_changes_no_number_of_the_training_side():
    table = frame()
    before = folds.split_table(table, schema_of(table), comparison.Holdout(folds=4)).folds[0]
    moved = table["x"].to_numpy().copy()
    moved[before.rows] += 1e3
    other = table.with_columns(pl.Series("x", moved))
    after = folds.split_table(other, schema_of(other), comparison.Holdout(folds=4)).folds[0]
    np.testing.assert_array_equal(before.rows, after.rows)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert np.all(after.X_test[:, 0] > before.X_test[:, 0] + 100.0)


def test_rows_without_a_target_are_in_no_fold():
    y = frame()["y"].to_list()
    y[3] = y[17] = None
    table = frame().with_columns(pl.Series("y", y))
    parts = folds.split_table(table, schema_of(table), comparison.Holdout(folds=5))
    held = np.sort(np.concatenate([fold.rows for fold in parts.folds]))
    np.testing.assert_array_equal(held, np.setdiff1d(np.arange(40), [3, 17]))
    for fold in parts.folds:
        np.testing.assert_array_equal(fold.y_test, table["y"].to_numpy()[fold.rows])


def test_few_rows_make_fewer_folds():
    table = frame(11)
    assert (
        len(
            folds.split_table(
                table, schema_of(table, "regression"), comparison.Holdout(folds=20)
            ).folds
        )
        == 5
    )


def test_nine_rows_are_too_few():
    table = frame(9)
    with pytest.raises(tables.TableError, match="Only 9 rows have a value of 'y'"):
        folds.split_table(table, schema_of(table, "regression"), comparison.Holdout(folds=5))


def test_classes_of_one_row_cannot_be_held_out():
    table = labelled({"a": 20, "b": 1})
    with pytest.raises(tables.TableError, match="Fewer than two classes"):
        folds.split_table(table, schema_of(table, "classification"), comparison.Holdout(folds=5))


def test_a_class_of_one_row_beside_others_is_missing_from_one_training_side():
    table = labelled({"a": 15, "b": 15, "rare": 1})
    parts = folds.split_table(
        table, schema_of(table, "classification"), comparison.Holdout(folds=5)
    )
    assert parts.classes == ("a", "b", "rare")
    present = [len(np.unique(fold.y_train)) for fold in parts.folds]
    assert sorted(present) == [2, 3, 3, 3, 3]


def test_one_fold_is_refused():
    table = frame()
    with pytest.raises(ValueError, match="folds=1 must be at least 2"):
        folds.split_table(table, schema_of(table), comparison.Holdout(folds=1))


def test_a_table_without_inputs_is_refused():
    table = frame()
    bare = tables.Schema("y", "regression", ())
    with pytest.raises(tables.TableError, match="No input column is left"):
        folds.split_table(table, bare, comparison.Holdout())


@for_each("gap", [0.0, 1e-9])
@for_each("classes", [False, True])
def test_copies_of_a_row_are_in_one_fold(gap, classes):
    rng = np.random.default_rng(0)
    x = np.tile(rng.normal(size=60), 3) + gap * rng.normal(size=180)
    y = np.tile(np.sin(x[:60]) + 0.5 * rng.normal(size=60), 3)
    table = pl.DataFrame({"x": x, "y": np.where(y > 0.0, "up", "down") if classes else y})
    parts = folds.split_table(table, schema_of(table), comparison.Holdout(folds=5))
    assert parts.n_copies == 120
    held = np.empty(180, dtype=int)
    for number, fold in enumerate(parts.folds):
        held[fold.rows] = number
        np.testing.assert_array_equal(fold.clusters, fold.rows % 60)
    assert np.all(held.reshape(3, 60) == held[:60])


def test_compare_says_how_many_rows_are_copies_and_scores_new_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    table = pl.DataFrame({"x": np.tile(x, 3), "y": np.tile(x + rng.normal(size=60), 3)})
    models = comparison.candidates("regression", 180, 1, names=["linear", "forest"])
    found = comparison.compare(table, schema_of(table), models)
    assert any("120 of 180 rows are copies of others" in one for one in found.cautions)
    assert "depend on each other" not in found.verdict  # copies were held out together
    assert all(one.log_score > -2.2 for one in found.results)
