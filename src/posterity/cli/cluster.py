"""Connect to the Dask cluster of a command, and read its table on the workers."""

import contextlib
import importlib.util
import logging
import pathlib
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import typer

from posterity import tables
from posterity.cli import output, table_input
from posterity.cli.app import PredictRequest, TableRequest
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter

LOCAL = "local"
_ANY_PORT = "127.0.0.1:0"  # that is free
_PATIENCE = 15  # seconds for a scheduler to answer, and for it to have a worker
_SAME = ("posterity", "dask", "distributed")  # client and workers need the same version
_ALIKE = ("numpy", "polars", "scikit-learn", "cloudpickle")  # a difference is only reported
_SHARE = 0.5  # of the free memory of the workers, for rows that are kept there

Versions: TypeAlias = Mapping[str, str | None]


@contextlib.contextmanager
def connect(address: str, printer: OutputPrinter) -> Iterator[Any]:
    """Yield a client of the cluster; turn failures of the cluster into error messages.

    A local cluster is closed at the end of the block, however it ends. An existing one keeps
    running.
    """
    if importlib.util.find_spec("distributed") is None:
        raise typer.BadParameter("Dask is not installed; run pip install 'posterity[dask]'.")
    with (
        _silence_asyncio(),
        _start_local_cluster() if address == LOCAL else _connect_to_scheduler(address) as client,
    ):
        _check_workers(client, address, printer)
        try:
            yield client
        except Exception as error:
            if sentence := _describe_cluster_failure(error):
                raise ModelError(sentence) from error
            raise


def has_room_for(client: Any, n_bytes: int) -> bool:
    """Return whether the workers have room for this many bytes, and as much again to work in."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    used = sum(worker["metrics"].get("memory", 0) for worker in workers)
    return all(limits) and bool(n_bytes < _SHARE * (sum(limits) - used))


@contextlib.contextmanager
def _start_local_cluster() -> Iterator[Any]:
    """Start a local cluster with one worker process for each core."""
    import distributed

    with _ignore_interruptions():
        cluster = distributed.LocalCluster(
            threads_per_worker=1, dashboard_address=_ANY_PORT, silence_logs="CRITICAL"
        )
        client = distributed.Client(cluster)
    try:
        yield client
    finally:
        with _ignore_interruptions():
            client.close()
            cluster.close()


@contextlib.contextmanager
def _ignore_interruptions() -> Iterator[None]:
    """Ignore interruptions in the block: a half-started cluster cannot be closed.

    Processes started in the block ignore them too, and end when the cluster is closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _silence_asyncio() -> Iterator[None]:
    """Silence asyncio's log of abandoned tasks, for example after an interruption."""
    log = logging.getLogger("asyncio")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


@contextlib.contextmanager
def _connect_to_scheduler(address: str) -> Iterator[Any]:
    """Connect to an existing cluster, which keeps running afterwards."""
    import distributed

    # A client whose connection fails stays open, and waits for the lock of another one that starts
    # if the garbage collector closes it meanwhile: it must have a name before it connects.
    client = distributed.Client.__new__(distributed.Client)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below
            client.__init__(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        client.close()
        raise typer.BadParameter(
            f"--dask {address}: no scheduler answers at this address ({_first_line(error)}). Use "
            "local, or the address that 'dask scheduler' prints when it starts, such as "
            "tcp://10.0.0.1:8786."
        ) from None
    with client:
        yield client


def _check_workers(client: Any, address: str, printer: OutputPrinter) -> None:
    """Check that the workers can do the work, and print how many there are."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise typer.BadParameter(
            f"--dask {address}: the scheduler has no workers; start some with 'dask worker'."
        ) from None
    here = _version_lister()()
    for worker, there in sorted(client.run(_version_lister()).items()):
        _compare_versions(worker, here, there, printer)
    n = len(client.scheduler_info(n_workers=-1)["workers"])
    where = "on this machine" if address == LOCAL else f"at {address}"
    printer.say(f"Using {n} Dask worker{'s' * (n > 1)} {where}.")


def _compare_versions(worker: str, here: Versions, there: Versions, printer: OutputPrinter) -> None:
    if there["posterity"] is None:
        raise typer.BadParameter(
            f"posterity is not installed on the Dask worker {worker}; install posterity "
            f"{here['posterity']} on all workers."
        )
    for name in ("python", *_SAME):
        if there[name] != here[name]:
            raise typer.BadParameter(
                f"The Dask worker {worker} has {name} {there[name]}, but this machine has "
                f"{here[name]}; install the same version on both."
            )
    if odd := [name for name in _ALIKE if there[name] != here[name]]:
        words = ", ".join(f"{name} {there[name]} instead of {here[name]}" for name in odd)
        printer.say(f"The Dask worker {worker} has {words}; results may differ in the last digits.")


def _version_lister() -> Any:
    """Return a function that lists versions where it is called, even without posterity."""
    names = (*_SAME, *_ALIKE)

    def read_versions() -> Versions:  # nested: it travels as code, not by our name
        import platform
        from importlib import metadata

        found: dict[str, str | None] = {"python": ".".join(platform.python_version_tuple()[:2])}
        for name in names:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = None
        return found

    return read_versions


def _describe_cluster_failure(error: Exception) -> str | None:
    """Return a message if the cluster failed, and None if the work itself did."""
    if type(error.__cause__).__name__ == "KilledWorker":
        return str(error)
    module = type(error).__module__.partition(".")[0]
    if module == "distributed" or isinstance(error, TimeoutError):
        return f"The Dask cluster stopped responding: {_first_line(error)}."
    return None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".:")


_TEXT = (".csv", ".tsv", ".txt", ".gz", ".json", ".jsonl", ".ndjson")


@contextlib.contextmanager
def open_on_cluster(
    request: TableRequest, printer: OutputPrinter, *, folds: int = 1
) -> Iterator[table_input.Table]:
    """Connect to the cluster, sample the table, infer its schema and print it."""
    address = check_parquet(request)
    if request.exposure is not None:
        raise typer.BadParameter(
            "--exposure needs the table in memory: leave out --dask, with fewer --rows if needed."
        )
    source = tables.open_partitions(request.data)
    with connect(address, printer) as client:
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
        printer.say(*sentences)
        if has_room_for(client, rows.n_bytes):
            rows = rows.persist()
            size = output.format_size(rows.n_bytes)
            printer.say(f"The encoded rows take {size} and are kept in the memory of the workers.")
        printer.say("")
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
