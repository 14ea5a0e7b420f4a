"""The sentences of the verdict, for every way a comparison can end."""

import re
from dataclasses import replace

import numpy as np
from scipy import stats
from support.for_each import for_each

from posterity import comparison
from posterity.comparison import choice, row_scores
from posterity.comparison.results import HeldOut

N = 400


def of_numbers(name, mean, *, baseline=False, spread=0.0, inside=0.9, seed=1):
    """A result whose log-probabilities have this mean, beside noise of its own."""
    noise = np.random.default_rng(seed).normal(size=N)
    log_prob = mean + spread * (noise - noise.mean()) / noise.std(ddof=1)
    low, high = 0.05 + 1e-6, 0.95 - 1e-6
    n_inside = round(inside * N)
    n_out = N - n_inside
    pit = np.concatenate(
        [
            np.linspace(low, high, n_inside),
            np.linspace(1e-3, low - 1e-3, n_out // 2),
            np.linspace(high + 1e-3, 1.0, n_out - n_out // 2),
        ]
    )
    zeros = np.zeros(N)
    held_out = HeldOut(np.arange(N), zeros, log_prob, zeros, pit)
    return row_scores.score_predictions(name, "", held_out, row_scores.Costs(), baseline=baseline)


def of_classes(name, mean, *, stated=0.8, right=0.8, baseline=False):
    y = np.where(np.arange(N) < right * N, 0, 1)
    p = np.tile([stated, 1.0 - stated], (N, 1))
    held_out = HeldOut(np.arange(N), y, np.full(N, mean), probabilities=p, classes=("a", "b"))
    return row_scores.score_predictions(name, "", held_out, row_scores.Costs(), baseline=baseline)


def said(*results, **options):
    order = [
        "mean",
        "boosting",
        "linear",
        "forest",
        "process",
        "vectors",
        "units",
        "ferns",
        "stack",
    ]
    ranked = sorted(results, key=lambda one: -one.log_score)
    return comparison.verdict(ranked, order=order, **options)


@for_each(
    "results",
    [
        (of_numbers("linear", -1.0),),
        (of_numbers("linear", -1.0), of_numbers("process", -0.5, spread=0.1)),
        (of_numbers("linear", -1.0), of_numbers("process", -0.99, spread=1.0)),
        (of_classes("linear", -1.0), of_classes("mean", -2.0, baseline=True)),
        (
            of_numbers("linear", -1.0),
            of_numbers("process", -1.01, spread=1.0),
            of_numbers("boosting", -0.5, baseline=True),
        ),
        (of_numbers("mean", -1.0, baseline=True), of_numbers("process", -1.3)),
    ],
)
def test_there_are_at_most_four_sentences(results):
    text = said(*results, cautions=("Use --time date.",))
    assert len(re.findall(r"\.(?:\s|$)", text)) <= 4
    assert "significant" not in text  # how sure it is has one unit, a probability


def test_a_clear_winner_is_named_with_its_lead():
    text = said(of_numbers("linear", -1.0), of_numbers("process", -0.5, spread=0.2))
    assert text.startswith(
        "Use 'process': the best of 2 models. It gives an observed value 65 +- 1.6 % more "
        "probability than the second one, 'linear'."
    )


@for_each(("lead", "used"), [(0.011, "process"), (0.009, "linear")])
def test_a_standard_error_takes_the_better_model_for_the_simpler(lead, used):
    """One error is a probability of 84 %."""
    text = said(of_numbers("linear", -1.0), of_numbers("process", lead - 1.0, spread=0.2))
    assert text.startswith(f"Use '{used}'")


@for_each(("lead", "error"), [(0.01, 0.01), (0.0, 0.01), (0.03, 0.01)])
def test_the_probability_to_be_better_is_that_of_the_differences(lead, error):
    """Beside Student's t of the differences, and of a bootstrap."""
    pair = of_numbers("process", lead - 1.0, spread=error * np.sqrt(N)), of_numbers("linear", -1.0)
    differences = pair[0].held_out.log_prob - pair[1].held_out.log_prob
    expected = stats.ttest_1samp(differences, 0.0, alternative="greater").pvalue
    assert abs(1.0 - expected - choice.compute_probability_better(*pair)) < 0.02


def test_an_irrelevant_lead_does_not_count_even_if_significant():
    text = said(of_numbers("linear", -1.0 - 5e-16), of_numbers("process", -1.0))
    assert "Use 'linear': the simplest model that is about as good as the best." in text
    assert "gives an observed value less than 0.1 % more probability than 'linear'" in text


def test_one_rule_chooses_among_equals_and_is_named():
    equals = (
        of_numbers("forest", -1.001, spread=1.0, seed=2),
        of_numbers("process", -1.0, spread=1.0, seed=3),
        of_numbers("linear", -1.002, spread=1.0, seed=4),
        of_numbers("vectors", -3.0),
    )
    assert said(*equals).startswith(
        "Use 'linear': the simplest model that is about as good as the best. 'process' gives an "
        "observed value 0.2 +- 7 % more probability than 'linear' and is better with a probability "
        "of 51 %; choose it with --prefer best."
    )
    assert said(*equals, prefer="best").startswith(
        "Use 'process': the best of 4 models. It gives an observed value 0.2 +- 7 % more "
        "probability than the simpler 'linear'; choose that with --prefer simple."
    )


def test_a_mixture_is_chosen_only_if_it_is_significantly_better():
    forest = of_numbers("forest", -1.0)
    mixture = replace(of_numbers("stack", -0.985, spread=0.2), weights=(("forest", 1.0),))
    order = ["forest", "stack"]
    assert choice.choose_model([mixture, forest], order=order) is forest
    assert choice.choose_model([mixture, forest], order=order, prefer="best") is mixture
    assert said(mixture, forest).startswith(
        "Use 'forest': the best single model. The mixture 'stack' gives an observed value 1.5 +- "
        "1 % more probability than 'forest' and is better with a probability of 93 %, where a "
        "mixture needs 98 %; choose it with --prefer best."
    )
    ahead = replace(of_numbers("stack", -0.97, spread=0.2), weights=(("forest", 1.0),))
    assert choice.choose_model([ahead, forest], order=order) is ahead


def test_the_uncertainty_of_the_ranking_is_stated_where_it_is_uncertain():
    equals = [
        of_numbers(name, -1.0, spread=1.0, seed=k) for k, name in enumerate(("linear", "forest"))
    ]
    text = said(*choice.add_probabilities(equals), prefer="best")
    assert re.search(r"the best of 2 models, with a probability of 5\d %\.", text)
    clear = choice.add_probabilities([of_numbers("linear", -1.0), of_numbers("process", -0.5)])
    assert "the best of 2 models, with a probability of 99 %." in said(*clear)


def test_where_no_model_beats_a_constant_none_is_praised():
    mean = of_numbers("mean", -1.0, baseline=True)
    close = of_numbers("process", -0.99, spread=1.0)
    text = said(mean, close, of_numbers("linear", -1.3), target="price")
    assert text.startswith(
        "No input helps to predict price: 'mean' ignores the inputs, and the best model, "
        "'process', gives an observed value 1 +- 5 % more probability than 'mean' and is better "
        "with a probability of 57 %."
    )
    assert "The saved model is 'process'." in text
    assert "Use" not in text


def test_a_simple_model_that_is_no_better_than_a_constant_is_not_chosen_if_another_is():
    mean = of_numbers("mean", -1.0, baseline=True)
    linear = of_numbers("linear", -0.95, spread=1.2)
    process = of_numbers("process", -0.9)
    assert not choice.is_better(process, linear)
    assert choice.choose_model([process, linear], order=["linear", "process"]) is linear
    ranked = [process, linear, mean]
    assert choice.choose_model(ranked, order=["mean", "linear", "process"]) is process


def test_the_rows_for_which_it_holds_and_cautions_are_named():
    one = of_numbers("linear", -1.0)
    assert said(one, scope="for the next 30 days").endswith(
        "so its uncertainty can be trusted for the next 30 days."
    )
    text = said(one, scope="for new rows like these", cautions=("Use --time date.",))
    assert text.endswith(
        "as they should for new rows like these; but rows seem to depend on each other, so this "
        "may not hold for others."
    )
    assert "can be trusted" not in text


def test_a_lead_is_paired_row_by_row():
    shared = np.random.default_rng(5).normal(size=N)
    results = []
    for name, lead in (("linear", 0.0), ("process", 0.1)):
        one = of_numbers(name, 0.0)
        held_out = HeldOut(
            one.held_out.rows, one.held_out.y, 5.0 * shared + lead, np.zeros(N), one.held_out.pit
        )
        results.append(
            row_scores.score_predictions(name, "", held_out, row_scores.Costs(), baseline=False)
        )
    assert "It gives an observed value 11 +- " in said(*results)


def test_a_baseline_that_wins_is_said_plainly():
    text = said(of_numbers("linear", -1.0), of_numbers("boosting", -0.5, baseline=True))
    assert (
        "No model is as good as the baseline 'boosting': it gives an observed value 65 +- 0 % more "
        "probability than 'linear' and is better with a probability of 99 %."
    ) in text


def test_a_baseline_that_is_hardly_ahead_cannot_be_told_apart():
    text = said(
        of_numbers("linear", -1.0), of_numbers("boosting", -0.99, baseline=True, spread=1.0)
    )
    assert text.startswith("Use 'linear', the only model that was scored. The baseline 'boosting' ")
    assert "than 'linear' and is better with a probability of 57 %." in text


@for_each(
    ("inside", "words"),
    [
        (0.90, "contain 90 % of the held-out values, so its uncertainty can be trusted"),
        (0.75, "contain 75 % of the held-out values, so they are too narrow"),
        (0.98, "contain 98 % of the held-out values, so they are wider than necessary"),
    ],
)
def test_intervals_are_judged_by_what_they_held(inside, words):
    assert words in said(of_numbers("linear", -1.0, inside=inside))


def test_right_coverage_of_a_wrong_shape_is_noticed():
    one = of_numbers("linear", -1.0)
    pit = np.where((one.held_out.pit > 0.05) & (one.held_out.pit < 0.95), 0.9, one.held_out.pit)
    held_out = HeldOut(one.held_out.rows, one.held_out.y, one.held_out.log_prob, np.zeros(N), pit)
    text = said(
        row_scores.score_predictions("linear", "", held_out, row_scores.Costs(), baseline=False)
    )
    assert "as they should, but other quantiles have calibration errors of up to 85 %" in text


@for_each(
    ("stated", "right", "words"),
    [
        (0.8, 0.8, "80 % on average and is correct in 80 % of the held-out rows, so its prob"),
        (0.95, 0.7, "so it is overconfident"),
        (0.6, 0.9, "so it is underconfident"),
    ],
)
def test_probabilities_are_judged_by_how_often_they_were_right(stated, right, words):
    assert words in said(of_classes("linear", -1.0, stated=stated, right=right))


def test_what_was_gained_over_each_baseline_is_a_ratio_of_probabilities():
    one = of_numbers("linear", -1.0)
    boosting = of_numbers("boosting", -1.1, baseline=True)
    for factor, words in ((3.0, "3.00"), (345.0, "345"), (np.exp(49.0), "over a million")):
        mean = of_numbers("mean", -1.0 - np.log(factor), baseline=True)
        assert comparison.describe_gain([one, boosting, mean], one) == [
            "On average 'linear' gives an observed value 1.11 times the probability that "
            f"'boosting' gives it and {words} times that of 'mean'."
        ]
    assert comparison.describe_gain([one], one) == []


def test_a_small_lead_counts_where_all_scores_are_small():
    """Of rare classes: half the log loss, far beyond its error, within 0.01 nats."""
    linear = of_classes("linear", -0.014, stated=0.998, right=0.998)
    forest = of_classes("forest", -0.007, stated=0.998, right=0.998)
    assert choice.choose_model([forest, linear], order=["linear", "forest"]) is forest
    text = said(forest, linear)
    assert text.startswith("Use 'forest': the best of 2 models.")
    rates = of_classes("frequencies", -0.0008, stated=0.9999, right=0.9999, baseline=True)
    helped = of_classes("linear", -0.0004, stated=0.9999, right=0.9999)
    assert "No input helps" not in said(helped, rates)


def test_one_standard_error_is_one_at_any_scale_of_densities():
    linear = of_numbers("linear", -1.0)
    ahead = of_numbers("process", -0.9903, spread=0.06)  # by 3.2 standard errors
    assert choice.choose_model([ahead, linear], order=["linear", "process"]) is ahead
    assert said(linear, ahead).startswith("Use 'process'")


def test_a_mixture_that_is_better_by_little_is_not_called_insignificantly_better():
    forest = of_numbers("forest", -1.0)
    mixture = replace(of_numbers("stack", -0.995, spread=0.02), weights=(("forest", 1.0),))
    assert choice.choose_model([mixture, forest], order=["forest", "stack"]) is forest
    text = said(mixture, forest)
    assert "by too little to keep several models" in text


def with_scores(name, log_prob, **fields):
    held_out = replace(of_numbers(name, 0.0).held_out, log_prob=log_prob, **fields)
    return row_scores.score_predictions(name, "", held_out, row_scores.Costs(), baseline=False)


def test_a_model_that_gets_few_rows_very_wrong_is_worse():
    """-5.6 beside -3.2: the lead is 1.7 of its standard errors, and there is no doubt about it."""
    rare = np.where(np.arange(N) % 150 == 0, -320.0, 0.0)  # three of 400 rows
    process, additive = with_scores("process", np.full(N, -3.2)), with_scores("linear", -3.2 + rare)
    mean, error = row_scores.compute_lead(process.held_out, additive.held_out)
    assert mean > 2.0
    assert mean < 2.0 * error
    text = said(process, additive)
    assert text.startswith("Use 'process': the best of 2 models.")
    windows = {"clusters": np.arange(N) % 3}
    few = [
        with_scores(name, one.held_out.log_prob, **windows)
        for name, one in (("process", process), ("linear", additive))
    ]
    assert not choice.is_better(*few)  # of three windows nothing is known


@for_each(
    ("inside", "n_windows", "words"),
    [
        (0.83, 6, "tell whether its uncertainty can be trusted"),
        (0.90, 4, "tell whether its uncertainty can be trusted"),
        (0.90, N, "so its uncertainty can be trusted"),
    ],
)
def test_coverage_that_few_windows_cannot_judge_is_unknown(inside, n_windows, words):
    one = of_numbers("linear", -1.0, inside=inside)
    order = np.argsort(one.held_out.pit, kind="stable")
    clusters = np.empty(N, dtype=int)
    clusters[order] = np.arange(N) * n_windows // N  # rows of a window are alike
    text = said(with_scores("linear", np.full(N, -1.0), pit=one.held_out.pit, clusters=clusters))
    assert words in text
    assert ("so its uncertainty" in text) == (n_windows == N)


def test_accuracy_that_few_rows_cannot_judge_is_unknown():
    few = of_classes("linear", -1.0, stated=0.8, right=0.8)
    rows = np.linspace(0, N - 1, 20).astype(int)
    h = few.held_out
    part = HeldOut(
        rows, h.y[rows], h.log_prob[rows], probabilities=h.probabilities[rows], classes=h.classes
    )
    text = said(
        row_scores.score_predictions("linear", "", part, row_scores.Costs(), baseline=False)
    )
    assert "too few, or too dependent on each other, to tell whether its probabilities" in text
