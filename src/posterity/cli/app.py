"""Declare the subcommands of ``posterity``.

Each subcommand has its own module, which is imported only when the subcommand runs, so that help
and usage errors appear immediately.
"""

from importlib.metadata import version
from typing import Annotated

import typer

from posterity.cli import compare_options, options, outcome, parsing, plain_help, vision

app = typer.Typer(
    cls=plain_help.PlainGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(vision.app, name="vision")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"posterity {version('posterity')}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Regression and classification with calibrated uncertainty.

    Start with: posterity demo, or posterity compare data.csv --target COLUMN
    """


@app.command()
def compare(
    context: typer.Context,
    data: options.Data,
    target: options.Target,
    models: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated names listed by 'posterity models', or 'all'. Default: a set "
            "that suits the size of the table.",
            metavar="NAMES",
        ),
    ] = None,
    budget: options.Budget = None,
    prefer: compare_options.Prefer = compare_options.Preference.SIMPLE,
    cost: compare_options.Cost = None,
    positive: compare_options.Positive = None,
    time: options.Time = None,
    group: options.Group = None,
    blocks: options.Blocks = None,
    exposure: options.Exposure = None,
    gap: options.Gap = None,
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    task: options.TaskOption = None,
    number: options.Number = None,
    category: options.Category = None,
    date: options.Date = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    exact: options.Exact = None,
    missing: options.Missing = None,
    rows: options.SampledRows = options.ROWS,
    format: options.FormatOption = None,
    separator: options.Separator = None,
    sheet: options.Sheet = None,
    dask: options.Dask = None,
    report: options.ReportOut = "report.html",
    save: options.ModelOut = "model.posterity",
    predictions: compare_options.PredictionsOut = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Rank models by cross-validation, write a report and save the chosen model."""
    with outcome.report_errors():
        from posterity import comparison
        from posterity.cli import compare as work
        from posterity.cli import table_input, voice

        request = table_input.request_from_parameters(context.params)
        plan = work.CompareRequest(
            request,
            models,
            budget,
            folds,
            report,
            save,
            force,
            prefer=prefer.value,
            predictions=predictions,
            flagging=comparison.Flagging(positive, cost),
        )
        work.run(plan, voice.OutputPrinter(json))


@app.command()
def fit(
    context: typer.Context,
    data: options.Data,
    target: options.Target,
    model: Annotated[
        str | None,
        typer.Option(
            help="A name listed by 'posterity models'. Default: chosen by the number of rows.",
            metavar="NAME",
        ),
    ] = None,
    time: options.Time = None,
    group: options.Group = None,
    blocks: options.Blocks = None,
    exposure: options.Exposure = None,
    seed: options.Seed = 0,
    task: options.TaskOption = None,
    number: options.Number = None,
    category: options.Category = None,
    date: options.Date = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    exact: options.Exact = None,
    missing: options.Missing = None,
    rows: options.SampledRows = options.ROWS,
    format: options.FormatOption = None,
    separator: options.Separator = None,
    sheet: options.Sheet = None,
    dask: options.Dask = None,
    save: options.ModelOut = "model.posterity",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Fit one model to a table and save it."""
    with outcome.report_errors():
        from posterity.cli import fit as work
        from posterity.cli import table_input, voice

        request = table_input.request_from_parameters(context.params)
        work.run(work.FitRequest(request, model, save, force), voice.OutputPrinter(json))


@app.command()
def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="Output file; format from its extension; - writes CSV to standard output. With "
            "--dask, an output folder.",
        ),
    ] = "-",
    quantiles: options.Quantiles = options.LEVELS,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Prefix of the new columns. Default: the name of the target.", show_default=False
        ),
    ] = None,
    format: options.FormatOption = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            help="Column with the exposure of each count, for a model that was fitted with one. "
            "Default: the column of that name.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    separator: options.Separator = None,
    sheet: options.Sheet = None,
    dask: options.Dask = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Add the predictions of a saved model, with their uncertainty, to the rows of a table.

    Every row is predicted, in batches, so the table may be larger than memory.
    """
    levels = parsing.parse_quantile_levels(quantiles)
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so predictions need a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import predict as work
        from posterity.cli import voice

        plan = work.PredictRequest(
            model, data, out, levels, prefix, format, separator, dask, force, sheet, exposure
        )
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))


@app.command()
def evaluate(
    model: options.Model,
    data: options.Data,
    rows: options.Rows = options.ROWS,
    format: options.FormatOption = None,
    separator: options.Separator = None,
    sheet: options.Sheet = None,
    seed: options.Seed = 0,
    cost: compare_options.Cost = None,
    positive: compare_options.Positive = None,
    json: options.Json = False,
) -> None:
    """Score a saved model on rows with known target values."""
    with outcome.report_errors():
        from posterity import comparison
        from posterity.cli import evaluate as work
        from posterity.cli import voice

        flagging = comparison.Flagging(positive, cost)
        plan = work.EvaluateRequest(model, data, rows, format, separator, seed, sheet, flagging)
        work.run(plan, voice.OutputPrinter(json))


@app.command()
def report(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File to write the report to.")
    ] = "report.html",
    rows: options.Rows = options.ROWS,
    format: options.FormatOption = None,
    separator: options.Separator = None,
    sheet: options.Sheet = None,
    seed: options.Seed = 0,
    cost: compare_options.Cost = None,
    positive: compare_options.Positive = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a report on a saved model, using rows with known target values."""
    with outcome.report_errors():
        from posterity import comparison
        from posterity.cli import evaluate as work
        from posterity.cli import voice

        flagging = comparison.Flagging(positive, cost)
        plan = work.EvaluateRequest(model, data, rows, format, separator, seed, sheet, flagging)
        work.write_report(plan, out, voice.OutputPrinter(json), force=force)


@app.command()
def inspect(model: options.Model, json: options.Json = False) -> None:
    """Show the contents of a model file: parameters, evidence, versions, training rows."""
    with outcome.report_errors():
        from posterity.cli import inspect as work
        from posterity.cli import voice

        work.run(model, voice.OutputPrinter(json))


@app.command()
def models(json: options.Json = False) -> None:
    """List the available models: their parts, and when to use each."""
    with outcome.report_errors():
        from posterity.cli import models as work
        from posterity.cli import voice

        work.run(voice.OutputPrinter(json))


@app.command()
def demo(
    task: Annotated[
        options.Task, typer.Option(help="Predict a number or a class.")
    ] = options.Task.REGRESSION,
    folder: Annotated[
        str, typer.Option(help="Folder for the table, the report and the model.")
    ] = "posterity-demo",
    budget: options.Budget = 45.0,
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Compare models on an example table that comes with the package."""
    with outcome.report_errors():
        from posterity.cli import demo as work
        from posterity.cli import voice

        work.run(task, folder, voice.OutputPrinter(json), folds=folds, seed=seed, budget=budget)
