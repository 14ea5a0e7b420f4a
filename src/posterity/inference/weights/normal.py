"""Normal approximations of the posterior of weights, and the latent values that they predict.

The same bound as in :mod:`~posterity.process.latent.variational`, in weight space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from posterity import likelihoods, linalg, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights.problem import WeightProblem, Weights, packed_places
from posterity.page_forms import Form


@dataclass(frozen=True)
class WeightNormal:
    """W ~ N(weights.W, H^-1)."""

    problem: WeightProblem
    weights: Weights
    L: Array  # (P, P), L L^T = H, of the packed weights

    @cached_property
    def packed_covariance(self) -> Array:
        """Covariance of the packed weights, (P, P)."""
        return linalg.inverse_from_cholesky(self.L)

    @property
    def covariance(self) -> Array:
        """Covariance of the weights, (M, J, M, J), where none is masked."""
        M, J = self.problem.shape
        return self.packed_covariance.reshape(M, J, M, J)

    def solve(self, G: Array) -> Array:
        """H^-1 G of weights G (M, J), zero where one is masked."""
        p = self.problem
        if not len(self.L):
            return np.zeros(p.shape)
        return p.prior.unpack(linalg.solve_cholesky(self.L, p.prior.pack(G)), p.shape)

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values at rows of the design."""
        Q = self.problem.targets.Q
        covariance = np.matmul(np.matmul(Q, self.spread(Z)), Q.T)
        return LatentMarginals.from_covariance(self._mean(Z), covariance)

    def spread(self, Z: Array) -> Array:
        """Covariance of z W, (n, J, J).  [P9 9.18]"""
        J, mask = self.problem.shape[1], self.problem.prior.mask
        if J == 1:
            used = Z if mask is None else Z[:, mask[:, 0]]
            V = self._whiten_rows(used)
            return np.einsum("nm,nm->n", V, V)[:, None, None]
        S = np.empty((len(Z), J, J))
        places = None if mask is None else packed_places(mask)
        parts = [Z] * J if mask is None else [Z[:, used] for used in mask.T]
        for j in range(J):
            for k in range(j + 1):
                if places is None:
                    block = self.covariance[:, j, :, k]
                else:
                    block = self.packed_covariance[np.ix_(places[j], places[k])]
                S[:, j, k] = np.einsum("nm,nm->n", parts[j] @ block, parts[k])
                S[:, k, j] = S[:, j, k]
        return S

    def _whiten_rows(self, Z: Array) -> Array:
        """Return Z L^-T; of many rows by the inverse, since products are faster than solutions."""
        if len(Z) <= len(self.L):
            return linalg.solve_lower(self.L, Z.T).T
        return Z @ linalg.solve_lower(self.L, np.eye(len(self.L))).T

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each latent value over all rows of the design."""
        mask, Q = self.problem.prior.mask, self.problem.targets.Q
        kept = slice(None) if mask is None else mask.reshape(-1)
        of_class = [(Z[:, :, None] * q).reshape(len(Z), -1)[:, kept] for q in Q]
        roots = [linalg.solve_lower(self.L, np.ascontiguousarray(R.T)) for R in of_class]
        return LatentJoint(self._mean(Z), np.stack([V.T @ V for V in roots]))

    def before_rows(self) -> Self:
        """Return the prior of the weights, about zero, in place of the posterior."""
        p = self.problem
        if p.prior.is_flat:
            raise ValueError("A flat prior is not a distribution that could be shown before rows.")
        L = linalg.cholesky(p.prior.add_precision(np.zeros_like(self.L)))
        return replace(self, weights=replace(self.weights, W=np.zeros(p.shape)), L=L)

    def page_form(self) -> Form:
        """Return the column and contrast of each weight, and the factor of their precision."""
        mask = self.problem.prior.mask
        which, whose = np.nonzero(np.ones(self.problem.shape) if mask is None else mask)
        return {
            "which": which.tolist(),
            "whose": whose.tolist(),
            "contrasts": self.problem.targets.Q.tolist(),
            "lower": page_forms.flatten_triangle(self.L, "weights"),
            "base": 0.0,
        }

    def _mean(self, Z: Array) -> Array:
        """Mean of the latent values at rows of the design, (n, C)."""
        t = self.problem.targets
        return (Z @ self.weights.W) @ t.Q.T + t.shift


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
