"""Checks of the contract of likelihoods, for user-defined ones."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, likelihoods, quadrature
from posterity.arrays import Array
from posterity.testing.promises import describe_difference, difference_derivative, to_numpy

_STEP = 1e-4
_SLOPE = 1e-5  # tolerance of derivatives
_INTEGRAL = 1e-6  # tolerance of log probabilities
_CRUDE = 0.1  # tolerance of averages over quantiles
_LEVELS = (np.arange(500.0) + 0.5) / 500.0
_DRAWS = 4000
_DERIVATIVES = (("log_prob", "d1"), ("d1", "d2"), ("d2", "d3"))


def check_likelihood(
    likelihood: likelihoods.Likelihood,
    y: ArrayLike,
    a: ArrayLike,
    *,
    variances: Sequence[float] = (0.04, 1.0),
    random_state: Any = 0,
) -> None:
    """Raise AssertionError if a likelihood violates the contract of likelihoods.

    Checks values and shapes, derivatives against differences (in the latent value and in the
    parameters), starting values, predictions against quadrature, and samples against predictions.

    Parameters
    ----------
    likelihood : Likelihood
        Likelihood with all parameters set.
    y : array-like of shape (N,)
        Valid observations, not all equal.
    a : array-like of shape (N,)
        Plausible latent values, within a few units of each other.
    variances : sequence of floats, default=(0.04, 1.0)
        Variances of the latent value at which predictions are checked.
    random_state : int or Generator, default=0
        Seed of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods, testing
    >>> testing.check_likelihood(likelihoods.Poisson(), y=[0, 3, 5], a=[-0.5, 1.0, 1.5])
    >>> class Careless(likelihoods.Poisson):
    ...     def d2(self, y, a):
    ...         return -1.1 * np.exp(a) + 0.0 * np.asarray(y)
    >>> testing.check_likelihood(Careless(), y=[0, 3, 5], a=[-0.5, 1.0, 1.5])
    Traceback (most recent call last):
    AssertionError: Careless(): d2 differs from finite differences of d1 in a: -4.92986 and
    -4.48169 at [2].
    """
    observed, latent = (np.asarray(v, dtype=np.float64) for v in (y, a))
    if observed.ndim != 1 or observed.shape != latent.shape or len(observed) < 2:
        raise ValueError(
            "check_likelihood needs at least two observations and a latent value for each; got "
            "shapes {observed.shape} and {latent.shape}."
        )
    trial = _LikelihoodChecks(likelihood, observed, latent)
    trial.value()
    trial.shapes()
    trial.slopes()
    trial.parameters()
    trial.parameter_slopes()
    trial.scores()
    trial.steps()
    trial.constant()
    trial.predictions(variances)
    trial.samples(arrays.generator(random_state))


@dataclass(frozen=True)
class _LikelihoodChecks:
    """The checks of a likelihood on some observations."""

    likelihood: likelihoods.Likelihood
    y: Array
    a: Array

    def value(self) -> None:
        """Check that it equals its copy, accepts valid y, and does not change arguments."""
        self.require(
            copy.deepcopy(self.likelihood) == self.likelihood,
            "a copy is not equal to the likelihood.",
        )
        self.likelihood.check(self.y)
        before = self.y.copy(), self.a.copy()
        for name in ("log_prob", "d1", "d2", "d3"):
            getattr(self.likelihood, name)(self.y, self.a)
        unchanged = np.array_equal(before[0], self.y) and np.array_equal(before[1], self.a)
        self.require(unchanged, "calling it changes y or a.")

    def shapes(self) -> None:
        """Check that all methods are elementwise and broadcast."""
        likelihood, y, a = self.likelihood, self.y[:, None], self.a[None]
        n = len(self.a)
        for name in ("log_prob", "d1", "d2", "d3", "step_curvature"):
            shape = np.shape(getattr(likelihood, name)(y, a))
            self.require(
                shape == (n, n),
                f"{name} of y {y.shape} and a {a.shape} has shape {shape}, not {(n, n)}.",
            )
        shape = likelihood.predict(self.a, 0.5).shape
        self.require(shape == (n,), f"predict of {n} means has shape {shape}.")

    def slopes(self) -> None:
        """Check the derivatives in the latent value."""

        def differentiate_along(name: str) -> Array:
            return difference_derivative(
                lambda t: getattr(self.likelihood, name)(self.y, self.a + t), _STEP
            )

        for name, derivative in _DERIVATIVES:
            found = getattr(self.likelihood, derivative)(self.y, self.a)
            sentence = f"{derivative} differs from finite differences of {name} in a"
            self.close(found, differentiate_along(name), sentence)

    def parameters(self) -> None:
        """Check that parameters round-trip and start between their bounds."""
        likelihood, theta = self.likelihood, self.likelihood.theta
        for moved in (theta, theta + 0.1):
            self.close(
                likelihood.with_parameters(moved).theta,
                moved,
                "with_parameters(theta) has a different theta",
            )
        tuned, bounds = likelihood.without_parameters().search_start(self.y, np.ones(len(self.y)))
        inside = (bounds[:, 0] < tuned.theta) & (tuned.theta < bounds[:, 1])
        self.require(bool(inside.all()), "a parameter that is not given starts outside its bounds.")

    def parameter_slopes(self) -> None:
        """Check derivatives in the log parameters."""
        theta, slopes = self.likelihood.theta, self.likelihood.parameter_derivatives(self.y, self.a)

        def differentiate_along(u: Array, name: str) -> Array:
            return difference_derivative(
                lambda t: getattr(self.likelihood.with_parameters(theta + t * u), name)(
                    self.y, self.a
                ),
                _STEP,
            )

        for (name, _), found in zip(_DERIVATIVES, slopes, strict=True):
            expected = [differentiate_along(u, name) for u in np.eye(len(theta))]
            sentence = f"parameter_derivatives of {name} differ from finite differences in theta"
            self.close(found, np.reshape(expected, (len(theta), len(self.a))), sentence)

    def scores(self) -> None:
        """Check the score and its expected square, and both with parameters for each row."""
        likelihood, found = self.likelihood, self.likelihood.score(self.y, self.a)
        in_parameters = likelihood.parameter_derivatives(self.y, self.a)[0]
        expected = np.concatenate([likelihood.d1(self.y, self.a)[None], in_parameters])
        self.close(found, expected, "score differs from d1 and parameter_derivatives")
        information = likelihood.information(self.a)
        given = likelihood.predict(self.a, 0.0)
        y = given.icdf(_LEVELS[:, None])
        square = np.mean(likelihood.score(y, self.a) ** 2, axis=1)
        sentence = "information differs from the expected square of score"
        self.close(information, square, sentence, _CRUDE)
        own = likelihood.with_parameters(likelihood.theta[:, None] + np.zeros(len(self.a)))
        sentence = "score differs where parameters are given for each row"
        self.close(own.score(self.y, self.a), found, sentence)

    def steps(self) -> None:
        """Check that step_curvature is positive, and equals -d2 if log-concave."""
        weight = np.asarray(self.likelihood.step_curvature(self.y, self.a))
        self.require(bool(np.all(weight > 0.0)), "step_curvature is not positive everywhere.")
        if self.likelihood.log_concave:
            curved = -np.asarray(self.likelihood.d2(self.y, self.a))
            self.close(weight, curved, "log_concave is True, but step_curvature is not -d2")

    def constant(self) -> None:
        """Check that the best constant latent value is a stationary point."""
        value, variance = self.likelihood.fit_constant(self.y, np.ones(len(self.y)))
        d1 = self.likelihood.d1(self.y, value)
        still = abs(float(np.sum(d1))) <= _SLOPE * float(np.sum(np.abs(d1)))
        self.require(
            still, f"fit_constant gives {value:.6g}, where the sum of d1 is {np.sum(d1):.6g}."
        )
        self.require(variance > 0.0, f"fit_constant gives the variance {variance:g}.")

    def predictions(self, variances: Sequence[float]) -> None:
        """Check predictions and their moments against quadrature."""
        given = self.likelihood.predict(self.a, 0.0)
        certain = self.likelihood.log_prob(self.y, self.a)
        sentence = "log_prob of predict at variance 0 differs from the likelihood"
        self.close(given.log_prob(self.y), certain, sentence)
        for variance in variances:
            prediction = self.likelihood.predict(self.a, variance)
            with np.errstate(over="ignore"):
                averaged = quadrature.log_expect_wide(
                    lambda a: self.likelihood.log_prob(self.y, a), self.a, variance, centre=self.a
                )
            sentence = f"log_prob of predict at variance {variance:g} differs from quadrature"
            self.close(prediction.log_prob(self.y), averaged, sentence, _INTEGRAL)
            if np.all(np.isfinite(given.mean())):
                mean = quadrature.expect_wide(
                    lambda a: self.likelihood.predict(a, 0.0).mean(), self.a, variance
                )
                sentence = f"mean of predict at variance {variance:g} differs from quadrature"
                self.close(prediction.mean(), mean, sentence, _INTEGRAL)

    def samples(self, rng: np.random.Generator) -> None:
        """Check that samples are valid and have the predicted mean."""
        given = self.likelihood.predict(self.a, 0.0)
        drawn = self.likelihood.sample(np.broadcast_to(self.a, (_DRAWS, len(self.a))), rng=rng)
        self.likelihood.check(np.asarray(drawn, dtype=np.float64).ravel())
        if not np.all(np.isfinite(given.variance())):
            return
        error = np.abs(np.mean(drawn, axis=0) - given.mean())
        allowed = 6.0 * given.standard_deviation() / np.sqrt(_DRAWS)
        self.require(
            bool(np.all(error <= allowed)), "the mean of samples differs from the predicted mean."
        )

    def require(self, holds: bool, sentence: str) -> None:
        if not holds:
            raise AssertionError(f"{self.likelihood}: {sentence}")

    def close(self, found: Any, expected: Any, sentence: str, tolerance: float = _SLOPE) -> None:
        """Raise if the largest relative difference exceeds the tolerance."""
        allowed = tolerance * max(1.0, float(np.abs(to_numpy(expected)).max(initial=0.0)))
        broken = describe_difference(found, expected, sentence, allowed)
        self.require(not broken, broken)
