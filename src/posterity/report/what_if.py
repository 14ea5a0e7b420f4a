"""The panel of a report that predicts in the page: its data, its script and its style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from posterity import page_forms, tables
from posterity.page_forms import Form, NoFormError
from posterity.tables import parts

_FEW = 4.0  # whole numbers in a smaller range may be the ends of a range of fractions

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
    """Return one control per input, in the order of the encoder."""
    pairs = zip(model.encoder_.parts_, model.profile_, strict=True)
    return [_pack_control(part, profile, two_values(model, part.name)) for part, profile in pairs]


def two_values(model: tables.TableModel, name: str) -> tuple[float, float] | None:
    """Return the values of a number that is one of two, such as 0 and 1; else None."""
    column = next(one for one in model.schema_.inputs if one.name == name)
    profile = next(one for one in model.profile_ if one.name == name)
    if column.kind != "number" or column.n_distinct != 2 or not profile.quantiles:
        return None
    low, *_, high = profile.quantiles
    return (low, high) if low < high else None


def _pack_control(part: parts.Part, profile: Any, values: tuple[float, float] | None) -> Form:
    """Pack name, kind, start value and encoding of an input."""
    if isinstance(part, tables.TextPart):
        raise NoFormError(f"The input {part.name!r} is text, which cannot run in a page.")
    if isinstance(part, parts.CategoryPart):
        return _category(part, profile)
    if isinstance(part, tables.LevelMeansPart):
        return _category_by_means(part, profile)
    common = {"name": part.name, "scale": part.scale, **_range(profile)}
    if isinstance(part, parts.DatePart):
        return {
            **common,
            "kind": "date",
            "origin": part.origin,
            "periods": [float(period) for period in part.periods().values()],
            "indicator": part.has_indicator,
            "written": _date_style(part),
        }
    return {
        **common,
        "kind": "number",
        "mean": part.mean,
        "fill": part.fill,
        "indicator": part.has_indicator,
        "keeps": part.keep_missing,
        "gaps": profile.n_missing > 0,
        "whole": _are_whole(profile),
        "values": list(values or ()),
    }


def _range(profile: Any) -> Form:
    """Return the range and the start value, which is missing if all values are."""
    if not profile.quantiles:
        return {"low": 0.0, "high": 0.0, "start": None}
    low, _, median, _, high = profile.quantiles
    return {"low": low, "high": high, "start": median}


def _category(part: parts.CategoryPart, profile: Any) -> Form:
    counts = dict(zip(profile.levels, profile.counts, strict=True))
    levels = list(part.levels)
    return {
        "name": part.name,
        "kind": "category",
        "levels": levels,
        "other": part.other,
        "missing": part.missing,
        "start": max(levels, key=lambda level: counts.get(level, 0)) if levels else None,
    }


def _category_by_means(part: tables.LevelMeansPart, profile: Any) -> Form:
    """Pack the encodings of the most frequent levels, of others, and of missing labels."""
    counts = dict(zip(profile.levels, profile.counts, strict=True))
    asked = pl.Series([*counts, None, None], dtype=pl.String)
    codes = part.encode(asked)
    codes[-2] = (part.other - part.centre) / part.scale
    return {
        "name": part.name,
        "kind": "category",
        "levels": list(counts),
        "other": True,
        "missing": profile.n_missing > 0,
        "codes": codes.tolist(),
        "start": max(counts, key=lambda level: counts[level]) if counts else None,
    }


def _date_style(part: parts.DatePart) -> str:
    """Return whether a value is written as a date, a date and time, or a time."""
    if part.style == "clock":
        return "time"
    return "datetime" if part.day else "date"


def _are_whole(profile: Any) -> bool:
    """Return whether the smallest and largest values are whole, so that all values may be."""
    ends = np.asarray(profile.quantiles)[[0, -1]] if profile.quantiles else np.zeros(2)
    return bool(np.all(ends == np.round(ends)) and np.ptp(ends) >= _FEW)


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
