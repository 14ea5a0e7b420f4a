"""Pack likelihoods as JSON: how the page turns latent values into predictions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from posterity import likelihoods
from posterity.distributions import student_t_plus_normal
from posterity.likelihoods import gamma, softmax_mean
from posterity.report.what_if.packing import Json, NoFormError, as_floats, pack_single_precision

_MOST_CLASSES = 20


def pack_normal_noise(noise_variance: float, *, scale: float = 1.0, center: float = 0.0) -> Json:
    """Pack normal noise around a latent value that is first scaled and shifted."""
    return {"kind": "normal", "noise": float(noise_variance), "scale": scale, "center": center}


def pack_student_t(freedom: float, latent_unit: float, noise: float) -> Json:
    """Pack a Student-t whose squared scale is ``latent_unit`` times the variance, plus noise."""
    return {"kind": "student_t", "freedom": freedom, "unit": latent_unit, "noise": noise}


@functools.singledispatch
def pack_likelihood(likelihood: Any) -> Json:
    """Pack the predictive distribution of a likelihood for normal latent values.

    Examples
    --------
    >>> pack_likelihood(likelihoods.Bernoulli())
    {'kind': 'two_classes', 'averaging': 'exact'}
    """
    name = type(likelihood).__name__
    raise NoFormError(f"Predictions with a {name} likelihood cannot run in a page.")


@pack_likelihood.register
def _pack_normal(likelihood: likelihoods.Normal) -> Json:
    return pack_normal_noise(float(likelihood.noise_variance))  # type: ignore[arg-type]


@pack_likelihood.register
def _pack_student_t(likelihood: likelihoods.StudentT) -> Json:
    nu, scale = float(likelihood.degrees_of_freedom), float(likelihood.scale)  # type: ignore[arg-type]
    log_u, log_w = student_t_plus_normal.precision_nodes(nu)
    return {
        "kind": "scale_mixture",
        "variances": as_floats(scale**2 * np.exp(-log_u)),
        "weights": as_floats(np.exp(log_w)),
    }


@pack_likelihood.register
def _pack_gamma(likelihood: likelihoods.Gamma) -> Json:
    return {
        "kind": "gamma",
        "shape": float(likelihood.shape),  # type: ignore[arg-type]
        "end": gamma.END,
        "step": gamma.STEP,
        "nodes": gamma.NODES,
        "most": gamma.MOST_NODES,
    }


@pack_likelihood.register
def _pack_bernoulli(likelihood: likelihoods.Bernoulli) -> Json:
    return {"kind": "two_classes", "averaging": likelihood.averaging}


@pack_likelihood.register
def _pack_categorical(likelihood: likelihoods.Categorical) -> Json:
    C = likelihood.n_classes
    if C > _MOST_CLASSES:
        raise NoFormError(f"Averaging over {C} classes needs too many points for a page.")
    answer: Json = {"kind": "classes", "averaging": likelihood.averaging}
    if likelihood.averaging == "exact":
        answer |= _pack_integration_points(C)
    return answer


def pack_point_likelihood(likelihood: Any) -> Json:
    """Pack the prediction of a number from a point estimate of the latent value."""
    if isinstance(likelihood, likelihoods.StudentT):
        nu, scale = likelihood.degrees_of_freedom, likelihood.scale
        return pack_student_t(float(nu), 0.0, float(scale) ** 2)  # type: ignore[arg-type]
    return pack_likelihood(likelihood)


def pack_point_classes() -> Json:
    """Pack the prediction of classes from point estimates of latent values."""
    return {"kind": "classes", "averaging": "none"}


def _pack_integration_points(C: int) -> Json:
    """Pack half of the points of the largest tier; smaller tiers use the first of them."""
    tiers = softmax_mean.sampling_tiers(C)
    _, most = tiers[-1]
    half = softmax_mean.normal_points(C - 1, most)[:, : 2 ** (most - 1)]
    return {
        "basis": softmax_mean.contrast_basis(C).tolist(),
        "tiers": [[None if np.isinf(limit) else limit, log2] for limit, log2 in tiers],
        "points": pack_single_precision(half),
    }
