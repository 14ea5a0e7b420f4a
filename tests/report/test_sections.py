"""Each section says what the numbers say, and says nothing where it does not apply."""

import dataclasses
import functools
import io
import json
import re
from typing import Any
from urllib.parse import unquote

import numpy as np
import polars as pl
import pytest
from report import stories
from scipy import stats
from support.for_each import for_each

from posterity import comparison, kernels, linear, process, report, sparse
from posterity.comparison.results import HeldOut
from posterity.linear import BayesianLogisticRegression
from posterity.report import sections
from posterity.report.contents import ReportData, draw_positions
from posterity.report.sections import (
    calibration,
    curves,
    dependence,
    head,
    inputs,
    models,
    prediction,
    ranking,
    rows,
    usage,
    weights,
)
from posterity.report.sections.blocks import (
    Cards,
    Code,
    Download,
    Figure,
    Figures,
    Items,
    Panel,
    Section,
    Table,
)
from posterity.scoring.calibration import ProbabilityBins
from posterity.trees import RandomForestClassifier


def looked(story: report.ReportContents) -> ReportData:
    return ReportData.from_contents(story)


@functools.cache
def of_numbers() -> ReportData:
    return looked(stories.numbers())


@functools.cache
def of_classes() -> ReportData:
    return looked(stories.classes())


def figures(section: Section | None) -> tuple[Figure, ...]:
    assert section is not None
    return tuple(f for b in section.blocks if isinstance(b, Figures) for f in b.figures)


def tables(section: Section | None) -> list[Table]:
    assert section is not None
    return [block for block in section.blocks if isinstance(block, Table)]


def circles(figure: Figure, name: str) -> int:
    group = re.search(rf'<g class="dots {name}">(.*?)</g>', figure.picture)
    return group[1].count("<circle") if group else 0


# ---- what all sections stand on


def test_inputs_come_by_importance() -> None:
    assert of_numbers().names[0] == "size"
    drops = [one.drop for one in of_numbers().importance]
    assert drops == sorted(drops, reverse=True)


def test_typical_values_are_medians_and_commonest_levels() -> None:
    frame = stories.measurements()
    typical = of_numbers().typical
    assert typical["size"] == pytest.approx(frame["size"].median())
    assert typical["kind"] == frame["kind"].mode()[0]
    day = frame["felled"].str.to_datetime().median()
    assert typical["felled"] == day


def test_missing_values_are_not_numbers() -> None:
    values = of_numbers().values("size", stories.measurements())
    assert np.isnan(values[3])
    assert np.isnan(values).sum() == stories.measurements()["size"].null_count()


def test_rows_to_ask_about_are_typical_but_for_one_column() -> None:
    frame = of_numbers().rows_of({"size": [1.0, 2.0]})
    assert frame["size"].to_list() == [1.0, 2.0]
    assert frame["kind"].n_unique() == frame["felled"].n_unique() == 1


def test_quantiles_are_those_of_the_model() -> None:
    frame = of_numbers().sample[:7]
    q = of_numbers().quantiles(frame)
    dist = of_numbers().contents.model.predict_dist(frame)
    assert np.allclose(dist.cdf(q.T), np.array([0.05, 0.25, 0.5, 0.75, 0.95])[:, None])


@for_each(("days", "first"), [(70, 0.0), (9000, 9000.0 - 4 * 41 * 7 / 8)])
def test_curves_follow_the_cycles_of_a_date(days: int, first: float) -> None:
    moments = np.datetime64("1970-01-01") + np.arange(days + 1)
    frame = pl.DataFrame({"day": moments, "y": np.cos(2.0 * np.pi * np.arange(days + 1) / 7.0)})
    material = looked(stories.told(linear.BayesianLinearRegression(), frame, "y"))
    grid = material.grid("day", 0.0, float(days), 41)
    assert grid[0] == pytest.approx(first)
    assert grid[-1] == days
    assert np.diff(grid).max() <= 7.0 / 8.0 + 1e-9
    assert len(grid) <= 4 * 41 + 1


def test_curves_of_numbers_have_the_places_they_ask_for() -> None:
    material = of_numbers()
    np.testing.assert_allclose(material.grid("size", 1.0, 3.0, 5), [1.0, 1.5, 2.0, 2.5, 3.0])
    np.testing.assert_allclose(material.grid("size", 2.0, 2.0, 5), [2.0])


def test_a_few_of_many_are_rising_and_different() -> None:
    chosen = draw_positions(1000, 30, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 30
    assert (np.diff(chosen) > 0).all()
    assert draw_positions(5, 30, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


def test_inputs_that_make_no_difference_get_no_place() -> None:
    importance = [
        comparison.Importance(f"{k}", drop, 0.1, drop - 0.2, drop + 0.2)
        for k, drop in enumerate((5.0, 1.0, 0.01))
    ]
    material = dataclasses.replace(of_numbers(), importance=tuple(importance))
    assert material.count_leading(1, 9) == 2
    assert material.count_leading(3, 9) == 3
    assert material.count_leading(1, 1) == 1


# ---- the head


def test_the_head_gives_the_verdict_of_the_comparison_or_one_of_its_own() -> None:
    told = head.head(stories.compared(stories.numbers(), 0.1))
    assert told.verdict == "Use the best one. It can be trusted."
    alone = head.head(stories.numbers())
    held = stories.numbers().held_out
    inside = np.mean((held.quantiles[:, 0] <= held.y) & (held.y <= held.quantiles[:, 4]))
    assert f"{100 * inside:.1f}\u202f%" in alone.verdict
    assert alone.next_command == "posterity predict model.posterity data.csv"


def test_file_names_are_quoted_in_commands() -> None:
    story = dataclasses.replace(stories.numbers(), source="my data; rm -rf.csv")
    assert story.predict_command == "posterity predict model.posterity 'my data; rm -rf.csv'"


# ---- ranking


def test_no_ranking_of_one_model() -> None:
    assert ranking.section(of_numbers()) is None


def test_the_ranking_has_a_row_and_a_mark_for_each_model_and_hollow_baselines() -> None:
    section = ranking.section(looked(stories.compared(stories.numbers(), 0.1, 0.2, 0.3)))
    table = tables(section)[0]
    assert [row.mark for row in table.rows] == ["chosen", "", "", "baseline"]
    assert all(len(row.cells) == len(table.head) for row in table.rows)
    figure = figures(section)[0]
    assert (circles(figure, "accent"), circles(figure, "hollow")) == (3, 1)
    assert [text for _, text in figure.legend] == ["models", "baselines"]
    (left,) = (b.items for b in section.blocks if isinstance(b, Items))
    assert left == ('<a href="#model-4">slow one</a>: no time left',)
    assert figure.broad is not None


def test_a_hopeless_model_is_an_arrow_at_the_edge() -> None:
    section = ranking.section(looked(stories.compared(stories.numbers(), 0.1, 0.2, 0.3, 900.0)))
    figure = figures(section)[0]
    assert circles(figure, "hollow") == 0
    assert "\N{LEFTWARDS ARROW} \N{MINUS SIGN}900" in figure.picture


def test_names_of_models_lead_to_what_they_are() -> None:
    story = stories.compared(stories.numbers(), 0.1, 0.2)
    results = list(story.comparison.results)
    results[1:] = (
        dataclasses.replace(results[1], name="linear", code="BayesianLinearRegression()"),
        dataclasses.replace(results[2], name="mean"),
    )
    verdict = "Use 'linear', not 'other' <b>; choose it with --prefer best."
    found = dataclasses.replace(
        story.comparison,
        results=tuple(results),
        verdict=verdict,
        scope="for new trees",
        cautions=("Rows depend on each other: use --time.",),
    )
    story = dataclasses.replace(story, comparison=found)
    (cards,) = models.section(looked(story)).blocks
    assert isinstance(cards, Cards)
    assert [card.title for card in cards.cards] == ["best one", "linear", "mean", "slow one"]
    facts = dict(cards.cards[1].facts)
    assert facts["Likelihood"] == facts["Prior"] == "normal"
    assert facts["Python"] == "BayesianLinearRegression()"
    told = head.head(story)
    link = f'<a href="#{cards.cards[1].name}">linear</a>'
    option = "choose it with <code>--prefer best</code>."
    assert told.verdict == f"Use {link}, not &#39;other&#39; &lt;b&gt;; {option}"
    assert told.cautions == found.cautions
    assert ("Scores hold", "for new trees") in told.facts
    assert "this holds for new trees." in calibration.section(looked(story)).lead
    table = tables(ranking.section(looked(story)))[0]
    assert [row.link for row in table.rows] == [card.name for card in cards.cards[:3]]
    assert table.rows[1].values[1] == results[1].log_score


# ---- what it predicts


def test_held_out_predictions_can_be_saved() -> None:
    story = stories.compared(stories.numbers(), 0.1)
    (block,) = (b for b in prediction.show_numbers(looked(story)).blocks if isinstance(b, Download))
    text = unquote(block.address.removeprefix("data:text/csv;charset=utf-8,"))
    saved, held = pl.read_csv(io.StringIO(text)), story.held_out
    assert saved.columns == ["row", "observed", "mean", "q0.05", "q0.25", "q0.5", "q0.75", "q0.95"]
    assert saved["row"].to_list() == (held.rows + 1).tolist()
    np.testing.assert_allclose(saved["observed"], held.y, rtol=1e-11)
    np.testing.assert_allclose(saved[:, 3:].to_numpy(), held.quantiles, rtol=1e-5)
    story = stories.compared(stories.classes(), 0.1)
    (block,) = (b for b in prediction.show_classes(looked(story)).blocks if isinstance(b, Download))
    text = unquote(block.address.removeprefix("data:text/csv;charset=utf-8,"))
    saved = pl.read_csv(io.StringIO(text))
    np.testing.assert_allclose(saved[:, 2:].to_numpy(), story.held_out.probabilities, rtol=1e-5)
    assert prediction.show_numbers(of_numbers()).blocks[1:] == ()  # of rows that it was fitted to


def test_dots_outside_their_interval_are_told_apart() -> None:
    held = of_numbers().contents.held_out
    outside = np.count_nonzero((held.y < held.quantiles[:, 0]) | (held.y > held.quantiles[:, 4]))
    figure = figures(prediction.show_numbers(of_numbers()))[0]
    assert circles(figure, "warn") == outside
    assert circles(figure, "ink") == len(held.y) - outside


def test_a_band_is_drawn_where_one_input_dominates() -> None:
    assert prediction.dominant_input(of_numbers()) == "size"
    assert len(figures(prediction.show_numbers(of_numbers()))) == 2
    even = tuple(dataclasses.replace(one, drop=1.0) for one in of_numbers().importance)
    material = dataclasses.replace(of_numbers(), importance=even)
    assert prediction.dominant_input(material) is None
    assert len(figures(prediction.show_numbers(material))) == 1


def test_pictures_of_many_rows_stay_small() -> None:
    n = 30_000
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    story = stories.told(
        linear.BayesianLinearRegression(),
        pl.DataFrame({"x": x, "y": x + rng.normal(size=n)}),
        "y",
    )
    assert len(report.page(story)) < 400_000


def test_sections_of_the_other_task_say_nothing() -> None:
    assert prediction.show_numbers(of_classes()) is None
    assert calibration.show_residuals(of_classes()) is None
    assert prediction.show_classes(of_numbers()) is None


def test_confusions_count_rows() -> None:
    held = of_classes().contents.held_out
    titles = {f.title: f for f in figures(prediction.show_classes(of_classes()))}
    words = re.search(r'<g class="words cells">(.*?)</g>', titles["Confusion matrix"].picture)[1]
    assert sum(map(int, re.findall(r">(\d+)<", words))) == len(held.y)
    right = np.count_nonzero(held.probabilities.argmax(axis=1) == held.y)
    boxes = re.findall(
        r'class="box accent level\d" d="([^"]*)"', titles["Confusion matrix"].picture
    )
    assert sum(box.count("M") for box in boxes) == 3
    assert right > 60


def test_the_map_is_covered_once() -> None:
    figure = prediction.draw_map(of_classes())[0]
    boxes = re.findall(r'class="box c\d tile level\d" d="([^"]*)"', figure.picture)
    sides = re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H", "".join(boxes))
    area = sum(abs((float(b) - float(a)) * (float(d) - float(c))) for a, c, b, d in sides)
    assert area == pytest.approx((440 - 66 - 22) * (300 - 10 - 46), rel=0.02)


def test_no_map_of_too_few_numbers_or_too_many_classes() -> None:
    one = stories.flowers().drop("z")
    assert prediction.draw_map(looked(stories.told(BayesianLogisticRegression(), one, "c"))) == []
    many = stories.flowers(400, classes=9)
    forest = RandomForestClassifier(5, random_state=0)
    assert prediction.draw_map(looked(stories.told(forest, many, "c"))) == []


# ---- how sure


def test_bins_of_reliability_hold_what_came() -> None:
    rng = np.random.default_rng(0)
    stated = rng.random(400)
    came = rng.random(400) < stated
    found = ProbabilityBins.from_rows(stated, came, 10)
    assert len(found.predicted) == 10
    assert found.observed.mean() == pytest.approx(came.mean())
    assert (np.diff(found.predicted) > 0.0).all()
    low, high = calibration.frequency_interval(found)
    k = np.count_nonzero(came[np.argsort(stated)[:40]])
    assert low[0] == pytest.approx(stats.beta.ppf(0.05, k + 0.5, 40 - k + 0.5))
    assert high[0] == pytest.approx(stats.beta.ppf(0.95, k + 0.5, 40 - k + 0.5))


def test_coverage_counts_central_intervals() -> None:
    pit = np.array([0.5, 0.04, 0.96, 0.2])
    share = calibration.observed_coverage(pit)
    assert share[0] == 0.25  # 10 %: from 0.45 to 0.55
    at_90 = int(np.flatnonzero(np.isclose(calibration.STATED, 0.9))[0])
    assert share[at_90] == 0.5
    assert share[-1] == 1.0


def test_calibration_has_a_picture_for_either_task() -> None:
    assert [f.title for f in figures(calibration.section(of_numbers()))] == [
        "Histogram of the probability integral transform",
        "Coverage of intervals",
    ]
    assert [f.title for f in figures(calibration.section(of_classes()))] == [
        "Reliability",
        "Reliability by class",
    ]


def test_the_shares_of_the_transform_are_those_of_the_rows() -> None:
    pit = np.repeat([0.1, 0.3, 0.6, 0.9], [10, 20, 30, 40])
    density = calibration.histogram(pit)[1]
    assert density.tolist() == pytest.approx([0.4, 0.8, 1.2, 1.6])


def dependent(kind: str, column: str, clusters: np.ndarray) -> ReportData:
    story = stories.compared(stories.numbers(), 0.1)
    held = dataclasses.replace(story.held_out, clusters=clusters)
    holdout = comparison.Holdout(kind, (column,))
    found = dataclasses.replace(story.comparison, holdout=holdout)
    return looked(dataclasses.replace(story, held_out=held, comparison=found))


def test_coverage_is_drawn_by_group_with_the_lowest_first() -> None:
    kinds = stories.measurements()["kind"].to_numpy()
    material = dependent("groups", "kind", np.unique(kinds, return_inverse=True)[1])
    figure = figures(calibration.section(material))[-1]
    held = material.contents.held_out
    inside = (held.quantiles[:, 0] <= held.y) & (held.y <= held.quantiles[:, 4])
    share = {kind: inside[kinds == kind].mean() for kind in np.unique(kinds)}
    labels = re.search(r'<g class="ticks beside">(.*?)</g>', figure.picture)[1]
    shown = re.findall(r">(\w+)</text>", labels)
    assert [share[kind] for kind in shown[::-1]] == sorted(share.values())
    assert circles(figure, "accent") == 3
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', figure.picture)]
    expected = [66.0 + share[kind] * (440 - 66 - 22) for kind in shown[::-1]]
    assert places == pytest.approx(expected, abs=0.1)


def test_coverage_over_time_counts_every_row_once() -> None:
    material = dependent("time", "felled", np.arange(stories.N) // 30)
    figure = figures(calibration.section(material))[-1]
    assert figure.title == "Coverage over felled"
    assert circles(figure, "accent") == stories.N // 15
    held = material.contents.held_out
    windows = np.array_split(np.arange(stories.N), 6)
    found = dependence.count_parts(held, windows)
    inside = (held.quantiles[:, 0] <= held.y) & (held.y <= held.quantiles[:, 4])
    assert np.mean(found.share) == pytest.approx(inside.mean())
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    random = dependent("random", "felled", np.arange(stories.N))
    assert len(figures(calibration.section(random))) == 2


# ---- residuals


def test_standardised_residuals_of_right_predictions_are_normal() -> None:
    z = calibration.standardise_residuals(stats.norm.cdf(np.array([1.0, -2.0, 0.5])))
    assert z == pytest.approx([-2.0, 0.5, 1.0])
    assert np.isfinite(calibration.standardise_residuals(np.array([0.0, 1.0]))).all()


def test_residuals_are_shown_over_prediction_and_first_number() -> None:
    titles = [f.title for f in figures(calibration.show_residuals(of_numbers()))]
    assert titles == [
        "Residuals over the prediction",
        "Residuals over size",
        "Quantiles of standardised residuals",
    ]
    gaps = stories.measurements()["size"].null_count()
    over = figures(calibration.show_residuals(of_numbers()))
    assert circles(over[0], "ink") - circles(over[1], "ink") == gaps


# ---- inputs


def test_weights_come_with_their_deviations_and_which_differ_from_zero() -> None:
    section = weights.section(of_numbers())
    rows = {row.cells[0]: row.cells for row in tables(section)[0].rows}
    model = of_numbers().contents.model.estimator_
    names = list(of_numbers().contents.model.encoder_.get_feature_names_out())
    draws = dict(zip(names, model.sample_weights(20_000, random_state=1)[0].T, strict=True))
    assert next(iter(rows)) == names[np.argmax(np.abs(model.coef_))] == "size"
    levels = [name for name in names if name.startswith("kind = ")]
    mean = np.mean([draws[name] for name in levels], axis=0)
    for name in names:  # what only the offset can take back is not in the deviation of a level
        drawn = draws[name] - mean if name in levels else draws[name]
        value, error = rows[name][1].replace("\u2212", "-").split(" \N{PLUS-MINUS SIGN} ")
        assert float(value) == pytest.approx(drawn.mean(), abs=0.05 * drawn.std() + 0.02)
        assert float(error) == pytest.approx(drawn.std(), rel=0.1)
        assert (rows[name][3] == weights.CLEAR) == (abs(float(value)) > 1.96 * float(error))
    assert rows["kind = oak"][3] == weights.CLEAR
    assert "Clearly different from zero: size, kind = oak" in section.lead


def test_weights_of_several_classes_have_a_column_each() -> None:
    table = tables(weights.section(of_classes()))[0]
    assert table.head == ("Column", "class 0", "class 1", "class 2")
    assert any(cell.endswith(" *") for row in table.rows for cell in row.cells)


def test_only_weights_that_are_not_zero_are_shown() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    frame = pl.DataFrame(
        {**{f"x{j}": X[:, j] for j in range(8)}, "y": X[:, 5] + 0.1 * rng.normal(size=60)}
    )
    story = stories.told(sparse.SparseLinearRegression(), frame, "y")
    table = tables(weights.section(looked(story)))[0]
    assert [row.cells[0] for row in table.rows] == ["x5"]
    assert "1 of 8 weights" in table.caption


def test_length_scales_are_found_in_any_part_of_a_kernel() -> None:
    kernel = 2.0 * kernels.RBF((1.0, 2.0)) + kernels.Matern((3.0, 4.0)) * kernels.RBF(7.0)
    found = sorted(lengths.tolist() for lengths in inputs.length_scales(kernel, 2))
    assert found == [[1.0, 2.0], [3.0, 4.0]]
    assert inputs.length_scales(None, 2) == []


def test_short_length_scales_stand_first() -> None:
    kernel = kernels.RBF((9.0, 0.5)).fixed()
    model = process.GaussianProcessRegressor(kernel, noise_variance=0.1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.sin(x[:, 1])})
    table = inputs.model_table(looked(stories.told(model, frame, "y")))
    assert [row.cells for row in table.rows] == [("b", "0.5"), ("a", "9")]


def test_gains_of_trees_are_shares() -> None:
    forest = RandomForestClassifier(10, random_state=0)
    table = inputs.model_table(looked(stories.told(forest, stories.flowers(), "c")))
    shares = [float(row.cells[1].split("\u202f")[0]) for row in table.rows]
    assert sum(shares) == pytest.approx(100.0, abs=0.2)


def test_importance_has_a_bar_for_each_input() -> None:
    figure = figures(inputs.section(of_numbers()))[0]
    box = re.search(r'class="box accent soft" d="([^"]*)"', figure.picture)[1]
    assert box.count("M") == 3


def test_what_helps_nothing_is_said_to_help_nothing_in_the_report() -> None:
    useless = comparison.Importance("felled", 0.01, 0.02, -0.03, 0.05)
    found = (*of_numbers().importance[:2], useless)
    section = inputs.section(dataclasses.replace(of_numbers(), importance=found))
    assert (
        "These rows do not show that felled helps: its interval is not above zero." in section.lead
    )
    assert tables(section)[0].rows[-1].cells[1:3] == (
        "0.010 \N{PLUS-MINUS SIGN} 0.020",
        "\u22120.030 to 0.050",
    )


# ---- rows


def test_kept_rows_are_those_the_model_has_seen() -> None:
    material = looked(stories.vectors())
    kept = rows.find_training_rows(material)
    model = material.contents.model
    assert kept.min() >= 4  # the first four have no target
    assert np.allclose(
        model.encode_inputs(material.contents.frame[kept]), model.estimator_.relevance_vectors_
    )
    table = tables(rows.show_vectors(material))[0]
    assert [row.cells[0] for row in table.rows] == [str(row + 1) for row in kept]


@for_each("change", ["fewer", "reversed"])
def test_kept_rows_of_another_table_are_not_shown(change: str) -> None:
    story = stories.vectors()
    frame = story.frame[:-3] if change == "fewer" else story.frame[4:].reverse()
    assert (
        rows.show_vectors(
            ReportData(dataclasses.replace(story, frame=frame), (), frame, np.arange(3))
        )
        is None
    )


def test_a_model_that_keeps_no_rows_shows_none() -> None:
    assert rows.show_vectors(of_numbers()) is None


def test_the_most_surprising_rows_are_the_least_probable() -> None:
    story = dataclasses.replace(stories.numbers(), row_numbers=1000 + np.arange(stories.N))
    table = tables(rows.show_surprising_rows(looked(story)))[0]
    worst = story.held_out.rows[np.argsort(story.held_out.log_prob)[:10]]
    assert [row.cells[0] for row in table.rows] == [f"{1001 + row}" for row in worst]
    assert "below the header" in table.caption
    part = dataclasses.replace(stories.numbers(), n_rows_in_file=10**6)
    assert "within the sample" in tables(rows.show_surprising_rows(looked(part)))[0].caption


def test_what_was_given_to_classes_is_told() -> None:
    table = tables(rows.show_surprising_rows(of_classes()))[0]
    held = of_classes().contents.held_out
    k = int(np.argmin(held.log_prob))
    assert table.rows[0].cells[1].startswith(f"{held.classes[held.y[k]]} (")
    best = held.classes[held.probabilities[k].argmax()]
    assert table.rows[0].cells[2].startswith(f"{best} (")


# ---- curves


def test_a_number_of_two_values_is_drawn_as_two() -> None:
    sex = pl.Series(np.random.default_rng(0).integers(1, 3, stories.N).astype(float))
    frame = stories.measurements().with_columns(sex=sex, height=pl.col("height") + 9.0 * sex)
    material = looked(stories.told(linear.BayesianLinearRegression(), frame, "height"))
    assert material.two_values("sex") == (1.0, 2.0)
    assert material.two_values("size") is None
    assert material.typical["sex"] in (1.0, 2.0)
    assert "sex" not in material.list_kind("number")
    figure = next(f for f in figures(curves.section(material)) if f.title == "sex")
    assert circles(figure, "accent") == 2


def test_curves_are_what_the_model_says_of_typical_rows() -> None:
    section = curves.section(of_numbers())
    assert [f.title for f in figures(section)] == of_numbers().names
    bands = {f.title: f.picture for f in figures(section)}
    assert 'class="area outer"' in bands["size"]
    assert 'class="area outer"' in bands["felled"]
    assert 'class="stick outer thick"' in bands["kind"]


def test_curves_of_two_classes_show_the_second() -> None:
    two = stories.flowers(classes=2)
    section = curves.section(looked(stories.told(BayesianLogisticRegression(), two, "c")))
    assert section.lead.endswith("The line is the probability of class 1.")
    assert figures(section)[0].legend == ()


def test_curves_of_several_classes_have_a_legend() -> None:
    assert [text for _, text in figures(curves.section(of_classes()))[0].legend] == [
        "class 0",
        "class 1",
        "class 2",
    ]


# ---- the panel and the end


def test_a_model_that_does_not_run_in_a_page_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = usage.what_if.NoPanel("It is too large.")
    monkeypatch.setattr(usage.what_if, "payload", lambda model, first: refusal)
    section = usage.show_panel(of_numbers())
    assert not any(isinstance(block, Panel) for block in section.blocks)
    assert section.blocks[0].text == "It is too large."
    assert Code("posterity predict model.posterity data.csv") in section.blocks


def test_the_inputs_that_matter_most_come_first_in_the_panel():
    material = of_numbers()
    block = usage.show_panel(material).blocks[0]
    assert json.loads(str(block.payload))["first"] == material.names


@for_each("text", ["</script>", "<!--", "a & b", "\u2028\u2029", "\ud800", "]]>"])
def test_embedded_json_means_the_same_and_ends_no_script(text: str) -> None:
    embedded = usage.embed_json({text: [text, 1.5]})
    assert json.loads(embedded) == {text: [text, 1.5]}
    assert not set("<>&\u2028\u2029") & set(embedded)
    with pytest.raises(ValueError, match="JSON"):
        usage.embed_json({"x": float("nan")})


def test_the_last_section_repeats_command_and_circumstances() -> None:
    story = stories.compared(dataclasses.replace(stories.numbers(), inferred=("A sentence.",)), 0.1)
    section = usage.show_command(looked(story))
    assert [b.text for b in section.blocks if isinstance(b, Code)] == [
        "posterity report it",
        "Best()",
    ]
    assert Items(("A sentence.",)) in section.blocks
    cells = dict(row.cells for row in tables(section)[-1].rows)
    assert cells["folds"] == "5"
    assert {"seed", "posterity", "numpy", "scikit-learn"} <= set(cells)


def test_two_classes_have_their_scores_and_costs_for_each_model() -> None:
    assert ranking.show_flagged(of_numbers()) is None
    assert ranking.show_flagged(of_classes()) is None  # of three
    frame = stories.flowers(classes=2)
    story = stories.told(stories.BayesianLogisticRegression(), frame, "c")
    asked = comparison.Flagging("class 0", (1.0, 9.0))
    found = comparison.evaluate(story.model, frame, flagging=asked).two_classes
    alone = dataclasses.replace(story, two_classes=found)
    section = ranking.show_flagged(looked(alone))
    assert section is not None
    assert section.title == "Rows flagged as class 0"
    assert "at least 0.1." in section.lead
    (table,) = tables(section)
    assert table.head[-1] == "Cost per row"
    assert table.rows[0].values[-1] == found.expected_cost
    unknown = dataclasses.replace(found, precision=float("nan"), expected_cost=None)
    alone = dataclasses.replace(story, two_classes=unknown)
    (row,) = tables(ranking.show_flagged(looked(alone)))[0].rows
    assert (row.cells[2], row.values[2]) == ("\N{EN DASH}", None)
    several = tables(ranking.show_flagged(looked(stories.compared(story, 0.1, 0.2))))[0]
    assert [one.mark for one in several.rows] == ["chosen", "", "baseline"]
    assert all(len(one.cells) == len(several.head) == len(one.values) for one in several.rows)


def test_every_section_is_on_the_page_in_order() -> None:
    story = stories.compared(stories.numbers(), 0.1, 0.2)
    names = [section.name for section in sections.make_sections(looked(story))]
    assert names == [
        "ranking",
        "prediction",
        "calibration",
        "residuals",
        "inputs",
        "weights",
        "curves",
        "surprises",
        "what-if-section",
        "models",
        "reproduce",
    ]


def measured(**changes: Any) -> HeldOut:
    return dataclasses.replace(stories.numbers().held_out, **changes)


def test_rows_without_a_mean_have_no_residuals() -> None:
    story = dataclasses.replace(
        stories.numbers(), held_out=measured(mean=np.full(stories.N, np.nan))
    )
    assert calibration.show_residuals(looked(story)) is None
