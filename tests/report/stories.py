"""Small stories that the tests of the report tell."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from posterity import comparison, kernels, report, tables
from posterity.linear import BayesianLinearRegression, BayesianLogisticRegression
from posterity.sparse import RelevanceVectorRegressor

N = 90


def measurements(n: int = N) -> pl.DataFrame:
    """A number, a category, a date, missing values, and a number to predict."""
    rng = np.random.default_rng(0)
    size, kind = rng.normal(10.0, 2.0, n), rng.choice(["oak", "ash", "elm"], n)
    days = (np.datetime64("2020-01-01") + rng.integers(0, 900, n)).astype(str)
    y = 3.0 * size + 2.0 * (kind == "oak") + rng.normal(size=n)
    frame = pl.DataFrame({"size": size, "kind": kind, "felled": days, "height": y})
    gone = pl.Series(np.arange(n) % 17 == 3)
    return frame.with_columns(size=pl.when(gone).then(None).otherwise(pl.col("size")))


def flowers(n: int = 120, classes: int = 3) -> pl.DataFrame:
    """Two numbers and a class of several."""
    rng = np.random.default_rng(1)
    c = rng.integers(0, classes, n)
    angle = 2.0 * np.pi * c / classes
    names = np.array([f"class {k}" for k in range(classes)])
    x, z = np.cos(angle) + 0.4 * rng.normal(size=n), np.sin(angle) + 0.4 * rng.normal(size=n)
    return pl.DataFrame({"x": x, "z": z, "c": names[c]})


def fitted(estimator: Any, frame: pl.DataFrame, target: str) -> tables.TableModel:
    return tables.TableModel(estimator, tables.infer(frame, target)).fit(frame)


def told(estimator: Any, frame: pl.DataFrame, target: str, **more: Any) -> report.ReportContents:
    """A story of one model, measured on the rows it was fitted to."""
    model = fitted(estimator, frame, target)
    held_out = comparison.evaluate(model, frame).held_out
    return report.ReportContents("a title", "posterity report it", model, frame, held_out, **more)


def numbers() -> report.ReportContents:
    return told(BayesianLinearRegression(), measurements(), "height")


def classes() -> report.ReportContents:
    return told(BayesianLogisticRegression(), flowers(), "c")


def vectors() -> report.ReportContents:
    """Kept rows; the first rows of the table have no target."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-3.0, 3.0, 80)
    y = [None] * 4 + list(np.sinc(x[4:]) + 0.1 * rng.normal(size=76))
    frame = pl.DataFrame({"x": x, "y": y})
    return told(RelevanceVectorRegressor(kernels.RBF(1.0).fixed()), frame, "y")


def compared(story: report.ReportContents, *behind: float) -> report.ReportContents:
    """The same, as the winner over models that are so far behind; the last is a baseline."""
    first = comparison.evaluate(story.model, story.frame)
    best = dataclasses.replace(first, name="best one", code="Best()", baseline=False)
    rest = [
        dataclasses.replace(
            best,
            name=f"model {k}",
            baseline=k == len(behind) - 1,
            behind=lost,
            behind_error=0.01,
            log_score=best.log_score - lost,
        )
        for k, lost in enumerate(behind)
    ]
    found = comparison.Comparison(
        story.schema,
        (best, *rest),
        (comparison.Skipped("slow one", "no time left"),),
        folds=5,
        seed=7,
        n_rows=len(story.held_out.rows),
        seconds=1.0,
        winner=story.model,
        verdict="Use the best one. It can be trusted.",
        importance=comparison.importance(story.model, story.frame),
    )
    return dataclasses.replace(story, comparison=found)
