"""What regression and classification by Gaussian processes share."""

from __future__ import annotations

from typing import Any

from posterity.constructors import declare_parameters
from posterity.models.fitted import FittedAttribute, is_fitted
from posterity.models.kernel_model import KernelModel


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
