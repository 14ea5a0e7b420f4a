"""The bound as a function of all that is searched, as one vector."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import joblib
import numpy as np

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.search import Objective, negate_evidence
from posterity.latent.gplvm.terms import LatentPrior
from posterity.latent.gplvm.variational import bound, posterior
from posterity.latent.gplvm.variational.bound import ObservedOutputs
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


_SPREAD = 0.3  # of restarts, in standard deviations of the latent points
_ROUND = 100  # iterations, after which the best start goes on alone
_LEAST_GAIN = 1e-6  # nats for each value observed


def fit_variational(
    Y: Array,
    m0: Array,
    kernel: kernels.Kernel,
    kernel_bounds: Array,
    noise_variance: float,
    noise_bounds: tuple[float, float] | None,
    *,
    prior: LatentPrior,
    n_inducing: int,
    n_restarts: int = 1,
    max_iter: int = 500,
    n_jobs: int | None = None,
    rng: np.random.Generator,
) -> posterior.VariationalPosterior:
    """The latent points, each a normal, of the largest bound that was found.

    Parameters
    ----------
    Y : array (N, D)
        About zero; NaN where an output is missing.
    m0 : array (N, Q)
        Means to start from, of variance about one, such as whitened principal components.
    kernel : Kernel
        Where to start, every parameter set.
    kernel_bounds : array (P, 2)
        Of its log parameters.
    noise_variance : float
        Where to start, or given. A hundredth of the variance of the outputs is a good start: a
        function that may call everything noise at first will.
    noise_bounds : (float, float), or None
        None: given, not learned.
    prior : LatentPrior
    n_inducing : int
        The most inducing points; fewer where the kernel has no use for more.
    n_restarts : int, default=1
        From how many starts to search; all but the first are moved about at random.
    max_iter : int, default=500
    n_jobs : int, optional
        Threads, over starts where there are several, and over rows.
    rng : Generator

    Warns
    -----
    ConvergenceWarning
        Where ``max_iter`` iterations were not enough.

    Examples
    --------
    >>> from posterity.latent.gplvm.terms import StandardNormalPrior
    >>> rng, t = np.random.default_rng(0), np.linspace(-1.7, 1.7, 30)[:, None]
    >>> Y = np.hstack([t, np.sin(2.0 * t), t * t - 1.0]) + 0.1 * rng.standard_normal((30, 3))
    >>> kernel, bounds = 1.0 * kernels.RBF(1.0), np.log([[1e-2, 1e2]] * 2)
    >>> prior = StandardNormalPrior()
    >>> options = dict(prior=prior, n_inducing=8, rng=rng)
    >>> found = fit_variational(Y, t, kernel, bounds, 0.01, (1e-6, 1.0), **options)
    >>> found.m.shape, 0.003 < found.noise_variance < 0.03, found.optimum.converged
    ((30, 1), True, True)
    """
    observed, threads = ObservedOutputs.from_outputs(Y), linalg.threads.count_threads(n_jobs)
    problem = VariationalProblem(
        observed, kernel, kernel_bounds, noise_variance, noise_bounds, prior
    )
    starts = [m0] + [_near(m0, rng) for _ in range(n_restarts - 1)]
    ahead = min(_ROUND, max_iter)
    alone = replace(problem, n_jobs=threads) if n_restarts == 1 else problem
    climbs = (joblib.delayed(_climb)(alone, alone.start(m, n_inducing), ahead) for m in starts)
    ends = joblib.Parallel(n_jobs=threads, require="sharedmem")(climbs)
    state, optimum = min(ends, key=lambda end: end[1].value)
    heights = -np.array([end[1].value for end in ends])
    if not optimum.converged and max_iter > ahead:
        first, goes_on = optimum.n_iter, replace(problem, n_jobs=threads)
        state, further = _climb(goes_on, state, max_iter - ahead)
        optimum = replace(further, n_iter=first + further.n_iter)
    if optimum.n_iter >= max_iter:
        optimum = replace(optimum, stop_reason=f"{max_iter} L-BFGS iterations were not enough")
    optimize.optimum.warn_unless_converged(optimum)
    return posterior.condition_variational(
        Y,
        state.m,
        state.S,
        state.kernel,
        state.noise_variance,
        state.Z,
        state.prior_own,
        optimum,
        heights,
    )


def _near(m0: Array, rng: np.random.Generator) -> Array:
    """Draw another start about the first."""
    return m0 + _SPREAD * np.std(m0, axis=0) * rng.standard_normal(m0.shape)


def _climb(
    problem: VariationalProblem, state: VariationalState, max_iter: int
) -> tuple[VariationalState, optimize.Optimum]:
    """L-BFGS from there, on a copy of the problem: a prior may keep what it worked out last."""
    objective = copy.deepcopy(problem).objective(state)
    here, unit = problem.pack(state), problem.units(state)

    def evaluate_scaled(t: Array) -> tuple[float, Array]:
        value, gradient = objective(here + unit * t)
        return value, unit * gradient

    limits = (problem.limits(state) - here[:, None]) / unit[:, None]
    with linalg.limit_threads(len(state.Z)):
        best = optimize.minimise_lbfgs(
            evaluate_scaled,
            np.zeros_like(here),
            bounds=[(low, high) for low, high in limits],
            names=problem.names(state),
            max_iter=max_iter,
            least_gain=_LEAST_GAIN * problem.observed.n_values,
            announce=False,
        )
    there = replace(best, x=here + unit * best.x, gradient=best.gradient / unit)
    return problem.unpack(there.x, state), there
