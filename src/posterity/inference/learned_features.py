"""Units and weights together: the most probable parameters of features that are learned.

The problem has many valleys: several searches are made, and the deepest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import features, likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.inference import minima


@dataclass(frozen=True)
class LearnedFit:
    """The best of several searches, taken to its end, and what each of them had reached."""

    units: features.LearnedFeatures  # fitted, with the parameters found
    weights: Array  # (M,), or (M, C) where the likelihood couples C latent values
    offset: Array  # (), or (C,)
    values: Array  # (1 + n_restarts,): minus the log posterior, up to a constant, from each start
    stop_reasons: tuple[str, ...]
    optimum: optimize.Optimum  # of the best


@dataclass(frozen=True)
class LearnedFeatureProblem:
    """Minus the log posterior, up to a constant, of units and weights in one flat array.

    First come the parameters of the units, then the weights (M, C), then the offsets (C,) where
    there are any; each is counted in standard deviations from its mean, both of the prior, so that
    a search sees numbers without units.
    """

    units: features.LearnedFeatures
    U: Array  # (N, D), standardised
    y: Array  # (N,)
    counts: Array  # (N,), how often each row counts
    likelihood: likelihoods.Likelihood | likelihoods.Coupled
    mean: Array  # of the prior, (P + (M + 1) C,)
    spread: Array
    base: Array | None = None  # (N, C), a part of the latent values that stays as it is

    @classmethod
    def from_rows(
        cls,
        units: features.LearnedFeatures,
        U: Array,
        y: Array,
        counts: Array,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        weight_information: float,
        fit_intercept: bool,
        base: Array | None = None,
    ) -> LearnedFeatureProblem:
        """Build the problem from the prior of the units, and one of the weights measured in rows.

        The offset has one row's worth of information.
        """
        center, of_units = units.prior()
        value, variance = (np.atleast_1d(part) for part in likelihood.fit_constant(y, counts))
        M = units.n_units
        information = np.full(M + fit_intercept, weight_information)
        W = np.zeros((M + fit_intercept, len(value)))
        information[M:], W[M:] = 1.0, value
        return cls(
            units,
            U,
            y,
            counts,
            likelihood,
            np.concatenate([center, W.ravel()]),
            np.concatenate([of_units, np.sqrt(np.outer(1.0 / information, variance)).ravel()]),
            base,
        )

    def split(self, x: Array) -> tuple[Array, Array]:
        """theta (P,), and the weights (M, C) with the offsets as a last row where there are any."""
        P = len(self.units.theta_)
        given = self.mean + self.spread * x
        return given[:P], given[P:].reshape(-1, self.likelihood.n_latents)

    def join(self, theta: Array, W: Array) -> Array:
        """The flat array that ``split`` takes apart."""
        return (np.concatenate([theta, W.ravel()]) - self.mean) / self.spread

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value and its gradient; not finite where a step went beyond all numbers."""
        theta, W = self.split(x)
        with np.errstate(over="ignore", invalid="ignore"):
            Z, pullback = self.units.linearise(self.U, theta)
            Z1 = np.column_stack([Z, np.ones((len(Z), len(W) - Z.shape[1]))])
            A = Z1 @ W if self.base is None else self.base + Z1 @ W
            a = self.likelihood.shape_latents(A)
            log_p, d1 = self.likelihood.value_and_slope(self.y, a)
            loss = -float(self.counts @ log_p)
            G = -self.counts[:, None] * d1.reshape(A.shape)
            slopes = [pullback(G @ W[: Z.shape[1]].T), (Z1.T @ G).ravel()]  # [P9 9.21] of -L
            return loss + 0.5 * float(x @ x), np.concatenate(slopes) * self.spread + x

    def latents(self, x: Array) -> Array:
        """The latent values (N, C)."""
        theta, W = self.split(x)
        Z = self.units.evaluate_columns(self.U, theta)
        A = Z @ W[: Z.shape[1]] + np.sum(W[Z.shape[1] :], axis=0)
        return A if self.base is None else self.base + A

    def draw_start(self, rng: np.random.Generator) -> Array:
        """Draw units at random, with weight zero."""
        theta = self.units.draw_start(self.U, self.counts, rng)
        return self.join(theta, self.mean[len(theta) :])


def fit_learned_features(
    units: features.LearnedFeatures,
    X: Array,
    y: Array,
    counts: Array,
    likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    *,
    weight_information: float = 0.1,
    fit_intercept: bool = True,
    max_iter: int = 3000,
    n_jobs: int | None = None,
    rng: np.random.Generator,
) -> LearnedFit:
    """Units and weights that are most probable together: the best of several L-BFGS searches.

    Parameters
    ----------
    units : LearnedFeatures
        Fitted to X, which sets the scale of its columns. Says how often to search again.
    X : array (N, D)
        Rows as they are.
    y, counts : array (N,)
        Observations, and how often each counts.
    likelihood : Likelihood or Coupled
        With its parameters set.
    weight_information : float, default=0.1
        The precision of each weight before the data, in what one row would tell of an offset.
    fit_intercept : bool, default=True
    max_iter : int, default=3000
        Of each search.
    n_jobs : int, optional
        How many searches at a time.
    rng : Generator
        Draws the starts, one after another: more starts only add to fewer.

    Warns
    -----
    ConvergenceWarning
        When the best search did not end by itself.
    """
    problem = LearnedFeatureProblem.from_rows(
        units,
        units.standardise(X),
        y,
        counts,
        likelihood,
        weight_information=weight_information,
        fit_intercept=fit_intercept,
    )
    starts = [problem.draw_start(rng) for _ in range(1 + units.n_restarts)]
    with linalg.threads.limit_threads(len(y)):
        best, ends = minima.minimise_with_restarts(
            problem, starts, max_iter=max_iter, n_jobs=n_jobs
        )
    theta, W = problem.split(best.x)
    M, coupled = units.n_units, likelihood.is_coupled
    offset = W[M] if fit_intercept else np.zeros(W.shape[1])
    return LearnedFit(
        units.with_theta(theta),
        W[:M] if coupled else W[:M, 0],
        offset if coupled else offset[0],
        np.array([end.value for end in ends]),
        tuple(end.stop_reason for end in ends),
        best,
    )
