"""Whether stated probabilities of classes come true: in bins of equally many rows.

Bins of equal width leave most rows of a sure classifier in one bin; these do not.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from benchmarks.cases import Array

BINS = 10

NOTE = (
    f"Test rows are ordered by the probability stated of the class predicted, and cut into {BINS} "
    "bins of equally many. A cell has the mean probability stated, then the share that was right; "
    "of right probabilities they would agree. The error is their mean distance, and the last "
    "column what it would be by chance for probabilities as these if they were right. Of the first "
    "seed of each contender."
)


def confidence(P: Array, y: NDArray[np.intp]) -> tuple[Array, Array]:
    """The probability stated of the class predicted, and whether it was right."""
    return P.max(axis=1), (P.argmax(axis=1) == y).astype(np.float64)


def error(stated: Array, happened: Array) -> float:
    """Mean distance of the share that happened from the probability stated.

    Examples
    --------
    >>> import numpy as np
    >>> round(error(np.array([0.8, 0.8]), np.array([1.0, 1.0])), 3)
    0.2
    """
    excess = [abs(np.sum(b - a)) for a, b in _bins(stated, happened)]
    return float(np.sum(excess) / len(stated))


def error_of_classes(P: Array, y: NDArray[np.intp]) -> float:
    """The mean over the classes of the error of each one's probability."""
    return float(np.mean([error(P[:, c], (y == c).astype(np.float64)) for c in range(P.shape[1])]))


def error_by_chance(stated: Array) -> float:
    """About what the error would be if every probability stated were right.

    The sum over a bin is nearly normal, and the mean distance of a normal from its centre is
    sqrt(2 / pi) standard deviations.
    """
    variances = [np.sum(a * (1.0 - a)) for a, _ in _bins(stated, stated)]
    return float(np.sum(np.sqrt(2.0 / np.pi * np.array(variances))) / len(stated))


def diagram(stated: Array, happened: Array) -> list[dict[str, float]]:
    """The points of a reliability diagram."""
    return [
        {"rows": len(a), "stated": float(a.mean()), "happened": float(b.mean())}
        for a, b in _bins(stated, happened)
    ]


def _bins(stated: Array, happened: Array) -> Iterator[tuple[Array, Array]]:
    """Equally many rows each, from the least probable to the most."""
    order = np.argsort(stated, kind="stable")
    for part in np.array_split(order, min(BINS, len(order))):
        yield stated[part], happened[part]


def of_run(result: dict[str, Any], name: str, title: str) -> dict[str, Any]:
    """The diagrams of a run that measured other things too, as a result of their own."""
    kept = ("contender", "repeat", "diagram", "error_by_chance", "blas", "blas_threads")
    tasks = [
        task | {"runs": [{key: run[key] for key in kept} for run in task["runs"]], "summary": {}}
        for task in result["tasks"]
    ]
    return result | {"benchmark": name, "title": title, "note": NOTE, "tasks": tasks}


def page(result: dict[str, Any]) -> str:
    """The diagrams of a run as tables: a set each, a contender a row."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", result["note"], ""]
    for task in result["tasks"]:
        size = f"{task['rows']:,} x {task['columns']:,}, {task['test_rows']:,} test rows"
        lines += [f"## {size}: {task['name']}", "", *_table(task["runs"]), ""]
    return "\n".join(lines)


def _table(runs: Sequence[dict[str, Any]]) -> list[str]:
    first = {run["contender"]: run for run in runs if run["repeat"] == 0}
    heading = ["", *(str(k) for k in range(1, BINS + 1)), "error", "by chance"]
    return report.table(heading, [_row(name, run) for name, run in first.items()])


def _row(name: str, run: dict[str, Any]) -> list[str]:
    cells = [f"{p['stated']:.3f} {p['happened']:.3f}" for p in run["diagram"]]
    cells += ["-"] * (BINS - len(cells))
    rows = sum(point["rows"] for point in run["diagram"])
    found = sum(p["rows"] * abs(p["happened"] - p["stated"]) for p in run["diagram"]) / rows
    return [name, *cells, report.number(found), report.number(run["error_by_chance"])]
