"""Small tables with every kind of input, and pages that hold nothing but a panel."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from posterity import tables
from posterity.report import what_if
from posterity.report.sections import usage

EPOCH = np.datetime64("1970-01-01")
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SAID = "return {...document.querySelector('#what-if .said').dataset}"
SET = """
const [name, type, value] = arguments;
const row = [...document.querySelectorAll("#what-if .input")].find(
  (row) => row.querySelector(".name").textContent === name);
const control = row.querySelector(type);
control.value = value;
control.dispatchEvent(new Event("input", { bubbles: true }));
"""
INPUTS = (
    tables.Column("width", "number"),
    tables.Column("age", "number"),
    tables.Column("kind", "category"),
    tables.Column("day", "date"),
)


def schema(n_classes: int = 0) -> tables.Schema:
    return tables.Schema("y", "classification" if n_classes else "regression", INPUTS)


def frame(n: int, n_classes: int = 0, seed: int = 0) -> pl.DataFrame:
    """Rows of which some values are missing; positive targets, or classes."""
    rng = np.random.default_rng(seed)
    width, age = rng.normal(3.0, 2.0, n), rng.uniform(0.0, 10.0, n)
    kind, day = rng.choice(["x", "y", "z"], n), rng.integers(18_000, 19_000, n)
    latent = np.sin(width) + 0.3 * age + 1.5 * (kind == "x") + np.cos(2.0 * np.pi * day / 365.0)
    told = latent + rng.normal(0.0, 0.6, n)
    cuts = np.quantile(told, np.linspace(0.0, 1.0, n_classes + 1)[1:-1]) if n_classes else []
    labels = [f"class {c}" for c in np.searchsorted(cuts, told)]
    return pl.DataFrame(
        {
            "width": _with_gaps(width.tolist(), 0.1, rng),
            "age": age,
            "kind": _with_gaps(kind.tolist(), 0.1, rng),
            "day": [str(EPOCH + int(d)) for d in day],
            "y": labels if n_classes else np.exp(0.4 * told),
        }
    )


def queries(n: int) -> pl.DataFrame:
    """Rows far beyond those, with levels that were never seen."""
    rng = np.random.default_rng(9)
    return pl.DataFrame(
        {
            "width": _with_gaps(rng.normal(3.0, 5.0, n).tolist(), 0.2, rng),
            "age": rng.uniform(-5.0, 20.0, n),
            "kind": _with_gaps(rng.choice(["x", "y", "z", "new"], n).tolist(), 0.2, rng),
            "day": [str(EPOCH + int(d)) for d in rng.integers(17_000, 20_000, n)],
        }
    )


def values(rows: pl.DataFrame) -> list[list[Any]]:
    """The rows as the panel has them: dates are days."""
    days = [(np.datetime64(day) - EPOCH).astype(int).item() for day in rows["day"]]
    columns = [rows["width"].to_list(), rows["age"].to_list(), rows["kind"].to_list(), days]
    return [list(row) for row in zip(*columns, strict=True)]


def fitted(estimator: Any, n: int = 60, n_classes: int = 0) -> tables.TableModel:
    return tables.TableModel(estimator, schema(n_classes)).fit(frame(n, n_classes))


def page(payload: dict[str, Any]) -> str:
    """A page under a policy as strict as that of a report."""
    template = resources.files("posterity.report") / "templates" / "style.css"
    style, script = template.read_text(encoding="utf-8") + what_if.style(), what_if.script()
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A panel</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<style>{style}</style></head><body><main><div id="what-if"></div></main>'
        f'<script type="application/json" id="what-if-data">{usage.embed_json(payload)}</script>'
        f"<script>{script}</script></body></html>"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _with_gaps(values: Sequence[Any], share: float, rng: np.random.Generator) -> list[Any]:
    return [None if rng.random() < share else value for value in values]
