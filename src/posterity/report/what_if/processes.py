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
from posterity.process import (
    CondensedPosterior,
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
    as_floats,
    check_room,
    pack_array,
    pack_columns,
    pack_triangle,
)


@functools.singledispatch
def pack_process_posterior(posterior: object) -> Json:
    """Pack a posterior, from which the page computes mean and variance of the latent function."""
    raise NoFormError(f"{type(posterior).__name__} cannot run in a page.")


@pack_process_posterior.register
def _pack_process_posterior(posterior: ProcessPosterior) -> Json:
    return {
        **_pack_rows_and_factor(posterior.kernel, posterior.X, posterior.L),
        "mean": _pack_mean("covariances", np.asarray(posterior.a[:, 0]), 0.0),
    }


@pack_process_posterior.register
def _pack_inducing_posterior(posterior: InducingPosterior) -> Json:
    return {
        **_pack_rows_and_factor(posterior.kernel, posterior.Z, posterior.L),
        "mean": _pack_mean("projections", np.asarray(posterior.m[:, 0]), 0.0),
        "second": {"lower": _pack_checked_triangle(posterior.L_B), "ones": False},
    }


@pack_process_posterior.register
def _pack_condensed(posterior: CondensedPosterior) -> Json:
    return {
        **_pack_rows_and_factor(posterior.kernel, posterior.Z, posterior.L),
        "mean": _pack_mean("projections", posterior.m, posterior.shift),
        "second": {"upper": _pack_checked_triangle(posterior.U.T)},
    }


@pack_process_posterior.register
def _pack_site_posterior(posterior: SitePosterior) -> Json:
    sites = posterior.sites
    return {
        **_pack_rows_and_factor(posterior.kernel, posterior.X, sites.L),
        "roots": pack_array(sites.s),
        "back": [pack_array(column) for column in sites.T.T],
        "mean": _pack_mean("covariances", posterior.alpha, float(posterior.shift)),
    }


@pack_process_posterior.register
def _pack_projected_posterior(posterior: ProjectedPosterior) -> Json:
    fit = posterior.fit
    if len(fit.problem.targets.shift) > 1:
        raise NoFormError("Several classes with inducing points cannot run in a page.")
    W, n = fit.weights.W[:, 0], len(posterior.L)
    shift = float(fit.problem.targets.shift[0]) + float(np.sum(W[n:]))
    return {
        **_pack_rows_and_factor(posterior.kernel, posterior.points, posterior.L),
        "mean": _pack_mean("projections", W[:n], shift),
        "second": {"lower": _pack_checked_triangle(fit.L), "ones": len(W) > n},
    }


@pack_process_posterior.register
def _pack_softmax_posterior(posterior: SoftmaxPosterior) -> Json:
    t, C = posterior.targets, len(posterior.D)
    check_room((C + 1) * t.n_rows**2 // 2, f"The covariances of {t.n_rows:,} rows, {C} classes")
    return {
        **_pack_rows(posterior.kernel, posterior.X),
        "kind": "softmax_process",
        "shift": as_floats(t.shift),
        "offsets": as_floats(t.offset_variance),
        "duals": [pack_array(column) for column in posterior.b.T],
        "roots": [pack_array(np.sqrt(D)) for D in posterior.D],
        "lowers": [pack_triangle(L.T) for L in posterior.L_classes],
        "lower": pack_triangle(posterior.L),
    }


def pack_small_process(posterior: Any, noise_variance: float) -> tuple[Json, str]:
    """Pack a process, and return a sentence if it is approximated by few of its rows."""
    if isinstance(posterior, ProcessPosterior | SitePosterior):
        few, note = condensing.condense_process(posterior, noise_variance)
        return pack_process_posterior(few), note
    return pack_process_posterior(posterior), ""


def _pack_rows_and_factor(kernel: kernels.Kernel, X: Any, L: Any) -> Json:
    return {**_pack_rows(kernel, X), "kind": "process", "lower": _pack_checked_triangle(L)}


def _pack_rows(kernel: kernels.Kernel, X: Any) -> Json:
    tree = kernel_tree.pack_kernel_of_rows(kernel, X)
    check_room(X.size, f"{len(X):,} rows of {X.shape[1]} columns")
    return {"kernel": tree, "rows": pack_columns(X), "count": len(X)}


def _pack_mean(of: str, weights: Array, shift: float) -> Json:
    return {"of": of, "weights": pack_array(weights), "shift": shift}


def _pack_checked_triangle(L: Any) -> Json:
    if not isinstance(L, np.ndarray):
        raise NoFormError("The model is on a GPU; fit it on the CPU to get a panel.")
    check_room(len(L) ** 2 // 2, f"The covariances of {len(L):,} rows")
    return pack_triangle(L)
