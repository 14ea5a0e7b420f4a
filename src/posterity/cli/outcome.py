"""End a command with an error message and an exit code, never with a traceback."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import IO

import typer

DATA, MODEL, OWN, STOPPED = 3, 4, 1, 130
TRACEBACK = "POSTERITY_TRACEBACK"


class ModelError(Exception):
    """Raised if a model cannot be fitted or used; the message says why."""


def print_error(sentence: str) -> None:
    """Print an error message to standard error, in red on a colour terminal."""
    typer.secho(sentence, err=True, fg=typer.colors.RED)


@contextlib.contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the distinct warnings of the block; the list is full when the block ends."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")  # once for each line that warns
        yield sentences
    sentences += dict.fromkeys(str(warning.message) for warning in caught)


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Turn any exception in the block into a message on standard error and an exit code.

    0: success; 2: wrong usage, which typer reports; 3: unusable data; 4: a model that cannot be
    fitted, read or used; 130: interrupted, as shells expect; 1: an internal error of posterity.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        print_error("Interrupted. Unfinished files have been removed.")
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:  # the reader of our output has closed it
        silence(sys.stdout)
        raise typer.Exit(0) from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        code, sentence = _exit_code_and_message(error)
        print_error(sentence)
        raise typer.Exit(code) from None


def silence(stream: IO[str]) -> None:
    """Redirect a stream to the null device, also for what Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _exit_code_and_message(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message for an exception."""
    # Imported here because help and usage errors should not load these packages.
    from posterity import persistence, tables

    if isinstance(error, tables.TableError):
        return DATA, str(error)
    if isinstance(error, (persistence.FileError, ModelError)):
        return MODEL, str(error)
    if isinstance(error, OSError):
        return DATA, f"{error.strerror or type(error).__name__}: {error.filename or 'a file'}."
    if isinstance(error, MemoryError):
        return MODEL, "Out of memory; use fewer rows with --rows."
    return OWN, (
        f"Internal error in posterity: {type(error).__name__}: {error}\n"
        f"Set {TRACEBACK}=1 to see the traceback, and please report it."
    )
