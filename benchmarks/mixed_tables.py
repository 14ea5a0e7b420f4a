"""Tables as people have them: numbers, categories and dates side by side, some cells empty."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl

TARGET = "price"
LEVELS = ("brick", "concrete", "steel", "straw", "wood")
FIRST_DAY = datetime.date(2015, 1, 1)
DAYS = 3_000
MISSING, NOISE = 0.02, 0.5


def table(rng: np.random.Generator, n_rows: int, n_columns: int) -> pl.DataFrame:
    """Columns of each kind in turn, of which each adds to the target; then the target.

    The law is the same for every table of so many columns: only rows are drawn.
    """
    w = np.random.default_rng(n_columns).normal(size=(n_columns, len(LEVELS)))
    y = NOISE * rng.normal(size=n_rows)
    columns = {}
    for j in range(n_columns):
        name, cells, effect = _KINDS[j % len(_KINDS)](rng, n_rows, w[j])
        empty = rng.uniform(size=n_rows) < MISSING
        y += np.where(empty, 0.0, effect)
        columns[f"{name}_{j}"] = cells.set(pl.Series(empty), None)
    return pl.DataFrame(columns).with_columns(pl.Series(TARGET, y.round(3)))


def _numbers(rng: np.random.Generator, n: int, w: np.ndarray) -> tuple[str, pl.Series, np.ndarray]:
    x = rng.normal(size=n).round(4)
    return "number", pl.Series(x), w[0] * x


def _levels(rng: np.random.Generator, n: int, w: np.ndarray) -> tuple[str, pl.Series, np.ndarray]:
    k = rng.integers(len(LEVELS), size=n)
    return "material", pl.Series(LEVELS, dtype=pl.String).gather(k), w[k]


def _days(rng: np.random.Generator, n: int, w: np.ndarray) -> tuple[str, pl.Series, np.ndarray]:
    day = rng.integers(DAYS, size=n)
    first = (FIRST_DAY - datetime.date(1970, 1, 1)).days
    return "day", pl.Series(first + day, dtype=pl.Int32).cast(pl.Date), w[0] * day / DAYS


_KINDS = (_numbers, _numbers, _levels, _days)
