"""The likelihood of two classes or of more, and what it predicts of latent values."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import distributions, likelihoods, page_forms, validation
from posterity.arrays import Array
from posterity.inference.averaging import split_mixture
from posterity.inference.posterior import LatentMarginals
from posterity.page_forms import Form

INFERENCES = ("auto", "laplace")
SHARING = ("shared", "per_class")
"""What classes do with the columns of a sparse model."""
POINT_FORM: Form = {"kind": "classes", "averaging": "none"}
"""Form of the prediction at latent values that are certain."""


def likelihood_of_classes(
    n_classes: int, averaging: str = "exact"
) -> likelihoods.Bernoulli | likelihoods.Categorical:
    """Two classes have one latent value between them, more have one each."""
    if n_classes == 2:
        return likelihoods.Bernoulli(averaging)
    return likelihoods.Categorical(n_classes, averaging)


def form_classes(model: Any) -> Form:
    """Return the form from which a page predicts the classes of a model at its latent values."""
    likelihood = likelihood_of_classes(len(model.classes_), model.averaging)
    return page_forms.find_form(likelihood)


def form_experts(model: Any) -> Form:
    """Return the form of gates and experts that are linear in the same columns."""
    experts = zip(model.expert_coef_, model.expert_intercept_, strict=True)
    return {
        "columns": page_forms.form_columns(model.features_),
        "gates": page_forms.form_weights(model.gate_coef_, model.gate_intercept_),
        "experts": [page_forms.form_weights(w, b) for w, b in experts],
    }


def wants_nearest(inference: str, averaging: str, *, few: bool = False) -> bool:
    """Whether a fit ends with the normal nearest to the posterior, which the mode does not need.

    Nor do models that say so where classes are ``few``.
    """
    chosen = validation.check_choice(inference, "inference", INFERENCES)
    return chosen == "auto" and averaging != "none" and not few


def predict_classes(
    likelihood: likelihoods.Bernoulli | likelihoods.Categorical, latent: LatentMarginals
) -> distributions.Discrete:
    """Return the distribution of the class at each row, averaged over its latent values."""
    if isinstance(likelihood, likelihoods.Bernoulli):
        return likelihood.predict(latent.mean[:, 0], latent.variance[:, 0])
    return likelihood.predict(latent.mean, latent.covariance)


def average_over_parts(
    likelihood: likelihoods.Bernoulli | likelihoods.Categorical,
    posterior: Any,
    rows: Any,
) -> distributions.Discrete:
    """Return the distribution of the class at each row, averaged over the parts of a mixture."""
    parts, weights = split_mixture(posterior)
    each = [predict_classes(likelihood, part.latent(rows)) for part in parts]
    if len(each) == 1:
        return each[0]
    log_p, log_w = np.stack([one.log_probabilities() for one in each], axis=-2), np.log(weights)
    if isinstance(likelihood, likelihoods.Bernoulli):
        return distributions.Bernoulli(log_p[..., 1], log_p[..., 0]).average(log_w)
    return distributions.Categorical(log_p).average(log_w)


def predict_at_latents(A: Array) -> distributions.Discrete:
    """The distribution of the class at latent values that are certain, (n, 1) or (n, C)."""
    if A.shape[1] == 1:
        return distributions.Bernoulli.from_logit(A[:, 0])
    return distributions.Categorical.from_logits(A)


def latent_normal(latent: LatentMarginals) -> distributions.Normal:
    """Return the latent value of the second of two classes, (n,), or of each of several, (n, C)."""
    mean, std = latent.mean, latent.variance**0.5
    if latent.n_latents == 1:
        return distributions.Normal(mean[:, 0], std[:, 0])
    return distributions.Normal(mean, std)
