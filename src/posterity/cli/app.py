"""Declare the subcommands of ``posterity``: each is a request, the fields of which are its options.

The work of a subcommand is in another module, which is imported only when it runs.
"""

from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

import typer

from posterity.cli import options
from posterity.cli.command import CommandGroup, register_request

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


@register_request(app, "compare")
class CompareRequest(options.Cluster, options.TableFile, options.TableColumns, options.TwoClasses):
    """Rank models by cross-validation, write a report and save the chosen model.

    Attributes
    ----------
    models : str, optional
        Comma-separated names listed by 'posterity models', or 'all'. Default: a set that suits the
        size of the table.
    prefer : str, default="simple"
        Model to choose among those that do not differ significantly from the best: the simplest,
        or the one with the highest log score.
    gap : str, optional
        With --time: how far held-out rows are after the rows that models are fitted to, as a number
        of times, such as 3, or for dates as a length of time, such as 7d or 12h.
    report : str, default="report.html"
        File to write the report to.
    predictions : str, optional
        File to write the held-out predictions of the chosen model to; format from its extension.
    """

    models: Annotated[str | None, typer.Option(metavar="NAMES")] = None
    budget: options.Budget = None
    prefer: Annotated[Literal["simple", "best"], typer.Option()] = "simple"
    gap: options.Gap = None
    folds: options.Folds = 5
    report: Annotated[str, options.in_files()] = "report.html"
    save: options.Save = "model.posterity"
    predictions: Annotated[str | None, options.in_files(metavar="FILE")] = None
    force: options.Force = False


@register_request(app, "fit")
class FitRequest(options.Cluster, options.TableFile, options.TableColumns):
    """Fit one model to a table and save it.

    Attributes
    ----------
    model : str, optional
        A name listed by 'posterity models'. Default: chosen by the number of rows.
    """

    model: Annotated[str | None, typer.Option(metavar="NAME")] = None
    save: options.Save = "model.posterity"
    force: options.Force = False


@register_request(app, "predict", work="saved_models.predict")
class PredictRequest(options.Cluster, options.TableFile, options.SavedModel):
    """Add the predictions of a saved model, with their uncertainty, to the rows of a table.

    Every row is predicted, in batches, so the table may be larger than memory.

    Attributes
    ----------
    out : str, default="-"
        Output file; format from its extension; - writes CSV to standard output. With --dask, an
        output folder.
    quantiles : tuple of float
        Levels of the predicted quantiles to add (regression only).
    prefix : str, optional
        Prefix of the new columns. Default: the name of the target.
    exposure : str, optional
        Column with the exposure of each count, for a model that was fitted with one. Default: the
        column of that name.
    """

    stream = "predictions"

    out: Annotated[str, typer.Option("--out", "-o")] = "-"
    quantiles: Annotated[
        Any, typer.Option(parser=options.parse_quantile_levels, metavar="LEVELS")
    ] = "0.05,0.25,0.5,0.75,0.95"
    prefix: Annotated[str | None, typer.Option()] = None
    exposure: options.Exposure = None
    force: options.Force = False


@register_request(app, "evaluate", work="saved_models.evaluate")
class EvaluateRequest(options.TwoClasses, options.TableFile, options.DrawnRows, options.SavedModel):
    """Score a saved model on rows with known target values."""


@register_request(app, "report", work="saved_models.write_report")
class ReportRequest(options.TwoClasses, options.TableFile, options.DrawnRows, options.SavedModel):
    """Write a report on a saved model, using rows with known target values.

    Attributes
    ----------
    out : str, default="report.html"
        File to write the report to.
    """

    out: Annotated[str, typer.Option("--out", "-o")] = "report.html"
    force: options.Force = False


@register_request(app, "inspect", work="saved_models.inspect")
class InspectRequest(options.SavedModel):
    """Show the contents of a model file: parameters, evidence, versions, training rows."""


@register_request(app, "models")
class ModelsRequest(options.Request):
    """List the available models: their parts, and when to use each."""


@register_request(app, "demo")
class DemoRequest(options.Request):
    """Compare models on an example table that comes with the package.

    Attributes
    ----------
    task : str, default="regression"
        Predict a number or a class.
    folder : str, default="posterity-demo"
        Folder for the table, the report and the model.
    """

    task: Annotated[Literal["regression", "classification"], typer.Option()] = "regression"
    folder: Annotated[str, typer.Option()] = "posterity-demo"
    budget: options.Budget = 45.0
    folds: options.Folds = 5
    seed: options.Seed = 0


TableRequest: TypeAlias = CompareRequest | FitRequest
ScoreRequest: TypeAlias = EvaluateRequest | ReportRequest
