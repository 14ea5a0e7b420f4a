"""Read a table from Parquet files on the workers of a Dask cluster and infer its schema."""

import contextlib
import pathlib
from collections.abc import Iterator

import typer

from posterity import tables
from posterity.cli import amounts, cluster, table_input
from posterity.cli.app import PredictRequest, TableRequest
from posterity.cli.voice import OutputPrinter

_TEXT = (".csv", ".tsv", ".txt", ".gz", ".json", ".jsonl", ".ndjson")


@contextlib.contextmanager
def open_on_cluster(
    request: TableRequest, voice: OutputPrinter, *, folds: int = 1
) -> Iterator[table_input.Table]:
    """Connect to the cluster, sample the table, infer its schema and print it."""
    address = check_parquet(request)
    if request.exposure is not None:
        raise typer.BadParameter(
            "--exposure needs the table in memory: leave out --dask, with fewer --rows if needed."
        )
    source = tables.open_partitions(request.data)
    with cluster.connect(address, voice) as client:
        sample = source.sample(request.rows, seed=request.seed)
        try:
            schema = table_input.infer_schema(sample.frame, request)
            rows = tables.SpreadRows.from_source(
                source, sample.frame, schema, folds=folds, seed=request.seed
            )
        except tables.CellError as error:
            raise source.locate_error(error, sample.positions) from None
        sentences = (
            *source.notes,
            _describe_size(source, sample, rows),
            *tables.describe_schema(schema, sample.frame, on_dask=True),
            *_list_unsampled_classes(schema, rows),
        )
        voice.say(*sentences)
        if cluster.has_room_for(client, rows.n_bytes):
            rows = rows.persist()
            size = amounts.format_size(rows.n_bytes)
            voice.say(f"The encoded rows take {size} and are kept in the memory of the workers.")
        voice.say("")
        yield table_input.Table(sample, rows.schema, sentences, rows)


def check_parquet(request: TableRequest | PredictRequest) -> str:
    """Return the address of the cluster; refuse data that workers cannot read in parts."""
    assert request.dask is not None
    path, format = request.data, request.format
    named = format is None and pathlib.PurePath(path).suffix.lower() in _TEXT
    if path == "-" or named or format not in (None, "parquet") or request.separator is not None:
        raise typer.BadParameter(
            "--dask needs a Parquet file or a folder of Parquet files, which workers can read in "
            "parts; save the table as Parquet."
        )
    return request.dask


def _describe_size(
    source: tables.PartitionedSource, sample: tables.Sample, rows: tables.SpreadRows
) -> str:
    n_files = len(source.files)
    where = f"The {n_files:,} files have" if n_files > 1 else "The file has"
    n = len(sample.frame)
    looked = (
        "column types were inferred from all of them"
        if n == sample.n_rows
        else f"column types were inferred from {n:,} of them, drawn at random (--rows)"
    )
    return (
        f"{where} {sample.n_rows:,} rows; {looked}. Models are fitted to all {rows.n_rows:,} rows "
        "with a target."
    )


def _list_unsampled_classes(schema: tables.Schema, rows: tables.SpreadRows) -> Iterator[str]:
    """Yield a sentence that names the classes missing from the sample."""
    if more := [label for label in rows.schema.classes if label not in schema.classes]:
        names = ", ".join(repr(label) for label in more[:5]) + (", ..." if len(more) > 5 else "")
        yield f"Classes that occur only outside the sample: {names}."
