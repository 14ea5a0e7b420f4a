"""Scores as words and numbers: one row of the ranking, for a person and for a machine."""

from collections.abc import Iterator
from typing import Any

from posterity import comparison
from posterity.cli import amounts


def columns(task: str) -> tuple[str, ...]:
    """The heads of the ranking."""
    shown = ("RMSE", "in 90 %") if task == "regression" else ("right",)
    return ("model", "log score", *shown, "off by", "evidence", "fit", "predict", "size")


def legend(task: str) -> str:
    """What the columns mean."""
    shown = (
        "in 90 %: rows within their 90 % intervals; off by: the most that the share of rows below "
        "a quantile differs from its level"
        if task == "regression"
        else "right: rows whose most probable class came; off by: how far stated probabilities are "
        "from observed shares, on average"
    )
    return (
        "log score: mean log probability of what came, higher is better, +- its standard error; "
        f"{shown}; predict: of 1,000 rows; in brackets: what the family is held against."
    )


def cells(result: comparison.Result) -> Iterator[str]:
    """One row of the ranking, in the order of ``columns``."""
    yield f"({result.name})" if result.baseline else result.name
    yield f"{result.log_score:.3f} +- {result.standard_error:.3f}"
    if result.rmse is not None:
        yield f"{result.rmse:.4g}"
        yield "" if result.coverage is None else f"{100.0 * result.coverage:.1f} %"
    else:
        yield "" if result.accuracy is None else f"{100.0 * result.accuracy:.1f} %"
    yield f"{result.calibration:.3f}"
    yield "" if result.log_evidence is None else f"{result.log_evidence:.1f}"
    yield "" if result.fit_seconds is None else amounts.duration(result.fit_seconds)
    yield amounts.duration(result.predict_seconds)
    yield "" if result.n_bytes is None else amounts.size(result.n_bytes)


def answer(result: comparison.Result) -> dict[str, Any]:
    """The same for a machine: everything but the rows."""
    names = (
        *("name", "code", "baseline", "log_score", "standard_error", "behind", "behind_error"),
        *("rmse", "accuracy", "coverage", "calibration", "log_evidence"),
        *("fit_seconds", "predict_seconds", "n_bytes"),
    )
    return {name: getattr(result, name) for name in names}
