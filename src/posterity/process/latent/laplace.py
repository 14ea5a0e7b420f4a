"""Laplace's approximation of a Gaussian process under any elementwise likelihood.

The posterior of the latent function is the normal at its mode with the curvature there. Two N x N
matrices are all the memory it takes: K, and a factor that becomes its inverse.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.process.latent import mode as process_mode
from posterity.process.latent import sites
from posterity.process.latent.mode import Mode
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.latent.targets import LatentTargets


class LaplaceEvidence:
    """Laplace's log p(y), with its gradient, as a function of kernel and likelihood.

    The memory of the matrices is kept from one call to the next, and so is the mode, from which
    the next search for one starts.

    Parameters
    ----------
    X : array (N, D), or a sequence of N objects
        The rows.
    targets : LatentTargets
    """

    def __init__(self, X: Any, targets: LatentTargets) -> None:
        sites.check_room(targets.n_rows)
        self.X, self.targets = X, targets
        self._memory: tuple[Array, Array] | None = None
        self._f: Array | None = None

    def __call__(
        self, kernel: kernels.Kernel, likelihood: likelihoods.Likelihood
    ) -> tuple[float, Array]:
        """The log evidence and its gradient in [kernel.theta, likelihood.theta].

        Raises ``linalg.NotPositiveDefiniteError`` where no mode was found.
        """
        if self._memory is None:
            self._memory = sites.allocate(self.targets.n_rows)
        total, mode = _mode(self._memory, kernel, likelihood, self.X, self.targets, self._f)
        self._f = mode.f
        return mode.log_evidence, self._gradient(self._memory[0], total, likelihood, mode)

    def _gradient(
        self, K: Array, kernel: kernels.Kernel, likelihood: likelihoods.Likelihood, mode: Mode
    ) -> Array:
        """As parameters change, with what the mode does then.  [GPML 5.21]"""
        t = self.targets
        y, a = t.measure_from_shift(likelihood, mode.f)
        in_log_p, in_slope, in_curvature = (
            t.weights * s for s in likelihood.parameter_derivatives(y, a)
        )
        d3 = t.weights * likelihood.d3(y, a)
        R = mode.sites.invert(K)
        slope = 0.5 * R.variances * d3  # d log evidence / d f, through the curvature  [GPML 5.23]
        u = slope - R.apply(K @ slope)
        left = np.column_stack([mode.alpha + u, mode.alpha])
        theta = R.pullback(kernel, self.X, left, np.column_stack([mode.alpha, u]))
        explicit = np.sum(in_log_p, axis=1) + 0.5 * (in_curvature @ R.variances)
        return np.append(theta, explicit + in_slope @ (K @ u))


class LaplacePosterior(SitePosterior):
    """The latent function at any rows, given N observations, by Laplace's approximation.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [1.0]]), np.array([0.0, 0.0, 1.0])
    >>> likelihood = likelihoods.Bernoulli()
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> posterior = LaplacePosterior.condition(4.0 * kernels.RBF(1.0), likelihood, X, targets)
    >>> f = posterior.latent(np.array([[-1.0], [9.0]]))
    >>> f.mean[:, 0].round(3), f.variance[:, 0].round(3)
    (array([-1.423,  0.   ]), array([1.902, 4.   ]))
    """

    @classmethod
    def condition(
        cls,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Likelihood,
        X: Any,
        targets: LatentTargets,
    ) -> Self:
        """Find the mode, from the prior mean.

        Warns with ``optimize.ConvergenceWarning`` where it was not reached, and raises
        ``linalg.NotPositiveDefiniteError`` where it does not exist.
        """
        memory = sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total, mode = _mode(memory, kernel, likelihood, X, targets, None)
        if not mode.converged:
            callers.warn_caller(mode.stop_reason, optimize.ConvergenceWarning)
        return cls(
            total,
            X,
            float(targets.shift[0]),
            mode.alpha,
            mode.sites,
            mode.log_evidence,
            mode.n_iter,
            mode.stop_reason,
        )


def _mode(
    memory: tuple[Array, Array],
    kernel: kernels.Kernel,
    likelihood: likelihoods.Likelihood,
    X: Any,
    targets: LatentTargets,
    start: Array | None,
) -> tuple[kernels.Kernel, Mode]:
    """Return the kernel of process and offset together, and the mode."""
    total = sites.fill_covariance(memory, kernel, X, targets)
    return total, process_mode.find(*memory, likelihood, targets, start)
