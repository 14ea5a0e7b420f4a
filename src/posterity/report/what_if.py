"""The panel of a report that predicts in the page: its data, its script and its style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from posterity import page_forms, tables
from posterity.page_forms import Form, NoFormError

FILES = (
    "packing",
    "special",
    "distributions",
    "classes",
    "inputs",
    "columns",
    "kernels",
    "latents",
    "trees",
    "answers",
    "words",
    "drawing",
    "controls",
    "panel",
)
"""Files of the script in the order of concatenation."""


@dataclass(frozen=True)
class NoPanel:
    """A model that cannot run in a page.

    Attributes
    ----------
    why : str
        The reason, as a sentence.
    """

    why: str


def payload(model: tables.TableModel, *, first: Sequence[str] = ()) -> Form | NoPanel:
    """Pack a fitted model as JSON that runs in a page, or say why this is not possible.

    Parameters
    ----------
    model : TableModel
        A fitted model.
    first : sequence of str
        Inputs whose controls come first, for example the most important ones.

    Returns
    -------
    dict or NoPanel
        A JSON value of at most 1.2 MB, or the reason why there is none.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import BayesianLinearRegression
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.5], "price": [10.0, 21.0, 29.0, 46.0]})
    >>> schema = tables.Schema("price", "regression", (tables.Column("size", "number"),))
    >>> fitted = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
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
        found = page_forms.encode(page_forms.find_form(model.estimator_))
        controls = _pack_controls(model)
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
    size = page_forms.count_characters(whole)
    if size > page_forms.LIMIT:
        return NoPanel(f"The model takes {size / 1e6:.1f} MB, which is too large for a page.")
    return whole


def _classes(model: tables.TableModel) -> list[str]:
    """Return the labels in the order of the estimator's classes."""
    if model.schema_.task == "regression":
        return []
    return [str(model.classes_[int(place)]) for place in model.estimator_.classes_]


def _pack_controls(model: tables.TableModel) -> list[Form]:
    """Return one control per input, in the order of the encoder; some numbers are one of two."""
    pairs = zip(model.encoder_.parts_, model.profile_, strict=True)
    controls = [page_forms.find_form(part, profile) for part, profile in pairs]
    return [
        one | {"values": list(two_values(model, one["name"]) or ())}
        if one["kind"] == "number"
        else one
        for one in controls
    ]


def two_values(model: tables.TableModel, name: str) -> tuple[float, float] | None:
    """Return the values of a number that is one of two, such as 0 and 1; else None."""
    column = next(one for one in model.schema_.inputs if one.name == name)
    profile = next(one for one in model.profile_ if one.name == name)
    if column.kind != "number" or column.n_distinct != 2 or not profile.quantiles:
        return None
    low, *_, high = profile.quantiles
    return (low, high) if low < high else None


def script() -> str:
    """Return the JavaScript that builds the panel in ``#what-if`` from ``#what-if-data``.

    Examples
    --------
    >>> script().startswith('"use strict"')
    True
    """
    parts = [_text(f"{name}.js") for name in FILES]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();", ""])


def style() -> str:
    """Return the style rules of the panel, which use colours defined by the page.

    Examples
    --------
    >>> "#what-if" in style()
    True
    """
    return _text("panel.css")


def _text(name: str) -> str:
    folder = resources.files("posterity.report") / "templates" / "what_if"
    return (folder / name).read_text(encoding="utf-8")
