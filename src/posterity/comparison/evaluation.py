"""Score a fitted model on a table."""

import time
from dataclasses import replace
from typing import Any

from posterity import tables
from posterity.comparison import flags, row_scores, trial
from posterity.comparison.results import Result


def evaluate(
    model: tables.TableModel,
    frame: Any,
    *,
    name: str | None = None,
    flagging: flags.Flagging | None = None,
) -> Result:
    """Score a fitted model on the rows of a table that have a target.

    The scores are valid only for rows that the model was not fitted to.

    Parameters
    ----------
    model : TableModel
        Fitted.
    frame : polars or pandas DataFrame, or dict of columns
        With the target.
    name : str, optional
        Name of the model in the result. Default: the class of its estimator.
    flagging : Flagging, optional
        Of two classes: the one whose rows are flagged, and the costs of mistakes.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, comparison, tables
    >>> table = {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": [1.1, 1.9, 3.0, 4.2, 4.9, 6.0]}
    >>> schema = tables.infer(table, "y", task="regression", keep=["x"])
    >>> model = tables.TableModel(BayesianLinearRegression(), schema).fit(table)
    >>> found = comparison.evaluate(model, {"x": [2.5, 3.5], "y": [2.5, 3.6]})
    >>> found.name, found.rmse < 0.2
    ('BayesianLinearRegression', True)
    """
    asked = flagging or flags.Flagging()
    asked.check_classes(model.labels_, model.schema_.target)
    X, y, rows = row_scores.encode_known_rows(model, frame, "score a model")
    start = time.perf_counter()
    said = row_scores.predict_rows(
        model.estimator_, X, y, rows, classes=model.labels_, n_train=model.n_rows_
    )
    held_out = said.with_quantiles()
    costs = row_scores.Costs(
        predict_seconds=1_000 * (time.perf_counter() - start) / len(rows),
        n_bytes=trial.saved_size(model),
        log_evidence=trial.comparable_evidence(model.estimator_),
    )
    called = type(tables.strip_exposure(model.estimator_)).__name__ if name is None else name
    code = " ".join(repr(model.estimator).split())
    result = row_scores.score_predictions(called, code, held_out, costs, baseline=False)
    return replace(result, two_classes=flags.score_two_classes(held_out, asked))
