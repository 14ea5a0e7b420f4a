"""Build the JSON payload of the panel."""

from __future__ import annotations

from collections.abc import Sequence

from posterity import tables
from posterity.report.what_if import classifiers, inputs, packing, regressors
from posterity.report.what_if.forms import pack_estimator
from posterity.report.what_if.packing import Json, NoFormError, NoPanel

_REGISTERED = (classifiers, regressors)  # importing them registers their forms


def payload(model: tables.TableModel, *, first: Sequence[str] = ()) -> Json | NoPanel:
    """Pack a fitted model as JSON that runs in a page, or say why this is not possible.

    Parameters
    ----------
    model : TableModel
        A fitted model.
    first : sequence of str
        Inputs whose controls come first, for example the most important ones.

    Returns
    -------
    dict or Refusal
        A JSON value of at most 1.2 MB, or the reason why there is none.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import linear
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.5], "price": [10.0, 21.0, 29.0, 46.0]})
    >>> schema = tables.Schema("price", "regression", (tables.Column("size", "number"),))
    >>> fitted = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)
    >>> found = payload(fitted)
    >>> found["target"], found["inputs"][0]["name"]
    ('price', 'size')
    """
    if model.view != "plain":
        names = ", ".join(map(repr, model.schema_.groups))
        return NoPanel(
            f"The model uses the group of a row ({names}), for which the panel has no control."
        )
    if model.schema_.exposure is not None:
        return NoPanel(
            f"The model uses the exposure of a count ({model.schema_.exposure.name!r}), for which "
            "the panel has no control."
        )
    try:
        found = pack_estimator(model.estimator_)
        controls = inputs.pack_controls(model)
    except NoFormError as error:
        return NoPanel(str(error))
    whole = {
        "target": model.schema_.target,
        "task": model.schema_.task,
        "classes": _classes(model),
        "inputs": controls,
        "first": [name for name in first if name in {part.name for part in model.encoder_.parts_}],
        "model": found,
    }
    size = packing.count_characters(whole)
    if size > packing.LIMIT:
        return NoPanel(f"The model takes {size / 1e6:.1f} MB, which is too large for a page.")
    return whole


def _classes(model: tables.TableModel) -> list[str]:
    """Return the labels in the order of the estimator's classes."""
    if model.schema_.task == "regression":
        return []
    return [str(model.classes_[int(place)]) for place in model.estimator_.classes_]
