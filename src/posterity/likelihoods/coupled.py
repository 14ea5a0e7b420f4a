"""A likelihood of one observation that depends on C latent values at once."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array
from posterity.likelihoods.base import LearnableParameters


class Coupled(LearnableParameters, abc.ABC):
    """p(y_n | a_n) of latent vectors a_n of C values, the last axis of ``a``.

    Minus the Hessian of each row is diag(u) - u u^T for a vector u of positive numbers that sum to
    one: engines use that structure, and never hold it as a matrix where they need not.
    """

    @property
    @abc.abstractmethod
    def n_latents(self) -> int:
        """The number C of latent values of a row."""

    @abc.abstractmethod
    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        """log p(y | a), (...,) for a of shape (..., C)."""

    @abc.abstractmethod
    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Gradient of ``log_prob`` in a, (..., C)."""

    def value_and_slope(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """``log_prob`` and ``d1``, which may share their work."""
        return self.log_prob(y, a), self.d1(y, a)

    @abc.abstractmethod
    def curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """u, (..., C), with minus the Hessian equal to diag(u) - u u^T."""

    @abc.abstractmethod
    def curvature_pullback(self, y: ArrayLike, a: ArrayLike, S: Array) -> Array:
        """Gradient in a, (..., C), of tr(S (diag(u) - u u^T)), for symmetric S (..., C, C)."""

    @abc.abstractmethod
    def expected_value_and_slope(
        self, y: ArrayLike, mean: Array, covariance: Array
    ) -> tuple[Array, Array, Array, Array]:
        """``log_prob`` (n,) and ``d1`` (n, C) averaged over normal latent values, and a curvature.

        The curvature is w (n,) and u (n, C), of sum one, such that w (diag(u) - u u^T) has the
        trace of minus the average Hessian.
        """

    @abc.abstractmethod
    def expected_derivatives(
        self, y: ArrayLike, mean: Array, covariance: Array
    ) -> tuple[Array, Array, Array]:
        """Averages of ``log_prob`` (n,), ``d1`` (n, C) and minus the Hessian (n, C, C)."""

    @abc.abstractmethod
    def predict(self, mean: ArrayLike, covariance: ArrayLike) -> distributions.Discrete:
        """The distribution of y when a is normal, of mean (..., C), covariance (..., C, C)."""

    @abc.abstractmethod
    def fit_constant(self, y: Array, weights: Array) -> tuple[Array, Array]:
        """The latent values (C,) that fit all rows best, and one row's worth of variance (C,).

        Independent normals of that variance carry the information of one row about each
        difference of latent values.
        """

    def check(self, y: Array) -> None:
        """Raise, in a sentence that names the row, where y cannot be observed."""

    def sample(self, a: ArrayLike, *, rng: np.random.Generator) -> Array:
        """One observation for each latent vector."""
        A = np.asarray(a, dtype=np.float64)
        return self.predict(A, np.zeros((*A.shape, A.shape[-1]))).sample(rng=rng)
