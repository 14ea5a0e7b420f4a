"""Tables as people keep them: each peculiarity is read as meant, and said."""

import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from support.workbooks import write_workbook

from posterity import (
    BayesianLinearRegression,
    RandomForestClassifier,
    RandomForestRegressor,
    persistence,
    tables,
)
from posterity.tables import dates, texts

N = 60
RNG = np.random.default_rng(23)
X, Y = RNG.normal(size=(2, N))


def inferred(values, target=Y, **options):
    frame = pl.DataFrame({"it": values, "x": X[: len(values)], "y": target}, strict=False)
    return tables.infer(frame, "y", **options), frame


def read(values, **options):
    """The column in question, and all that is said of the table."""
    schema, frame = inferred(values, **options)
    found = next((column for column in schema.inputs if column.name == "it"), None)
    return found, " ".join(tables.describe_schema(schema, frame))


def numbers(values, **options):
    column, said = read(values, **options)
    return texts.require_numbers(pl.Series("it", values), column), column, said


class TestLabels:
    def test_spellings_of_one_word_are_one_class_here_and_in_new_rows(self):
        answers = ["Yes", "No", "NO", "no ", "yes", "Yes"] * 10
        schema, frame = inferred(X[::-1].tolist(), target=answers)
        assert schema.classes == ("No", "Yes") or schema.classes == ("NO", "Yes")
        (note,) = (note for note in schema.notes if "differ only by case" in note)
        assert "'yes' as 'Yes' (--exact y to keep them apart)" in note
        assert "blanks around 10 labels are ignored" in note
        model = tables.TableModel(RandomForestClassifier(n_estimators=3), schema).fit(frame)
        places, has_target = model.encode_targets({"y": ["nO", "YES", " no", ""]})
        assert places.tolist() == [0, 1, 0, -1]
        assert has_target.tolist() == [True, True, True, False]

    def test_they_stay_apart_where_that_is_asked(self):
        schema, _ = inferred(X[::-1].tolist(), target=["Yes", "No", "NO"] * 20, exact=["y"])
        assert schema.classes == ("NO", "No", "Yes")
        assert not any("case" in note for note in schema.notes)

    def test_categories_are_merged_alike_and_encoded_so(self):
        column, said = read(["Red", "red", "RED", "blue"] * 15)
        assert (column.n_distinct, column.spellings) == (2, ("RED",))
        assert "'Red' and 'red' as 'RED' (--exact it to keep them apart)" in said
        fitted = tables.TableEncoder((column,)).fit({"it": ["Red", "red", "blue"]})
        assert fitted.transform({"it": ["rEd", "RED", "blue"]}).tolist() == [[1, 0], [1, 0], [0, 1]]

    @pytest.mark.parametrize("labels", [["aB", "Ab", "ab"], ["k", "K", "x"]])
    def test_codes_that_differ_by_case_are_not_words(self, labels):
        column, said = read(labels * 20)
        assert (column.n_distinct, column.spellings) == (3, ())
        assert "case" not in said


class TestMissingWords:
    @pytest.mark.parametrize("word", ["k.A.", "unknown", "UNBEKANNT", "not available", "#DIV/0!"])
    def test_words_for_nothing_among_numbers_are_missing_and_said(self, word):
        values = [word if i % 5 == 0 else f"{x:.3f}" for i, x in enumerate(X[::-1])]
        found, column, said = numbers(values)
        assert (column.kind, column.n_missing, column.lenient) == ("number", 12, False)
        assert np.isnan(found).sum() == 12
        assert f"'it' is read as numbers, '{word}' as missing." in said
        with pytest.raises(tables.CellError, match="'high' is not a number"):
            texts.require_numbers(pl.Series("it", ["1", "high"]), column)

    def test_other_words_are_offered_as_missing_and_are_if_asked(self):
        values = ["low" if i % 5 == 0 else f"{x:.3f}" for i, x in enumerate(X[::-1])]
        column, said = read(values)
        assert column is None or column.kind == "category"
        assert "--missing low counts it as missing" in said
        asked, _ = read(values, missing=["LOW"])
        assert (asked.kind, asked.n_missing, asked.missing_words) == ("number", 12, ("LOW",))

    @pytest.mark.parametrize("kind", [str, float, int])
    def test_a_number_asked_for_is_missing_in_text_and_in_numbers(self, kind):
        values = [kind(-999) if i % 6 == 0 else kind(i) for i in range(N)]
        _, said = read(values)
        assert "'it' is -999 in 10 rows" in said
        assert "--missing=-999" in said
        asked, said = read(values, missing=["-999"])
        assert (asked.n_missing, "far from" in said) == (10, False)
        fitted = tables.TableEncoder((asked,)).fit({"it": values})
        assert fitted.parts_[0].mean == np.mean([i for i in range(N) if i % 6])
        assert fitted.transform({"it": [kind(-999)]}).tolist() == [[0.0, 1.0]]

    def test_a_column_of_categories_stays_one_without_them(self):
        cells = pl.Series(["1", "2", "-999"] * 20, dtype=pl.Categorical)
        column, _ = read(cells, missing=["-999"])
        assert (column.kind, column.n_missing, column.n_distinct) == ("category", 20, 2)

    @pytest.mark.parametrize(
        ("extremes", "is_sentinel"),
        [
            ([9999.0] * 3, True),
            ([99.0] * 3, True),
            ([99.0] * 2, False),
            ([4.0] * 3, False),
            ([-1e4] * 3, True),
            ([9999.0, 9998.0, 9997.0], False),
        ],
    )
    def test_only_repeated_numbers_far_outside_are_pointed_out(self, extremes, is_sentinel):
        _, said = read([*extremes, *X[: N - len(extremes)]])
        assert ("far from its other values" in said) == is_sentinel

    def test_in_the_target_too(self):
        schema, _ = inferred(X[::-1].tolist(), target=[-999.0] * 4 + Y[4:].tolist())
        assert any("'y' is -999 in 4 rows" in note for note in schema.notes)
        schema, frame = inferred(
            X[::-1].tolist(), target=[-999.0] * 4 + Y[4:].tolist(), missing=["-999"]
        )
        assert "56 rows, 4 more without a target" in tables.describe_schema(schema, frame)[0]

    @pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
    def test_infinite_numbers_can_be_counted_as_missing(self, cell):
        values = [cell, *(f"{x:.3f}" for x in X[1:])]
        with pytest.raises(tables.CellError, match=f"is infinite .*--missing={cell}"):
            read(values)
        assert read(values, missing=[cell])[0].n_missing == 1


class TestUnits:
    @pytest.mark.parametrize(
        ("written", "unit"),
        [
            ("{:.1f} kg", "kg"),
            ("{:.1f}F", "F"),
            ("{:.1f} %", "%"),
            ("$ {:,.2f}", "$"),
            ("{:.2f} \u20ac", "\u20ac"),
            ("{:.1f} \u00b0C", "\u00b0C"),
            ("{:.1f} mg/dL", "mg/dL"),
        ],
    )
    def test_one_unit_is_read_and_said(self, written, unit):
        found, column, said = numbers([written.format(1e4 + 1e3 * x) for x in X])
        assert (column.kind, column.unit, column.lenient) == ("number", unit, False)
        np.testing.assert_allclose(found, 1e4 + 1e3 * X, atol=0.051)
        assert f"'it' is read as numbers in {unit}." in said
        with pytest.raises(tables.CellError, match="'5 lb' is not a number in "):
            texts.require_numbers(pl.Series("it", ["5 lb"]), column)

    @pytest.mark.parametrize(
        ("first", "second"), [("{} kg", "{} lb"), ("${}", "\u20ac{}"), ("{} kg", "{}%")]
    )
    def test_two_units_are_never_mixed(self, first, second):
        values = [(first if i % 3 else second).format(i % 20) for i in range(N)]
        column, said = read(values)
        assert column is None or column.kind == "category"
        assert "numbers in 2 units" in said
        assert "which are not mixed" in said
        asked, said = read(values, number=["it"])
        assert asked.n_missing == 20
        assert "20 texts treated as missing" in said

    def test_brackets_are_negative_amounts(self):
        found, _, said = numbers(
            [f"({abs(v):,})" if v < 0 else f"{v:,}" for v in range(-3000, 3000, 100)]
        )
        assert found.tolist() == list(range(-3000, 3000, 100))
        assert "those in brackets as negative" in said

    def test_a_number_that_is_asked_for_must_be_one(self):
        with pytest.raises(
            tables.TableError, match=r"none of its values is a number: row 1 is 'a'"
        ):
            read(["a", "b", "c"] * 20, number=["it"])
        with pytest.raises(tables.TableError, match="none of its values is a date"):
            read(["a", "b", "c"] * 20, date=["it"])


class TestWholeNumbers:
    @pytest.mark.parametrize("kind", [int, str])
    def test_those_that_floats_cannot_tell_apart_are_labels(self, kind):
        column, said = read([kind(2**60 + i) for i in range(N)])
        assert column is None
        assert "whole numbers above 2^53" in said
        assert "different text in every row" in said
        column, _ = read([kind(2**60 + i % 7) for i in range(N)])
        assert (column.kind, column.n_distinct) == ("category", 7)
        column, _ = read([kind(2**60 + 1024 * i) for i in RNG.permutation(N)])
        assert (column.kind, column.n_distinct) == ("number", N)

    def test_a_counter_that_predicts_is_kept_and_one_that_does_not_is_not(self):
        cycles = list(range(1, N + 1))
        schema, _ = inferred(cycles, target=np.sin(np.arange(N) / 8.0) + 0.1 * Y)
        assert schema.inputs[0].name == "it"
        assert any("counts the rows" in note and "--drop it" in note for note in schema.notes)
        schema, _ = inferred(cycles, target=["a"] * 30 + ["b"] * 30)
        assert schema.inputs[0].name == "it"
        schema, _ = inferred(cycles)
        assert "tells nothing of the target" in schema.dropped[0].why


class TestDates:
    def test_two_styles_that_cannot_be_confused_are_both_read(self):
        days = [f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)]
        other = [f"{d[8:]}.{d[5:7]}.{d[:4]}" if i % 3 else d for i, d in enumerate(days)]
        column, said = read(other)
        assert (column.kind, column.style) == ("date", "iso+dmy")
        assert "dates written as year-month-day or day/month/year" in said
        same = dates.parse_days(pl.Series(days))
        np.testing.assert_array_equal(
            dates.parse_days(pl.Series(other), "iso+dmy").numbers, same.numbers
        )

    def test_day_first_and_month_first_are_read_where_each_is_clear(self):
        values = [
            f"{13 + i % 15}/{1 + i % 12}/2020" if i % 2 else f"{1 + i % 12}/{13 + i % 15}/2020"
            for i in range(N)
        ]
        column, _ = read(values)
        assert (column.kind, column.style, column.n_missing) == ("date", "dmy+mdy", 0)
        with pytest.raises(tables.CellError, match=r"Row 2.*'3/4/2020'.*or could be either"):
            dates.require_days(pl.Series("it", ["3/3/2020", "3/4/2020"]), column)
        values[7::9] = ["3/4/2020"] * len(values[7::9])
        column, said = read(values)
        assert column is None or column.kind == "category"
        assert "such as '3/4/2020' in row 8, could be either" in said


class TestManyLevels:
    """Means of the target in each level, as an independent computation has them."""

    def rows(self, n=600, n_levels=80, seed=0):
        rng = np.random.default_rng(seed)
        effect = rng.normal(size=n_levels)
        level = rng.integers(n_levels, size=n)
        y = effect[level] + 0.5 * rng.normal(size=n)
        return pl.DataFrame({"it": [f"town {i}" for i in level]}), y, level

    def test_new_rows_get_the_shrunken_mean_of_their_level(self):
        frame, y, level = self.rows()
        fitted = tables.TableEncoder((tables.Column("it", "category"),)).fit(frame, y)
        (part,) = fitted.parts_
        n = np.array([np.sum(level == k) for k in range(80)])
        means = np.array([y[level == k].mean() for k in range(80)])
        within = sum(np.sum((y[level == k] - means[k]) ** 2) for k in range(80)) / (600 - 80)
        between = np.sum(n * (means - y.mean()) ** 2) / 79
        tau2 = (between - within) / ((600 - np.sum(n**2) / 600) / 79)
        expected = (tau2 * n * means + within * y.mean()) / (tau2 * n + within)
        asked = pl.DataFrame({"it": [f"town {k}" for k in range(80)] + ["elsewhere", None]})
        found = fitted.transform(asked)[:, 0] * part.scale + part.centre
        np.testing.assert_allclose(found, [*expected, y.mean(), y.mean()], rtol=1e-12)
        assert abs(within - 0.25) < 0.05
        assert abs(tau2 - 1.0) < 0.4

    def test_the_value_of_a_training_row_does_not_depend_on_its_own_target(self):
        frame, y, _ = self.rows()
        columns = (tables.Column("it", "category"),)
        moved = np.where(np.arange(600) == 17, 1e3, y)
        raw = []
        for target in (y, moved):
            encoder = tables.TableEncoder(columns)
            part = encoder.fit(frame, target).parts_[0]
            raw.append(encoder.fit_transform(frame, target)[:, 0] * part.scale + part.centre)
        assert abs(raw[0][17] - raw[1][17]) < 1e-12
        assert np.max(np.abs(raw[0] - raw[1])) > 1.0

    def test_levels_that_tell_nothing_tell_nothing(self):
        frame, _, _ = self.rows()
        noise = np.random.default_rng(5).normal(size=600)
        encoder = tables.TableEncoder((tables.Column("it", "category"),))
        encoded = encoder.fit_transform(frame, noise)[:, 0]
        assert abs(np.corrcoef(encoded, noise)[0, 1]) < 0.15
        assert np.ptp(encoder.parts_[0].means) < 0.6 * np.ptp(noise)

    def test_classes_have_a_column_each_but_the_first(self):
        frame, y, _ = self.rows()
        classes = np.digitize(y, [-0.5, 0.5])
        fitted = tables.TableEncoder((tables.Column("it", "category"),)).fit(frame, classes)
        assert fitted.get_feature_names_out().tolist() == [
            "it share of class 2",
            "it share of class 3",
        ]
        share = fitted.transform(frame) * fitted.parts_[0].scale + fitted.parts_[0].centre
        assert np.all((share >= 0.0) & (share <= 1.0))

    def test_without_targets_frequent_levels_have_columns(self):
        frame, _, _ = self.rows()
        (part,) = tables.TableEncoder((tables.Column("it", "category"),)).fit(frame).parts_
        assert isinstance(part, tables.CategoryPart)


class TestText:
    def notes(self, n=120):
        rng = np.random.default_rng(1)
        good, bad = ["quiet", "clean", "bright", "lovely"], ["loud", "dirty", "dark", "broken"]
        common = ["room", "kitchen", "street", "garden", "floor", "window"]
        y = rng.normal(size=n)
        words = [[*rng.choice(good if v > 0 else bad, 3), *rng.choice(common, 3)] for v in y]
        return [f"{' '.join(rng.permutation(some))} {i}" for i, some in enumerate(words)], y

    def test_text_is_an_input_that_predicts_and_is_said(self):
        notes, y = self.notes()
        frame = pl.DataFrame({"note": notes, "x": np.zeros(len(y)) + np.arange(len(y)) % 7, "y": y})
        schema = tables.infer(frame, "y")
        assert schema.inputs[0].kind == "text"
        said = " ".join(tables.describe_schema(schema, frame))
        assert "1 input is read as text, by the words that rows share: 'note' (--drop COL" in said
        model = tables.TableModel(BayesianLinearRegression(), schema).fit(frame[:80])
        correlation = np.corrcoef(model.predict(frame[80:]), y[80:])[0, 1]
        assert correlation > 0.6
        assert np.isfinite(model.predict({"note": [None, "nothing known"], "x": [1.0, 2.0]})).all()

    def test_a_model_with_text_and_many_levels_survives_a_file(self, tmp_path):
        notes, y = self.notes()
        towns = [f"town {i % 55}" for i in range(len(y))]
        frame = pl.DataFrame({"note": notes, "town": towns, "y": y})
        schema = tables.infer(frame, "y", keep=["town"])
        model = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
        kinds = {type(part) for part in model.encoder_.parts_}
        assert kinds == {tables.TextPart, tables.LevelMeansPart}
        persistence.save(model, tmp_path / "model.posterity")
        again = persistence.load(tmp_path / "model.posterity")
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))

    def test_a_file_whose_arrays_do_not_fit_is_refused(self, tmp_path):
        rows = pl.DataFrame({"town": [f"town {i % 55}" for i in range(200)]})
        column = tables.Column("town", "category")
        encoder = tables.TableEncoder((column,)).fit(rows, np.arange(200.0))
        (part,) = encoder.parts_
        encoder.parts_ = (replace(part, means=part.means[1:]),)
        persistence.save(encoder, tmp_path / "encoder.posterity")
        with pytest.raises(persistence.FileError, match="do not fit the levels"):
            persistence.load(tmp_path / "encoder.posterity")

    def test_texts_that_share_no_words_are_left_out(self):
        codes = [f"{RNG.integers(16**8):08x} {RNG.integers(16**8):08x} {i:x}" for i in range(N)]
        column, said = read(codes)
        assert column is None
        assert "different text in every row" in said


def test_missing_numbers_stay_missing_for_models_that_accept_them():
    x = np.where(np.arange(80) % 4 == 0, np.nan, np.linspace(-1.0, 1.0, 80))
    frame = pl.DataFrame(
        {
            "x": x,
            "z": np.cos(np.arange(80.0)),
            "y": np.nan_to_num(x, nan=3.0) + 0.01 * np.sin(np.arange(80.0)),
        },
        nan_to_null=True,
    )
    schema = tables.infer(frame, "y")
    forest = tables.TableModel(RandomForestRegressor(n_estimators=5), schema).fit(frame)
    assert np.isnan(forest.encode_inputs(frame)).sum() == 20
    assert forest.encode_inputs(frame).shape == (80, 2)
    line = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
    assert line.encode_inputs(frame).shape == (80, 3)
    assert np.isfinite(line.encode_inputs(frame)).all()
    assert np.isfinite(forest.predict(frame)).all()


class TestAligned:
    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("  x     y\n 1.5   2.0\n-1.0  11.5\n", [("1.5", "2.0"), ("-1.0", "11.5")]),
            ("x y\n1,5   2\n3,5   4\n", [("1,5", "2"), ("3,5", "4")]),
            ('a  b\n"x y"   1\nz       2\n', [("x y", "1"), ("z", "2")]),
            (
                "name      age  town\nAnn Lee    34  Oslo\nB\u00f8 Li       5\n",
                [("Ann Lee", "34", "Oslo"), ("B\u00f8 Li", "5", None)],
            ),
        ],
    )
    def test_blanks_align_columns(self, text, rows, tmp_path):
        path = tmp_path / "aligned.txt"
        path.write_text(text, encoding="utf-8")
        source = tables.open_source(path)
        assert source.notes == ("Columns are aligned by blanks.",)
        assert [row for batch in source.batches(1) for row in batch.rows()] == rows

    @pytest.mark.parametrize(
        ("line", "message"),
        [("1  2  3", "Line 300 .*3 cells.*aligned by blanks"), ("5", "Line 300 .*1 cell ")],
    )
    def test_a_line_that_does_not_fit_is_named(self, line, message, tmp_path):
        path = tmp_path / "aligned.txt"
        path.write_text("x   y\n" + "1   2\n" * 298 + line + "\n")
        with pytest.raises(tables.TableError, match=message):
            tables.read(path)

    def test_a_cell_between_two_columns_is_named(self, tmp_path):
        path = tmp_path / "aligned.txt"
        head = "name      age\n" + "Ann Lee    34\nBo          5\n" * 200
        path.write_text(head + "Bernardo    5\nAnn     10034\n")
        assert tables.read(path).rows()[-2:] == [("Bernardo", "5"), ("Ann", "10034")]
        path.write_text(head + "Bernardette 5\n")
        with pytest.raises(tables.TableError, match=r"Line 402 .*at positions 8 to 10"):
            tables.read(path)

    def test_sentences_and_damaged_tables_are_not_aligned(self, tmp_path):
        path = tmp_path / "text.csv"
        path.write_text("hello world\nfoo bar\nbaz qux\n")
        assert tables.open_source(path).columns == ("hello world",)
        path.write_text("a, b\n1, 2\n3, 4, 5\n")
        with pytest.raises(tables.TableError, match="Line 3"):
            tables.read(path)


class TestWorkbooks:
    ROWS = (
        ["Prices of 2020", None, None],
        ["size", "town", "size"],
        [1.5, "Bonn", 3],
        [None, None, None],
        [2.0, "K\u00f6ln", "n/a"],
    )

    def test_the_first_sheet_is_read_or_the_one_that_is_named(self, tmp_path):
        path = tmp_path / "prices.xlsx"
        write_workbook(path, {"all": list(self.ROWS), "few": [["x"], [7]]})
        source = tables.open_source(path)
        assert source.read().frame.rows() == [(1.5, "Bonn", "3"), (2.0, "K\u00f6ln", "n/a")]
        said = " ".join(source.notes)
        assert "The sheet 'all' is read; others are 'few' (--sheet NAME)." in said
        assert "size_2" in said
        assert "Short rows before the header" in said
        assert tables.read(path, sheet="few").rows() == [(7.0,)]
        with pytest.raises(tables.TableError, match=r"Its sheets are 'all', 'few'"):
            tables.read(path, sheet="none")

    def test_without_the_package_a_sentence_says_what_to_install(self, tmp_path, monkeypatch):
        path = tmp_path / "prices.xlsx"
        write_workbook(path, {"all": list(self.ROWS)})
        monkeypatch.setitem(sys.modules, "python_calamine", None)
        with pytest.raises(tables.TableError, match=r"pip install 'posterity\[excel\]'"):
            tables.read(path)

    def test_a_damaged_workbook_is_refused_with_a_sentence(self, tmp_path):
        path = tmp_path / "prices.xlsx"
        write_workbook(path, {"all": list(self.ROWS)})
        path.write_bytes(path.read_bytes()[:400])
        with pytest.raises(tables.TableError, match="cannot be read as a workbook"):
            tables.read(path)
        path.write_text("x,y\n1,2\n")
        with pytest.raises(tables.TableError, match="is not a workbook"):
            tables.read(path)
        with pytest.raises(tables.TableError, match="has no sheet 'a'"):
            tables.read(path, format="csv", sheet="a")
