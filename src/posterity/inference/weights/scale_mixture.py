"""Weights under noise that is normal given a hidden precision: the best normal beside these.

The same bound as in :mod:`~posterity.process.latent.scale_mixture`, in weight space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity import likelihoods, linalg
from posterity.arrays import Array
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.problem import WeightProblem, Weights

_GAIN = 1e-10  # nats of the bound, below which precisions are as good as any
_STEPS = 500


@dataclass(frozen=True)
class ScaleMixtureFit(WeightNormal):
    """W ~ N(mean, H^-1), the best normal beside independent precisions of the rows."""

    log_evidence: float  # a lower bound

    @classmethod
    def from_problem(cls, problem: WeightProblem) -> ScaleMixtureFit:
        """Alternate between weights and precisions, for a design in memory and one latent value."""
        rows = problem.design.rows(0, problem.design.n_rows)
        likelihood, y = problem.targets.likelihood, problem.targets.observed_targets
        assert isinstance(likelihood, likelihoods.Likelihood)  # one latent value
        counts = problem.targets.weights
        w = np.ones(len(y)) if counts is None else counts
        E, last, reason = y * y, -np.inf, f"{_STEPS} steps were not enough"
        converged = False
        for n in range(1, _STEPS + 1):
            found = cls._fit_with_precisions(
                problem, rows, w * likelihood.step_curvature(np.sqrt(E), 0.0)
            )
            E = (y - rows @ found.weights.W[:, 0]) ** 2 + found.spread(rows)[:, 0, 0]
            bound = float(w @ likelihood.log_prob(np.sqrt(E), 0.0)) - found._divergence()
            if bound - last <= _GAIN:
                reason, converged = f"a further step gains less than {_GAIN:.0e} nats", True
                break
            last = bound
        ended = replace(found.weights, n_iter=n, stop_reason=reason, converged=converged)
        return replace(found, weights=ended, log_evidence=bound)

    @classmethod
    def _fit_with_precisions(
        cls, problem: WeightProblem, rows: Array, precisions: Array
    ) -> ScaleMixtureFit:
        """Return the normal where rows have these precisions."""
        L = linalg.cholesky(problem.prior.add_precision((rows.T * precisions) @ rows))
        W = linalg.solve_cholesky(L, rows.T @ (precisions * problem.targets.observed_targets))[
            :, None
        ]
        weights = Weights(W, np.nan, 0.0, 0, "", converged=False)
        return cls(problem, weights, L, -np.inf)

    def _divergence(self) -> float:
        """Return the divergence from the prior of the weights."""
        prior, M = self.problem.prior, len(self.L)
        determinants = linalg.log_determinant(self.L) - prior.log_determinant(1)
        spread = prior.trace_with(self.packed_covariance) - M
        return 0.5 * (determinants + spread) + self.problem.quadratic(self.weights.W)
