"""Pack posteriors of weights as JSON: mean and covariance of latent values at any columns.

One form serves all of them. Columns z are scaled, u = (z - center) / scale, and perhaps projected,
p = V^T u, and a one is added; weight i belongs to entry ``which[i]`` of p and to contrast
``whose[i]``, and the factor of the weights' precision, or their deviations, make covariances of it.
"""

from __future__ import annotations

import functools

import numpy as np

from posterity.arrays import Array
from posterity.inference.conjugate import WeightPosterior
from posterity.inference.weights import KernelWeights, LatentPosterior, WeightNormal
from posterity.report.what_if.packing import (
    Json,
    NoFormError,
    as_floats,
    check_room,
    pack_array,
    pack_triangle,
)
from posterity.sparse import SparsePosterior

_LARGEST = 1e300  # scale: JSON has no infinite one, by which columns without a weight are divided


def pack_latent(coef: Array, offset: Array, posterior: Json | None = None) -> Json:
    """Pack weights (C, M) and offsets (C,) of the mean, and the covariance if it is known.

    Examples
    --------
    >>> pack_latent(np.array([[1.0, 2.0]]), np.array([3.0]))["offset"]
    [3.0]
    """
    check_room(coef.size, f"{coef.size:,} weights")
    return {
        "kind": "weights",
        "coef": pack_array(coef),
        "offset": as_floats(offset),
        "posterior": posterior,
    }


@functools.singledispatch
def pack_covariance(posterior: object) -> Json:
    """Pack a posterior, from which the page computes covariances of latent values."""
    raise NoFormError(f"{type(posterior).__name__} cannot run in a page.")


@pack_covariance.register
def _pack_weight_posterior(posterior: WeightPosterior) -> Json:
    p, K = posterior.problem, len(posterior.noise_variance)
    M, r = p.V.shape
    check_room(M * r, f"The covariances of {M:,} weights")
    unseen = posterior.prior_variance if posterior.has_unseen else np.zeros(K)
    return {
        "center": as_floats(p.center),
        "scale": as_floats(np.minimum(p.scale, _LARGEST)),
        "directions": pack_array(p.V.T),
        "ones": False,
        "which": list(range(r)) * K,
        "whose": np.repeat(np.arange(K), r).tolist(),
        "contrasts": np.eye(K).tolist(),
        "deviations": as_floats(np.sqrt(posterior.variance.T.ravel())),
        "outside": as_floats(unseen),
        "base": as_floats(posterior.offset_variance),
    }


@pack_covariance.register
def _pack_latent_posterior(posterior: LatentPosterior) -> Json:
    space = posterior.space
    V = None if space.V is None else pack_array(space.V.T)
    return {
        "center": as_floats(space.center),
        "scale": as_floats(space.scale),
        "directions": V,
        "ones": space.offset,
        **pack_weight_precision(posterior.fit),
        "outside": 0.0 if V is None else posterior.prior_variance,
    }


@pack_covariance.register
def _pack_sparse_posterior(posterior: SparsePosterior) -> Json:
    if not (len(posterior.scale) or posterior.offset):
        raise NoFormError("The model has no columns and no offset, so its prediction is constant.")
    return {
        "center": as_floats(posterior.center),
        "scale": as_floats(posterior.scale),
        "directions": None,
        "ones": posterior.offset,
        **pack_weight_precision(posterior.fit),
        "outside": 0.0,
    }


@pack_covariance.register
def _pack_kernel_weights(posterior: KernelWeights) -> Json:
    n = len(posterior.weights)
    has_offset = posterior.fit.problem.design.n_columns > n
    return {
        "center": as_floats(has_offset * posterior.center * np.sqrt(posterior.weights)),
        "scale": [1.0] * n,
        "directions": None,
        "ones": has_offset,
        **pack_weight_precision(posterior.fit),
        "outside": 0.0,
    }


@functools.singledispatch
def pack_weight_precision(fit: object) -> Json:
    """Pack the column and contrast of each weight, and the factor of their precision."""
    raise NoFormError(f"{type(fit).__name__} cannot run in a page.")


@pack_weight_precision.register
def _pack_weight_normal(fit: WeightNormal) -> Json:
    mask = fit.problem.prior.mask
    which, whose = np.nonzero(np.ones(fit.problem.shape) if mask is None else mask)
    return {
        "which": which.tolist(),
        "whose": whose.tolist(),
        "contrasts": fit.problem.targets.Q.tolist(),
        "lower": _pack_factor(fit.L),
        "base": 0.0,
    }


def _pack_factor(L: Array) -> Json:
    check_room(len(L) ** 2 // 2, f"The covariances of {len(L):,} weights")
    return pack_triangle(L)
