"""The prior variance of weights, and the likelihood's parameters, by the largest evidence.

The evidence may have more than one maximum along the prior variance: a scan over decades finds the
decade, and BFGS on the exact gradient the maximum. Each mode is searched from the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import designs, optimize
from posterity.arrays import Array
from posterity.inference.averaging import Hyperprior
from posterity.inference.search import LEAST_GAIN, climb_evidence, negate_evidence
from posterity.inference.weights import few_hessians, laplace
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import PriorRange, WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets

_LEAST_GAIN = 0.1 * LEAST_GAIN  # one parameter or two: a climb has no long valley to follow
_LEAST_GAIN_OF_MANY_WEIGHTS = 10.0 * LEAST_GAIN  # a hundredth of a deviation of the log variance


@dataclass(frozen=True)
class LearnedLaplace:
    """The approximation at the parameters of the largest evidence, and how they were found."""

    fit: LaplaceFit
    prior_variance: float
    optimum: optimize.Optimum


@dataclass(frozen=True)
class LaplaceSearch:
    """A search over the logs of the prior variance and of the likelihood's parameters."""

    design: designs.Design
    targets: RowTargets
    prior_variance: float | None  # None: learned; infinite: flat
    likelihood_bounds: Array  # (P, 2), log; equal: held
    offset: bool
    square_length: float  # mean over the rows of the design, without the ones of the offset

    @property
    def prior_range(self) -> PriorRange:
        """Range of the prior variance."""
        return PriorRange.from_scales(self.targets.typical_variance, self.square_length)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Mask of the parameters of the likelihood that are learned, (P,)."""
        return self.likelihood_bounds[:, 0] < self.likelihood_bounds[:, 1]

    @property
    def limits(self) -> Array:
        """Log bounds of all that is searched, (P, 2)."""
        variance = [self.prior_range.limits] * (self.prior_variance is None)
        return np.array([*variance, *self.likelihood_bounds[self.free]]).reshape(-1, 2)

    @property
    def names(self) -> list[str]:
        """Names of the parameters that are searched."""
        learned = [n for n, f in zip(self.targets.likelihood.names, self.free, strict=True) if f]
        return ["prior_variance"] * (self.prior_variance is None) + learned

    @property
    def start(self) -> Array:
        """The prior variance of latent values of typical size, and the likelihood as it is."""
        theta = self.targets.likelihood.theta[self.free]
        if self.prior_variance is not None:
            return theta
        return np.append(self.prior_range.start, theta)

    @property
    def n_rows(self) -> int:
        """The number of rows, each as often as it counts."""
        return int(np.ceil(self.targets.total_weight))

    @property
    def n_unknown(self) -> int:
        """The number of weights and of parameters that are searched."""
        return self.design.n_columns * self.targets.n_outputs + len(self.start)

    @property
    def hyperprior(self) -> Hyperprior:
        """Weak priors of all that is searched, about where a search starts."""
        return Hyperprior.weak(self.start)

    def fit_at(
        self, x: Array, start: Array | None, similar: LaplaceFit | None = None
    ) -> LaplaceFit:
        """Return the approximation at log parameters, its mode searched from ``start``."""
        return LaplaceFit.from_problem(self.problem_at(x), start, similar)

    def problem_at(self, x: Array) -> WeightProblem:
        """Return the rows and the prior at log parameters."""
        learns = self.prior_variance is None
        likelihood = self.targets.likelihood
        theta = likelihood.theta
        theta[self.free] = x[learns:]
        targets = replace(self.targets, likelihood=likelihood.with_parameters(theta))
        return WeightProblem(self.design, targets, self.prior_at(x))

    def prior_at(self, x: Array) -> WeightPrior:
        """Return the prior at log parameters."""
        learned = self.prior_variance is None
        variance = float(np.exp(x[0])) if learned else float(self.prior_variance or 0.0)
        # Weights that are free leave the offset free, too.
        offset = self.targets.offset_precision * float(variance < np.inf) if self.offset else None
        return WeightPrior(1.0 / variance, self.design.n_columns, offset)

    def gradient(self, fit: LaplaceFit) -> Array:
        """Gradient of the log evidence in all parameters that are searched."""
        in_variance, in_theta = fit.gradient()
        return np.append([in_variance] * (self.prior_variance is None), in_theta[self.free])


def maximise_laplace_evidence(search: LaplaceSearch, *, max_iter: int = 100) -> LearnedLaplace:
    """Scan the prior variance, where it is not given, and climb from the best."""
    fits = _SuccessiveFits(search)
    given, x, inverse_hessian = search.prior_variance, search.start, None
    if given is None:
        x, inverse_hessian = (
            fits.predict_prior_variance() if fits.sees_ahead else fits.scan_prior_variances()
        )
    best = climb_evidence(
        negate_evidence(fits.evidence),
        x,
        limits=search.limits,
        names=search.names,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN_OF_MANY_WEIGHTS if fits.are_expensive else _LEAST_GAIN,
        inverse_hessian=inverse_hessian,
    )
    variance = float(np.exp(best.x[0])) if given is None else given
    return LearnedLaplace(fits.fit_at(best.x), variance, best)


class _SuccessiveFits:
    """Successive fits, each searched from what the last one predicts."""

    def __init__(self, search: LaplaceSearch) -> None:
        self._search = search
        self._last: tuple[Array, LaplaceFit] | None = None
        n_weights = search.design.n_columns * search.targets.n_outputs
        rows = search.targets.total_weight
        # Where the likelihood is learned too, a forecast from the weights alone is not enough.
        self.sees_ahead = not np.any(search.free) and laplace.is_quadratic_trusted(rows, n_weights)
        self.are_expensive = few_hessians.are_worthwhile(search.problem_at(search.start))

    def fit_at(self, x: Array) -> LaplaceFit:
        """Return the fit at log parameters; the last fit itself where they are the same."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        similar = None if self._last is None else self._last[1]
        fit = self._search.fit_at(x, self._predict_mode(x), similar)
        self._last = x.copy(), fit
        return fit

    def _predict_mode(self, x: Array) -> Array | None:
        if self._last is None:
            return None
        fit = self._last[1]
        if not (self.sees_ahead and fit.L.size):
            return fit.weights.W
        return laplace.QuadraticApproximation(fit).predict_mode(self._search.prior_at(x))

    def evidence(self, x: Array) -> tuple[float, Array]:
        """Return the log evidence and its gradient; a step may be too long for a mode to exist."""
        fit = self.fit_at(x)
        return fit.log_evidence, self._search.gradient(fit)

    def scan_prior_variances(self) -> tuple[Array, Array | None]:
        """Return the start with the prior variance of the decade of the largest evidence.

        Where fits are expensive, the start is the top of the parabola through that decade and its
        neighbours, with its inverse curvature: a climb from there needs two fits less.
        """
        _, *theta = self._search.start
        scan = self._search.prior_range.scan
        points = [np.array([variance, *theta]) for variance in scan]
        evidences, best = list[float](), self._last
        for point in points:
            fit = self.fit_at(point)
            if fit.log_evidence > max(evidences, default=-np.inf):
                best = point, fit
            evidences.append(fit.log_evidence)
        self._last, k = best, int(np.argmax(evidences))
        inside = 0 < k < len(scan) - 1
        if theta or not (inside and self.are_expensive):
            return points[k], None
        top, curvature = laplace.fit_parabola(scan[k - 1 : k + 2], evidences[k - 1 : k + 2])
        return np.array([top]), np.array([[1.0 / curvature]])

    def predict_prior_variance(self) -> tuple[Array, Array]:
        """Return the prior variance that one fit predicts, and the inverse curvature there."""
        fit, among = self.fit_at(self._search.start), self._search.prior_range
        best, curvature = laplace.QuadraticApproximation(fit).predict_best_log_variance(
            among.scan, among.limits
        )
        return np.array([best]), np.array([[1.0 / curvature]])
