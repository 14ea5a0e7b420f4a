"""All that the panel of a page needs, in one value that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence

from posterity import tables
from posterity.report.what_if import classifiers, inputs, packing, regressors
from posterity.report.what_if.forms import form
from posterity.report.what_if.packing import Json, NoFormError, Refusal

_REGISTERED = (classifiers, regressors)  # the forms they know are registered where they are read


def payload(model: tables.TableModel, *, first: Sequence[str] = ()) -> Json | Refusal:
    """A fitted model as numbers that run in a page, or why there are none.

    Parameters
    ----------
    model : TableModel
        Fitted.
    first : sequence of str
        Inputs whose controls come first, those that matter most for example.

    Returns
    -------
    dict or Refusal
        What JSON holds, at most 1.2 MB of it.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import regression
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.5], "price": [10.0, 21.0, 29.0, 46.0]})
    >>> schema = tables.Schema("price", "regression", (tables.Column("size", "number"),))
    >>> fitted = tables.TableModel(regression.BayesianLinearRegression(), schema).fit(frame)
    >>> found = payload(fitted)
    >>> found["target"], found["inputs"][0]["name"]
    ('price', 'size')
    """
    try:
        found = form(model.estimator_)
    except NoFormError as error:
        return Refusal(str(error))
    whole = {
        "target": model.schema.target,
        "task": model.schema.task,
        "classes": _classes(model),
        "inputs": inputs.controls(model),
        "first": [name for name in first if name in {part.name for part in model.encoder_.parts_}],
        "model": found,
    }
    size = packing.size(whole)
    if size > packing.LIMIT:
        return Refusal(f"The model takes {size / 1e6:.1f} MB, more than a page should carry.")
    return whole


def _classes(model: tables.TableModel) -> list[str]:
    """The labels, in the order in which the estimator numbers them."""
    if model.schema.task == "regression":
        return []
    return [str(model.classes_[int(place)]) for place in model.estimator_.classes_]
