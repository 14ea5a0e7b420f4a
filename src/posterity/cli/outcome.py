"""How a command ends: with a sentence and a number, never with a traceback."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import IO

import typer

DATA, MODEL, OWN, STOPPED = 3, 4, 1, 130
TRACEBACK = "POSTERITY_TRACEBACK"


class ModelError(Exception):
    """A model that could not be fitted or used; the message says why."""


def complain(sentence: str) -> None:
    """Say on standard error what went wrong, in red where a person sees colours."""
    typer.secho(sentence, err=True, fg=typer.colors.RED)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn whatever goes wrong inside into a sentence on standard error and an exit code.

    0 is success and 2 a wrong use of the command, which typer answers; data that cannot be used
    give 3, a model that cannot be fitted, read or used 4. An interruption gives 130, as shells
    expect, and an error of posterity's own 1.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        complain("Stopped. Files that were not finished have been removed.")
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:  # whoever read our output has had enough
        silence(sys.stdout)
        raise typer.Exit(0) from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        code, sentence = _ending(error)
        complain(sentence)
        raise typer.Exit(code) from None


def silence(stream: IO[str]) -> None:
    """Let what is still to be written there go nowhere, at the end of Python too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _ending(error: Exception) -> tuple[int, str]:
    """The exit code and the sentence of an error."""
    # Imported here: only where something went wrong after the rooms were needed.
    from posterity import persistence, tables

    if isinstance(error, tables.TableError):
        return DATA, str(error)
    if isinstance(error, (persistence.FileError, ModelError)):
        return MODEL, str(error)
    if isinstance(error, OSError):
        return DATA, f"{error.strerror or type(error).__name__}: {error.filename or 'a file'}."
    if isinstance(error, MemoryError):
        return MODEL, "There is not enough memory for this; try --rows with a smaller number."
    return OWN, (
        f"posterity met an error of its own, which it should not: {type(error).__name__}: {error}\n"
        f"Set {TRACEBACK}=1 to see where, and please report it."
    )
