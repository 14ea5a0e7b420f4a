"""Requests are commands: their fields are options, which the words of a request repeat."""

import pytest
from support.for_each import for_each
from typer import main

from posterity.cli import app, command, compare, options, saved_models
from posterity.cli.app import CompareRequest, ReportRequest
from posterity.vision import commands as vision

TABLE = {"data": "sales 1.csv", "target": "price"}
COMPARE = [
    CompareRequest(**TABLE),
    CompareRequest(**TABLE, rows=None, budget=90.0, prefer="best", task="regression", folds=3),
    CompareRequest(**TABLE, drop=["a b", "c"], missing=["?"], seed=1, format="csv", separator=";"),
    CompareRequest(**TABLE, cost=(1.0, 20.5), positive="yes", group="ward", sheet="last one"),
    CompareRequest(**TABLE, time="sold", gap=3, models="linear,sparse", dask="local"),
]


@pytest.fixture
def asked(run, monkeypatch):
    """The requests that commands received, of which no work is done."""
    requests = []
    for module, name in ((compare, "run"), (saved_models, "write_report")):
        monkeypatch.setattr(module, name, lambda request, _: requests.append(request))
    return requests


@pytest.mark.parametrize("request_", COMPARE, ids=range(len(COMPARE)))
def test_words_repeat_a_comparison(run, asked, request_):
    result = run("compare", *request_.list_words())
    assert result.exit_code == 0, result.output
    assert asked == [request_]


def test_words_repeat_a_report(run, asked):
    request = ReportRequest(model="m", data="d", rows=10, seed=1, sheet="2", out="page.html")
    run("report", *request.list_words())
    assert asked == [request]


def test_words_leave_out_defaults_files_and_the_form_of_the_output():
    request = CompareRequest(**TABLE, save="x", report="y", predictions="z", force=True, json=True)
    assert list(request.list_words()) == ["sales 1.csv", "--target", "price"]
    assert list(request.list_words(options.TableFile)) == ["sales 1.csv"]


def test_the_arguments_come_first_and_json_last():
    names = [one.name for one in command.list_parameters(ReportRequest)]
    assert names[0] == "model"
    assert names[-2:] == ["seed", "json"]


COMMANDS = {
    **main.get_command(app).commands,
    **{f"vision {name}": one for name, one in main.get_command(vision.app).commands.items()},
}


@for_each("name", COMMANDS)
def test_every_option_has_help(name):
    parameters = COMMANDS[name].params
    assert [one.name for one in parameters if not one.help] == []
