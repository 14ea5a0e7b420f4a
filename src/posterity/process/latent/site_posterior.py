"""The latent function of rows whose observations have become normal sites, by any inference.

An inference finds sites that stand for the observations. From them follow the evidence, which a
search for kernel and likelihood asks for, and the posterior at any rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.latent import condensed, laplace, propagation, sites, variational
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.sites import Memory, Sites
from posterity.process.prior import ProcessPrior

_ROUND_OFF = 1e10 * float(np.finfo(np.float64).eps)  # of a variance, in units of its tolerance
_QUERY_VALUES = 1 << 22  # cross-covariances held at a time while predicting: 32 MiB


FindSites = Callable[[Memory, Any, LatentTargets, Array | None], Any]
"""From covariances, a likelihood, targets and a start to sites that agree with the targets.

What is returned has ``alpha``, K^-1 times the posterior mean, the ``log_evidence``, a ``start`` for
another search, ``n_iter``, ``stop_reason`` and ``converged``; ``factorise`` makes ``Sites`` of it,
and ``differentiate`` the gradient of the evidence.
"""

INFERENCES: dict[str, FindSites] = {
    "laplace": laplace.find_mode,
    "propagation": propagation.propagate,
    "variational": variational.find_nearest,
}


class SiteEvidence:
    """A log evidence with its gradient, as a function of kernel and likelihood.

    The memory of the matrices is kept from one call to the next, and so are the sites of the
    largest evidence, from which the next call starts.

    Parameters
    ----------
    inference : {"laplace", "propagation", "variational"}
        How sites are found.
    X : array (N, D), or a sequence of N objects
        The rows.
    targets : LatentTargets
    """

    def __init__(self, inference: str, X: Any, targets: LatentTargets) -> None:
        sites.check_room(targets.n_rows)
        self.inference, self.X, self.targets = inference, X, targets
        self._memory: Memory | None = None
        self._start: Array | None = None
        self._largest = -np.inf

    def __call__(
        self, kernel: kernels.Kernel, likelihood: likelihoods.Likelihood
    ) -> tuple[float, Array]:
        """The log evidence and its gradient in [kernel.theta, likelihood.theta].

        Raises ``linalg.NotPositiveDefiniteError`` where no sites were found.
        """
        if self._memory is None:
            self._memory = sites.allocate(self.targets.n_rows)
        memory, t = self._memory, self.targets
        total = sites.fill_covariance(memory, kernel, self.X, t)
        found = INFERENCES[self.inference](memory, likelihood, t, self._start)
        if found.log_evidence > self._largest:  # not of a step that a search takes back
            self._start, self._largest = found.start, found.log_evidence
        value = found.log_evidence
        return value, found.differentiate(memory[0], total, self.X, likelihood, t)


@dataclass(frozen=True)
class SitePosterior:
    """shift + f(x), with f a Gaussian process that N normal sites have told of.

    ``kernel`` is that of process and offset together.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [1.0]]), np.array([0.0, 0.0, 1.0])
    >>> likelihood = likelihoods.Bernoulli()
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> for inference in ("laplace", "propagation"):
    ...     told = 4.0 * kernels.RBF(1.0), likelihood, X, targets
    ...     f = SitePosterior.condition(inference, *told).latent(np.array([[-1.0], [9.0]]))
    ...     f.mean[:, 0].round(3), f.variance[:, 0].round(3)
    (array([-1.423,  0.   ]), array([1.902, 4.   ]))
    (array([-1.657,  0.   ]), array([2.09, 4.  ]))
    """

    kernel: kernels.Kernel
    X: Any  # (N, D) rows, or N objects
    shift: float
    alpha: Array  # (N,), K^-1 times the posterior mean of f
    sites: Sites
    log_evidence: float  # log p(y), all constants included
    n_iter: int
    stop_reason: str
    inference: str  # that found the sites

    @classmethod
    def condition(
        cls,
        inference: str,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Likelihood,
        X: Any,
        targets: LatentTargets,
        start: Array | None = None,
    ) -> Self:
        """Find the sites, from those given or from none.

        Warns with ``optimize.ConvergenceWarning`` where they were not found, and raises
        ``linalg.NotPositiveDefiniteError`` where they do not exist.
        """
        memory = sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total = sites.fill_covariance(memory, kernel, X, targets)
            found = INFERENCES[inference](memory, likelihood, targets, start)
            factor = found.factorise(memory)
        if not found.converged:
            callers.warn_caller(found.stop_reason, optimize.ConvergenceWarning)
        ended = found.log_evidence, found.n_iter, found.stop_reason, inference
        return cls(total, X, float(targets.shift[0]), found.alpha, factor, *ended)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the latent function at the rows of X.  [GPML 3.21, 3.24]"""
        mean, variance = predict_rows(self, self.kernel, self.alpha, X)
        return LatentMarginals(self.shift + mean[:, None], variance[:, None])

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of the latent function over all rows of X."""
        k = kernel_blocks.fill_between(self.kernel, self.X, X)
        mean = self.shift + k.T @ self.alpha
        covariance = self.kernel(X) - self.sites.reduction_matrix(k)
        return LatentJoint(mean[:, None], covariance[None])

    def before_rows(self) -> ProcessPrior:
        """Return the process before it saw its rows; its kernel includes the offset."""
        return ProcessPrior(self.kernel, np.array([self.shift]), np.zeros(1))

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function.

        A process of many rows is approximated by few, with an error that is small beside the noise.
        """
        return condensed.form_exact_process(self, noise_variance)

    def form_all_rows(self) -> Form:
        """Return the form with the covariances of all rows."""
        weights, shift = self.mean_weights()
        return {
            **self.kernel.form_columns(self.X),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.sites.L),
            "roots": self.sites.s,
            "back": list(self.sites.T.T),
            "mean": {"of": "covariances", "weights": weights, "shift": shift},
        }

    def mean_weights(self) -> tuple[Array, float]:
        """Return the weights of the rows' covariances in the mean, and the constant added to it."""
        return self.alpha, float(self.shift)

    def reduction_matrix(self, k: Array) -> Array:
        """Return the covariance (M, M) that the sites take away, given covariances k (N, M)."""
        return self.sites.reduction_matrix(k)


class SitedRows(Protocol):
    """Rows and the sites that stand for their observations."""

    @property
    def X(self) -> Any:
        """The rows that were observed."""

    @property
    def sites(self) -> Sites:
        """The sites of these rows."""


def predict_rows(
    told: SitedRows, kernel: kernels.Kernel, alpha: Array, X: Any
) -> tuple[Array, Array]:
    """Means k^T alpha, (n,) or (n, C), and variances (n,) at the rows of X.  [GPML 3.21, 3.24]"""
    pivots = np.diagonal(told.sites.L)
    ratio = float(np.max(pivots) / np.min(pivots))
    # Conditioning of the factor makes the round-off of variances larger.
    loss = max(1.0, _ROUND_OFF * len(alpha) * ratio**2)

    def predict(x: Any) -> tuple[Array, Array]:
        k, prior = kernel_blocks.fill_between(kernel, told.X, x), kernel.diag(x)
        left = prior - told.sites.reduction(k)
        return k.T @ alpha, linalg.nonnegative(left, prior * loss)

    size = _QUERY_VALUES // len(alpha) if kernel.takes_vectors else kernels.rows.count_rows(X)
    means, variances = zip(*kernel_blocks.map_pieces(predict, kernel, X, max(1, size)), strict=True)
    return np.concatenate(means), np.concatenate(variances)
