"""Convert polars errors, including panics, to TableError."""

import contextlib
from collections.abc import Iterator

import polars as pl

from posterity.tables import columns

_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)


@contextlib.contextmanager
def convert_polars_errors(name: str) -> Iterator[None]:
    """Raise TableError with the file name if polars fails."""
    try:
        yield
    except _REFUSALS as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0].rstrip(".")
        raise columns.TableError(
            f"{name} cannot be read; it may be damaged or truncated ({reason}). Save it again."
        ) from error
