"""Pack kernels as trees of JSON objects."""

from __future__ import annotations

import functools

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.kernels import mean_prior
from posterity.report.what_if.packing import Json, NoFormError, as_floats


@functools.singledispatch
def pack_kernel(kernel: object, D: int) -> Json:
    """Pack a kernel of rows with D columns, so that the page can compute k(x, z).

    Examples
    --------
    >>> pack_kernel(2.0 * kernels.RBF(0.5), 2)
    {'kind': 'scaled', 'variance': 2.0, 'of': {'kind': 'rbf', 'lengths': [0.5, 0.5]}}
    """
    del D
    raise NoFormError(f"The kernel {kernel} cannot run in a page.")


@pack_kernel.register
def _pack_rbf(kernel: kernels.RBF, D: int) -> Json:
    return {"kind": "rbf", "lengths": _per_column(kernel.length_scale, D)}


@pack_kernel.register
def _pack_matern(kernel: kernels.Matern, D: int) -> Json:
    lengths = _per_column(kernel.length_scale, D)
    return {"kind": "matern", "lengths": lengths, "smoothness": kernel.smoothness}


@pack_kernel.register
def _pack_rational_quadratic(kernel: kernels.RationalQuadratic, D: int) -> Json:
    lengths = _per_column(kernel.length_scale, D)
    return {"kind": "rational_quadratic", "lengths": lengths, "shape": kernel.shape}


@pack_kernel.register
def _pack_periodic(kernel: kernels.Periodic, D: int) -> Json:
    return {"kind": "periodic", "period": kernel.period, "length": kernel.length_scale}


@pack_kernel.register
def _pack_linear(kernel: kernels.Linear, D: int) -> Json:
    variances = _per_column(kernel.variance, D)
    return {"kind": "linear", "centre": [0.0] * D, "variances": variances}


@pack_kernel.register
def _pack_slopes(kernel: mean_prior.Slopes, D: int) -> Json:
    centre, variances = as_floats(kernel.centre), as_floats(kernel.variances)
    return {"kind": "linear", "centre": centre, "variances": variances}


@pack_kernel.register
def _pack_polynomial(kernel: kernels.Polynomial, D: int) -> Json:
    return {"kind": "polynomial", "degree": kernel.degree, "offset": kernel.offset}


@pack_kernel.register
def _pack_constant(kernel: kernels.Constant, D: int) -> Json:
    return {"kind": "constant", "variance": kernel.variance}


@pack_kernel.register
def _pack_white(kernel: kernels.White, D: int) -> Json:
    return {"kind": "white", "variance": kernel.variance}


@pack_kernel.register
def _pack_scaled(kernel: kernels.Scaled, D: int) -> Json:
    return {"kind": "scaled", "variance": kernel.variance, "of": pack_kernel(kernel.kernel, D)}


@pack_kernel.register
def _pack_sum(kernel: kernels.Sum, D: int) -> Json:
    return {"kind": "sum", "of": [pack_kernel(kernel.left, D), pack_kernel(kernel.right, D)]}


@pack_kernel.register
def _pack_product(kernel: kernels.Product, D: int) -> Json:
    return {"kind": "product", "of": [pack_kernel(kernel.left, D), pack_kernel(kernel.right, D)]}


@pack_kernel.register
def _pack_columns(kernel: kernels.Columns, D: int) -> Json:
    wanted = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
    given = wanted if kernel.positions is None else kernel.positions
    places = [int(place) % D for place in given]
    if kernel.complement and kernel.positions is None:
        places = [place for place in range(D) if place not in places]
    return {"kind": "columns", "places": places, "of": pack_kernel(kernel.kernel, len(places))}


def pack_kernel_of_rows(kernel: kernels.Kernel, rows: Array) -> Json:
    """Pack the kernel of these rows."""
    if not (kernel.takes_vectors and isinstance(rows, np.ndarray)):
        raise NoFormError("A kernel of objects cannot run in a page.")
    return pack_kernel(kernel, rows.shape[1])


def _per_column(value: object, D: int) -> list[float]:
    return as_floats(np.broadcast_to(np.asarray(value, dtype=np.float64), (D,)))
