"""What a table nobody prepared is taken to be."""

import datetime

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import tables

N = 60
RNG = np.random.default_rng(8)
Y = RNG.normal(size=N)
X = RNG.normal(size=N)
COLOURS = RNG.choice(["red", "green", "blue"], N)


def with_column(values, name="it", target=None):
    """A table with a column in question, an ordinary input and a target."""
    n = len(values)
    y = Y[:n] if target is None else target
    return pl.DataFrame({name: values, "x": X[:n], "y": y})


def inferred(values, name="it", target=None, **options):
    return tables.infer(with_column(values, name, target), "y", **options)


def column(schema, name="it"):
    return next(column for column in schema.inputs if column.name == name)


def dropped(schema):
    return {drop.name: drop.why for drop in schema.dropped}


def texts(values):
    return [f"{value:.4f}" for value in values]


class TestKinds:
    @pytest.mark.parametrize(
        "form",
        [
            "{:.3f}",
            "{:+.3f}",
            " {:.3f} ",
            "{:.3e}",
            "${:,.2f}",
            "{:,.2f}",
            "{:.1f}%",
            "{:.2f} \u20ac",
        ],
    )
    def test_texts_of_numbers_are_numbers(self, form):
        seen = column(inferred([form.format(1234.5 + 1000.0 * value) for value in X[::-1]]))
        assert (seen.kind, seen.style, seen.n_missing) == ("number", "", 0)

    def test_decimal_commas_are_seen_where_points_are_not(self):
        values = [f"{value:.2f}".replace(".", ",") for value in X[::-1]]
        assert column(inferred(values)).style == "comma"

    def test_three_digits_after_every_comma_are_thousands(self):
        values = [f"{1000 + i * 37:,}" for i in range(N)][::-1]
        seen = column(inferred(values))
        assert (seen.kind, seen.style) == ("number", "")

    @pytest.mark.parametrize(
        "word", ["", "NA", "n/a", "NaN", "null", "None", "-", "?", ".", "#N/A", "missing", " na "]
    )
    def test_words_for_missing_values_do_not_make_numbers_texts(self, word):
        values = [word if i % 3 == 0 else text for i, text in enumerate(texts(X[::-1]))]
        seen = column(inferred(values))
        assert (seen.kind, seen.n_missing, seen.lenient) == ("number", N // 3, False)

    def test_a_column_that_begins_with_a_thousand_missing_words_is_still_of_numbers(self):
        values = ["NA"] * 1500 + texts(RNG.normal(size=500))
        frame = pl.DataFrame({"it": values, "x": RNG.normal(size=2000), "y": RNG.normal(size=2000)})
        assert column(tables.infer(frame, "y")).kind == "number"

    @pytest.mark.parametrize("word", ["", "NA", "n/a", "null", "nan", "None"])
    def test_words_for_missing_labels_are_missing(self, word):
        seen = column(inferred([word, *COLOURS[1:]]))
        assert (seen.kind, seen.n_missing, seen.n_distinct) == ("category", 1, 3)

    @pytest.mark.parametrize("word", ["?", "-", "missing", "."])
    def test_other_words_are_labels_like_any(self, word):
        assert column(inferred([word, *COLOURS[1:]])).n_distinct == 4

    def test_one_text_in_a_hundred_is_taken_as_missing_and_said(self):
        schema = inferred(["oops", *texts(X[:0:-1])])
        seen = column(schema)
        assert (seen.kind, seen.n_missing, seen.lenient) == ("number", 1, True)
        assert "1 text treated as missing" in seen.why

    def test_a_decimal_comma_needs_more_than_a_draw(self):
        seen = column(inferred(["oops", *(str(i % 40) for i in range(N - 1))]))
        assert (seen.kind, seen.style) == ("number", "")

    def test_more_odd_texts_make_labels_with_a_note(self):
        values = ["low"] * 5 + ["high"] * 5 + texts(np.tile(X[:5], 10))
        schema = inferred(values)
        assert column(schema).kind == "category"
        assert any("'low'" in note and "--number it" in note for note in schema.notes)

    def test_whole_numbers_with_few_values_stay_numbers(self):
        assert column(inferred([str(i % 2) for i in range(N)])).kind == "number"

    @pytest.mark.parametrize("pair", [("true", "false"), ("yes", "no"), (True, False)])
    def test_two_words_are_a_category_of_two_levels(self, pair):
        seen = column(inferred([pair[i % 3 == 0] for i in range(N)]))
        assert (seen.kind, seen.n_distinct) == ("category", 2)

    @pytest.mark.parametrize(
        ("form", "style"),
        [
            ("%Y-%m-%d", "iso"),
            ("%Y/%m/%d", "iso"),
            ("%Y-%m-%dT%H:%M:%S", "iso"),
            ("%Y-%m-%d %H:%M:%S.%f", "iso"),
            ("%d.%m.%Y", "dmy"),
            ("%d/%m/%Y", "dmy"),
            ("%m/%d/%Y", "mdy"),
            ("%m/%d/%Y %I:%M %p", "mdy"),
            ("%m/%d/%y", "mdy"),
            ("%d %b %Y", "d mon y"),
            ("%B %d, %Y", "mon d y"),
            ("%H:%M", "clock"),
        ],
    )
    def test_dates_are_read_as_they_are_written(self, form, style):
        start = datetime.datetime(2019, 3, 5)
        values = [
            (start + datetime.timedelta(days=int(d), minutes=7 * int(d))).strftime(form)
            for d in RNG.permutation(N) * 11
        ]
        seen = column(inferred(values))
        assert (seen.kind, seen.style, seen.lenient) == ("date", style, False)

    def test_dates_that_fit_both_ways_are_said_to(self):
        values = [f"{1 + i % 12}/{1 + i * 5 % 12}/2020" for i in RNG.permutation(N)]
        seen = column(inferred(values))
        assert seen.style == "mdy"
        assert "could be swapped" in seen.why
        with_points = [value.replace("/", ".") for value in values]
        assert column(inferred(with_points)).style == "dmy"

    def test_the_order_of_the_file_tells_day_from_month(self):
        values = [f"{day}/{month}/2020" for month in range(1, 6) for day in range(1, 13)]
        seen = column(inferred(values))
        assert seen.style == "dmy"
        assert "could be swapped" not in seen.why

    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([datetime.date(2020, 1, 1 + i % 28) for i in range(N)], "date"),
            ([datetime.datetime(2020, 1, 1 + i % 28, 3) for i in range(N)], "date"),
            ([datetime.time(i % 24, 3) for i in range(N)], "date"),
            ([datetime.timedelta(days=i % 9) for i in range(N)], "number"),
            (pl.Series(COLOURS, dtype=pl.Categorical), "category"),
            (pl.Series(["1", "2", "3"] * 20, dtype=pl.Categorical), "category"),
        ],
    )
    def test_types_are_taken_at_their_word(self, values, kind):
        assert column(inferred(values)).kind == kind

    def test_seconds_since_1970_are_numbers(self):
        assert column(inferred([1_700_000_000 + 86_399 * (i % 40) for i in range(N)])).kind == (
            "number"
        )

    @pytest.mark.parametrize("kind", [int, float, str])
    def test_whole_numbers_that_are_all_days_of_the_calendar_are_dates(self, kind):
        codes = [20_200_101 + 100 * (i % 12) + i % 28 for i in range(N)]
        seen = column(inferred([kind(code) for code in codes]))
        assert (seen.kind, seen.style, seen.lenient) == ("date", "compact", False)
        assert column(inferred([kind(code) for code in codes], number=["it"])).kind == "number"
        for shift in (90, 1_300_000, -1_300_000):
            assert column(inferred([kind(code + shift) for code in codes])).kind == "number"

    def test_what_a_person_says_is_done(self):
        codes = [str(20_200_101 + i % 9) for i in range(N)]
        assert column(inferred(codes)).kind == "number"
        assert column(inferred(codes, category=["it"])).kind == "category"
        asked = column(inferred(codes, date=["it"]))
        assert (asked.kind, asked.style, asked.n_missing) == ("date", "compact", 0)
        words = ["a lot"] * 20 + texts(np.tile(X[:20], 2))
        assert column(inferred(words, number=["it"])).n_missing == 20


class TestLeftOut:
    def test_constant_and_empty_columns(self):
        assert "same value" in dropped(inferred(["a"] * N))["it"]
        assert "no value" in dropped(inferred([None] * N))["it"]
        assert "no value" in dropped(inferred(["NA"] * N))["it"]
        assert inferred([3.0] * N, keep=["it"]).dropped[0].final
        frame = {"a": ["b"] * N, "c": ["d"] * N, "x": X, "y": Y}
        said = tables.describe_schema(tables.infer(frame, "y"), frame)
        assert "Excluded: 'a', 'c', because each has the same value in every row." in said

    def test_one_label_or_nothing_says_something(self):
        assert column(inferred(["Y" if i % 3 else None for i in range(N)])).n_distinct == 1

    def test_texts_of_their_own_in_every_row(self):
        assert "identifier" in dropped(inferred([f"p{i}" for i in range(N)]))["it"]
        assert column(inferred([f"p{i}" for i in range(N)], keep=["it"])).kind == "category"

    @pytest.mark.parametrize("name", ["id", "ID", "PassengerId", "customer_id", "Unnamed: 0", ""])
    def test_unique_whole_numbers_named_like_identifiers(self, name):
        values = [str(7 * i + 3) for i in RNG.permutation(N)]
        assert "identifier" in dropped(inferred(values, name=name))[name]
        assert column(inferred(values, name=name, keep=[name]), name).kind == "number"

    @pytest.mark.parametrize("name", ["humid", "paid", "grid", "volcano"])
    def test_names_that_only_end_alike_are_left_alone(self, name):
        values = [str(7 * i + 3) for i in RNG.permutation(N)]
        assert column(inferred(values, name=name), name).kind == "number"

    @pytest.mark.parametrize("first", [0, 1])
    def test_counters_of_rows_but_not_time(self, first):
        values = list(range(first, first + N))
        assert "counts the rows" in dropped(inferred(values))["it"]
        assert column(inferred(values, name="month"), "month").kind == "number"
        assert column(inferred([1960 + i for i in values], name="y0"), "y0").kind == "number"

    def test_an_identifier_that_repeats_is_pointed_out(self):
        schema = inferred([i % 7 for i in range(N)], name="shop_id")
        assert column(schema, "shop_id").kind == "number"
        assert any("--category shop_id" in note for note in schema.notes)

    def test_free_text(self):
        values = [f"a long story about the number {i}, told at leisure" for i in range(N)]
        assert "free text" in dropped(inferred(values))["it"]

    def test_texts_that_differ_in_most_rows(self):
        assert "most rows" in dropped(inferred([f"p{i * 3 // 4}" for i in range(N)]))["it"]

    @pytest.mark.parametrize(("n_levels", "kept"), [(100, True), (900, False)])
    def test_many_levels_need_some_that_are_frequent(self, n_levels, kept):
        n = 2000
        frame = {"it": [f"p{i % n_levels}" for i in range(n)], "x": RNG.normal(size=n)}
        schema = tables.infer({**frame, "y": RNG.normal(size=n)}, "y")
        assert ("it" not in dropped(schema)) == kept

    @pytest.mark.parametrize("target", [COLOURS, None])
    def test_a_copy_of_the_target(self, target):
        y = Y if target is None else target
        schema = inferred(y, target=target)
        assert "equal to the target" in dropped(schema)["it"]
        assert any("--keep it" in note for note in schema.notes)
        assert column(inferred(y, target=target, keep=["it"])).name == "it"

    @pytest.mark.parametrize("values", [32.0 + 1.8 * Y, -Y, texts(1000.0 * Y + 5.0)])
    def test_the_target_in_other_units(self, values):
        assert "other units" in dropped(inferred(values))["it"]

    @pytest.mark.parametrize("curve", [np.exp, lambda y: -(y**3)])
    def test_a_curve_of_the_target(self, curve):
        y = RNG.normal(size=200)
        frame = {"it": curve(y), "x": RNG.normal(size=200), "y": y}
        assert "strictly monotonic" in dropped(tables.infer(frame, "y"))["it"]
        frame["it"][:2] = frame["it"][1::-1]
        assert "it" not in dropped(tables.infer(frame, "y"))

    def test_a_strong_relation_is_no_copy(self):
        assert column(inferred(Y + 1e-3 * X)).kind == "number"

    def test_labels_that_stand_for_classes(self):
        codes = {"red": "R", "green": "G", "blue": "B"}
        values = [codes[colour] for colour in COLOURS]
        assert "corresponds to" in dropped(inferred(values, target=COLOURS))["it"]
        numbers = [float("RGB".index(code)) for code in values]
        assert "corresponds to" in dropped(inferred(numbers, target=COLOURS))["it"]
        mixed = ["R", *values[1:-1], "G" if values[-1] != "G" else "B"]
        assert column(inferred(mixed, target=COLOURS)).kind == "category"

    def test_labels_that_determine_the_target(self):
        finer = [f"{colour}{i % 2}" for i, colour in enumerate(COLOURS)]
        assert "determine" in dropped(inferred(finer, target=COLOURS))["it"]
        level = {"red": 1.5, "green": 2.5, "blue": 7.25, "red0": 0.0}
        y = [level[colour] for colour in COLOURS]
        assert "determine" in dropped(inferred(COLOURS, target=y, task="regression"))["it"]

    def test_few_rows_prove_no_relation(self):
        assert column(inferred([2.0, 3.0, 5.0, 9.0], target=[1.0, 2.5, 4.0, 8.0])).name == "it"

    def test_the_second_of_two_copies(self):
        schema = inferred(X)
        assert dropped(schema) == {"x": "it is a copy of 'it'"}
        assert dropped(inferred([str(value) for value in X])) == {"x": "it is a copy of 'it'"}
        holes = {"a": [None if i % 3 else 1.5 for i in range(N)], "y": Y}
        holes["b"] = [0.0 if i % 3 else 1.5 for i in range(N)]
        assert not tables.infer(holes, "y").dropped
        labels = pl.DataFrame({"a": COLOURS, "b": COLOURS, "y": Y})
        assert dropped(tables.infer(labels, "y")) == {"b": "it is a copy of 'a'"}

    def test_nested_values(self):
        schema = inferred([[1, 2]] * N)
        assert "List" in dropped(schema)["it"]

    def test_a_suspect_is_used_where_nothing_else_is_left(self):
        frame = pl.DataFrame({"x": X, "y": 2.0 * X + 1.0})
        schema = tables.infer(frame, "y")
        assert [seen.name for seen in schema.inputs] == ["x"]
        assert not schema.dropped
        assert any("because there is no other" in note for note in schema.notes)

    def test_as_asked(self):
        schema = inferred(texts(X[::-1]), drop=["it"])
        assert "it" in dropped(schema)
        assert "Excluded as requested: 'it'." in tables.describe_schema(schema, with_column(X))


class TestTarget:
    @pytest.mark.parametrize(
        ("values", "task", "classes"),
        [
            (COLOURS, "classification", ("blue", "green", "red")),
            ([i % 2 == 0 for i in range(N)], "classification", ("false", "true")),
            ([f"{i % 2}" for i in range(N)], "classification", ("0", "1")),
            ([0.5 + i % 2 for i in range(N)], "classification", ("0.5", "1.5")),
            ([8 + i % 10 for i in range(N)], "classification", tuple(map(str, range(8, 18)))),
            ([float(i % 11) for i in range(N)], "regression", ()),
            ([0.5 + i % 3 for i in range(N)], "regression", ()),
            ([f"${value:,.2f}" for value in 1e4 * Y], "regression", ()),
        ],
    )
    def test_the_task_follows_from_the_values(self, values, task, classes):
        schema = inferred(texts(X[::-1]), target=values)
        assert (schema.task, schema.classes) == (task, classes)

    def test_whole_numbers_as_classes_are_said_and_can_be_amounts(self):
        values = [1 + i % 5 for i in range(N)]
        schema = inferred(texts(X[::-1]), target=values)
        assert any("--task regression" in note for note in schema.notes)
        assert inferred(texts(X[::-1]), target=values, task="regression").task == "regression"

    def test_few_rows_of_different_whole_numbers_are_amounts(self):
        frame = {"x": [1.0, 2.5, 3.0, 4.5], "y": [10, 21, 29, 46]}
        assert tables.infer(frame, "y").task == "regression"

    def test_a_close_name_is_proposed(self):
        with pytest.raises(tables.TableError, match=r"no column 'Prize'.*Did you mean 'price'"):
            tables.infer({"price": Y, "x": X}, "Prize")

    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            ([None] * N, {}, "no row has"),
            ([1.0] + [None] * (N - 1), {}, "only one row"),
            (["a"] * N, {}, "same value in every row"),
            ([f"p{i % 52}" for i in range(N)], {}, "distinct values"),
            ([f"p{i}" for i in range(N)], {}, "too many for classes"),
            (Y, {"task": "classification"}, "--task regression"),
            (["12", "n/a", "abc", "4"] * 15, {"task": "regression"}, "Row 3, column 'y': 'abc'"),
            ([datetime.date(2020, 1, 1 + i % 28) for i in range(N)], {}, "dates"),
            (
                [datetime.date(2020, 1, 1 + i % 28) for i in range(N)],
                {"task": "regression"},
                "dates",
            ),
            ([f"2020-01-{1 + i % 28:02}" for i in range(N)], {}, "dates"),
            ([*Y[1:], np.inf], {}, "Row 60, column 'y': 'inf' is infinite"),
        ],
    )
    def test_what_cannot_be_predicted_is_refused_with_a_sentence(self, values, options, message):
        with pytest.raises(tables.TableError, match=message):
            inferred(texts(X[::-1]), target=values, **options)

    def test_dates_can_be_classes_where_that_is_asked(self):
        days = [f"2020-01-{1 + i % 3:02}" for i in range(N)]
        schema = inferred(texts(X[::-1]), target=days, task="classification")
        assert schema.classes == ("2020-01-01", "2020-01-02", "2020-01-03")

    def test_a_class_with_a_single_row_is_pointed_out(self):
        schema = inferred(texts(X[::-1]), target=["violet", *COLOURS[1:]])
        assert any("'violet' is a class" in note for note in schema.notes)


class TestRefusals:
    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_rows(self, n):
        with pytest.raises(tables.TableError, match="at least 2"):
            tables.infer(with_column(["a"] * n), "y")

    def test_two_rows_will_do(self):
        assert tables.infer({"x": [1.0, 2.0], "y": [0.5, 3.5]}, "y").task == "regression"

    @pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
    def test_infinite_numbers_are_named(self, cell):
        values = texts(X[::-1])
        values[7] = cell
        with pytest.raises(tables.TableError, match=f"Row 8, column 'it': '{cell}' is infinite"):
            inferred(values)
        assert "it" in dropped(inferred(values, drop=["it"]))

    def test_no_input_left(self):
        with pytest.raises(tables.TableError, match=r"No column is left.*'a': it has the same"):
            tables.infer({"a": ["b"] * N, "y": Y}, "y")
        with pytest.raises(tables.TableError, match="No column is left"):
            tables.infer({"y": Y}, "y")

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"drop": ["z"]}, tables.TableError, "no column 'z'"),
            ({"drop": ["y"]}, tables.TableError, "is the target"),
            ({"number": ["x"], "date": ["x"]}, tables.TableError, "both number and date"),
            ({"drop": ["x"], "keep": ["x"]}, tables.TableError, "both drop and keep"),
            ({"task": "ranking"}, ValueError, "'ranking'"),
            ({"drop": "x"}, TypeError, "sequence of names"),
        ],
    )
    def test_wishes_that_cannot_be_followed(self, options, error, message):
        with pytest.raises(error, match=message):
            inferred(texts(X[::-1]), **options)


@pytest.mark.full
def test_three_hundred_columns_of_fifty_rows():
    wide = {f"x{i}": RNG.normal(size=50) for i in range(300)}
    assert len(tables.infer({**wide, "y": Y[:50]}, "y").inputs) == 300


def test_sentences_say_what_was_inferred_and_how_to_change_it():
    frame = pl.DataFrame(
        {
            "-id": [f"p{i}" for i in range(N)],
            "size": [f"{value:.2f}".replace(".", ",") for value in X],
            "city": [f"town {i % 55}" for i in RNG.permutation(10 * N)][:N],
            "day": [f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)],
            "colour": [None, *COLOURS[1:]],
            "y": [None, *Y[1:]],
        }
    )
    said = " ".join(tables.describe_schema(tables.infer(frame, "y", keep=["city"]), frame))
    for part in (
        "regression on 59 rows, 1 more without a target",
        "--task classification",
        "1 input is read as a number: 'size' (--category COL or --date COL",
        "2 inputs are read as categories: 'city', 'colour' (--number COL",
        "1 input is read as a date: 'day' (--category COL",
        "'size' is read as numbers with a decimal comma.",
        "1 value is missing in the inputs",
        "'colour' (1)",
        "(--keep=-id to change)",
    ):
        assert part in said


@pytest.mark.parametrize("kind", ["pandas", "dict", "lazy"])
def test_tables_of_other_libraries_are_read_alike(kind):
    pandas = pytest.importorskip("pandas")
    columns = {
        "size": [1.5, None, 2.5],
        "n": [1, 2, 3],
        "colour": ["red", None, "blue"],
        "day": [datetime.datetime(2020, 1, day) for day in (1, 2, 3)],
    }
    make = {"pandas": pandas.DataFrame, "dict": dict, "lazy": pl.LazyFrame}[kind]
    frame = tables.as_frame(make(columns))
    assert frame["size"].to_list() == columns["size"]
    assert frame["n"].dtype == pl.Int64
    assert frame["colour"].to_list() == columns["colour"]
    assert frame["day"].to_list() == columns["day"]


def test_pandas_types_with_their_own_missing_values():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "n": pandas.array([1, None, 3], dtype="Int64"),
            "c": pandas.Categorical(["a", None, "b"]),
            "k": pandas.Categorical([1, None, 2]),
            "o": ["a", 1, None],
            "z": pandas.to_datetime(["2020-01-01", None, "2020-01-03"]).tz_localize("UTC"),
        }
    )
    frame = tables.as_frame(table)
    assert frame["n"].to_list() == [1, None, 3]
    assert frame["c"].to_list() == ["a", None, "b"]
    assert (frame["k"].dtype, frame["k"].to_list()) == (pl.Categorical, ["1", None, "2"])
    assert frame["o"].to_list() == ["a", "1", None]
    assert frame["z"].null_count() == 1


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="not list"):
        tables.as_frame([[1, 2]])
    with pytest.raises(ValueError, match="do not form a table"):
        tables.as_frame({"a": [1], "b": [1, 2]})


def test_rows_that_repeat_others_are_pointed_out():
    x, noise = np.random.default_rng(0).normal(size=(2, 40))
    rows = pl.DataFrame({"x": x, "k": ["a", "b"] * 20, "y": x + noise})
    notes = tables.infer(pl.concat([rows] * 3), "y").notes
    assert any(note.startswith("80 of 120 rows are exact duplicates") for note in notes)
    assert not any("repeat" in note for note in tables.infer(rows, "y").notes)


def test_rows_of_labels_are_equal_by_nature():
    frame = pl.DataFrame({"k": ["a", "b"] * 30, "m": ["u", "u", "v"] * 20, "y": ["1", "0"] * 30})
    assert not any("repeat" in note for note in tables.infer(frame, "y", keep=["k"]).notes)


def test_long_names_are_cut_where_they_are_listed():
    frame = {"x" * 300: [1.0, 2.0, 4.0], "y": [1.5, 2.5, 9.0]}
    said = tables.describe_schema(tables.infer(frame, "y"), frame)
    assert all(len(sentence) < 200 for sentence in said)


@for_each(
    ("written", "is_code"),
    [("{:05d}", True), ("{:d}", False), ("{:02d}", False), ("1{:04d}", False)],
)
def test_digits_filled_with_zeros_are_codes(written, is_code):
    values = np.random.default_rng(0).integers(1, 20, 50)
    y = np.random.default_rng(1).normal(size=50)
    frame = pl.DataFrame({"zip": [written.format(value) for value in values], "y": y})
    schema = tables.infer(frame, "y")
    assert schema.inputs[0].kind == ("category" if is_code else "number")
    assert any("--number zip" in note for note in schema.notes) == is_code
    assert tables.infer(frame, "y", number=["zip"]).inputs[0].kind == "number"


def test_a_target_that_is_no_number_is_told():
    x = np.random.default_rng(0).normal(size=60)
    frame = pl.DataFrame({"x": x, "y": ["oops", *(f"{value:.3f}" for value in x[1:] ** 2)]})
    said = tables.describe_schema(tables.infer(frame, "y"), frame)
    assert "1 more without a target is excluded" in said[0]
    assert "'y' is read as numbers, 1 text treated as missing: 'oops'." in said


def test_many_classes_of_one_row_are_counted():
    labels = ["a", "b"] * 20 + [f"c{n}" for n in range(8)]
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=48), "y": labels})
    notes = tables.infer(frame, "y").notes
    assert any(note.startswith("'c0', 'c1', 'c2', 'c3', 'c4' and 3 more are") for note in notes)
