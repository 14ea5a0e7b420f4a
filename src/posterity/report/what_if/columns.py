"""Pack feature spaces as JSON: how encoded inputs become the columns of a linear model."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from posterity import features, kernels
from posterity.arrays import Array
from posterity.report.what_if import kernel_tree
from posterity.report.what_if.packing import Json, NoFormError, check_room, numbers, table


@functools.singledispatch
def of(space: object) -> Json:
    """Pack a feature space for the page.

    Examples
    --------
    >>> of(features.Polynomial(2).fit([[1.0]]))
    {'kind': 'polynomial', 'parents': [-1, 0], 'factors': [0, 0]}
    """
    raise NoFormError(f"Features of type {type(space).__name__} cannot run in a page.")


@of.register
def _pack_none(space: None) -> Json:
    return {"kind": "identity"}


@of.register
def _pack_identity(space: features.Identity) -> Json:
    return {"kind": "identity"}


@of.register
def _pack_polynomial(space: features.Polynomial) -> Json:
    place = {tuple(row): m for m, row in enumerate(space.powers_.tolist())}
    parents, factors = [], []
    for row in space.powers_.tolist():
        d = max(i for i, power in enumerate(row) if power)
        row[d] -= 1
        parents.append(place.get(tuple(row), -1))
        factors.append(d)
    return {"kind": "polynomial", "parents": parents, "factors": factors}


@of.register
def _pack_radial(space: features.Radial) -> Json:
    lengths = numbers(space.length_scale_)
    if space.columns_ is None:
        return about({"kind": "rbf", "lengths": lengths}, space.centers_)
    return {
        "kind": "bumps",
        "places": space.columns_.tolist(),
        "centres": numbers(space.centers_),
        "lengths": numbers(space.length_scale_[space.columns_]),
    }


@of.register
def _pack_arctan(space: features.Arctan) -> Json:
    return {
        "kind": "arctan",
        "places": space.columns_.tolist(),
        "offsets": numbers(space.offsets_),
        "slopes": numbers(space.slope_[space.columns_]),
    }


@of.register
def _pack_heaviside(space: features.Heaviside) -> Json:
    return {
        "kind": "heaviside",
        "places": space.columns_.tolist(),
        "thresholds": numbers(space.thresholds_),
    }


@of.register
def _pack_learned_arctan(space: features.LearnedArctan) -> Json:
    return _learned("learned_arctan", space)


@of.register
def _pack_learned_radial(space: features.LearnedRadial) -> Json:
    return _learned("learned_radial", space)


def about(kernel: Json, rows: Array) -> Json:
    """Pack one kernel column for each of these rows."""
    check_room(rows.size, f"{len(rows):,} rows of {rows.shape[1]} columns")
    return {"kind": "kernel", "kernel": kernel, "rows": table(rows), "count": len(rows)}


def of_kernel(kernel: kernels.Kernel, rows: Any) -> Json:
    """Pack kernel columns of a kernel of this library."""
    if not len(rows):
        return {"kind": "none"}
    return about(kernel_tree.of_rows(kernel, rows), np.asarray(rows))


def of_function(space: features.KernelColumns) -> Json:
    """Pack fitted kernel columns, whose kernel may also be the inner product."""
    X = space.X_train_
    if isinstance(space.kernel, str):
        return about(kernel_tree.tree(kernels.Linear(1.0), X.shape[1]), X)
    if not isinstance(space.kernel_, kernels.Kernel):
        raise NoFormError("A user-defined kernel function cannot run in a page.")
    return of_kernel(space.kernel_, X)


def chosen(space: Json, places: Any) -> Json:
    """Select some of the columns."""
    return {"kind": "chosen", "of": space, "places": [int(place) for place in places]}


def with_ones(space: Json) -> Json:
    """Append a column of ones."""
    return {"kind": "with_ones", "of": space}


def centred(space: Json, weights: Array, *, about_mean: bool) -> Json:
    """Subtract weighted means and scale by the roots of the weights, as dual models do."""
    return {"kind": "centred", "of": space, "weights": numbers(weights), "about": about_mean}


def _learned(kind: str, space: features.Learned) -> Json:
    units = space.theta_.reshape(space.n_units, -1)
    return {
        "kind": kind,
        "location": numbers(space.location_),
        "scale": numbers(space.scale_),
        "units": [numbers(unit) for unit in units],
    }
