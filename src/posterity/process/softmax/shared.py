"""The nearest normal with one curvature a row, where a factor for each class takes too long.

As in ``variational``, the normal q has K^-1 mean = E_q[slope] and precision K^-1 + E_q[curvature],
both averaged over itself [OA 2.10]. Here it is the nearest of those whose curvature in row n is
h_n (I - 1 1^T / C), alike for all contrasts of classes: all functions then share one covariance,
(K^-1 + diag(h))^-1 along each contrast, and a sweep takes two factors of N x N however many
classes there are. h_n has the trace of the average curvature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.page_forms import Form
from posterity.process.latent import sites as process_sites
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.site_posterior import predict_rows
from posterity.process.latent.sites import Sites
from posterity.process.prior import ProcessPrior

_STEEPEST = 1.5  # times the largest average curvature of one class against all, in a step
_PACE = 0.7  # of the way to the curvature that a sweep asks for, in its logarithm
_AGREED = 5e-3  # between the probabilities of one sweep and the next
_GAIN = 2e-3  # nats, that one of so many sweeps in a row has to add to the bound:
_GAIN_A_ROW = 5e-5  # likewise, for each row: of many rows sweeps take long
_IDLE = 3
_SWEEPS = 100
_LEAST = 1e-9  # of a curvature: a variance is a difference of its inverse


@dataclass(frozen=True)
class SharedSoftmaxPosterior:
    """The C functions at any rows, under the nearest normal whose contrasts share a covariance.

    ``log_evidence`` is a lower bound of log p(y). ``kernel`` is that of process and offset
    together; the offsets of all classes have the mean of their variances.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> likelihood = likelihoods.Categorical(3)
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> kernel = 2.0 * kernels.RBF(1.0)
    >>> posterior = SharedSoftmaxPosterior.condition(kernel, likelihood, X, targets)
    >>> round(posterior.log_evidence, 2)
    -3.75
    """

    kernel: kernels.Kernel
    X: Any  # (N, D) rows, or N objects
    shift: Array  # (C,)
    b: Array  # (N, C), K^-1 times the means
    sites: Sites  # of one contrast
    log_evidence: float
    n_iter: int
    stop_reason: str

    @classmethod
    def condition(
        cls, kernel: kernels.Kernel, likelihood: likelihoods.Coupled, X: Any, targets: LatentTargets
    ) -> SharedSoftmaxPosterior:
        """Sweep from the prior until probabilities agree.

        Warns with ``optimize.ConvergenceWarning`` where they do not, and raises
        ``linalg.NotPositiveDefiniteError`` where the kernel is not positive definite.
        """
        offset = np.full_like(targets.offset_variance, np.mean(targets.offset_variance))
        targets = replace(targets, offset_variance=offset)
        memory = process_sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total = process_sites.fill_covariance(memory, kernel, X, targets)
            end, reason, converged = _sweep(_Normal.start(_Rows(*memory, likelihood, targets)))
            sites = end.factorise()
        if not converged:
            callers.warn_caller(reason, optimize.ConvergenceWarning)
        return cls(total, X, targets.shift, end.b, sites, end.bound, end.n_iter, reason)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the C functions at each row of X."""
        mean, variance = predict_rows(self, self.kernel, self.b, X)
        C, prior = len(self.shift), self.kernel.diag(X)
        common = (prior - variance) / C  # the mean of all classes is as it was
        S = variance[:, None, None] * np.eye(C) + common[:, None, None]
        return LatentMarginals.from_covariance(self.shift + mean, S)

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each function over all rows of X."""
        k, C = self.kernel(self.X, X), len(self.shift)
        covariance = self.kernel(X) - (1.0 - 1.0 / C) * self.sites.reduction_matrix(k)
        mean = self.shift + k.T @ self.b
        return LatentJoint(mean, np.broadcast_to(covariance, (C, *covariance.shape)))

    def before_rows(self) -> ProcessPrior:
        """Return the functions before they saw their rows; their kernel includes the offset."""
        return ProcessPrior(self.kernel, self.shift, np.zeros(len(self.shift)))

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the functions.

        It is that of classes with a factor each, which here are all the same.
        """
        del noise_variance
        n, C = self.b.shape
        page_forms.check_size((C + 1) * n**2 // 2, f"The covariances of {n:,} rows, {C} classes")
        s = self.sites.s
        total = C * s[:, None] * linalg.solve_cholesky(self.sites.L, np.diag(s))
        lower = page_forms.flatten_triangle(self.sites.L)
        return {
            **self.kernel.form_columns(self.X),
            "kind": "softmax_process",
            "shift": self.shift.tolist(),
            "offsets": [0.0] * C,
            "duals": list(self.b.T),
            "roots": [s] * C,
            "lowers": [lower] * C,
            "lower": page_forms.flatten_triangle(linalg.cholesky(linalg.symmetrize(total))),
        }


@dataclass(frozen=True)
class _Rows:
    """The covariances and rows that stay from sweep to sweep."""

    K: Array  # (N, N), offset included
    memory: Array  # (N, N), of a factor
    likelihood: likelihoods.Coupled
    targets: LatentTargets


@dataclass(frozen=True)
class _Normal:
    """A normal of mean f = K b and curvature h, and what the likelihood says under it."""

    rows: _Rows
    b: Array  # (N, C)
    f: Array  # (N, C)
    h: Array  # (N,), for a row that counts once
    average: Array  # (N,), the curvature that the likelihood has, averaged
    steepest: Array  # (N,), no less than that along any contrast
    residual: Array  # (N, C), the slope less b
    bound: float  # of the log evidence
    n_iter: int
    velocity: Array  # (N, C), of b in the last sweep; zero where that led down
    age: int = 0  # sweeps since it rested

    @classmethod
    def start(cls, rows: _Rows) -> _Normal:
        """The prior mean, with the curvature of even chances."""
        N, C = rows.targets.n_rows, len(rows.targets.shift)
        return cls.evaluate(rows, np.zeros((N, C)), np.full(N, 1.0 / C), 0)

    @classmethod
    def evaluate(cls, rows: _Rows, b: Array, h: Array, n_iter: int) -> _Normal:
        """The averages and the bound at a mean and a curvature."""
        t, C = rows.targets, b.shape[1]
        sites = Sites.factorise(rows.K, t.weights * h, rows.memory)
        variances = sites.invert(rows.K).variances
        f, S = rows.K @ b, variances[:, None, None] * (np.eye(C) - 1.0 / C)
        log_p, d1, w, u = rows.likelihood.expected_value_and_slope(t.y, t.shift + f, S)
        average = w * (1.0 - np.sum(u * u, axis=1)) / (C - 1)
        steepest = _STEEPEST * w * np.max(u * (1.0 - u), axis=1)
        spread = sites.log_determinant - (t.weights * h) @ variances
        bound = float(t.weights @ log_p - 0.5 * (np.sum(b * f) + (C - 1) * spread))
        residual = t.weights[:, None] * d1 - b
        average = np.maximum(average, _LEAST)
        return cls(rows, b, f, h, average, steepest, residual, bound, n_iter, np.zeros_like(b))

    @property
    def change(self) -> float:
        """The largest of a probability that a sweep asks for."""
        moved = np.max(np.abs(self.residual), axis=1) / self.rows.targets.weights
        return float(np.max(np.maximum(moved, np.abs(self.average - self.h))))

    def sweep(self) -> _Normal:
        """A step of the mean, as long as the steepest contrast allows, and one of the curvature."""
        r, h = self.rows, self.h
        steep = r.targets.weights * np.maximum(self.steepest, h)
        sites = Sites.factorise(r.K, steep, r.memory)
        db = self.residual - sites.apply(r.K @ self.residual)
        db += self.age / (self.age + 3.0) * self.velocity  # Nesterov's momentum
        there = self.evaluate(r, self.b + db, h * (self.average / h) ** _PACE, self.n_iter + 1)
        if there.bound < self.bound:
            return there  # which rests
        return replace(there, velocity=db, age=self.age + 1)

    def factorise(self) -> Sites:
        """The sites of the curvature."""
        return Sites.factorise(self.rows.K, self.rows.targets.weights * self.h, self.rows.memory)


def _sweep(state: _Normal) -> tuple[_Normal, str, bool]:
    """The largest bound that sweeps found, why they ended, and whether that is convergence.

    Averages are taken at points, which change places as means of classes do: probabilities of many
    classes may go on changing by a little that raises no bound.
    """
    best, idle = state, 0
    least = max(_GAIN, _GAIN_A_ROW * state.rows.targets.n_rows)
    while idle < _IDLE:
        if state.change <= _AGREED:
            return state, f"a further sweep changes no probability by more than {_AGREED:.0e}", True
        if state.n_iter == _SWEEPS:
            left = f"after {_SWEEPS} sweeps probabilities still change by {state.change:.0e}"
            return best, left, False
        state = state.sweep()
        idle = 0 if state.bound > best.bound + least else idle + 1
        best = max(best, state, key=lambda each: each.bound)
    return best, f"{_IDLE} sweeps in a row raised the bound by less than {least:.0e}", True
