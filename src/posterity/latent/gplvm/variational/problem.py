"""The bound as a function of all that is searched, as one vector."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.inference.search import Objective, negate_evidence
from posterity.latent.gplvm.terms import LatentPrior
from posterity.latent.gplvm.variational import bound
from posterity.latent.gplvm.variational.observed import ObservedOutputs
from posterity.latent.gplvm.variational.statistics import NormalPoints
from posterity.process.inducing import selection

_VARIANCES = (0.01, 0.5)  # of latent points at the start
_SETTLING = 2  # fixed-point steps of these
_LOG_VARIANCES = (-30.0, 30.0)  # far beyond what a search meets; their exponentials are finite
_LOG_VARIANCE_UNIT = 1.4  # what the divergence says of log S is 1/2: a deviation of sqrt(2)
_PARAMETER_UNIT = 2.0  # times the deviation of log noise
_POINT_UNIT = 7.0
_LARGEST_UNIT = 0.3
_PRIOR_UNIT = 0.1


@dataclass(frozen=True)
class VariationalState:
    """All that is searched."""

    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    kernel: kernels.Kernel
    noise_variance: float
    prior_own: Array


@dataclass(frozen=True)
class VariationalProblem:
    """The bound as a function of one vector of variables."""

    observed: ObservedOutputs
    kernel: kernels.Kernel
    kernel_bounds: Array  # (P, 2), log
    noise_variance: float
    noise_bounds: tuple[float, float] | None
    prior: LatentPrior
    n_jobs: int = 1

    def start(self, m: Array, n_inducing: int) -> VariationalState:
        """With inducing points at those rows that tell most of the others."""
        rows = selection.select_greedily(self.kernel, m, n_inducing)
        S = np.full_like(m, _VARIANCES[1])
        state = VariationalState(m, S, m[rows], self.kernel, self.noise_variance, self.prior.start)
        for _ in range(_SETTLING):
            state = self._update_variances(state)
        return state

    def _update_variances(self, s: VariationalState) -> VariationalState:
        """With S a step nearer to where the bound is flat in it: 1 / S = p - 2 dF/dS.

        p is the precision of the prior, and F what the outputs say.
        """
        _, _, divergence, _ = self.prior.divergence(s.m, s.S, s.prior_own)
        precision = 2.0 * (divergence - self._outputs(s).S) + 1.0 / s.S
        low, high = _VARIANCES
        return replace(s, S=1.0 / np.clip(precision, 1.0 / high, 1.0 / low))

    def _outputs(self, s: VariationalState) -> bound.OutputSlopes:
        points = NormalPoints(s.m, s.S, s.Z, self.observed.weights, self.n_jobs)
        return bound.compute_bound(self.observed, s.kernel, s.noise_variance, points)

    def objective(self, like: VariationalState) -> Objective:
        """Minus the bound and its gradient; infinite where rounding leaves it none."""

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            s = self.unpack(x, like)
            f = self._outputs(s)
            apart, dm, dS, own = self.prior.divergence(s.m, s.S, s.prior_own)
            slopes = (f.m - dm, (f.S - dS) * s.S, f.Z)
            noise = [f.log_noise] * (self.noise_bounds is not None)
            return f.value - apart, np.concatenate(
                [*(slope.ravel() for slope in slopes), f.theta, noise, -own]
            )

        return negate_evidence(value_and_gradient)

    def pack(self, s: VariationalState) -> Array:
        """The variables of a state."""
        noise = np.log([] if self.noise_bounds is None else [s.noise_variance])
        latent = (s.m.ravel(), np.log(s.S).ravel(), s.Z.ravel())
        return np.concatenate([*latent, s.kernel.theta, noise, s.prior_own])

    def unpack(self, x: Array, like: VariationalState) -> VariationalState:
        """The state, of the shapes of another one."""
        n, k, p = like.m.size, like.Z.size, len(like.kernel.theta)
        m, log_S, Z, theta, rest = np.split(x, np.cumsum([n, n, k, p]))
        learned = int(self.noise_bounds is not None)
        noise = float(np.exp(rest[0])) if learned else self.noise_variance
        S, kernel = np.exp(log_S).reshape(like.S.shape), self.kernel.with_theta(theta)
        return VariationalState(
            m.reshape(like.m.shape), S, Z.reshape(like.Z.shape), kernel, noise, rest[learned:]
        )

    def units(self, s: VariationalState) -> Array:
        """Steps of the variables that change the bound about as much, near a state."""
        noise = np.sqrt(2.0 / self.observed.n_values)  # the deviation of a log variance
        points = min(_POINT_UNIT * noise, _LARGEST_UNIT)
        parameters = min(_PARAMETER_UNIT * noise, _LARGEST_UNIT)
        return np.concatenate(
            [
                np.sqrt(s.S).ravel(),
                np.full(s.S.size, _LOG_VARIANCE_UNIT),
                np.full(s.Z.size, points),
                np.full(len(s.kernel.theta), parameters),
                np.full(int(self.noise_bounds is not None), noise),
                np.full(len(s.prior_own), _PRIOR_UNIT),
            ]
        )

    def limits(self, s: VariationalState) -> Array:
        """Between which the variables stay, (V, 2)."""
        noise = np.log([] if self.noise_bounds is None else self.noise_bounds).reshape(-1, 2)
        anywhere = (-np.inf, np.inf)
        latent = [(s.m.size, anywhere), (s.S.size, _LOG_VARIANCES), (s.Z.size, anywhere)]
        free = [np.tile(limits, (n, 1)) for n, limits in latent]
        return np.vstack([*free, self.kernel_bounds, noise, self.prior.limits])

    def names(self, s: VariationalState) -> list[str]:
        """Names of the variables."""
        latent = ["mean"] * s.m.size + ["log variance"] * s.S.size + ["point"] * s.Z.size
        noise = ["noise_variance"] * (self.noise_bounds is not None)
        return latent + s.kernel.names + noise + self.prior.names
