"""Tables whose rows are exchangeable, in many shapes: nothing in them depends on its neighbours."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets

from benchmarks.cases import Array

Table = dict[str, Any]


def make_tables(seed: int = 0) -> dict[str, tuple[Table, str]]:
    """Return thirty tables by name, each with the name of its target."""
    rng = np.random.default_rng(seed)
    made = {name: (make(rng), "y") for name, make in _MADE.items()}
    return made | _load_sets(rng)


def _numbers(
    n: int, d: int, function: Callable[[Array], Array], noise: Callable[[Any, int], Array]
) -> Callable[[Any], Table]:
    def make(rng: Any) -> Table:
        X = rng.normal(size=(n, d))
        return {**{f"x{k}": X[:, k] for k in range(d)}, "y": function(X) + noise(rng, n)}

    return make


def _normal(rng: Any, n: int) -> Array:
    return rng.normal(size=n)


def _heavy(rng: Any, n: int) -> Array:
    return rng.standard_t(2, size=n)


def _skewed(rng: Any, n: int) -> Array:
    return rng.lognormal(0.0, 1.0, size=n)


def _days(rng: Any, n: int, *, ordered: bool) -> list[datetime.date]:
    days = rng.integers(0, 3 * n, n)
    days = np.sort(days) if ordered else days
    return [datetime.date(2018, 1, 1) + datetime.timedelta(days=int(day)) for day in days]


def _dated(
    effect: Callable[[Array], Array], *, ordered: bool, n: int = 300
) -> Callable[[Any], Table]:
    """Rows with a date, on which the target depends in a way that extends to later dates."""

    def make(rng: Any) -> Table:
        dates = _days(rng, n, ordered=ordered)
        t = np.array([day.toordinal() for day in dates], dtype=float)
        x = rng.normal(size=n)
        return {"date": dates, "x": x, "y": effect(t - t.min()) + np.sin(2 * x) + _normal(rng, n)}

    return make


def _grouped(n_groups: int, n: int, *, name: str, text: bool) -> Callable[[Any], Table]:
    """Rows with a repeated identifier that says nothing of the target."""

    def make(rng: Any) -> Table:
        g, x = rng.integers(0, n_groups, n), rng.normal(size=n)
        labels: Any = [f"k{k}" for k in g] if text else g
        return {name: labels, "x": x, "w": rng.random(n), "y": x**2 + _normal(rng, n)}

    return make


def _counted(rng: Any) -> Table:
    age, n = rng.integers(18, 90, 400), 400
    return {"age": age, "x": rng.normal(size=n), "y": 3.0 * np.sin(age / 12.0) + _normal(rng, n)}


def _categories(rng: Any) -> Table:
    level, x = rng.integers(0, 12, 400), rng.normal(size=400)
    effects = rng.normal(size=12)
    return {"colour": [f"c{k}" for k in level], "x": x, "y": effects[level] + x + _normal(rng, 400)}


def _sorted_by_input(rng: Any) -> Table:
    x = np.sort(rng.uniform(-3.0, 3.0, 300))
    return {"x": x, "w": rng.normal(size=300), "y": np.sin(2 * x) + 0.3 * _normal(rng, 300)}


def _sorted_by_target(rng: Any) -> Table:
    x = rng.normal(size=300)
    y = x + _normal(rng, 300)
    order = np.argsort(y)
    return {"x": x[order], "w": rng.normal(size=300), "y": y[order]}


def _mapped(rng: Any) -> Table:
    L, w = rng.random((300, 2)), rng.normal(size=300)
    return {"lat": L[:, 0], "lon": L[:, 1], "w": w, "y": 2.0 * L[:, 0] + w**2 + _normal(rng, 300)}


def _classes(n: int, d: int, n_classes: int) -> Callable[[Any], Table]:
    def make(rng: Any) -> Table:
        X = rng.normal(size=(n, d))
        a = X[:, : min(n_classes, d)] @ rng.normal(size=(min(n_classes, d), n_classes))
        y = np.argmax(a + rng.gumbel(size=a.shape), axis=1)
        return {**{f"x{k}": X[:, k] for k in range(d)}, "y": [f"class {k}" for k in y]}

    return make


def _dated_classes(rng: Any) -> Table:
    x = rng.normal(size=300)
    labels = np.where(x + rng.logistic(size=300) > 0.0, "yes", "no")
    return {"date": _days(rng, 300, ordered=True), "x": x, "y": labels}


def _missing(rng: Any) -> Table:
    X = rng.normal(size=(300, 3))
    y = X.sum(axis=1) + _normal(rng, 300)
    X[rng.random(X.shape) < 0.2] = np.nan
    return {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}


_MADE: dict[str, Callable[[Any], Table]] = {
    "linear, few rows": _numbers(60, 3, lambda X: X[:, 0], _normal),
    "linear": _numbers(400, 5, lambda X: X @ np.arange(5.0), _normal),
    "many columns": _numbers(200, 60, lambda X: X[:, 0] - X[:, 1], _normal),
    "curved": _numbers(400, 3, lambda X: np.sin(3 * X[:, 0]) + X[:, 1] ** 2, _normal),
    "products": _numbers(500, 4, lambda X: X[:, 0] * X[:, 1], _normal),
    "heavy tails": _numbers(400, 3, lambda X: X[:, 0], _heavy),
    "skewed": _numbers(400, 3, lambda X: np.exp(X[:, 0]), _skewed),
    "noise alone": _numbers(300, 4, lambda X: 0.0 * X[:, 0], _normal),
    "many rows": _numbers(6_000, 4, lambda X: np.abs(X[:, 0]), _normal),
    "dates that say nothing": _dated(lambda t: 0.0 * t, ordered=True),
    "dates in any order": _dated(lambda t: 0.0 * t, ordered=False),
    "trend in time": _dated(lambda t: 0.01 * t, ordered=True),
    "season of a year": _dated(lambda t: 2.0 * np.sin(2 * np.pi * t / 365.2425), ordered=True),
    "identifier of texts": _grouped(40, 400, name="patient", text=True),
    "identifier of numbers": _grouped(50, 400, name="customer_id", text=False),
    "whole numbers": _grouped(30, 600, name="code", text=False),
    "smooth effect of age": _counted,
    "effects of categories": _categories,
    "sorted by an input": _sorted_by_input,
    "sorted by the target": _sorted_by_target,
    "plane on a map": _mapped,
    "two classes": _classes(400, 4, 2),
    "five classes": _classes(500, 6, 5),
    "dates and classes": _dated_classes,
    "missing values": _missing,
}


def _load_sets(rng: Any) -> dict[str, tuple[Table, str]]:
    """Return the sets of scikit-learn, shuffled."""
    found = {}
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        order = rng.permutation(len(frame))
        table = {str(column).replace(" ", "_"): frame[column].to_numpy()[order] for column in frame}
        if name != "diabetes":
            table["target"] = [f"class {k}" for k in table["target"]]
        found[f"{name}, shuffled"] = (table, "target")
    return found
