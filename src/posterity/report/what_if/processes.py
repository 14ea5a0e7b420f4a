"""Pack Gaussian processes as JSON: kernel, rows, and triangular factors to solve with.

With k the covariances of a query with the rows, v = L^-1 (s k); the rows lower the prior variance
by |v|^2, and a second triangle, where there is one, gives |L2^-1 v|^2 or |U v|^2 of it back.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.inference.process import (
    Condensed,
    InducingPosterior,
    ProcessPosterior,
    ProjectedPosterior,
    SitePosterior,
    SoftmaxPosterior,
)
from posterity.report.what_if import condensing, kernel_tree
from posterity.report.what_if.packing import (
    Json,
    NoFormError,
    check_room,
    numbers,
    packed,
    table,
    triangle,
)


@functools.singledispatch
def of(posterior: object) -> Json:
    """Pack a posterior, from which the page computes mean and variance of the latent function."""
    raise NoFormError(f"{type(posterior).__name__} cannot run in a page.")


@of.register
def _pack_process_posterior(posterior: ProcessPosterior) -> Json:
    return {
        **_about(posterior.kernel, posterior.X, posterior.L),
        "mean": _mean("covariances", np.asarray(posterior.a[:, 0]), 0.0),
    }


@of.register
def _pack_inducing_posterior(posterior: InducingPosterior) -> Json:
    return {
        **_about(posterior.kernel, posterior.Z, posterior.L),
        "mean": _mean("projections", np.asarray(posterior.m[:, 0]), 0.0),
        "second": {"lower": _triangle(posterior.L_B), "ones": False},
    }


@of.register
def _pack_condensed(posterior: Condensed) -> Json:
    return {
        **_about(posterior.kernel, posterior.Z, posterior.L),
        "mean": _mean("projections", posterior.m, posterior.shift),
        "second": {"upper": _triangle(posterior.U.T)},
    }


@of.register
def _pack_site_posterior(posterior: SitePosterior) -> Json:
    sites = posterior.sites
    return {
        **_about(posterior.kernel, posterior.X, sites.L),
        "roots": packed(sites.s),
        "back": [packed(column) for column in sites.T.T],
        "mean": _mean("covariances", posterior.alpha, float(posterior.shift)),
    }


@of.register
def _pack_projected_posterior(posterior: ProjectedPosterior) -> Json:
    fit = posterior.fit
    if len(fit.problem.targets.shift) > 1:
        raise NoFormError("Several classes with inducing points cannot run in a page.")
    W, n = fit.weights.W[:, 0], len(posterior.L)
    shift = float(fit.problem.targets.shift[0]) + float(np.sum(W[n:]))
    return {
        **_about(posterior.kernel, posterior.points, posterior.L),
        "mean": _mean("projections", W[:n], shift),
        "second": {"lower": _triangle(fit.L), "ones": len(W) > n},
    }


@of.register
def _pack_softmax_posterior(posterior: SoftmaxPosterior) -> Json:
    t, C = posterior.targets, len(posterior.D)
    check_room((C + 1) * t.n_rows**2 // 2, f"The covariances of {t.n_rows:,} rows, {C} classes")
    return {
        **_rows(posterior.kernel, posterior.X),
        "kind": "softmax_process",
        "shift": numbers(t.shift),
        "offsets": numbers(t.offset_variance),
        "duals": [packed(column) for column in posterior.b.T],
        "roots": [packed(np.sqrt(D)) for D in posterior.D],
        "lowers": [triangle(L.T) for L in posterior.L_classes],
        "lower": triangle(posterior.L),
    }


def small(posterior: Any, noise_variance: float) -> tuple[Json, str]:
    """Pack a process, and return a sentence if it is approximated by few of its rows."""
    if isinstance(posterior, ProcessPosterior | SitePosterior):
        few, note = condensing.small(posterior, noise_variance)
        return of(few), note
    return of(posterior), ""


def _about(kernel: kernels.Kernel, X: Any, L: Any) -> Json:
    return {**_rows(kernel, X), "kind": "process", "lower": _triangle(L)}


def _rows(kernel: kernels.Kernel, X: Any) -> Json:
    tree = kernel_tree.of_rows(kernel, X)
    check_room(X.size, f"{len(X):,} rows of {X.shape[1]} columns")
    return {"kernel": tree, "rows": table(X), "count": len(X)}


def _mean(of: str, weights: Array, shift: float) -> Json:
    return {"of": of, "weights": packed(weights), "shift": shift}


def _triangle(L: Any) -> Json:
    if not isinstance(L, np.ndarray):
        raise NoFormError("The model is on a GPU; fit it on the CPU to get a panel.")
    check_room(len(L) ** 2 // 2, f"The covariances of {len(L):,} rows")
    return triangle(L)
