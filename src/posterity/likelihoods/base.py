"""What every likelihood answers, of one latent value or of several at once.

``log_prob`` and its derivatives in a are all that Newton's method, Laplace's approximation and
boosting ask for; ``predict`` is what is left when the uncertainty about a has been integrated out.
Everything is elementwise: one y for one a, with broadcasting. No likelihood knows where a came
from. Where one observation depends on several latent values at once, as in one of C classes, it is
a :class:`~posterity.likelihoods.Coupled` likelihood.

The contract test holds ``predict`` of every likelihood against :mod:`posterity.quadrature`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from posterity import distributions, optimize, page_forms, quadrature
from posterity.arrays import Array
from posterity.distributions import log_concave
from posterity.likelihoods import exposed_counts
from posterity.likelihoods.learnable import LearnableParameters
from posterity.page_forms import Form

_NULL_STEPS = 200
_LEVELS = (np.arange(400.0) + 0.5) / 400.0


class Likelihood(LearnableParameters, abc.ABC):
    """One observation y from one latent value a, independently of all others.

    A subclass is a frozen dataclass of the parameters that do not depend on a, compared by value.
    """

    takes_exposure: ClassVar[bool] = False  # y may be records of counts and their exposures

    def bind(self, y: Array) -> Self:
        """The likelihood with what it has to know of all targets before a part of them is seen."""
        del y
        return self

    @abc.abstractmethod
    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        """log p(y | a), with all constants."""

    @abc.abstractmethod
    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        """First derivative of ``log_prob`` in a."""

    @abc.abstractmethod
    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Second derivative of ``log_prob`` in a; -d2 weights the rows in Newton's method."""

    @abc.abstractmethod
    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Third derivative of ``log_prob`` in a: how the curvature moves with the mode."""

    @abc.abstractmethod
    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Univariate:
        """The distribution of y when a is normal; at variance zero, p(y | a = mean)."""

    def value_and_slope(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """``log_prob`` and ``d1``, which may share their work."""
        return self.log_prob(y, a), self.d1(y, a)

    def check(self, y: Array) -> None:
        """Raise, in a sentence that names the row, where y cannot be observed."""

    def step_curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Positive weights whose Newton step climbs: -d2 where the likelihood is log-concave."""
        return -self.d2(y, a)

    def curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Minus the Hessian of ``log_prob``, or a positive matrix that climbs, (..., 1, 1)."""
        return self.step_curvature(y, a)[..., None, None]

    def curvature_along(
        self, y: ArrayLike, a: Array, Q: Array, *, surely_positive: bool = False
    ) -> Array:
        """Minus the Hessian in p, (n, 1, 1), where a = p; or a positive weight that climbs."""
        del Q
        h = self.curvature(y, a) if surely_positive else -self.d2(y, a)[..., None, None]
        return np.asarray(h)

    def curvature_pullback_along(self, y: ArrayLike, a: Array, S: Array, Q: Array) -> Array:
        """Gradient in p, (n, 1), of the sum of S times minus the Hessian, for S (n, 1, 1)."""
        del Q
        return -self.d3(y, a)[:, None] * S[:, 0]

    def average_along(
        self, y: ArrayLike, mean: Array, S: Array, Q: Array
    ) -> tuple[Array, Array, Array]:
        """Averages of ``log_prob``, slope (n, 1) and minus the Hessian (n, 1, 1) in a = p.

        The latent value is normal, of variance S (n, 1, 1); the likelihood needs averages.
        """
        del Q
        known: Any = self
        log_p, d1, h = known.expected_derivatives(y, mean, S[:, 0, 0])
        return log_p, d1[:, None], h[:, None, None]

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Derivatives of ``log_prob`` in a and in the log of each parameter, (1 + P, ...).

        The learnable parameters may be arrays that broadcast against y and a.
        """
        return np.stack([self.d1(y, a), *self.parameter_derivatives(y, a)[0]])

    def information(self, a: ArrayLike) -> Array:
        """Fisher information of a and of the log of each parameter, (1 + P, ...).

        The expected square of each row of ``score``, when y is distributed as given a; what pairs
        of them have in common is left out. This default averages over quantiles of y.
        """
        given = self.predict(a, 0.0)
        y = given.icdf(_LEVELS.reshape(-1, *(1,) * len(given.shape)))
        return np.mean(self.score(y, a) ** 2, axis=1)

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        """log Z of p(y | a) N(a | mean, variance), and its first two derivatives in the mean.

        Expectation propagation matches these.  [GPML 3.58] This default is for log-concave
        likelihoods.
        """

        def averages(y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
            a, log_w = log_concave.place_nodes(self.log_prob, self.d1, y, m, v)
            log_Z = logsumexp(log_w, axis=0)
            share, d1 = np.exp(log_w - log_Z), self.d1(y, a)
            slope = np.sum(share * d1, axis=0)
            return log_Z, slope, np.sum(share * (self.d2(y, a) + (d1 - slope) ** 2), axis=0)

        return log_concave.evaluate_in_blocks(averages, *exposed_counts.separate(y, mean), variance)

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        """The one latent value that fits all rows best, and the variance one row leaves it.

        A normal of that variance carries the information of one row. Where
        the likelihood has a scale, it is that of rows which nothing else explains.
        """

        def step(a: Array, g: Array, shift: float) -> Array:
            positive = np.sum(weights * self.step_curvature(y, a))
            curvature = shift * positive - np.sum(weights * self.d2(y, a))
            if curvature <= 0.0:
                raise np.linalg.LinAlgError
            return g / curvature

        best = optimize.minimise_newton(
            lambda a: -float(np.sum(weights * self.log_prob(y, a))),
            lambda a: -np.atleast_1d(np.sum(weights * self.d1(y, a))),
            step,
            np.atleast_1d(self._constant_start(y, weights)),
            max_iter=_NULL_STEPS,
        )
        return float(best.x[0]), self._constant_variance(y, weights, best.x)

    def _constant_variance(self, y: Array, weights: Array, a: Array) -> float:
        """The variance that one row would leave of the constant that fits all rows best."""
        return float(1.0 / np.average(self.step_curvature(y, a), weights=weights))

    def _constant_start(self, y: Array, weights: Array) -> float:
        """The start of the search for the constant that fits all rows best."""
        del y, weights
        return 0.0

    def sample(self, a: ArrayLike, *, rng: np.random.Generator) -> NDArray[Any]:
        """One observation for each latent value."""
        return self.predict(a, 0.0).sample(rng=rng)

    def point_form(self) -> Form:
        """Return the form from which a page predicts at latent values that are certain."""
        return page_forms.find_form(self)


class Averaged(Likelihood):
    """A likelihood whose averages over a normal latent value are known.

    Inference can then end with the normal nearest to the posterior. These
    defaults are by Gauss-Hermite quadrature, for ``log_prob`` that bends no faster than a logistic
    sigmoid; a likelihood with closed forms has its own.
    """

    has_averages: ClassVar[bool] = True

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """``log_prob``, ``d1`` and minus ``d2``, averaged over a normal latent value."""

        def average(term: Callable[[ArrayLike, ArrayLike], Array]) -> Array:
            return quadrature.expect_hermite(lambda a: term(y, a), mean, variance)

        return average(self.log_prob), average(self.d1), -average(self.d2)

    def expected_d3(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
        """The average of ``d3``: twice the derivative of the average ``d1`` in the variance."""
        return quadrature.expect_hermite(lambda a: self.d3(y, a), mean, variance)


class Coupled(LearnableParameters, abc.ABC):
    """p(y_n | a_n) of latent vectors a_n of C values, the last axis of ``a``.

    Minus the Hessian of each row is diag(u) - u u^T for a vector u of positive numbers that sum to
    one: engines use that structure, and never hold it as a matrix where they need not.
    """

    is_coupled = True
    describes_classes = True
    joins_predictions = False

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
    def curvature_shares(self, y: ArrayLike, a: ArrayLike) -> Array:
        """u, (..., C), with minus the Hessian equal to diag(u) - u u^T."""

    def curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Minus the Hessian of ``log_prob``, (..., C, C)."""
        u = self.curvature_shares(y, a)
        return u[..., None] * (np.eye(self.n_latents) - u[..., None, :])

    def curvature_along(
        self, y: ArrayLike, a: Array, Q: Array, *, surely_positive: bool = False
    ) -> Array:
        """Minus the Hessian in p, (n, J, J), where a = Q p; it is positive in any case."""
        del surely_positive
        u = self.curvature_shares(y, a)
        q = u @ Q
        h: Array = np.matmul(Q.T, u[:, :, None] * Q) - q[:, :, None] * q[:, None, :]
        return h

    def curvature_pullback_along(self, y: ArrayLike, a: Array, S: Array, Q: Array) -> Array:
        """Gradient in p, (n, J), of tr(S h) with h that of ``curvature_along``, S (n, J, J)."""
        return self.curvature_pullback(y, a, np.matmul(np.matmul(Q, S), Q.T)) @ Q

    def average_along(
        self, y: ArrayLike, mean: Array, S: Array, Q: Array
    ) -> tuple[Array, Array, Array]:
        """Averages of ``log_prob``, slope (n, J) and minus the Hessian (n, J, J) in p, a = Q p.

        Latent values are normal, of mean (n, C), and p of covariance S (n, J, J).
        """
        covariance = np.matmul(np.matmul(Q, S), Q.T)
        log_p, d1, h = self.expected_derivatives(y, mean, covariance)
        return log_p, d1 @ Q, np.matmul(np.matmul(Q.T, h), Q)

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
