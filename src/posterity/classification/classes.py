"""The likelihood of two classes or of more, and what it predicts of latent values."""

from __future__ import annotations

from posterity import distributions, likelihoods
from posterity.arrays import Array
from posterity.likelihoods import softmax_mean

INFERENCES = ("auto", "laplace")


def likelihood_of(
    n_classes: int, averaging: str = "exact"
) -> likelihoods.Bernoulli | likelihoods.Categorical:
    """Two classes have one latent value between them, more have one each."""
    if n_classes == 2:
        return likelihoods.Bernoulli(averaging)
    return likelihoods.Categorical(n_classes, averaging)


def wants_nearest(inference: str, averaging: str, *, few: bool = False) -> bool:
    """Whether a fit ends with the normal nearest to the posterior: at the mode there is none.

    Nor where classes are ``few``, in models that say so.
    """
    if inference not in INFERENCES:
        raise ValueError(f"inference={inference!r} must be one of {INFERENCES}.")
    return inference == "auto" and averaging != "none" and not few


def predicted(
    likelihood: likelihoods.Bernoulli | likelihoods.Categorical,
    mean: Array,
    covariance: Array,
    *,
    ranked: bool,
) -> distributions.Discrete:
    """The distribution of the class, for latent values of mean (n, C), covariance (n, C, C).

    Models in files that were written before averages ranked classes go on without.
    """
    if isinstance(likelihood, likelihoods.Bernoulli):
        return likelihood.predict(mean[:, 0], covariance[:, 0, 0])
    if likelihood.averaging == "exact" and not ranked:
        return distributions.Categorical(softmax_mean.log_exact(mean, covariance, ranked=False))
    return likelihood.predict(mean, covariance)


def at(A: Array) -> distributions.Discrete:
    """The distribution of the class at latent values that are certain, (n, 1) or (n, C)."""
    if A.shape[1] == 1:
        return distributions.Bernoulli.from_logit(A[:, 0])
    return distributions.Categorical.from_logits(A)


def latent_marginals(mean: Array, variance: Array) -> distributions.Normal:
    """The latent value of the second of two classes, (n,), or of each of several, (n, C)."""
    std = variance**0.5
    if mean.shape[1] == 1:
        return distributions.Normal(mean[:, 0], std[:, 0])
    return distributions.Normal(mean, std)
