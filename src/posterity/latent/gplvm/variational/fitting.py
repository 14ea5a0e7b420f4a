"""The best bound: means and variances of latent points, inducing points, kernel and noise.

A search is as fast as its variables are alike. So means are counted in deviations of the posterior
at the time, and all else in steps that change the bound about as much; after a first round the
units are those of what was found.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import joblib
import numpy as np

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.latent.gplvm.terms import LatentPrior
from posterity.latent.gplvm.variational import posterior
from posterity.latent.gplvm.variational.observed import ObservedOutputs
from posterity.latent.gplvm.variational.problem import VariationalProblem, VariationalState

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
