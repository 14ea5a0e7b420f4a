"""The Dask cluster that a command works on: one of its own, or one that is there."""

import contextlib
import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from posterity.cli.outcome import ModelError
from posterity.cli.voice import Voice

LOCAL = "local"
_PATIENCE = 15  # seconds for a scheduler to answer, and for it to have a worker
_SAME = ("posterity", "dask", "distributed")  # of one version here and there
_ALIKE = ("numpy", "polars", "scikit-learn", "cloudpickle")  # differences are said
_SHARE = 0.5  # of the memory that is free on the workers, for rows that are kept there


@contextlib.contextmanager
def connected(address: str, voice: Voice) -> Iterator[Any]:
    """A client of the cluster while the block runs; what the cluster does wrong is a sentence.

    A cluster of our own ends with the block, however that ends. A foreign one goes on.
    """
    _refuse_without_dask()
    with _quiet(), _own() if address == LOCAL else _foreign(address) as client:
        _check_workers(client, address, voice)
        try:
            yield client
        except Exception as error:
            if sentence := _about_cluster(error):
                raise ModelError(sentence) from error
            raise


def room_for(client: Any, n_bytes: int) -> bool:
    """Whether the workers have memory for this much, and as much again for their work."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    if not all(limits):
        return False
    used = sum(worker["metrics"].get("memory", 0) for worker in workers)
    return bool(n_bytes < _SHARE * (sum(limits) - used))


def _refuse_without_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise typer.BadParameter(
            "Dask is not installed here: pip install 'posterity[dask]'."
        ) from None


@contextlib.contextmanager
def _own() -> Iterator[Any]:
    """One process for each core, which share the memory of this machine."""
    import distributed

    with _uninterrupted():
        cluster = distributed.LocalCluster(
            processes=True,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any port that is free
            silence_logs="CRITICAL",
        )
        client = distributed.Client(cluster)
    try:
        yield client
    finally:
        with _uninterrupted():
            client.close()
            cluster.close()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore interruptions: half a cluster could not be closed.

    Processes that are started within never hear of one, and end when they are told to.
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
def _quiet() -> Iterator[None]:
    """Tasks that nobody waits for any more need not be told of, as when one was interrupted."""
    log = logging.getLogger("asyncio")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


@contextlib.contextmanager
def _foreign(address: str) -> Iterator[Any]:
    """A cluster that others have started, and that goes on when we leave."""
    import distributed

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below
            client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise typer.BadParameter(
            f"--dask {address}: no scheduler answers there ({_first_line(error)}). Write local, or "
            "the address that dask scheduler shows when it starts, such as tcp://10.0.0.1:8786."
        ) from None
    with client:
        yield client


def _check_workers(client: Any, address: str, voice: Voice) -> None:
    """Refuse workers that could not do the work; say how many there are."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise typer.BadParameter(
            f"--dask {address}: the scheduler has no workers; start some with dask worker."
        ) from None
    here = _versions()()
    for worker, there in sorted(client.run(_versions()).items()):
        _compare_versions(worker, here, there, voice)
    n = len(client.scheduler_info(n_workers=-1)["workers"])
    where = "on this machine" if address == LOCAL else f"at {address}"
    voice.say(f"{n} Dask worker{'s' * (n > 1)} {where} {'do' if n > 1 else 'does'} the work.")


def _compare_versions(
    worker: str, here: Mapping[str, str | None], there: Mapping[str, str | None], voice: Voice
) -> None:
    if there["posterity"] is None:
        raise typer.BadParameter(
            f"The Dask worker {worker} does not have posterity: install posterity "
            f"{here['posterity']} where the workers run."
        )
    for name in ("python", *_SAME):
        if there[name] != here[name]:
            raise typer.BadParameter(
                f"The Dask worker {worker} has {name} {there[name]}, but here it is {here[name]}: "
                "install the same version on both sides."
            )
    if odd := [name for name in _ALIKE if there[name] != here[name]]:
        words = ", ".join(f"{name} {there[name]} instead of {here[name]}" for name in odd)
        voice.say(f"The Dask worker {worker} has {words}: numbers may differ in the last digits.")


def _versions() -> Any:
    """A function that tells versions where it is called, also where there is no posterity."""
    names = (*_SAME, *_ALIKE)

    def told() -> dict[str, str | None]:  # nested: it travels as code, not by our name
        import platform
        from importlib import metadata

        found: dict[str, str | None] = {"python": ".".join(platform.python_version_tuple()[:2])}
        for name in names:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = None
        return found

    return told


def _about_cluster(error: Exception) -> str | None:
    """A sentence, where it is the cluster that failed and not what was asked of it."""
    if type(error.__cause__).__name__ == "KilledWorker":
        return str(error)
    module = type(error).__module__.partition(".")[0]
    if module == "distributed" or isinstance(error, TimeoutError):
        return f"The Dask cluster stopped answering: {_first_line(error)}."
    return None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".:")
