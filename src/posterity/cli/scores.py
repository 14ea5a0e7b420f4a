"""Format scores as rows of a printed table and as JSON."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from posterity import comparison
from posterity.cli import amounts


def column_heads(task: str) -> tuple[str, ...]:
    """Return the column heads of the ranking."""
    shown = ("RMSE", "coverage 90 %") if task == "regression" else ("accuracy",)
    return (
        *("model", "log score", *shown, "calibration error", "log evidence"),
        *("fit", "predict", "size"),
    )


def explain_columns(task: str, *, ranked: bool = True) -> str:
    """Explain the columns of the ranking, or of the scores of a single model."""
    shown = (
        "coverage 90 %: share of rows inside their 90 % interval; calibration error: largest "
        "difference between a quantile level and the share of rows below that quantile"
        if task == "regression"
        else "accuracy: share of rows whose most probable class is the observed one; calibration "
        "error: mean difference between predicted probabilities and observed frequencies"
    )
    return (
        "log score: mean log probability of the observed value, +- standard error, higher is "
        f"better; {shown}; predict: time for 1,000 rows"
        f"{'; in parentheses: baselines; >: the chosen model' if ranked else ''}."
    )


def format_cells(result: comparison.Result, *, chosen: bool = False) -> Iterator[str]:
    """Yield the cells of one row of the ranking, in the order of ``columns``."""
    yield format_name(result, chosen=chosen)
    yield f"{result.log_score:.3f} +- {result.standard_error:.3f}"
    if result.rmse is not None:
        yield f"{result.rmse:.4g}"
        yield "" if result.coverage is None else f"{100.0 * result.coverage:.1f} %"
    else:
        yield "" if result.accuracy is None else f"{100.0 * result.accuracy:.1f} %"
    yield f"{result.calibration:.3f}"
    yield "" if result.log_evidence is None else f"{result.log_evidence:.1f}"
    yield "" if result.fit_seconds is None else amounts.format_duration(result.fit_seconds)
    yield amounts.format_duration(result.predict_seconds)
    yield "" if result.n_bytes is None else amounts.format_size(result.n_bytes)


def format_name(result: comparison.Result, *, chosen: bool = False) -> str:
    """Return the name of a model with its marks."""
    name = f"({result.name})" if result.baseline else result.name
    return f"{'> ' if chosen else ''}{name}{'*' if result.stopped else ''}"


def as_json(result: comparison.Result) -> dict[str, Any]:
    """Return the scores of a result as a dictionary, without its rows."""
    names = (
        *("name", "code", "baseline", "log_score", "standard_error", "behind", "behind_error"),
        *("rmse", "accuracy", "coverage", "calibration", "log_evidence"),
        *("fit_seconds", "predict_seconds", "n_bytes"),
        *("folds", "stopped", "probability_best"),
    )
    scores = {name: getattr(result, name) for name in names}
    if result.two_classes is not None:
        scores |= dataclasses.asdict(result.two_classes)
    return scores | ({"weights": dict(result.weights)} if result.weights else {})
