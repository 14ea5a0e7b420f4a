"""One of two classes by the sigmoid, or of C classes by the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, log_softmax, softmax

from posterity import distributions, page_forms
from posterity.arrays import Array
from posterity.likelihoods import sigmoid_mean, softmax_mean
from posterity.likelihoods.base import Coupled, Likelihood
from posterity.page_forms import Form


@dataclass(frozen=True, eq=False)
class Bernoulli(Likelihood):
    """p(y = 1 | a) = 1 / (1 + exp(-a)).  [P9 9.2]

    Parameters
    ----------
    averaging : {"exact", "approximate", "none"}, default="exact"
        How predictions average over a: by quadrature; by the closed form
        sigmoid(mean / sqrt(1 + pi variance / 8)), which is off by up to 0.02; or not at all.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Bernoulli()
    >>> float(likelihood.d1(y=1, a=0.0))
    0.5
    >>> likelihood.predict(mean=[3.0, 3.0], variance=[0.0, 25.0]).mean().round(3)
    array([0.953, 0.714])
    """

    describes_classes: ClassVar[bool] = True

    averaging: str = "exact"

    def __post_init__(self) -> None:
        sigmoid_mean.check_averaging(self.averaging)

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return log_expit(_latent_in_favour(y, a))

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return _class_sign(y) * expit(
            -_latent_in_favour(y, a)
        )  # y - expit(a) would lose what is small

    def value_and_slope(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        sign, z = _class_sign(y), _latent_in_favour(y, a)
        odds = np.exp(-np.abs(z))  # of the less probable class, so that nothing overflows
        against = np.where(z > 0.0, odds, 1.0) / (1.0 + odds)
        return np.minimum(z, 0.0) - np.log1p(odds), sign * against

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -expit(_latent_in_favour(y, a)) * expit(-_latent_in_favour(y, a))

    def information(self, a: ArrayLike) -> Array:
        return -self.d2(1.0, a)[None]

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self.d2(y, a) * -np.tanh(0.5 * np.asarray(a, dtype=np.float64))

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Bernoulli:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if self.averaging == "none":
            return distributions.Bernoulli.from_logit(m + 0.0 * v)
        if self.averaging == "approximate":
            logit = m / np.sqrt(1.0 + np.pi / 8.0 * v)  # [P9 9.19]
            return distributions.Bernoulli.from_logit(logit)
        log_p0, log_p1 = sigmoid_mean.log_mean_probabilities(m, v)
        return distributions.Bernoulli(log_p1, log_p0)

    def check(self, y: Array) -> None:
        bad = np.flatnonzero((y != 0.0) & (y != 1.0))
        if bad.size:
            raise ValueError(f"y is {y[bad[0]]:g} in row {bad[0]}; it must be 0 or 1.")

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        sign, v = _class_sign(y), np.asarray(variance, dtype=np.float64)
        log_Z, slope, curvature = sigmoid_mean.log_mean_sigmoid(_latent_in_favour(y, mean), v)
        return log_Z, sign * slope, curvature

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """``log_prob``, ``d1`` and minus ``d2``, averaged over a normal latent value."""
        v = np.asarray(variance, dtype=np.float64)
        log_p, slope, curvature = sigmoid_mean.mean_derivatives(_latent_in_favour(y, mean), v)
        return log_p, _class_sign(y) * slope, curvature

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        p1 = float(weights @ y) / float(np.sum(weights))
        p0 = float(weights @ (1.0 - y)) / float(np.sum(weights))
        return float(np.log(p1) - np.log(p0)), 1.0 / (p1 * p0)

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        return {"kind": "two_classes", "averaging": self.averaging}


def _class_sign(y: ArrayLike) -> Array:
    """-1 for class 0, +1 for class 1."""
    return 2.0 * np.asarray(y, dtype=np.float64) - 1.0


def _latent_in_favour(y: ArrayLike, a: ArrayLike) -> Array:
    """The latent value in favour of what was observed."""
    return _class_sign(y) * np.asarray(a, dtype=np.float64)


_MOST_PAGE_CLASSES = 20
_DIFFERENCE = np.array([[1.0, -1.0], [-1.0, 1.0]])
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Categorical(Coupled):
    """p(y = c | a) = exp(a_c) / sum_k exp(a_k).  [P9 9.60]

    Parameters
    ----------
    n_classes : int
        C, at least two.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How predictions average over a: by quadrature, not at all, or by the closed form
        p_c proportional to 1 / sum_k exp(-(m_c - m_k) / sqrt(1 + pi/8 v_ck)), where m_c - m_k and
        v_ck are the mean and the variance of a_c - a_k, which is off by up to 0.08. "exact" is
        exact for two classes, and right to 1e-3 or so for more.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihoods.Categorical(3).d1(y=0, a=[0.0, 0.0, 0.0]).round(3)
    array([ 0.667, -0.333, -0.333])
    """

    n_classes: int
    averaging: str = "exact"

    def __post_init__(self) -> None:
        if self.n_classes < 2:
            raise ValueError(f"n_classes={self.n_classes!r} must be at least 2.")
        sigmoid_mean.check_averaging(self.averaging)

    @property
    def n_latents(self) -> int:
        return self.n_classes

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        log_p = log_softmax(np.asarray(a, dtype=np.float64), axis=-1)
        return np.take_along_axis(log_p, _codes(y, log_p), axis=-1)[..., 0]

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        p = softmax(np.asarray(a, dtype=np.float64), axis=-1)
        return (np.arange(self.n_classes) == _codes(y, p)) - p

    def value_and_slope(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        A = np.asarray(a, dtype=np.float64)
        if A.ndim != 2:
            return super().value_and_slope(y, a)
        # One class after the other: sums over a few numbers each would cost more than they hold.
        T = np.ascontiguousarray(A.T)
        T = T - np.max(T, axis=0)  # a new array: A.T may be contiguous itself
        own, rows = np.asarray(y, dtype=np.intp), np.arange(A.shape[0])
        chosen = T[own, rows]
        np.exp(T, out=T)
        total = np.sum(T, axis=0)
        T /= -total
        T[own, rows] += 1.0
        return chosen - np.log(total), T.T

    def curvature_shares(self, y: ArrayLike, a: ArrayLike) -> Array:
        return softmax(np.asarray(a, dtype=np.float64), axis=-1)

    def curvature_pullback(self, y: ArrayLike, a: ArrayLike, S: Array) -> Array:
        p = self.curvature_shares(y, a)
        g = np.diagonal(S, axis1=-2, axis2=-1) - 2.0 * np.matmul(S, p[..., None])[..., 0]
        return p * (g - np.sum(p * g, axis=-1, keepdims=True))

    def expected_value_and_slope(
        self, y: ArrayLike, mean: Array, covariance: Array
    ) -> tuple[Array, Array, Array, Array]:
        p, pq, log_sum = softmax_mean.expectations(mean, covariance)
        own = _codes(y, p)
        log_p = np.take_along_axis(mean, own, axis=-1)[..., 0] - log_sum
        w = np.sum(pq, axis=-1) / np.maximum(np.sum(p * (1.0 - p), axis=-1), _TINY)
        return log_p, (np.arange(self.n_classes) == own) - p, w, p

    def expected_derivatives(
        self, y: ArrayLike, mean: Array, covariance: Array
    ) -> tuple[Array, Array, Array]:
        if self.n_classes == 2:
            return self._expected_of_two(y, mean, covariance)
        p, pp, log_sum = softmax_mean.second_moments(mean, covariance)
        own = _codes(y, p)
        log_p = np.take_along_axis(mean, own, axis=-1)[..., 0] - log_sum
        pp *= -1.0
        np.einsum("ncc->nc", pp)[...] += p
        return log_p, (np.arange(self.n_classes) == own) - p, pp

    def _expected_of_two(
        self, y: ArrayLike, mean: Array, covariance: Array
    ) -> tuple[Array, Array, Array]:
        """Averages for two classes, from the difference of their latent values."""
        d = np.where(np.asarray(y) > 0, 1.0, -1.0)[:, None] * np.array([-1.0, 1.0])
        v = np.maximum(np.einsum("nc,ncd,nd->n", d, covariance, d), 0.0)
        log_p, slope, curvature = sigmoid_mean.mean_derivatives(np.sum(d * mean, axis=1), v)
        return log_p, slope[:, None] * d, curvature[:, None, None] * _DIFFERENCE

    def predict(self, mean: ArrayLike, covariance: ArrayLike) -> distributions.Categorical:
        m, S = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
        batch, C = np.broadcast_shapes(m.shape[:-1], S.shape[:-2]), self.n_classes
        rows = np.broadcast_to(m, (*batch, C)).reshape(-1, C)
        blocks = np.broadcast_to(S, (*batch, C, C)).reshape(-1, C, C)
        if self.averaging == "none":
            log_p = log_softmax(rows, axis=-1)
        elif self.averaging == "approximate":
            log_p = softmax_mean.approximate_log_mean_softmax(rows, blocks)
        else:
            log_p = softmax_mean.log_mean_softmax(rows, blocks)
        return distributions.Categorical(log_p.reshape(*batch, C))

    def check(self, y: Array) -> None:
        bad = np.flatnonzero((y != np.floor(y)) | (y < 0) | (y >= self.n_classes))
        if bad.size:
            raise ValueError(
                f"y is {y[bad[0]]:g} in row {bad[0]}; it must be the number of a class, "
                f"0 to {self.n_classes - 1}."
            )

    def fit_constant(self, y: Array, weights: Array) -> tuple[Array, Array]:
        p = np.bincount(y.astype(np.intp), weights, minlength=self.n_classes) / np.sum(weights)
        return np.log(p) - np.mean(np.log(p)), 1.0 / p

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        if self.n_classes > _MOST_PAGE_CLASSES:
            raise page_forms.NoFormError(
                f"Averaging over {self.n_classes} classes needs too many points for a page."
            )
        points = softmax_mean.form_points(self.n_classes) if self.averaging == "exact" else {}
        return {"kind": "classes", "averaging": self.averaging, **points}


def _codes(y: ArrayLike, like: Array) -> np.ndarray:
    """Class numbers with a last axis of one, broadcast over the batch."""
    return np.broadcast_to(np.asarray(y, dtype=np.intp), like.shape[:-1])[..., None]
