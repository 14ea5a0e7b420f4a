"""What regression and classification by Gaussian processes share."""

from __future__ import annotations

from typing import Any

from posterity import page_forms
from posterity.constructors import declare_parameters
from posterity.models.fitted import FittedAttribute, is_fitted
from posterity.models.kernel_model import KernelModel
from posterity.page_forms import Form


@declare_parameters
class ProcessModel(KernelModel):
    """A model whose latent functions are Gaussian processes."""

    inference: str = "auto"
    inducing_points: Any = None
    hyperparameters: str = "average"
    n_restarts: int = 2
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = 0

    kernel_ = FittedAttribute()
    log_evidence_ = FittedAttribute()
    inducing_points_ = FittedAttribute()
    X_train_ = FittedAttribute()
    posterior_ = FittedAttribute()
    stop_reason_ = FittedAttribute("search.stop_reason")
    n_iter_ = FittedAttribute("search.n_iter")
    at_bounds_ = FittedAttribute("search.at_bounds")
    irrelevant_inputs_ = FittedAttribute("search.irrelevant_inputs")
    restarts_log_evidence_ = FittedAttribute("search.restarts_log_evidence")

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self)

    def _page_process(self, part: Any, answer: Form, noise_variance: float) -> Form:
        """Return the form of a process; the noise says which errors are too small to see."""
        latent = page_forms.find_form(part, noise_variance)
        note = latent.pop("note", "")
        return {**page_forms.form_linear({"kind": "identity"}, latent, answer), "note": note}
