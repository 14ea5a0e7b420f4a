"""Likelihoods as plain numbers: how the page makes a prediction of latent values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from posterity import likelihoods
from posterity.distributions import student_t_plus_normal
from posterity.likelihoods import gamma, softmax_mean
from posterity.report.what_if.packing import Json, NoFormError, numbers, rounded

_MOST_CLASSES = 20


def normal(noise_variance: float, *, scale: float = 1.0, center: float = 0.0) -> Json:
    """Normal noise about a latent value that is scaled and moved first."""
    return {"kind": "normal", "noise": float(noise_variance), "scale": scale, "center": center}


def student_t_of(freedom: float, latent_unit: float, noise: float) -> Json:
    """Student's t: the squared scale is the latent variance in this unit, and the noise."""
    return {"kind": "student_t", "freedom": freedom, "unit": latent_unit, "noise": noise}


@functools.singledispatch
def of(likelihood: Any) -> Json:
    """What is predicted where the latent value is normal.

    Examples
    --------
    >>> of(likelihoods.Bernoulli())
    {'kind': 'two_classes', 'averaging': 'exact'}
    """
    name = type(likelihood).__name__
    raise NoFormError(f"Predictions under a {name} likelihood have no form that runs in a page.")


@of.register
def _pack_normal(likelihood: likelihoods.Normal) -> Json:
    return normal(float(likelihood.noise_variance))  # type: ignore[arg-type]


@of.register
def _pack_student_t(likelihood: likelihoods.StudentT) -> Json:
    nu, scale = float(likelihood.degrees_of_freedom), float(likelihood.scale)  # type: ignore[arg-type]
    log_u, log_w = student_t_plus_normal.precision_nodes(nu)
    return {
        "kind": "scale_mixture",
        "variances": numbers(scale**2 * np.exp(-log_u)),
        "weights": numbers(np.exp(log_w)),
    }


@of.register
def _pack_gamma(likelihood: likelihoods.Gamma) -> Json:
    return {
        "kind": "gamma",
        "shape": float(likelihood.shape),  # type: ignore[arg-type]
        "end": gamma.END,
        "step": gamma.STEP,
        "nodes": gamma.NODES,
        "most": gamma.MOST_NODES,
    }


@of.register
def _pack_bernoulli(likelihood: likelihoods.Bernoulli) -> Json:
    return {"kind": "two_classes", "averaging": likelihood.averaging}


@of.register
def _pack_categorical(likelihood: likelihoods.Categorical) -> Json:
    C = likelihood.n_classes
    if C > _MOST_CLASSES:
        raise NoFormError(f"{C} classes are averaged over by more points than a page should hold.")
    answer: Json = {"kind": "classes", "averaging": likelihood.averaging}
    if likelihood.averaging == "exact":
        answer |= _points(C)
    return answer


def certain_number(likelihood: Any) -> Json:
    """What is predicted of a number where the latent value is taken as it is."""
    if isinstance(likelihood, likelihoods.StudentT):
        nu, scale = likelihood.degrees_of_freedom, likelihood.scale
        return student_t_of(float(nu), 0.0, float(scale) ** 2)  # type: ignore[arg-type]
    return of(likelihood)


def certain() -> Json:
    """Classes of latent values that are taken as they are."""
    return {"kind": "classes", "averaging": "none"}


def _points(C: int) -> Json:
    """Half of the points of the largest tier, of which smaller ones take the first."""
    tiers = softmax_mean.tiers(C)
    _, most = tiers[-1]
    half = softmax_mean.normal_points(C - 1, most)[:, : 2 ** (most - 1)]
    return {
        "basis": softmax_mean.contrasts(C).tolist(),
        "tiers": [[None if np.isinf(limit) else limit, log2] for limit, log2 in tiers],
        "points": rounded(half),
    }
