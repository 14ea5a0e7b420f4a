"""Small tables and saved models that the words of the command are tried on."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from posterity.cli import app


@pytest.fixture
def at(tmp_path, monkeypatch):
    """An empty folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(at):
    """Run the command with a line of words; the words may hold spaces when given one by one."""

    def invoke(*words, **more):
        line = words[0].split() if len(words) == 1 else list(words)
        return CliRunner().invoke(app, line, **more)

    return invoke


@pytest.fixture
def houses(at):
    """Prices with a town, a date and missing values, in raw text."""
    rng = np.random.default_rng(0)
    n = 60
    size = rng.uniform(40.0, 200.0, n)
    town = rng.choice(["Z\u00fcrich", "Bern", 'say "hi", <b>'], n)
    price = 100.0 + 3.0 * size + 80.0 * (town == "Bern") + rng.normal(0.0, 10.0, n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 60, n)
    frame = pl.DataFrame({"size": size, "town": town, "sold": days, "price": price})
    hole = pl.int_range(pl.len()) % 11 == 0
    frame = frame.with_columns(pl.when(hole).then(None).otherwise(pl.col("size")).alias("size"))
    path = at / "houses.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def flowers(at):
    """Three classes, told apart by two numbers."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, 60)
    frame = pl.DataFrame(
        {
            "length": kind + 0.4 * rng.normal(size=60),
            "width": rng.normal(size=60),
            "kind": np.array(["rose", "lily", "daisy"])[kind],
        }
    )
    path = at / "flowers.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def patients(at):
    """Two classes, of which the rarer one is told by one of two numbers."""
    rng = np.random.default_rng(2)
    dose, age = rng.normal(size=(2, 120))
    ill = np.where(2.0 * dose - 1.5 + rng.logistic(size=120) > 0.0, "yes", "no")
    path = at / "patients.csv"
    pl.DataFrame({"dose": dose, "age": age, "ill": ill}).write_csv(path)
    return path
