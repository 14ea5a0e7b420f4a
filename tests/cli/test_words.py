"""The command as a person meets it, before any work is done."""

import re

import pytest
import typer
from support.for_each import for_each
from typer.testing import CliRunner

from posterity.cli import app, options
from posterity.vision import commands as vision

runner = CliRunner()
WORDS = ("compare", "fit", "predict", "evaluate", "report", "inspect", "models", "demo", "vision")


def test_without_words_it_says_what_it_can_do():
    result = runner.invoke(app, [])
    assert all(word in result.output for word in WORDS)


@for_each("word", WORDS)
def test_every_word_explains_itself(word):
    result = runner.invoke(app, [word, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


VISION = tuple(one.name or one.callback.__name__ for one in vision.app.registered_commands)


@for_each("words", [(), *((word,) for word in WORDS), *(("vision", word) for word in VISION)])
def test_help_says_what_to_type_and_not_how_python_calls_it(words):
    told = runner.invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).output
    assert "Show this message and exit." in told
    assert not re.search(r"<(bool|str|int|float|list|Path)\b", told)


def test_commands_of_images_are_in_groups():
    told = runner.invoke(app, ["vision", "--help"], env={"COLUMNS": "200"}).output
    find, train, score = (
        told.index(word) for word in (" detect ", " train-detector ", " evaluate ")
    )
    assert find < told.index("Train on your data") < train < told.index("Try and score") < score


def test_the_version_is_shown():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("posterity ")


@for_each(
    "line",
    [
        "nonsense",
        "compare",
        "compare data.csv",
        "compare data.csv --target y --budget soon",
        "compare data.csv --target y --rows -3",
        "compare data.csv --target y --folds 1",
        "compare data.csv --target y --task guess",
        "predict model.posterity data.csv --quantiles 0.5,2",
        "predict model.posterity data.csv --json",
        "demo --budget 0",
    ],
)
def test_a_wrong_use_exits_with_two(line):
    assert runner.invoke(app, line.split()).exit_code == 2


@for_each(("text", "expected"), [("60s", 60.0), ("2m", 120.0), ("1.5h", 5400.0), (" 90 ", 90.0)])
def test_durations_are_read_as_people_write_them(text, expected):
    assert options.parse_duration(text) == expected


@for_each("text", ["", "s", "-1s", "0", "1d", "1 2", "nan", "infs"])
def test_a_malformed_duration_is_refused(text):
    with pytest.raises(typer.BadParameter, match="not a duration"):
        options.parse_duration(text)


@for_each(("text", "expected"), [("all", None), ("1,000", 1000), ("7_0", 70)])
def test_rows_are_a_number_or_all(text, expected):
    assert options.parse_row_limit(text) == expected


def test_quantiles_rise_and_are_there_once():
    assert options.parse_quantile_levels("0.9, 0.1,0.9") == (0.1, 0.9)
