"""A mixture of experts: softmax gates share out space among linear models.  [P9 Prob 9.9]

The most probable weights are found by L-BFGS, whose gradient is that of EM: experts learn from
each row by their responsibility, how likely they are to have answered for it. The problem has many
valleys: several searches are made, and the deepest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, logsumexp

from posterity import likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.inference import minima, rows

_GATE_START = 2.0  # size of the gates' slopes at random: they part the rows, but not sharply


@dataclass(frozen=True)
class ExpertMixture:
    """Weights of K gates and K experts on a design of M columns, the last of which is constant."""

    gates: Array  # (M, K)
    experts: Array  # (M, K, L), of L latent values each

    @property
    def flat(self) -> Array:
        """All weights in one array."""
        return np.concatenate([self.gates.ravel(), self.experts.ravel()])

    def with_weights(self, x: Array) -> ExpertMixture:
        """The same shapes, filled from one array."""
        gates, experts = np.split(x, [self.gates.size])
        return ExpertMixture(gates.reshape(self.gates.shape), experts.reshape(self.experts.shape))

    def log_gates(self, Z: Array) -> Array:
        """Log-probability (N, K) that each expert answers for each row."""
        return log_softmax(Z @ self.gates, axis=1)

    def latents(self, Z: Array) -> Array:
        """Latent values of each row by each expert, (N, K, L)."""
        M, K, L = self.experts.shape
        return (Z @ self.experts.reshape(M, K * L)).reshape(len(Z), K, L)


@dataclass(frozen=True)
class ExpertsProblem:
    """Minus the log posterior, up to a constant, and its gradient.

    All weights are independent normals: about zero, of variance ``prior_variance``, but for the
    last column, the offsets. Those of experts lie about the value that fits all rows best, those
    of gates about zero; either has one row's worth of information.
    """

    Z: Array  # (N, M)
    y: Array  # (N,)
    counts: Array  # (N,)
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    center: ExpertMixture
    variance: ExpertMixture

    @classmethod
    def from_rows(
        cls,
        Z: Array,
        y: Array,
        counts: Array,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        n_experts: int,
        prior_variance: float,
    ) -> ExpertsProblem:
        """The problem of so many experts."""
        value, one_row = likelihood.fit_constant(y, counts)
        M, K, L = Z.shape[1], n_experts, np.size(value)
        center = ExpertMixture(np.zeros((M, K)), np.zeros((M, K, L)))
        variance = ExpertMixture(
            np.full((M, K), prior_variance), np.full((M, K, L), prior_variance)
        )
        center.experts[-1] = value
        variance.gates[-1], variance.experts[-1] = K, one_row
        return cls(Z, y, counts, likelihood, center, variance)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value and its gradient."""
        mixture, away = self.center.with_weights(x), x - self.center.flat
        log_g, a = mixture.log_gates(self.Z), self.likelihood.shape_latents(mixture.latents(self.Z))
        log_p = log_g + self.likelihood.log_prob(self.y[:, None], a)
        log_sum = logsumexp(log_p, axis=1)
        value = -float(self.counts @ log_sum)
        r = np.exp(log_p - log_sum[:, None]) * self.counts[:, None]  # responsibilities
        of_gates = self.Z.T @ (r - np.exp(log_g) * self.counts[:, None])
        d1 = self.likelihood.d1(self.y[:, None], a).reshape(*r.shape, -1) * r[:, :, None]
        of_experts = self.Z.T @ d1.reshape(len(r), -1)
        pull = away / self.variance.flat
        slope = np.concatenate([of_gates.ravel(), of_experts.ravel()])
        return value + 0.5 * float(away @ pull), pull - slope

    def draw_start(self, rng: np.random.Generator) -> Array:
        """Draw a start: gates that split the rows in random directions, and equal experts.

        The rows that gates give them tell experts apart from the first step on. No class has
        numbers of its own at random, so that names of classes do not matter; nor do the places of
        columns, which are given theirs in an order of their own.
        """
        D = max(len(self.center.gates) - 1, 1)
        gates = rng.standard_normal(self.center.gates.shape) * (_GATE_START / np.sqrt(D))
        gates = gates[np.argsort(rows.sort_columns(self.Z, self.y))]
        return ExpertMixture(self.center.gates + gates, self.center.experts).flat


@dataclass(frozen=True)
class MixtureFit:
    """The best of several searches, taken to its end, and what each of them had reached."""

    mixture: ExpertMixture  # the experts by falling share of the rows
    log_posterior: float  # of the weights, up to the log evidence of the data
    values: Array  # (1 + n_restarts,), the log posterior from each start
    optimum: optimize.Optimum


def fit_experts(
    problem: ExpertsProblem,
    *,
    n_restarts: int = 4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    rng: np.random.Generator,
) -> MixtureFit:
    """The most probable weights, by L-BFGS from several starts.

    Warns
    -----
    ConvergenceWarning
        When the best search did not end by itself.
    """
    starts = [problem.draw_start(rng) for _ in range(1 + n_restarts)]
    with linalg.threads.limit_threads(len(problem.y)):
        best, ends = minima.minimise_with_restarts(
            problem, starts, max_iter=max_iter, n_jobs=n_jobs
        )
    constant = 0.5 * float(np.sum(np.log(2.0 * np.pi * problem.variance.flat)))
    values = -np.array([end.value for end in ends]) - constant
    mixture = _sort_by_share(problem.center.with_weights(best.x), problem)
    return MixtureFit(mixture, -best.value - constant, values, best)


def _sort_by_share(mixture: ExpertMixture, problem: ExpertsProblem) -> ExpertMixture:
    """Sort the experts, which are interchangeable, by decreasing share of the rows."""
    share = problem.counts @ np.exp(mixture.log_gates(problem.Z))
    order = np.argsort(-share, kind="stable")
    return replace(mixture, gates=mixture.gates[:, order], experts=mixture.experts[:, order])
