"""``posterity predict``: add predictive distributions to the rows of a file."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from posterity import persistence, progress, tables
from posterity.cli import outputs, table_input
from posterity.cli.app import PredictRequest
from posterity.cli.options import TableFile
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.tables.answers import UNUSUAL


def run(request: PredictRequest, voice: OutputPrinter) -> None:
    """Predict in batches, so that the file may be larger than memory."""
    if request.dask is not None:
        _run_on_workers(request, voice)
        return
    out, inputs = request.out, (request.data, request.model)
    if out != "-":
        outputs.check_output_file(out, force=request.force, inputs=inputs)
    model = load_model(request.model, request.exposure)
    source = table_input.open_source(request)
    voice.say(*source.notes)
    column, unusual = f"{request.prefix or model.schema_.target}{UNUSUAL}", [0]
    n_rows = tables.write_batches(out, _predict_batches(request, model, source, column, unusual))
    n = sum(unusual)
    voice.say(_describe_output(n_rows, "standard output" if out == "-" else out))
    if n:
        verb = "row is" if n == 1 else "rows are"
        voice.say(
            f"{n:,} of {n_rows:,} {verb} far from all rows that the model was fitted to, so its "
            f"predictions may be wrong there; see the column {column!r}."
        )
    if out != "-":
        voice.next("evaluate", request.model, *request.list_words(TableFile))
    voice.give({"rows": n_rows, "out": out, "model": request.model, "unusual_rows": n})


def _run_on_workers(request: PredictRequest, voice: OutputPrinter) -> None:
    """Let every worker read, predict and write its own partitions."""
    from posterity.cli import cluster

    address = cluster.check_parquet(request)
    outputs.check_output_folder(request.out, force=request.force, inputs=(request.data,))
    model = load_model(request.model, request.exposure)
    source = tables.open_partitions(request.data)
    voice.say(*source.notes)
    with cluster.connect(address, voice):
        n_rows, n_files = tables.write_predictions(
            request.out, model, source, quantiles=request.quantiles, prefix=request.prefix
        )
    files = "1 file" if n_files == 1 else f"{n_files:,} files"
    voice.say(_describe_output(n_rows, f"{files} in {request.out}"))
    voice.give({"rows": n_rows, "files": n_files, "out": request.out, "model": request.model})


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
