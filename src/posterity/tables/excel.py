"""Read a sheet of an Excel or OpenDocument workbook, by the optional package python-calamine."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from posterity.tables import columns, headers, streams

_MOST_TITLES = 5  # rows above the header that are skipped
_LOOKED_AT = 200
_INSTALL = "pip install 'posterity[excel]'"


@dataclass(frozen=True)
class ExcelReader:
    """The rows of one sheet."""

    frame: pl.DataFrame
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in the order of the sheet."""
        yield from self.frame.iter_slices(n_rows)


def open_excel(stream: streams.Stream, sheet: str | None) -> ExcelReader:
    """Read a sheet, the first one by default."""
    with streams.write_to_disk(stream) as path:
        rows, chosen, others = _read_sheet(str(path), stream.name, sheet)
    filled = [row for row in rows if any(cell is not None for cell in row)]
    if not filled:
        raise columns.TableError(f"The sheet {chosen!r} of {stream.name} is empty.")
    n_before = _count_titles(filled)
    names, body, said = _take_names(filled[n_before:])
    notes = [
        f"The sheet {chosen!r} is read; others are {_list(others)} (--sheet NAME)."
        if others
        else "",
        "Short rows before the header were skipped." if n_before else "",
        *said,
    ]
    series = [_make_series(name, [row[i] for row in body]) for i, name in enumerate(names)]
    return ExcelReader(pl.DataFrame(series), tuple(note for note in notes if note))


def _read_sheet(path: str, name: str, sheet: str | None) -> tuple[list[list[Any]], str, list[str]]:
    """Return the cells of a sheet, None where empty, its name, and the names of the others."""
    try:
        import python_calamine
    except ImportError as error:
        raise columns.TableError(
            f"{name} is an Excel workbook; reading it requires a further package: {_INSTALL}. Or "
            "save the table as CSV."
        ) from error
    try:
        book = python_calamine.load_workbook(path)
        names = list(book.sheet_names)
        chosen = _choose_sheet(names, sheet, name)
        rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
    except columns.TableError:
        raise
    except BaseException as error:  # a panic of the reader is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise columns.TableError(
            f"{name} cannot be read as a workbook; it may be damaged or need a password "
            f"({reason:.200}). Save the table as CSV."
        ) from error
    cells = [[None if cell == "" else cell for cell in row] for row in rows]
    return cells, chosen, [other for other in names if other != chosen]


def _choose_sheet(names: Sequence[str], sheet: str | None, name: str) -> str:
    """Return the name of the sheet to read."""
    if not names:
        raise columns.TableError(f"{name} has no sheets.")
    if sheet is None:
        return names[0]
    if sheet not in names:
        raise columns.TableError(f"{name} has no sheet {sheet!r}. Its sheets are {_list(names)}.")
    return sheet


def _count_titles(rows: list[list[Any]]) -> int:
    """Return the number of rows with a single cell above the header."""
    filled = [sum(cell is not None for cell in row) for row in rows[:_LOOKED_AT]]
    typical = sorted(filled)[len(filled) // 2]
    n = next((i for i, count in enumerate(filled) if count > 1), 0)
    return n if typical > 1 and n <= _MOST_TITLES else 0


def _take_names(rows: list[list[Any]]) -> tuple[tuple[str, ...], list[list[Any]], headers.Notes]:
    """Return the column names, the rows below them, and notes."""
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in rows[0]):
        names = tuple(f"column_{i}" for i in range(1, len(rows[0]) + 1))
        return names, rows, ("The first row contains only numbers, so the columns are numbered.",)
    written = ["" if cell is None else " ".join(_format_cell(cell).split()) for cell in rows[0]]
    names = headers.make_names_unique(written)
    return names, rows[1:], headers.describe_renaming(written, names)


def _make_series(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of numbers, truths, dates or times where all cells are; of text otherwise."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pl.Series(name, [None if c is None else float(c) for c in cells], dtype=pl.Float64)
    if kinds <= {datetime.date, datetime.datetime}:
        return pl.Series(name, [_make_datetime(cell) for cell in cells], dtype=pl.Datetime("us"))
    if len(kinds) == 1 and kinds <= {bool, datetime.time, datetime.timedelta}:
        return pl.Series(name, cells)
    return pl.Series(name, [None if c is None else _format_cell(c) for c in cells], dtype=pl.String)


def _make_datetime(cell: Any) -> datetime.datetime | None:
    if cell is None or isinstance(cell, datetime.datetime):
        return cell
    return datetime.datetime.combine(cell, datetime.time())


def _format_cell(cell: Any) -> str:
    """Format a cell as text, whole numbers without a point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _list(names: Sequence[str]) -> str:
    return columns.list_names(list(map(repr, names)))
