"""Pack the inputs of a model as controls of the panel, with their encodings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from posterity import tables
from posterity.report.what_if.packing import Json, NoFormError
from posterity.tables import parts

_FEW = 4.0  # whole numbers in a smaller range may be the ends of a range of fractions


def pack_controls(model: tables.TableModel) -> list[Json]:
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


def _pack_control(part: parts.Part, profile: Any, values: tuple[float, float] | None) -> Json:
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


def _range(profile: Any) -> Json:
    """Return the range and the start value, which is missing if all values are."""
    if not profile.quantiles:
        return {"low": 0.0, "high": 0.0, "start": None}
    low, _, median, _, high = profile.quantiles
    return {"low": low, "high": high, "start": median}


def _category(part: parts.CategoryPart, profile: Any) -> Json:
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


def _category_by_means(part: tables.LevelMeansPart, profile: Any) -> Json:
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
