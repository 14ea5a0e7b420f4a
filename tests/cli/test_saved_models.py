"""The words that take a saved model, and fit, which makes it."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import posterity
from posterity import tables
from posterity.cli import output as printing

FIT = "fit houses.csv --target price --model linear"


@pytest.fixture
def model(run, houses):
    assert run(FIT).exit_code == 0
    return houses.parent / "model.posterity"


@pytest.fixture
def classes(run, flowers):
    assert run("fit flowers.csv --target kind --model linear").exit_code == 0
    return flowers.parent / "model.posterity"


def test_fitting_says_what_was_fitted_and_what_to_type_next(run, houses):
    result = run(FIT)
    assert "Fitted 'linear' to 60 rows" in result.output
    assert "Log evidence: " in result.output
    assert "Next: posterity predict model.posterity houses.csv" in result.output
    answer = json.loads(run(f"{FIT} --json").stdout)
    assert answer["n_rows"] == 60
    assert answer["n_bytes"] == (houses.parent / "model.posterity").stat().st_size


def test_without_a_name_a_model_is_chosen(run, houses):
    assert "Fitted 'process'" in run("fit houses.csv --target price").output


def test_rows_get_the_distribution_that_python_gives(run, houses, model, at):
    result = run("predict model.posterity houses.csv --out out.csv --quantiles 0.1,0.5,0.975")
    assert result.exit_code == 0, result.output
    out = pl.read_csv(at / "out.csv")
    before = pl.read_csv(houses)
    assert out.columns == [
        *before.columns,
        *("price_mean", "price_std", "price_q10", "price_q50", "price_q97.5"),
        "price_unusual",
    ]
    assert out[before.columns].equals(before)
    dist = posterity.load(model).predict_dist(tables.read(houses))
    np.testing.assert_allclose(out["price_mean"], dist.mean(), rtol=1e-12)
    np.testing.assert_allclose(out["price_std"], dist.standard_deviation(), rtol=1e-12)
    np.testing.assert_allclose(out["price_q97.5"], dist.icdf(0.975), rtol=1e-12)


def test_rows_far_from_all_training_rows_are_marked_and_counted(run, houses, model, at):
    rows = pl.read_csv(houses).with_columns(
        pl.when(pl.int_range(pl.len()) < 2).then(1e6).otherwise(pl.col("size")).alias("size")
    )
    rows.write_csv(at / "far.csv")
    result = run("predict model.posterity far.csv --out out.csv")
    assert "2 of 60 rows are far from all rows that the model was fitted to" in result.output
    assert pl.read_csv(at / "out.csv")["price_unusual"].to_list() == ["size"] * 2 + [None] * 58


def test_classes_get_their_probabilities(run, flowers, classes, at):
    assert run("predict model.posterity flowers.csv -o out.csv").exit_code == 0
    out = pl.read_csv(at / "out.csv")
    p = out.select("kind_p_daisy", "kind_p_lily", "kind_p_rose").to_numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    named = np.array(["daisy", "lily", "rose"])[p.argmax(axis=1)]
    assert out["kind_predicted"].to_list() == named.tolist()


def test_predictions_go_to_standard_output_and_sentences_elsewhere(run, houses, model):
    result = run("predict model.posterity houses.csv")
    table = pl.read_csv(result.stdout.encode())
    assert len(table) == 60
    assert "60 rows" in result.stderr


def test_a_table_without_the_target_is_predicted(run, houses, model, at):
    pl.read_csv(houses).drop("price").write_csv(at / "new.csv")
    assert run("predict model.posterity new.csv --out out.parquet").exit_code == 0
    assert pl.read_parquet(at / "out.parquet")["price_mean"].null_count() == 0


@pytest.fixture
def small_batches(monkeypatch):
    """Files are read 100 rows at a time, not 50,000."""
    monkeypatch.setattr(tables.sources.Source.batches, "__defaults__", (100,))


@pytest.mark.usefixtures("small_batches")
def test_a_file_larger_than_a_batch_is_predicted_piece_by_piece(run, houses, model, at):
    frame = pl.concat([pl.read_csv(houses)] * 4)  # 240 rows, more than two batches
    frame.write_csv(at / "many.csv")
    assert run("predict model.posterity many.csv --out out.csv").exit_code == 0
    mean = pl.read_csv(at / "out.csv")["price_mean"].to_numpy().reshape(4, 60)
    np.testing.assert_array_equal(mean, np.tile(mean[:1], (4, 1)))


def test_a_missing_column_is_named(run, houses, model, at):
    pl.read_csv(houses).drop("town").write_csv(at / "new.csv")
    result = run("predict model.posterity new.csv")
    assert result.exit_code == 3
    assert "'town'" in result.output


def test_a_column_that_would_be_doubled_is_named(run, houses, model, at):
    frame = pl.read_csv(houses).with_columns(pl.lit(1.0).alias("price_mean"))
    frame.write_csv(at / "new.csv")
    assert run("predict model.posterity new.csv").exit_code == 3
    result = run("predict model.posterity new.csv --prefix guess --out out.csv")
    assert result.exit_code == 0
    assert "guess_mean" in pl.read_csv(at / "out.csv").columns


def test_a_failure_half_way_leaves_what_was_there(run, houses, model, at):
    (at / "out.csv").write_text("precious")
    lines = houses.read_text().splitlines()
    (at / "bad.csv").write_text("\n".join([*lines, "no number,Bern,2024-01-01,1", ""]))
    result = run("predict model.posterity bad.csv --out out.csv --force")
    assert result.exit_code == 3
    assert "Row 61, column 'size'" in result.output
    assert "no number" in result.output
    assert (at / "out.csv").read_text() == "precious"
    assert not list(at.glob(".*.part"))


@pytest.mark.usefixtures("small_batches")
def test_a_bad_cell_far_down_is_told_of_its_own_row(run, houses, model, at):
    header, *rows = houses.read_text().splitlines()
    many = [*rows * 5, "no number,Bern,2024-01-01,1", ""]
    (at / "bad.csv").write_text("\n".join([header, *many]))
    assert "Row 301, column 'size'" in run("predict model.posterity bad.csv -o out.csv").output


def test_evaluation_scores_known_targets(run, houses, model):
    result = run("evaluate model.posterity houses.csv --json")
    answer = json.loads(result.stdout)
    frame = tables.read(houses)
    fitted = posterity.load(model)
    y, _ = fitted.encode_targets(frame)
    dist = fitted.predict_dist(frame)
    assert answer["log_score"] == pytest.approx(dist.log_prob(y).mean())
    assert answer["fit_seconds"] is None  # not known of a saved model
    assert answer["rmse"] == pytest.approx(np.sqrt(np.mean((y - dist.mean()) ** 2)))
    told = " ".join(run("evaluate model.posterity houses.csv").output.split())
    assert "valid only for rows that the model was not fitted to" in told
    assert "baselines" not in told


def test_a_report_is_written_of_a_saved_model(run, houses, model, at):
    result = run("report model.posterity houses.csv --out page.html")
    assert result.exit_code == 0, result.output
    page = (at / "page.html").read_text()
    assert "posterity report model.posterity houses.csv" in page


def test_inspection_shows_what_is_inside(run, model):
    result = run("inspect model.posterity")
    for words in ("price (regression)", "BayesianLinearRegression", "log evidence", "numpy"):
        assert words in result.output
    assert "training rows stored" in result.output
    assert json.loads(run("inspect model.posterity --json").stdout)["target"] == "price"


def test_inspection_says_when_a_file_is_damaged(run, model):
    whole = model.read_bytes()
    at = whole.rindex(b"\x93NUMPY") + 130
    model.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    result = run("inspect model.posterity")
    assert result.exit_code != 0
    assert "is damaged or was changed" in " ".join(result.output.split())


def test_the_family_is_listed(run):
    result = run("models")
    for name in ("process", "vectors", "forest", "boosted", "RelevanceVectorClassifier"):
        assert name in result.output
    listed = json.loads(run("models --json").stdout)["models"]
    assert {"name", "likelihood", "prior", "feature_space", "inference"} <= set(listed[0])


def test_a_saved_model_of_two_classes_is_scored_at_the_threshold_of_the_costs(run, patients, at):
    assert run("fit patients.csv --target ill --model linear").exit_code == 0
    result = run("evaluate model.posterity patients.csv --cost 1:3 --json")
    answer = json.loads(result.stdout)
    assert (answer["positive"], answer["threshold"]) == ("yes", 0.25)
    assert answer["expected_cost"] > 0.0
    told = " ".join(run("evaluate model.posterity patients.csv --cost 1:3").output.split())
    assert "Rows flagged as yes from a probability of 0.25 on" in told
    assert "patients.csv --cost 1:3" in told
    written = run("report model.posterity patients.csv --cost 1:3 --positive no")
    assert written.exit_code == 0, written.output
    page = (at / "report.html").read_text()
    assert "Rows flagged as no" in page
    assert "--cost 1:3 --positive no" in page


@pytest.mark.parametrize("word", ["predict", "evaluate", "report"])
def test_a_file_that_is_no_model_exits_with_four(run, houses, word):
    result = run(f"{word} houses.csv houses.csv")
    assert result.exit_code == 4
    assert "Traceback" not in result.output


def test_a_model_of_arrays_is_told_apart(run, houses, at):
    fitted = posterity.LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.1, 1.9])
    posterity.save(fitted, at / "line.posterity")
    result = run("predict line.posterity houses.csv")
    assert result.exit_code == 4
    assert "LinearRegression, which takes arrays" in result.output


def test_an_error_of_our_own_is_a_sentence_unless_a_traceback_is_asked_for(
    run, houses, model, monkeypatch
):
    def broken(*args, **kwargs):
        raise RuntimeError("a gear fell off")

    monkeypatch.setattr("posterity.comparison.evaluate", broken)
    result = run("evaluate model.posterity houses.csv")
    assert result.exit_code == 1
    assert "a gear fell off" in result.output
    monkeypatch.setenv("POSTERITY_TRACEBACK", "1")
    assert isinstance(run("evaluate model.posterity houses.csv").exception, RuntimeError)


def test_where_there_is_little_room_names_and_commands_are_still_whole(run, houses, monkeypatch):
    monkeypatch.setattr(printing, "_UNBOUND", 40)
    assert "least-squares" in run("models").output
    told = run(FIT).output
    assert "\nNext: posterity predict model.posterity houses.csv --out predictions.csv\n" in told
    assert "\n1 input is read as a date: 'sold' (--category COL to change).\n" in told


@pytest.mark.full
@pytest.mark.parametrize("more", ["", " --json"])
def test_a_listener_who_leaves_does_not_stop_the_work(houses, at, more):
    line = f"fit houses.csv -t price --model linear --save silent.posterity{more}"
    assert left_alone(line) == (0, "")
    assert (at / "silent.posterity").exists()


@pytest.mark.full(but=1)
def test_predictions_that_nobody_reads_any_more_end_in_silence(houses, model):
    code, said = left_alone(f"predict {model} houses.csv")
    assert (code, "rror" in said) == (0, False)


def left_alone(line):
    """The exit code and the complaints of a command whose output is closed before it begins."""
    command = [sys.executable, "-c", "from posterity.cli import app; app()", *line.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaints = process.stderr.read().decode()
    return process.returncode, complaints
