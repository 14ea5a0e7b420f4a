"""Many values in one case: a test that runs for each of them and names all that fail.

A case of its own costs collection in every worker, so a grid of cheap values is one case.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

FAILURES = (Exception, pytest.fail.Exception)


def for_each(
    names: str | tuple[str, ...],
    values: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Any = None,
) -> Callable:
    """Run a test for each value, as ``pytest.mark.parametrize`` does, but as one case.

    The test takes no fixture that keeps state from one value to the next. A function that gives
    the values is called when the test runs, so that no other worker spends time on finding them.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = None if callable(values) else _rows(values, len(fields))

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            rows = listed or _rows(values(), len(fields))
            failed = [error for row in rows if (error := _failure(test, fields, row, given))]
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} values fail", failed)

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in fields]
        run.__signature__ = signature.replace(parameters=kept)  # what pytest takes for fixtures
        del run.__wrapped__
        return run

    return decorate


def _rows(values: Iterable[Any], n_fields: int) -> list[tuple]:
    rows = [_row(value, n_fields) for value in values]
    assert rows, "there is no value to test"
    return rows


def _row(value: Any, n_fields: int) -> tuple:
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "a marked value needs a case of its own"
        return value.values
    return (value,) if n_fields == 1 else tuple(value)


def _failure(test: Callable, fields: list[str], row: tuple, given: dict) -> BaseException | None:
    given_row = dict(zip(fields, row, strict=True))
    try:
        test(**given, **given_row)
    except FAILURES as error:
        error.add_note("with " + ", ".join(f"{f}={v!r}"[:200] for f, v in given_row.items()))
        return error
    return None
