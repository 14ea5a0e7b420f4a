"""The checks for users' likelihoods find what is broken, and say what it is."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from support.for_each import for_each

from posterity import distributions, likelihoods, testing

Y, A = np.array([0.4, 1.7, 5.0]), np.array([-0.5, 0.3, 1.2])


@dataclass(frozen=True, eq=False)
class Noise(likelihoods.Likelihood):
    """y normal about a, of a variance to be learned; right, and to be broken below."""

    _learnable: ClassVar[tuple[str, ...]] = ("variance",)

    variance: float | None = None

    def log_prob(self, y, a):
        return -0.5 * (np.subtract(y, a) ** 2 / self.variance + np.log(2 * np.pi * self.variance))

    def d1(self, y, a):
        return np.subtract(y, a) / self.variance

    def d2(self, y, a):
        return np.full(np.broadcast_shapes(np.shape(y), np.shape(a)), -1.0 / self.variance)

    def d3(self, y, a):
        return np.zeros(np.broadcast_shapes(np.shape(y), np.shape(a)))

    def parameter_derivatives(self, y, a):
        value = 0.5 * np.subtract(y, a) ** 2 / self.variance - 0.5
        return value[None], -self.d1(y, a)[None], -self.d2(y, a)[None]

    def predict(self, mean, variance):
        m, v = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
        return distributions.Normal(m, np.sqrt(v + self.variance))

    def _search_ranges(self, y, weights):
        v = np.var(y)
        return {"variance": (0.5 * v, 1e-6 * v, 10.0 * v)}


def broken(**methods):
    """A subclass with one thing wrong."""
    return type("Noise", (Noise,), methods)(0.7)


def shifting(self, y, a):
    a += 1e-3
    return Noise.log_prob(self, y, a)


def test_a_right_likelihood_passes():
    testing.check_likelihood(Noise(0.7), Y, A)


@for_each(
    ("likelihood", "y", "a"),
    [
        (likelihoods.Normal(0.3), Y, A),
        (likelihoods.StudentT(0.6, 4.0), Y, A),
        (likelihoods.StudentT(0.6, 0.8), Y, A),  # of which no moment exists
        (likelihoods.Gamma(2.5), Y, A),
        (likelihoods.LogNormal(0.3), Y, A),
        (likelihoods.NegativeBinomial(2.0), [0, 3, 5], A),
        (likelihoods.Poisson(), [0, 3, 5], A),
        (likelihoods.Bernoulli(), [0, 1, 1], A),
    ],
    ids=str,
)
def test_every_likelihood_of_the_library_passes(likelihood, y, a):
    testing.check_likelihood(likelihood, y, a)


def scaled(name, factor):
    """A method that is off by a factor."""
    return {name: lambda self, *args: factor * getattr(Noise, name)(self, *args)}


@for_each(
    ("likelihood", "match"),
    [
        (broken(__eq__=lambda self, other: self is other), "a copy is not equal"),
        (broken(log_prob=shifting), "calling it changes y or a"),
        (broken(d3=lambda self, y, a: np.zeros(np.shape(y))), r"d3 of y \(3, 1\) and a \(1, 3\)"),
        (
            broken(predict=lambda self, m, v: distributions.Normal(0.0, 1.0)),
            r"predict of 3 means has shape \(\)",
        ),
        (broken(**scaled("d1", 1.1)), "d1 differs from finite differences of log_prob in a"),
        (broken(**scaled("score", 1.1)), "score differs from d1"),
        (
            broken(**scaled("information", 1.3)),
            "information differs from the expected square of score",
        ),
        (broken(**scaled("d2", 1.1)), "d2 differs from finite differences of d1"),
        (broken(d3=lambda self, y, a: 0.1 + Noise.d3(self, y, a)), "d3 differs"),
        (
            broken(with_parameters=lambda self, theta: self),
            r"with_parameters\(theta\) has a different theta",
        ),
        (
            broken(_search_ranges=lambda self, y, w: {"variance": (2.0, 3.0, 4.0)}),
            "starts outside its bounds",
        ),
        (
            broken(
                parameter_derivatives=lambda self, y, a: tuple(
                    -s for s in Noise.parameter_derivatives(self, y, a)
                )
            ),
            "parameter_derivatives of log_prob differ from finite differences in theta",
        ),
        (broken(step_curvature=Noise.d2), "step_curvature is not positive"),
        (broken(step_curvature=lambda self, y, a: -2 * self.d2(y, a)), "step_curvature is not -d2"),
        (
            broken(fit_constant=lambda self, y, w: (0.0, 1.0)),
            "fit_constant gives 0, where the sum of d1",
        ),
        (
            broken(fit_constant=lambda self, y, w: (np.mean(y), 0.0)),
            "fit_constant gives the variance 0",
        ),
        (
            broken(predict=lambda self, m, v: Noise.predict(self, np.add(m, 0.1), v)),
            "log_prob of predict at variance 0 differs",
        ),
        (
            broken(predict=lambda self, m, v: Noise.predict(self, m, 2.0 * np.asarray(v))),
            "log_prob of predict at variance 0.04 differs from quadrature",
        ),
        (
            broken(sample=lambda self, a, rng: a + 0.1),
            "the mean of samples differs",
        ),
    ],
)
def test_what_is_broken_is_said(likelihood, match):
    with pytest.raises(AssertionError, match=match):
        testing.check_likelihood(likelihood, Y, A.copy())


def test_observations_that_cannot_occur_are_named_by_the_likelihood():
    with pytest.raises(ValueError, match="y is -1 in row 0"):
        testing.check_likelihood(likelihoods.Poisson(), [-1, 2], [0.0, 1.0])


def test_samples_must_be_able_to_occur():
    class Whole(likelihoods.Poisson):
        def sample(self, a, *, rng):
            return super().sample(a, rng=rng) - 1

    with pytest.raises(ValueError, match="y is -1 in row"):
        testing.check_likelihood(Whole(), [0, 3], [0.0, 1.0])


@for_each(("y", "a"), [([1.0], [0.0]), ([1.0, 2.0], [0.0]), ([[1.0]], [[1.0]])])
def test_a_latent_value_for_each_of_some_observations_is_needed(y, a):
    with pytest.raises(ValueError, match="at least two observations and a latent value for each"):
        testing.check_likelihood(Noise(1.0), y, a)
