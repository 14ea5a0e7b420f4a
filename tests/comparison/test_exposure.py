"""Counts over different exposures: their rate is learned, compared and predicted."""

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

import posterity
from posterity import comparison, likelihoods, linear, tables, trees

N = 800
SLOPES = {"age": -0.3, "power": 0.6}


def policies(seed=0, n=N):
    """Claims of policies that were observed over a tenth of a year to ten years."""
    rng = np.random.default_rng(seed)
    table = {name: rng.normal(size=n) for name in SLOPES}
    rate = 0.5 * np.exp(sum(slope * table[name] for name, slope in SLOPES.items()))
    table["years"] = 10.0 ** rng.uniform(-1.0, 1.0, n)
    return pl.DataFrame(table | {"claims": rng.poisson(rate * table["years"])})


@pytest.fixture(scope="module")
def found():
    names = ["linear", "poisson", "negative-binomial"]
    return posterity.compare(policies(), "claims", exposure="years", models=names)


def test_the_rate_is_learned_within_its_errors(found):
    assert found.comparison.best.name == "poisson"
    model = tables.strip_exposure(found.best.estimator_)
    learned = model.weight_distribution(range(2))
    slopes = [slope * policies()[name].std(ddof=0) for name, slope in SLOPES.items()]
    errors = (learned.mean() - slopes) / np.sqrt(np.diag(learned.covariance))
    assert np.all(np.abs(errors) < 4.0)


def test_the_expected_count_is_that_over_the_exposure_of_a_row(found):
    rows = policies(1, 20)
    once = found.best.predict(rows)
    twice = found.best.predict(rows.with_columns(pl.col("years") * 2.0))
    np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-12)
    with pytest.raises(tables.TableError, match="no column 'years' with the exposure"):
        found.best.predict(rows.drop("years"))


@pytest.mark.full
def test_held_out_counts_are_covered_and_far_more_probable_than_without(found):
    best = found.comparison.best
    held_out = best.held_out
    assert abs(best.coverage - 0.9) < 4.0 * np.sqrt(0.09 / N)
    np.testing.assert_array_equal(np.sort(held_out.rows), np.arange(N))
    plain = posterity.compare(policies().drop("years"), "claims", models=["poisson"])
    without = plain.comparison.best
    assert plain.comparison.schema.task == "regression"
    lead = held_out.log_prob - without.held_out.log_prob
    assert lead.mean() > 5.0 * lead.std() / np.sqrt(N)


def test_models_without_exposure_are_left_out_with_a_sentence(found):
    skipped = {one.name: one.why for one in found.comparison.skipped}
    assert skipped == {"linear": "takes no exposure: it does not describe the rate of counts."}
    assert [one.name for one in found.comparison.results if one.baseline] == ["mean"]
    assert "'claims' is a count over the exposure in 'years'" in found.sentences[0]
    with pytest.raises(tables.TableError, match="LinearRegression takes no exposure"):
        tables.TableModel(linear.LinearRegression(), found.best.schema_).fit(policies())


def test_all_models_of_counts_are_usual_where_counts_have_exposures():
    usual = comparison.candidates("regression", 5_000, 4)
    exposed = comparison.candidates("regression", 5_000, 4, exposed=True)
    more = {one.name for one in exposed} - {one.name for one in usual}
    assert more == {"negative-binomial", "boosted-counts"}


def test_saved_and_reported(found, tmp_path):
    found.save(tmp_path / "rate.posterity")
    again = posterity.load(tmp_path / "rate.posterity")
    np.testing.assert_array_equal(again.predict(policies()), found.best.predict(policies()))
    assert again.schema_.exposure.name == "years"
    found.report(tmp_path / "rate.html")
    page = (tmp_path / "rate.html").read_text()
    assert "The model uses the exposure of a count" in page
    assert "the logarithm of the predicted claims is a sum" in page


def test_groups_are_held_out_and_told_beside_the_exposure():
    table = policies().with_columns(pl.Series("town", np.arange(N) % 20))
    schema = tables.infer(table, "claims", exposure="years", groups="town")
    boosted = trees.BoostedTreesRegressor(10, likelihood=likelihoods.Poisson(), random_state=0)
    one = comparison.Candidate("trees", boosted)
    mean = comparison.baselines("regression", exposed=True)
    result = comparison.compare(table, schema, (*mean, one), folds=2)
    assert result.best.name == "trees"
    assert not comparison.find_dependence(table, tables.infer(table, "claims", exposure="years"))


def change(**cells):
    """The policies with one cell of a column replaced."""

    def changed():
        columns = [
            policies()[name].cast(pl.String).scatter([row], [value])
            for name, (row, value) in cells.items()
        ]
        return policies().with_columns(columns)

    return changed


REFUSED = {
    "zero": (change(years=(6, "0")), {}, "Row 7, column 'years': the exposure '0' is not greater"),
    "negative": (change(years=(2, "-1")), {}, "Row 3, column 'years': the exposure '-1'"),
    "missing": (change(years=(4, None)), {}, "Row 5, column 'years': the exposure is missing"),
    "a word": (change(years=(4, "long")), {}, "Row 5, column 'years': the exposure is missing or"),
    "no count": (change(claims=(1, "2.5")), {}, "Row 2, column 'claims': 2.5 is not a count"),
    "classes": (policies, {"task": "classification"}, "belongs to counts, which are numbers"),
    "dropped": (policies, {"drop": ["years"]}, "'years' is the exposure of the counts, so"),
    "unknown": (policies, {"exposure": "year"}, "no column 'year' in the table. Did you mean"),
}


@for_each("case", REFUSED)
def test_what_cannot_be_an_exposure_is_refused(case):
    make, options, sentence = REFUSED[case]
    with pytest.raises(tables.TableError, match=sentence):
        tables.infer(make(), "claims", **({"exposure": "years"} | options))


def test_a_row_without_a_target_needs_no_exposure():
    table = change(years=(4, None), claims=(4, None))()
    assert tables.infer(table, "claims", exposure="years").exposure.n_missing == 1
