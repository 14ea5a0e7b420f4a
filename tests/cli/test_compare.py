"""``posterity compare``: from a raw file to a ranking, a report and a model."""

import json
import shlex

import numpy as np
import polars as pl
import pytest
from support import hostile_tables
from support.workbooks import write_workbook

import posterity
from posterity import tables
from posterity.cli import demo
from posterity.comparison import durations

FAST = "--models linear,sparse --folds 3"
FASTEST = "--models linear --folds 2"  # where the ranking is not what is asked about


def test_numbers_are_ranked_reported_and_the_winner_is_saved(run, houses, at):
    result = run(f"compare houses.csv --target price {FAST}")
    assert result.exit_code == 0, result.output
    for words in ("log score", "RMSE", "coverage 90 %:", "calibration error:", "Use '", "(mean)"):
        assert words in result.output
    assert "when an input is shuffled (95 % interval): size" in " ".join(result.output.split())
    assert "Next: posterity predict model.posterity houses.csv" in result.output
    model = posterity.load(at / "model.posterity")
    assert isinstance(model, tables.TableModel)
    assert model.n_rows_ == 60
    page = (at / "report.html").read_text()
    assert "<!-- posterity report -->" in page[:200]
    assert "<b>" not in page.split("<body")[1].replace("&lt;b&gt;", "")


def test_the_columns_of_the_ranking_are_explained_and_what_is_not_in_it(run, at):
    x = [0.3 * n for n in range(-20, 20)]
    pl.DataFrame({"x": x, "y": [value + value**3 % 1.0 for value in x]}).write_csv("one.csv")
    output = run("compare one.csv -t y --models linear,gamma,poisson --folds 3").output
    told = " ".join(output.split())
    assert "Predicting y from 1 column: 3-fold cross-validation on 40 rows" in told
    assert "mean log probability of the observed value" in told
    assert "calibration error: largest" in told
    assert "Not scored: gamma (needs positive targets, and the smallest is -6" in told


@pytest.mark.full
def test_classes_are_ranked_too(run, flowers):
    result = run(f"compare flowers.csv -t kind {FAST}")
    assert result.exit_code == 0, result.output
    assert "accuracy" in result.output
    assert "(frequencies)" in result.output


@pytest.mark.full
def test_two_classes_have_a_table_of_their_own(run, patients, at):
    output = " ".join(run(f"compare patients.csv -t ill {FASTEST}").output.split())
    assert "Rows flagged as yes from a probability of 0.5 on" in output
    for words in ("Brier", "precision", "recall", "ROC", "Use --positive no to flag the other"):
        assert words in output
    assert "With costs" not in output


@pytest.mark.full
def test_costs_give_a_threshold_an_expected_cost_and_a_sentence(run, patients, at):
    line = f"compare patients.csv -t ill {FASTEST} --cost 1:20 --positive no --json"
    answer = json.loads(run(line).stdout)
    assert "With costs of 1 for a false alarm and 20 for a miss" in answer["verdict"]
    assert "probability of 'no' is at least 0.0476" in answer["verdict"]
    for one in answer["models"]:
        assert (one["positive"], one["threshold"]) == ("no", pytest.approx(1.0 / 21.0))
        assert 0.0 < one["cost_error"] < one["expected_cost"] < 20.0
        assert 0.0 < one["brier"] < one["recall"] <= 1.0
    again = json.loads(run(*shlex.split(answer["command"])[1:], "--json").stdout)
    costs = [[one["expected_cost"] for one in each["models"]] for each in (answer, again)]
    assert costs[0] == costs[1]
    page = (at / "report.html").read_text()
    assert "Rows flagged as no" in page
    assert "Cost per row" in page


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("patients.csv -t ill --cost 20", 2, "is not FALSE_ALARM:MISS"),
        ("patients.csv -t ill --cost 1:0", 2, "two positive numbers"),
        ("patients.csv -t dose --cost 1:20", 3, "'dose' is a number"),
        ("flowers.csv -t kind --cost 1:20", 3, "'kind' has 3 classes"),
        ("patients.csv -t ill --positive maybe", 3, "must be 'no' or 'yes'"),
    ],
)
def test_costs_need_two_numbers_and_two_classes(run, patients, flowers, at, words, code, sentence):
    result = run(f"compare {words} {FASTEST}")
    assert result.exit_code == code
    assert sentence in " ".join(
        result.output.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", "").split()
    )
    assert not (at / "model.posterity").exists()


def test_a_machine_is_given_json_and_nothing_else(run, houses, at):
    result = run(f"compare houses.csv --target price {FAST} --json --seed 3")
    answer = json.loads(result.stdout)
    assert answer["task"] == "regression"
    assert answer["inputs"] == {"size": "number", "town": "category", "sold": "date"}
    scores = [row["log_score"] for row in answer["models"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["winner"] in ("linear", "sparse")
    for one in answer["importance"]:
        assert one["low"] <= one["drop"] <= one["high"]
    # The command that is told gives the same again.
    again = run(*shlex.split(answer["command"])[1:], "--json")
    repeated = json.loads(again.stdout)
    assert [row["log_score"] for row in repeated["models"]] == scores


@pytest.mark.full
def test_the_chosen_model_follows_the_preference_and_is_marked(run, houses, at):
    simple = json.loads(run(f"compare houses.csv --target price {FAST} --json").stdout)
    line = f"compare houses.csv --target price {FAST} --prefer best --json"
    best = json.loads(run(line).stdout)
    assert (simple["prefer"], best["prefer"]) == ("simple", "best")
    models = [row["name"] for row in best["models"] if not row["baseline"]]
    assert best["winner"] == models[0]
    assert "--prefer best" in best["command"]
    assert simple["winner"] in models
    shown = run(f"compare houses.csv --target price {FAST}").output
    assert f"> {simple['winner']}" in shown


@pytest.mark.full(but=1)
@pytest.mark.parametrize("table", ["houses", "flowers"])
def test_held_out_predictions_are_written(run, at, table, request):
    request.getfixturevalue(table)
    target = {"houses": "price", "flowers": "kind"}[table]
    line = f"compare {table}.csv --target {target} {FAST} --predictions out.parquet --json"
    answer = json.loads(run(line).stdout)
    written, rows = pl.read_parquet(at / "out.parquet"), pl.read_csv(at / f"{table}.csv")
    assert written["row"].to_list() == list(range(1, answer["n_rows"] + 1))
    assert sorted(written["fold"].unique()) == [1, 2, 3]
    observed = written[target].cast(pl.String).to_list()
    if table == "flowers":
        assert observed == rows[target].to_list()
        shares = written.select(pl.sum_horizontal(pl.col("^kind_p_.*$")))
        assert shares.to_series().round(9).unique().to_list() == [1.0]
    else:
        inside = written.filter(pl.col("price").is_between("price_q05", "price_q95"))
        best = next(row for row in answer["models"] if row["name"] == answer["winner"])
        assert len(inside) / len(written) == pytest.approx(best["coverage"])
    best = next(row for row in answer["models"] if row["name"] == answer["winner"])
    assert written[f"{target}_log_prob"].mean() == pytest.approx(best["log_score"])


def test_what_was_inferred_can_be_overridden(run, houses):
    line = f"compare houses.csv --target price {FASTEST} --drop sold --category size --json"
    answer = json.loads(run(line).stdout)
    assert answer["inputs"] == {"size": "category", "town": "category"}
    assert "sold" in answer["dropped"]


@pytest.mark.full
def test_fewer_rows_are_drawn_and_it_is_said(run, houses):
    result = run(f"compare houses.csv --target price {FASTEST} --rows 30")
    assert "Using 30 of the 60 rows" in result.output


def test_an_unknown_model_is_a_wrong_use(run, houses, at):
    result = run("compare houses.csv --target price --models linaer")
    assert result.exit_code == 2
    assert "linear" in result.output
    assert not (at / "report.html").exists()


def test_an_unknown_target_is_named_with_its_neighbours(run, houses):
    result = run("compare houses.csv --target prize")
    assert result.exit_code == 3
    assert "'price'" in result.output


@pytest.mark.full(but=1)
@pytest.mark.parametrize("name", ["report.html", "model.posterity"])
def test_a_file_that_is_not_ours_is_never_overwritten(run, houses, at, name):
    (at / name).write_text("a poem")
    result = run(f"compare houses.csv --target price {FASTEST}")
    assert result.exit_code == 2
    assert "--force" in result.output
    assert (at / name).read_text() == "a poem"
    assert run(f"compare houses.csv --target price {FASTEST} --force").exit_code == 0


@pytest.mark.full
def test_our_own_files_are_replaced(run, houses):
    for _ in range(2):
        assert run(f"compare houses.csv --target price {FASTEST}").exit_code == 0


def test_the_input_is_never_the_output(run, houses, at):
    before = houses.read_bytes()
    result = run(f"compare houses.csv --target price {FASTEST} --force --save houses.csv")
    assert result.exit_code == 2
    assert houses.read_bytes() == before


@pytest.mark.full
def test_an_interruption_leaves_no_half_written_file(run, houses, at, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("posterity.report.write", interrupted)
    result = run(f"compare houses.csv --target price {FASTEST}")
    assert result.exit_code == 130
    assert not (at / "report.html").exists()
    assert not list(at.glob(".*.part"))


@pytest.mark.full
def test_standard_input_is_read(run, flowers):
    text = flowers.read_bytes()
    result = run(f"compare - --target kind {FASTEST}", input=text)
    assert result.exit_code == 0, result.output


@pytest.mark.full(but=1)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_demonstration_is_a_comparison_on_a_table_of_its_own(run, at, task, monkeypatch):
    frame, target = demo.TABLES[task]()
    monkeypatch.setitem(demo.TABLES, task, lambda: (frame[::5], target))
    result = run(f"demo --task {task} --folds 2 --budget 1s --json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["target"] == target
    assert (at / answer["report"]).exists()
    assert posterity.load(at / answer["model"]).schema.target == target
    assert len(pl.read_csv(at / "posterity-demo" / f"{task}.csv")) == len(frame[::5])


@pytest.mark.full
def test_a_messy_workbook_is_fitted_as_asked_and_predicted_row_by_row(run, at):
    rng = np.random.default_rng(0)
    rows = [
        [f"{v:.1f} kg", "low" if i % 9 == 0 else f"{v:.0f}", ["Yes", "yes ", "no", "NO"][i % 4]]
        for i, v in enumerate(rng.normal(70.0, 9.0, 40))
    ]
    write_workbook(at / "book.xlsx", {"about": [["x"]], "rows": [["size", "score", "y"], *rows]})
    asked = "fit book.xlsx --sheet rows --target y --model linear --missing low --exact y"
    result = run(asked)
    assert result.exit_code == 0, result.output
    assert "one of 4 classes" in result.output
    result = run(asked.removesuffix(" --exact y") + " --force")
    said = " ".join(result.output.split())
    assert "one of 2 classes" in said
    assert "'size' is read as numbers in kg." in said
    assert "'score' (5)" in said
    assert "predict model.posterity book.xlsx --sheet rows --out predictions.csv" in said
    result = run("predict model.posterity book.xlsx --sheet rows --out predictions.csv")
    assert result.exit_code == 0, result.output
    assert len(pl.read_csv(at / "predictions.csv")) == 40


@pytest.mark.full(but=1)
@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_table_ends_in_a_model_or_a_sentence(run, at, seed):
    names, rows = hostile_tables.make_table(np.random.default_rng(seed))
    text, _ = hostile_tables.format_table(names, rows, np.random.default_rng(seed))
    (at / "table.csv").write_bytes(text.encode())
    result = run("fit table.csv --target y --model linear")
    assert result.exit_code in (0, 3, 4)
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit | None)


@pytest.mark.full
def test_a_group_is_named_by_several_columns_with_commas(run, at):
    rng = np.random.default_rng(0)
    ward, patient = (part.ravel() for part in np.indices((4, 6)).repeat(3, axis=-1))
    table = {"ward": ward, "patient": patient, "x": rng.normal(size=72), "y": rng.normal(size=72)}
    pl.DataFrame(table).write_csv("wards.csv")
    output = run(f"compare wards.csv -t y --group ward,patient {FASTEST}").output
    assert "a new combination of 'ward' and 'patient'" in " ".join(output.split())
    assert "--group ward,patient" in (at / "report.html").read_text("utf-8")
    pl.DataFrame(table).rename({"ward": "a,b"}).write_csv("commas.csv")
    output = run("compare", "commas.csv", "-t", "y", "--group", "a,b", *FASTEST.split()).output
    assert "for rows of a new 'a,b'" in " ".join(output.split())


@pytest.mark.full
def test_progress_off_a_terminal_is_a_plain_line_for_a_fit(run, houses, monkeypatch):
    line = f"compare houses.csv --target price {FASTEST}"
    monkeypatch.setattr(durations, "_QUIET", np.inf)
    assert run(line).stderr == ""  # nothing where everything is quick
    monkeypatch.setattr(durations, "_QUIET", 0.0)
    told = run(line + " --force").stderr
    assert "\r" not in told
    assert "\x1b" not in told
    lines = told.splitlines()
    assert [one.split(",")[0] for one in lines if one.startswith("linear")] == [
        "linear: fold 1",
        "linear: fold 2",
        "linear: all rows",
    ]
    assert lines[-1].endswith("fits done)")


@pytest.mark.full
def test_rates_of_counts_are_compared_and_predicted_over_the_exposure_of_a_row(run, at):
    rng = np.random.default_rng(0)
    power, years = rng.normal(size=300), 10.0 ** rng.uniform(-1.0, 1.0, 300)
    claims = rng.poisson(years * np.exp(0.5 * power))
    table = pl.DataFrame({"power": power, "years": years, "claims": claims})
    table.write_csv("policies.csv")
    line = "compare policies.csv -t claims --exposure years --models linear,poisson --folds 2"
    result = run(line)
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "'claims' is a count over the exposure in 'years': regression of the rate" in told
    assert "Not scored: linear (takes no exposure: it does not describe the rate" in told
    assert "--exposure years" in json.loads(run(line + " --json").stdout)["command"]

    table.select("power", pl.lit(3.0).alias("time")).write_csv("new.csv")
    assert run("fit policies.csv -t claims --exposure years").exit_code == 0
    refused = run("predict model.posterity new.csv --out new_claims.csv")
    assert refused.exit_code == 3
    assert "no column 'years' with the exposure" in " ".join(refused.output.split())
    line = "predict model.posterity new.csv --out new_claims.csv --exposure time"
    assert run(line).exit_code == 0
    mean = pl.read_csv("new_claims.csv")["claims_mean"].to_numpy()
    np.testing.assert_allclose(mean, 3.0 * np.exp(0.5 * power), rtol=0.5)
    assert run("fit policies.csv -t claims --model linear --force").exit_code == 0
    refused = run(line + " --force")
    assert refused.exit_code == 4
    assert "was fitted without an exposure" in " ".join(refused.output.split())
