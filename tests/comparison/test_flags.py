"""Scores of two classes, and costs of mistakes, from held-out probabilities."""

import re

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, precision_score, recall_score, roc_auc_score
from support.for_each import for_each

from posterity import comparison, tables
from posterity.comparison import flags, row_scores
from posterity.comparison.results import HeldOut

N = 600
rng = np.random.default_rng(5)
chances = rng.beta(0.6, 2.0, N)
Y = (rng.random(N) < chances).astype(int)
CLASSES = ("no", "yes")


def result(name, p, *, rows=slice(None), baseline=False, clusters=None):
    rows = np.arange(N)[rows]
    both = np.stack([1.0 - p, p], axis=1)[rows]
    log_prob = np.log(np.maximum(both[np.arange(len(rows)), Y[rows]], 1e-9))
    held_out = HeldOut(
        rows, Y[rows], log_prob, probabilities=both, classes=CLASSES, clusters=clusters
    )
    return row_scores.score_predictions(name, "", held_out, row_scores.Costs(), baseline=baseline)


def scored(*results, cost=None, positive=None):
    asked = comparison.Flagging(positive, cost)
    return flags.add_two_class_scores(results, asked), asked


@for_each("positive", [None, "no", "yes"])
def test_scores_are_those_of_scikit_learn(positive):
    ((one,), _) = scored(result("linear", chances), positive=positive)
    found, code = one.two_classes, 0 if positive == "no" else 1
    p, came = (chances, Y) if code else (1.0 - chances, 1 - Y)
    assert found.positive == CLASSES[code]
    assert found.threshold == 0.5
    assert found.brier == pytest.approx(brier_score_loss(came, p))
    assert found.precision == pytest.approx(precision_score(came, p >= 0.5))
    assert found.recall == pytest.approx(recall_score(came, p >= 0.5))
    assert found.roc_area == pytest.approx(roc_auc_score(came, p))
    assert found.flagged == pytest.approx(np.mean(p >= 0.5))
    assert found.expected_cost is None


def test_costs_are_counted_row_by_row_at_their_threshold():
    ((one,), asked) = scored(result("linear", chances), cost=(1.0, 9.0))
    assert asked.threshold == pytest.approx(0.1)
    flagged = chances >= asked.threshold
    costs = 1.0 * (flagged & (Y == 0)) + 9.0 * (~flagged & (Y == 1))
    found = one.two_classes
    assert found.expected_cost == pytest.approx(costs.mean())
    assert found.cost_error == pytest.approx(costs.std(ddof=1) / np.sqrt(N))
    assert found.recall == pytest.approx(recall_score(Y, flagged))


def test_calibrated_probabilities_cost_least_at_the_threshold_of_the_costs():
    ((one,), _) = scored(result("linear", chances), cost=(1.0, 9.0))
    for other in (0.02, 0.3, 0.5):
        flagged = chances >= other
        costs = 1.0 * (flagged & (Y == 0)) + 9.0 * (~flagged & (Y == 1))
        assert one.two_classes.expected_cost < costs.mean()


def test_the_error_of_a_cost_counts_clusters_and_not_rows():
    """The rows of a cluster are one row ten times, so errors are those of a tenth of the rows."""
    of = np.repeat(np.arange(N // 10), 10)
    held_out = result("linear", chances).held_out
    p, y = held_out.probabilities[of], held_out.y[of]
    asked = comparison.Flagging(cost=(1.0, 9.0))
    copied = HeldOut(np.arange(N), y, np.zeros(N), probabilities=p, classes=CLASSES, clusters=of)
    single = HeldOut(
        np.arange(N // 10),
        held_out.y[: N // 10],
        np.zeros(N // 10),
        probabilities=held_out.probabilities[: N // 10],
        classes=CLASSES,
    )
    errors = [flags.score_two_classes(one, asked).cost_error for one in (copied, single)]
    assert errors[0] == pytest.approx(errors[1])


def test_a_model_with_fewer_folds_has_the_cost_of_all_rows():
    """Stopped on rows that are easier than the others, it would seem to cost less."""
    easy = np.argsort(Y, kind="stable")[: N // 2]  # no row of the positive class
    full, same = result("forest", chances), result("linear", chances, rows=np.sort(easy))
    results, _ = scored(full, same, cost=(1.0, 9.0))
    costs = [one.two_classes.expected_cost for one in results]
    assert costs[1] == pytest.approx(costs[0])


def test_the_verdict_says_from_which_probability_to_flag_and_what_that_costs():
    vague = 0.5 * chances + 0.5 * Y.mean()
    right, blunt = result("forest", chances), result("linear", np.clip(vague, 0.001, 0.999))
    constant = result("frequencies", np.full(N, Y.mean()), baseline=True)
    results, asked = scored(right, blunt, constant, cost=(1.0, 9.0))
    ranked = sorted(results, key=lambda one: -one.log_score)
    text = comparison.verdict(ranked, order=["linear", "forest"], prefer="best", flagging=asked)
    found = next(one for one in results if one.name == "forest").two_classes
    assert (
        "With costs of 1 for a false alarm and 9 for a miss, flag rows whose probability of 'yes' "
        f"is at least 0.1: that costs {found.expected_cost:.3g} +- "
    ) in text
    assert f"flags {100.0 * found.flagged:.3g} % of the rows" in text
    assert f"(to flag none would cost {9.0 * Y.mean():.3g}, all {1.0 - Y.mean():.3g})." in text
    assert "With costs" not in comparison.verdict(ranked, order=["linear", "forest"])


def test_the_verdict_says_which_model_costs_significantly_less_than_the_chosen_one():
    sharp = np.clip(chances**3, 1e-3, 0.999)  # too low: misses what a cost of nine should flag
    results, asked = scored(result("forest", chances), result("linear", sharp), cost=(1.0, 9.0))
    (said,) = flags.describe_costs(results, results[1], asked)
    more = results[1].two_classes.expected_cost - results[0].two_classes.expected_cost
    assert re.search(rf"\); 'forest' costs {more:.3g} \+- \S+ less\.$", said)


def test_no_model_is_praised_for_a_cost_that_flagging_all_rows_has_too():
    constant = result("linear", np.full(N, Y.mean()))
    results, asked = scored(constant, cost=(1.0, 90.0))
    (said,) = flags.describe_costs(results, results[0], asked)
    assert "flags 100 % of the rows" in said
    assert said.endswith(", which is no more).")


@for_each(
    ("value", "error", "text"),
    [
        (0.0, 0.0, "0 +- 0"),
        (0.2146, 0.03, "0.215 +- 0.03"),
        (31.24, 9.7, "31.2 +- 10"),
        (1_234_567.0, 53.0, "1,230,000 +- 50"),
        (1.0, float("inf"), "1 +- inf"),
    ],
)
def test_costs_are_written_without_powers_of_ten(value, error, text):
    assert flags.format_with_error(value, error) == text


def test_workers_are_asked_about_costs_too(tmp_path):
    pytest.importorskip("dask")
    frame = pl.DataFrame({"x": chances, "ill": np.where(Y == 1, "yes", "no")})
    frame.write_parquet(tmp_path / "rows.parquet")
    source = tables.open_partitions(tmp_path / "rows.parquet")
    sample = source.sample(200)
    schema = tables.infer(sample.frame, "ill")
    rows = tables.SpreadRows.from_source(source, sample.frame, schema, folds=2)
    models = comparison.candidates("classification", N, 1, names=["linear"], on_dask=True)
    asked = comparison.Flagging(cost=(1.0, 9.0))
    found = comparison.compare_on_dask(rows, sample, models, flagging=asked)
    assert found.best.two_classes.expected_cost < 9.0 * Y.mean()
    assert "flag rows whose probability of 'yes' is at least 0.1" in found.verdict
    with pytest.raises(tables.TableError, match="not a class of 'ill'"):
        comparison.compare_on_dask(rows, sample, models, flagging=comparison.Flagging("maybe"))


def test_of_equal_costs_none_is_called_less():
    results, asked = scored(result("forest", chances), result("linear", chances), cost=(1.0, 9.0))
    (said,) = flags.describe_costs(results, results[1], asked)
    assert "'forest'" not in said


@for_each(
    ("asked", "classes", "words"),
    [
        (comparison.Flagging(cost=(1.0, 2.0)), (), "--cost needs .* 'ill' is a number"),
        (comparison.Flagging(cost=(1.0, 2.0)), ("a", "b", "c"), "'ill' has 3 classes"),
        (comparison.Flagging("a", (1.0, 2.0)), (), "--cost and --positive need"),
        (comparison.Flagging("c"), ("a", "b"), "'c' is not a class of 'ill'.* 'a' or 'b'"),
    ],
)
def test_what_needs_two_classes_is_refused_for_others(asked, classes, words):
    with pytest.raises(tables.TableError, match=words):
        asked.check_classes(classes, "ill")


def test_three_classes_and_numbers_are_compared_as_before():
    comparison.Flagging().check_classes((), "ill")
    comparison.Flagging().check_classes(("a", "b", "c"), "ill")
    y, p = np.arange(N) % 3, np.full((N, 3), 1.0 / 3.0)
    three = HeldOut(np.arange(N), y, np.log(p[:, 0]), probabilities=p, classes=("a", "b", "c"))
    number = HeldOut(np.arange(N), chances, chances, chances, chances)
    for held_out in (three, number):
        assert flags.score_two_classes(held_out, comparison.Flagging()) is None


@for_each("text", ["", "20", "1:", "1:20:3", "0:1", "1:-2", "a:b", "1:inf", "1:nan"])
def test_malformed_costs_are_refused_with_an_example(text):
    with pytest.raises(ValueError, match="for example 1:20"):
        flags.parse_cost(text)


@for_each("cost", [(1.0,), (0.0, 1.0), (1.0, np.nan), ("1", "20"), "1:20"])
def test_costs_are_two_positive_numbers(cost):
    with pytest.raises(ValueError, match="two positive numbers"):
        comparison.Flagging(cost=cost)


@for_each(("text", "cost"), [("1:20", (1.0, 20.0)), (" .5 : 2.5", (0.5, 2.5)), ("7:1", (7.0, 1.0))])
def test_costs_are_read(text, cost):
    assert flags.parse_cost(text) == cost
