"""What polars raises, as sentences: also its panics, which no ``except Exception`` sees."""

import contextlib
from collections.abc import Iterator

import polars as pl

from posterity.tables import columns

_REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)


@contextlib.contextmanager
def polars_refusing(name: str) -> Iterator[None]:
    """Raise TableError, naming the file, where polars gives up on what it is given."""
    try:
        yield
    except _REFUSALS as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0].rstrip(".")
        raise columns.TableError(
            f"{name} cannot be read; it may be damaged or cut short ({reason}). Save it again."
        ) from error
