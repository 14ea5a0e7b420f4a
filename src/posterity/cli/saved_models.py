"""Commands on a saved model: predict and score the rows of a table, report on them, inspect."""

import dataclasses
import shlex
from collections.abc import Iterator
from typing import Any

from posterity import comparison, persistence, progress, report, tables
from posterity.cli import output, scores, table_input
from posterity.cli.app import (
    EvaluateRequest,
    InspectRequest,
    PredictRequest,
    ReportRequest,
    ScoreRequest,
)
from posterity.cli.options import TableFile
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.tables.answers import UNUSUAL


def predict(request: PredictRequest, printer: OutputPrinter) -> None:
    """Predict in batches, so that the file may be larger than memory."""
    if request.dask is not None:
        _run_on_workers(request, printer)
        return
    out, inputs = request.out, (request.data, request.model)
    if out != "-":
        output.check_output_file(out, force=request.force, inputs=inputs)
    model = load_model(request.model, request.exposure)
    source = table_input.open_source(request)
    printer.say(*source.notes)
    column, unusual = f"{request.prefix or model.schema_.target}{UNUSUAL}", [0]
    n_rows = tables.write_batches(out, _predict_batches(request, model, source, column, unusual))
    n = sum(unusual)
    printer.say(_describe_output(n_rows, "standard output" if out == "-" else out))
    if n:
        verb = "row is" if n == 1 else "rows are"
        printer.say(
            f"{n:,} of {n_rows:,} {verb} far from all rows that the model was fitted to, so its "
            f"predictions may be wrong there; see the column {column!r}."
        )
    if out != "-":
        printer.next("evaluate", request.model, *request.list_words(TableFile))
    printer.give({"rows": n_rows, "out": out, "model": request.model, "unusual_rows": n})


def _run_on_workers(request: PredictRequest, printer: OutputPrinter) -> None:
    """Let every worker read, predict and write its own partitions."""
    from posterity.cli import cluster

    address = cluster.check_parquet(request)
    output.check_output_folder(request.out, force=request.force, inputs=(request.data,))
    model = load_model(request.model, request.exposure)
    source = tables.open_partitions(request.data)
    printer.say(*source.notes)
    with cluster.connect(address, printer):
        n_rows, n_files = tables.write_predictions(
            request.out, model, source, quantiles=request.quantiles, prefix=request.prefix
        )
    files = "1 file" if n_files == 1 else f"{n_files:,} files"
    printer.say(_describe_output(n_rows, f"{files} in {request.out}"))
    printer.give({"rows": n_rows, "files": n_files, "out": request.out, "model": request.model})


def _describe_output(n_rows: int, where: str) -> str:
    rows = "1 row with its prediction" if n_rows == 1 else f"{n_rows:,} rows with predictions"
    return f"Wrote {rows} to {where}."


def load_model(path: str, exposure: str | None = None) -> tables.TableModel:
    """Load a model that takes tables, with another column of exposures; refuse other models."""
    model = persistence.load(path)
    if not isinstance(model, tables.TableModel):
        raise ModelError(
            f"{path!r} contains a {type(model).__name__}, which takes arrays, not tables; use it "
            "in Python with posterity.load, or save one that takes tables with 'posterity fit'."
        )
    if exposure is not None:
        if model.schema_.exposure is None:
            raise ModelError(
                f"{path!r} was fitted without an exposure, so its predictions do not depend on "
                "one: leave out --exposure, or fit a model with it."
            )
        column = dataclasses.replace(model.schema_.exposure, name=exposure)
        model.schema_ = dataclasses.replace(model.schema_, exposure=column)
    return model


def _predict_batches(
    request: PredictRequest,
    model: tables.TableModel,
    source: tables.Source,
    column: str,
    unusual: list[int],
) -> Iterator[Any]:
    """Yield batches with predictions, and append the number of unusual rows of each."""
    n_above = 0
    for batch in progress.track(source.batches(), description="Predicting"):
        try:
            answered = tables.append_predictions(
                model, batch, quantiles=request.quantiles, prefix=request.prefix
            )
        except tables.CellError as error:
            raise error.shift_rows(n_above) from None
        if column in answered.columns and column not in batch.columns:
            unusual.append(answered[column].count())
        yield answered
        n_above += len(batch)


CAUTION = "These scores are valid only for rows that the model was not fitted to."


def evaluate(request: EvaluateRequest, printer: OutputPrinter) -> None:
    """Score a saved model on rows with known target values and print the scores."""
    model, _, result = score_model(request)
    n_rows, target = len(result.held_out.y), model.schema_.target
    scores.print_scores(f"Predicting {target} in {n_rows:,} rows", (result,), printer)
    scores.print_two_classes((result,), printer)
    printer.say(CAUTION)
    printer.next("report", *request.list_words())
    printer.give({"n_rows": n_rows, "target": target, **scores.as_json(result)})


def score_model(
    request: ScoreRequest,
) -> tuple[tables.TableModel, tables.Sample, comparison.Result]:
    """Return the model, the rows that were read, and the scores of the model on them."""
    model = load_model(request.model)
    sample = table_input.open_source(request).read(request.rows, seed=request.seed)
    flagging = comparison.Flagging(request.positive, request.cost)
    return model, sample, comparison.evaluate(model, sample.frame, flagging=flagging)


def write_report(request: ReportRequest, printer: OutputPrinter) -> None:
    """Write the report on a saved model and rows with known target values."""
    inputs = (request.data, request.model)
    output.check_output_file(request.out, force=request.force, inputs=inputs)
    model, sample, result = score_model(request)
    contents = report.ReportContents(
        title=f"Predicting {model.schema_.target}",
        command=shlex.join(["posterity", "report", *request.list_words()]),
        model=model,
        frame=sample.frame,
        held_out=result.held_out,
        two_classes=result.two_classes,
        model_path=request.model,
        source=request.data,
        n_rows_in_file=sample.n_rows,
        row_numbers=sample.positions,
        inferred=tuple(tables.describe_schema(model.schema_, sample.frame)),
        notes=(CAUTION,),
        seed=request.seed,
    )
    report.write(request.out, contents)
    printer.say(f"Report written to {request.out}.")
    printer.next(
        "predict", request.model, *request.list_words(TableFile), "--out", "predictions.csv"
    )
    printer.give(
        {"report": request.out, "n_rows": len(result.held_out.y), **scores.as_json(result)}
    )


def inspect(request: InspectRequest, printer: OutputPrinter) -> None:
    """Print the manifest of a model file: parameters, evidence, versions and training rows."""
    told = persistence.describe(request.model)
    printer.say(f"{request.model}: {told.class_name}, {output.format_size(told.n_bytes)}")
    printer.facts(_list_facts(told))
    printer.say(*told.notes)
    printer.give(dataclasses.asdict(told))


def _list_facts(told: persistence.Description) -> Iterator[tuple[str, str]]:
    if told.target is not None:
        yield "predicts", f"{told.target} ({told.task})"
        yield "from", ", ".join(told.inputs)
    yield "estimator", told.estimator
    yield from ((f"  {name}", text) for name, text in told.parameters.items())
    if told.log_evidence is not None:
        yield "log evidence", f"{told.log_evidence:.4f}"
    yield "training rows stored", f"{told.training_rows:,}"
    yield "written by", ", ".join(f"{name} {text}" for name, text in told.versions.items())
