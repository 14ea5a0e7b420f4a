"""Pack kernels as trees of JSON objects."""

from __future__ import annotations

import functools

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.kernels import mean_prior
from posterity.report.what_if.packing import Json, NoFormError, numbers


@functools.singledispatch
def tree(kernel: object, D: int) -> Json:
    """Pack a kernel of rows with D columns, so that the page can compute k(x, z).

    Examples
    --------
    >>> tree(2.0 * kernels.RBF(0.5), 2)
    {'kind': 'scaled', 'variance': 2.0, 'of': {'kind': 'rbf', 'lengths': [0.5, 0.5]}}
    """
    del D
    raise NoFormError(f"The kernel {kernel} cannot run in a page.")


@tree.register
def _pack_rbf(kernel: kernels.RBF, D: int) -> Json:
    return {"kind": "rbf", "lengths": _per_column(kernel.length_scale, D)}


@tree.register
def _pack_matern(kernel: kernels.Matern, D: int) -> Json:
    lengths = _per_column(kernel.length_scale, D)
    return {"kind": "matern", "lengths": lengths, "smoothness": kernel.smoothness}


@tree.register
def _pack_rational_quadratic(kernel: kernels.RationalQuadratic, D: int) -> Json:
    lengths = _per_column(kernel.length_scale, D)
    return {"kind": "rational_quadratic", "lengths": lengths, "shape": kernel.shape}


@tree.register
def _pack_periodic(kernel: kernels.Periodic, D: int) -> Json:
    return {"kind": "periodic", "period": kernel.period, "length": kernel.length_scale}


@tree.register
def _pack_linear(kernel: kernels.Linear, D: int) -> Json:
    variances = _per_column(kernel.variance, D)
    return {"kind": "linear", "centre": [0.0] * D, "variances": variances}


@tree.register
def _pack_slopes(kernel: mean_prior.Slopes, D: int) -> Json:
    centre, variances = numbers(kernel.centre), numbers(kernel.variances)
    return {"kind": "linear", "centre": centre, "variances": variances}


@tree.register
def _pack_polynomial(kernel: kernels.Polynomial, D: int) -> Json:
    return {"kind": "polynomial", "degree": kernel.degree, "offset": kernel.offset}


@tree.register
def _pack_constant(kernel: kernels.Constant, D: int) -> Json:
    return {"kind": "constant", "variance": kernel.variance}


@tree.register
def _pack_white(kernel: kernels.White, D: int) -> Json:
    return {"kind": "white", "variance": kernel.variance}


@tree.register
def _pack_scaled(kernel: kernels.Scaled, D: int) -> Json:
    return {"kind": "scaled", "variance": kernel.variance, "of": tree(kernel.kernel, D)}


@tree.register
def _pack_sum(kernel: kernels.Sum, D: int) -> Json:
    return {"kind": "sum", "of": [tree(kernel.left, D), tree(kernel.right, D)]}


@tree.register
def _pack_product(kernel: kernels.Product, D: int) -> Json:
    return {"kind": "product", "of": [tree(kernel.left, D), tree(kernel.right, D)]}


@tree.register
def _pack_columns(kernel: kernels.Columns, D: int) -> Json:
    wanted = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
    given = wanted if kernel.positions is None else kernel.positions
    places = [int(place) % D for place in given]
    return {"kind": "columns", "places": places, "of": tree(kernel.kernel, len(places))}


def of_rows(kernel: kernels.Kernel, rows: Array) -> Json:
    """Pack the kernel of these rows."""
    if not (kernel.takes_vectors and isinstance(rows, np.ndarray)):
        raise NoFormError("A kernel of objects cannot run in a page.")
    return tree(kernel, rows.shape[1])


def _per_column(value: object, D: int) -> list[float]:
    return numbers(np.broadcast_to(np.asarray(value, dtype=np.float64), (D,)))
