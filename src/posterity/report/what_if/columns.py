"""Pack feature spaces as JSON: how encoded inputs become the columns of a linear model."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from posterity import features, kernels
from posterity.arrays import Array
from posterity.report.what_if import kernel_tree
from posterity.report.what_if.packing import Json, NoFormError, as_floats, check_room, pack_columns


@functools.singledispatch
def pack_features(space: object) -> Json:
    """Pack a feature space for the page.

    Examples
    --------
    >>> pack_features(features.Polynomial(2).fit([[1.0]]))
    {'kind': 'polynomial', 'parents': [-1, 0], 'factors': [0, 0]}
    """
    raise NoFormError(f"Features of type {type(space).__name__} cannot run in a page.")


@pack_features.register
def _pack_none(space: None) -> Json:
    return {"kind": "identity"}


@pack_features.register
def _pack_identity(space: features.Identity) -> Json:
    return {"kind": "identity"}


@pack_features.register
def _pack_polynomial(space: features.Polynomial) -> Json:
    place = {tuple(row): m for m, row in enumerate(space.powers_.tolist())}
    parents, factors = [], []
    for row in space.powers_.tolist():
        d = max(i for i, power in enumerate(row) if power)
        row[d] -= 1
        parents.append(place.get(tuple(row), -1))
        factors.append(d)
    return {"kind": "polynomial", "parents": parents, "factors": factors}


@pack_features.register
def _pack_radial(space: features.Radial) -> Json:
    lengths = as_floats(space.length_scale_)
    if space.columns_ is None:
        return pack_kernel_columns({"kind": "rbf", "lengths": lengths}, space.centers_)
    return {
        "kind": "bumps",
        "places": space.columns_.tolist(),
        "centres": as_floats(space.centers_),
        "lengths": as_floats(space.length_scale_[space.columns_]),
    }


@pack_features.register
def _pack_arctan(space: features.Arctan) -> Json:
    return {
        "kind": "arctan",
        "places": space.columns_.tolist(),
        "offsets": as_floats(space.offsets_),
        "slopes": as_floats(space.slope_[space.columns_]),
    }


@pack_features.register
def _pack_heaviside(space: features.Heaviside) -> Json:
    return {
        "kind": "heaviside",
        "places": space.columns_.tolist(),
        "thresholds": as_floats(space.thresholds_),
    }


@pack_features.register
def _pack_learned_arctan(space: features.LearnedArctan) -> Json:
    return _pack_learned_units("learned_arctan", space)


@pack_features.register
def _pack_learned_radial(space: features.LearnedRadial) -> Json:
    return _pack_learned_units("learned_radial", space)


def pack_kernel_columns(kernel: Json, rows: Array) -> Json:
    """Pack one kernel column for each of these rows."""
    check_room(rows.size, f"{len(rows):,} rows of {rows.shape[1]} columns")
    return {"kind": "kernel", "kernel": kernel, "rows": pack_columns(rows), "count": len(rows)}


def pack_library_kernel(kernel: kernels.Kernel, rows: Any) -> Json:
    """Pack kernel columns of a kernel of this library."""
    if not len(rows):
        return {"kind": "none"}
    return pack_kernel_columns(kernel_tree.pack_kernel_of_rows(kernel, rows), np.asarray(rows))


def pack_kernel_function(space: features.KernelColumns) -> Json:
    """Pack fitted kernel columns, whose kernel may also be the inner product."""
    X = space.X_train_
    if isinstance(space.kernel, str):
        return pack_kernel_columns(kernel_tree.pack_kernel(kernels.Linear(1.0), X.shape[1]), X)
    if not isinstance(space.kernel_, kernels.Kernel):
        raise NoFormError("A user-defined kernel function cannot run in a page.")
    return pack_library_kernel(space.kernel_, X)


def select_columns(space: Json, places: Any) -> Json:
    """Select some of the columns."""
    return {"kind": "chosen", "of": space, "places": [int(place) for place in places]}


def append_ones(space: Json) -> Json:
    """Append a column of ones."""
    return {"kind": "with_ones", "of": space}


def center_columns(space: Json, weights: Array, *, about_mean: bool) -> Json:
    """Subtract weighted means and scale by the roots of the weights, as dual models do."""
    return {"kind": "centred", "of": space, "weights": as_floats(weights), "about": about_mean}


def _pack_learned_units(kind: str, space: features.LearnedFeatures) -> Json:
    units = space.theta_.reshape(space.n_units, -1)
    return {
        "kind": kind,
        "location": as_floats(space.location_),
        "scale": as_floats(space.scale_),
        "units": [as_floats(unit) for unit in units],
    }
