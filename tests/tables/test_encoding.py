"""Cells to numbers: the arithmetic of each part, and that nothing else than numbers comes out."""

import datetime
import math

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from sklearn.base import clone
from support.effort import draws
from support.for_each import for_each

from posterity import tables
from posterity.tables import dates, texts

RNG = np.random.default_rng(3)


def encoder(kind, values, **options):
    frame = pl.DataFrame({"it": values}, strict=False)
    return tables.TableEncoder((tables.Column("it", kind, **options),)).fit(frame)


def encoded(fitted, values):
    return fitted.transform(pl.DataFrame({"it": values}, strict=False))


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("1,234.5", 1234.5),
            ("1 234", 1234.0),
            ("1\u00a0234,567.5", None),
            ("12%", 12.0),
            ("$3.50", 3.5),
            ("-$3.50", -3.5),
            ("\u20ac 3", 3.0),
            ("3 \u20ac", 3.0),
            ("1e-3", 1e-3),
            ("+4", 4.0),
            ("\u22125", -5.0),
            (" 7 ", 7.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1'000'000", 1e6),
            ("1,2", None),
            ("1 2", None),
            ("12,34,56", None),
            ("1.2.3", None),
            ("5 kg", None),
            ("0x1F", None),
            ("1_000", None),
            ("%", None),
            ("$", None),
            ("+", None),
        ],
    )
    def test_texts_are_read_as_a_person_would(self, text, number):
        values = texts.parse_numbers(pl.Series([text]))
        assert values.odd[0] == (number is None)
        assert values.numbers[0] == number or (number is None and math.isnan(values.numbers[0]))

    @pytest.mark.parametrize(
        ("text", "number"),
        [("3,14", 3.14), ("1.234,5", 1234.5), ("1.234", 1234.0), ("-7", -7.0), ("2.5", None)],
    )
    def test_decimal_commas(self, text, number):
        values = texts.parse_numbers(pl.Series([text]), "comma")
        assert values.odd[0] == (number is None)
        assert values.numbers[0] == number or number is None

    def test_they_are_standardised_over_the_values_that_are_there(self):
        x = RNG.normal(5.0, 3.0, size=200)
        Z = encoder("number", x).transform({"it": x})
        np.testing.assert_allclose(Z[:, 0], (x - x.mean()) / x.std(), atol=1e-13)
        holed = np.where(np.arange(200) % 4 == 0, np.nan, x)
        Z = encoder("number", holed).transform({"it": holed})
        present = ~np.isnan(holed)
        expected = (x - x[present].mean()) / x[present].std()
        np.testing.assert_allclose(Z[:, 0], np.where(present, expected, 0.0), atol=1e-13)
        np.testing.assert_array_equal(Z[:, 1], ~present)

    def test_missing_values_that_the_fit_had_not_are_the_mean(self):
        fitted = encoder("number", [1.0, 3.0])
        np.testing.assert_array_equal(encoded(fitted, [None, 5.0]), [[0.0], [3.0]])

    @pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e100])
    def test_scale_of_any_size(self, size):
        Z = encoder("number", [0.0, 2.0 * size]).transform({"it": [0.0, 2.0 * size]})
        np.testing.assert_allclose(Z[:, 0], [-1.0, 1.0])

    @pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, 1e-320])
    def test_a_constant_becomes_nothing(self, value):
        Z = encoder("number", [value] * 7).transform({"it": [value] * 7})
        np.testing.assert_allclose(Z, 0.0, atol=1e-6)

    def test_typed_and_written_values_are_encoded_alike(self):
        x = RNG.normal(size=20)
        fitted = encoder("number", x)
        np.testing.assert_array_equal(encoded(fitted, x), encoded(fitted, [str(v) for v in x]))

    def test_a_cell_that_is_no_number_is_named(self):
        fitted = encoder("number", [1.0, 3.0])
        with pytest.raises(tables.CellError, match="Row 2, column 'it': 'abc' is not a number"):
            encoded(fitted, ["1", "abc"])
        lenient = encoder("number", [1.0, None], lenient=True)
        np.testing.assert_array_equal(encoded(lenient, ["1", "abc"]), [[0.0, 0.0], [0.0, 1.0]])

    @pytest.mark.parametrize("cell", ["inf", "1e200", "-1e400"])
    def test_a_number_too_large_is_named(self, cell):
        with pytest.raises(tables.CellError, match=f"Row 2, column 'it': '{cell}' is infinite"):
            encoded(encoder("number", [1.0, 3.0], lenient=True), ["1", cell])

    def test_a_number_too_far_away_is_named(self):
        with pytest.raises(tables.CellError, match=r"Row 2, column 'it': .* too far"):
            encoded(encoder("number", [0.0, 1e-200]), ["0", "1e149"])

    def test_an_error_can_be_told_its_place_in_a_longer_table(self):
        error = tables.CellError(2, "it", "wrong.").shift_rows(4096)
        assert str(error) == "Row 4098, column 'it': wrong."

    def test_lengths_of_time_are_in_days(self):
        hours = pl.Series([datetime.timedelta(hours=6), None])
        np.testing.assert_array_equal(texts.parse_numbers(hours).numbers, [0.25, np.nan])


class TestCategories:
    def test_one_column_for_each_level(self):
        fitted = encoder("category", ["b", "a", "b", " a "])
        assert fitted.get_feature_names_out().tolist() == ["it = a", "it = b"]
        np.testing.assert_array_equal(encoded(fitted, ["a", "b"]), [[1.0, 0.0], [0.0, 1.0]])

    def test_the_unseen_and_the_missing_are_rows_of_zeros_where_the_fit_had_none(self):
        fitted = encoder("category", ["a", "b"])
        np.testing.assert_array_equal(encoded(fitted, ["c", None, "NA"]), np.zeros((3, 2)))

    def test_missing_labels_have_a_column_where_the_fit_had_some(self):
        fitted = encoder("category", ["a", None])
        np.testing.assert_array_equal(
            encoded(fitted, ["a", "", "c"]), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
        )

    def test_rare_levels_share_a_column(self):
        common = [f"c{i % 30}" for i in range(600)]
        rare = [f"r{i}" for i in range(100)]
        fitted = encoder("category", common + rare)
        (part,) = fitted.parts_
        assert (len(part.levels), part.other, fitted.n_features_out_) == (30, True, 31)
        row = encoded(fitted, ["r7", "never seen"])
        np.testing.assert_array_equal(row[:, -1], [1.0, 1.0])
        np.testing.assert_array_equal(row.sum(axis=1), [1.0, 1.0])

    def test_rare_and_missing_labels_have_columns_of_their_own(self):
        common = [f"c{i % 30}" for i in range(600)]
        fitted = encoder("category", [*common, *(f"r{i}" for i in range(100)), None])
        np.testing.assert_array_equal(encoded(fitted, ["r7", None])[:, -2:], np.eye(2))
        assert fitted.get_feature_names_out()[-2:].tolist() == ["it other", "it missing"]

    def test_at_most_fifty_levels_the_most_frequent_ones(self):
        values = [f"c{i:02}" for i in range(80) for _ in range(100 - i)]
        (part,) = encoder("category", values).parts_
        assert part.levels == tuple(f"c{i:02}" for i in range(50))
        assert part.other

    def test_all_levels_stay_where_they_are_few(self):
        (part,) = encoder("category", [f"c{i}" for i in range(50)]).parts_
        assert (len(part.levels), part.other) == (50, False)

    def test_numbers_as_labels_do_not_depend_on_their_type(self):
        fitted = encoder("category", ["1", "2", "2.5"])
        np.testing.assert_array_equal(encoded(fitted, [1.0, 2.0, 2.5]), np.eye(3))
        assert texts.convert_labels(pl.Series([1, 2])).to_list() == ["1", "2"]

    def test_no_level_at_all(self):
        fitted = encoder("category", [None, "NA"])
        np.testing.assert_array_equal(encoded(fitted, ["a", None]), [[0.0], [1.0]])


class TestDates:
    def test_days_agree_with_the_calendar(self):
        origin = datetime.datetime(1970, 1, 1)
        moments = [
            datetime.datetime(1600, 2, 29, 13, 5, 7) + datetime.timedelta(days=int(d))
            for d in RNG.integers(0, 250_000, 300)
        ]
        expected = [(moment - origin).total_seconds() / 86_400 for moment in moments]
        for form, style in [
            ("%Y-%m-%d %H:%M:%S", "iso"),
            ("%Y-%m-%dT%H:%M:%S", "iso"),
            ("%d.%m.%Y %H:%M:%S", "dmy"),
            ("%m/%d/%Y %I:%M:%S %p", "mdy"),
            ("%d-%b-%Y %H:%M:%S", "d mon y"),
            ("%B %d, %Y %H:%M:%S", "mon d y"),
        ]:
            written = pl.Series([moment.strftime(form) for moment in moments])
            values = dates.parse_days(written, style)
            assert not values.odd.any()
            np.testing.assert_allclose(values.numbers, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            dates.parse_days(pl.Series(moments)).numbers, expected, atol=1e-9
        )

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("1970-01-01T12:00:00Z", 0.5),
            ("1970-01-01 12:00+02:00", 10 / 24),
            ("1970-01-01 12:00-0230", 14.5 / 24),
            ("1970-01-01 12:00:30,5", 0.5 + 30.5 / 86_400),
            ("1970-01-01 12:30 PM", 12.5 / 24),
            ("1970-01-01 12:30 am", 0.5 / 24),
            ("1970-02", 31.0),
            ("1970/1/3", 2.0),
        ],
    )
    def test_zones_and_fractions(self, text, day):
        assert dates.parse_days(pl.Series([text])).numbers[0] == pytest.approx(day, abs=1e-12)

    @pytest.mark.parametrize(("text", "year"), [("1/1/68", 2068), ("1/1/69", 1969)])
    def test_years_of_two_digits(self, text, year):
        start = datetime.date(year, 1, 1) - datetime.date(1970, 1, 1)
        assert dates.parse_days(pl.Series([text]), "dmy").numbers[0] == start.days

    @pytest.mark.parametrize(
        "text", ["2020-02-30", "2019-02-29", "2020-13-01", "2020-00-10", "2020-01-00", "soon",
                 "2020-01-01 25:00", "2020-01-01 10:61"]
    )  # fmt: skip
    def test_days_that_do_not_exist_are_named(self, text):
        fitted = encoder("date", ["2020-01-01", "2020-01-02"])
        with pytest.raises(tables.CellError, match=f"'{text}' is not a date written as year-month"):
            encoded(fitted, [text])

    def test_time_is_standardised_and_missing_dates_are_marked(self):
        fitted = encoder("date", ["2020-01-01", "2020-01-03", "?"])
        assert fitted.get_feature_names_out().tolist() == ["it", "it missing"]
        np.testing.assert_allclose(
            encoded(fitted, ["2020-01-01", "2020-01-03", None]), [[-1, 0], [1, 0], [0, 1]]
        )

    @pytest.mark.parametrize(
        ("n_days", "step", "cycles"),
        [
            (13, 1, ""),
            (15, 1, "week"),
            (540, 7, ""),
            (560, 7, "year"),
            (560, 1, "year week"),
            (3653, 365.25, ""),
            (3653, 30.5, "year"),
            (3, 0.25, "day"),
        ],
    )
    def test_cycles_follow_from_the_span(self, n_days, step, cycles):
        start = datetime.datetime(2020, 3, 1)
        steps = np.arange(0.0, n_days + 1e-9, step)
        whole = steps if step < 1 else np.floor(steps)
        (part,) = encoder("date", [start + datetime.timedelta(days=s) for s in whole]).parts_
        assert " ".join(c for c in ("year", "week", "day") if getattr(part, c)) == cycles

    def test_cycles_are_cosines_and_sines_of_the_place_in_them(self):
        part = tables.DatePart("it", 0.0, 1.0, True, True, True, True)
        t = 365.2425 * 3 / 4
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=t)
        row = part.encode(pl.Series([moment, None]))
        angles = [2 * np.pi * t / period for period in (365.2425, 7, 1)]
        waves = [f(angle) for angle in angles for f in (np.cos, np.sin)]
        np.testing.assert_allclose(row[0], [t, *waves, 0.0], atol=1e-6)
        np.testing.assert_array_equal(row[1], [0.0] * 7 + [1.0])
        assert part.names()[1:3] == ("it cos of year", "it sin of year")
        assert part.width == len(part.names()) == 8

    def test_times_of_day_are_a_cycle(self):
        fitted = encoder("date", ["06:00", "18:00", "11:30 pm"], style="clock")
        clock = pl.Series([datetime.time(6), datetime.time(18), datetime.time(23, 30)])
        np.testing.assert_allclose(
            fitted.transform({"it": clock}), encoded(fitted, ["6:00", "6:00 PM", "23:30"])
        )
        assert fitted.parts_[0].day

    def test_whole_numbers_spell_dates(self):
        typed = dates.parse_days(pl.Series([19700103, None, 20201301]), "compact")
        np.testing.assert_array_equal(typed.numbers, [2.0, np.nan, np.nan])
        np.testing.assert_array_equal(typed.odd, [False, False, True])


class TestEncoder:
    def test_columns_that_are_absent_are_named_and_others_ignored(self):
        fitted = encoder("number", [1.0, 3.0])
        with pytest.raises(tables.TableError, match=r"no column 'it'.*Did you mean 'IT'"):
            fitted.transform({"IT": [1.0]})
        assert fitted.transform({"it": [2.0], "more": ["a"]}).shape == (1, 1)

    def test_no_rows(self):
        assert encoded(encoder("number", [1.0, 3.0]), []).shape == (0, 1)
        with pytest.raises(tables.TableError, match="no rows"):
            encoder("number", [])

    def test_lists_in_a_cell_are_refused(self):
        with pytest.raises(tables.TableError, match="contains values of type List"):
            encoded(encoder("number", [1.0, 3.0]), [[1, 2]])
        with pytest.raises(tables.TableError, match="contains values of type List"):
            encoded(encoder("category", ["a"]), [[1, 2]])

    def test_it_is_a_transformer_that_can_be_cloned(self):
        fitted = encoder("number", [1.0, 3.0])
        assert clone(fitted).get_params() == {"columns": fitted.columns, "keep_missing": False}

    def test_the_profile_sums_up_the_columns(self):
        numbers, labels = encoder("number", [0, 1, 2, 3, 4, None]), encoder("category", list("aab"))
        assert numbers.profile_[0].quantiles == (0.0, 1.0, 2.0, 3.0, 4.0)
        assert numbers.profile_[0].n_missing == 1
        assert (labels.profile_[0].levels, labels.profile_[0].counts) == (("a", "b"), (2, 1))


CELLS = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["", "NA", "?", "inf", "nan", "1e999", "1,5", "$3", "12:30", "2020-01-01"]),
    st.floats().map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from("abc"),
)
TYPED = st.one_of(
    st.lists(CELLS, min_size=2, max_size=30).map(lambda cells: pl.Series(cells, dtype=pl.String)),
    st.lists(st.floats(), min_size=2, max_size=30).map(pl.Series),
    st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=30).map(pl.Series),
    st.lists(st.booleans(), min_size=2, max_size=30).map(pl.Series),
    st.lists(st.datetimes(), min_size=2, max_size=30).map(pl.Series),
    st.lists(st.times(), min_size=2, max_size=30).map(pl.Series),
    st.integers(2, 30).map(lambda n: pl.Series([None] * n)),
)


@hypothesis.settings(max_examples=draws(60, least=10), deadline=None)
@hypothesis.given(
    fitted_to=TYPED, asked_of=TYPED, kind=st.sampled_from([None, "number", "category", "date"])
)
def test_whatever_the_cells_hold_numbers_or_a_table_error_come_out(fitted_to, asked_of, kind):
    n = len(fitted_to)
    frame = pl.DataFrame({"it": fitted_to, "x": RNG.normal(size=n), "y": RNG.normal(size=n)})
    asked = {} if kind is None else {kind: ["it"]}
    try:
        schema = tables.infer(frame, "y", keep=["it"], **asked)
        fitted = tables.TableEncoder(schema.inputs).fit(frame)
        assert np.isfinite(fitted.transform(frame)).all()
        X = fitted.transform(pl.DataFrame({"it": asked_of, "x": np.zeros(len(asked_of))}))
    except tables.TableError:
        return
    assert X.shape == (len(asked_of), len(fitted.get_feature_names_out()))
    assert np.isfinite(X).all()


@for_each("times", [1, 5])
def test_dates_that_come_again_are_read_as_each_alone(times):
    written = ["2024-02-29", "2023-02-29", None, "?", "2024-03-01 06:00", "soon"] * times
    together = dates.parse_days(pl.Series(written, dtype=pl.String))
    alone = [dates.parse_days(pl.Series([text], dtype=pl.String)) for text in written]
    np.testing.assert_array_equal(together.numbers, [one.numbers[0] for one in alone])
    assert together.odd.tolist() == [bool(one.odd[0]) for one in alone]
