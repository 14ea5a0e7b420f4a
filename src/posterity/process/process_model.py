"""Parameters, requests and candidates of regression and classification by Gaussian processes."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from posterity import kernels, likelihoods, page_forms
from posterity.constructors import declare_parameters
from posterity.inference.averaging import check_hyperparameters
from posterity.models.card import Member
from posterity.models.fitted import FittedAttribute, is_fitted
from posterity.models.kernel_model import KernelModel
from posterity.page_forms import Form

INFERENCES = ("auto", "exact", "laplace", "propagation", "variational")
_DIFFERENT = 0.03  # length scale at which two groups have nothing in common


@dataclass(frozen=True)
class ProcessRequest:
    """The request of an estimator to a process, whatever the likelihood."""

    kernel: kernels.Kernel
    inference: str
    inducing_points: Any  # a number, rows, or None
    n_restarts: int
    max_iter: int | None
    n_jobs: int | None
    random_state: Any
    averages: bool  # over hyperparameters; else the best of them are taken
    asked: tuple[Any, ...]  # what a later fit must ask for to start from this one
    earlier: Any  # the record of a fit that asked for the same, to start from; None without
    columns: Sequence[Any]  # names of the inputs
    single_output: bool  # whether the target is one-dimensional

    def __post_init__(self) -> None:
        if self.inference not in INFERENCES:
            names = ", ".join(map(repr, INFERENCES))
            raise ValueError(f"inference={self.inference!r} must be one of {names}.")


@declare_parameters
class ProcessModel(KernelModel):
    """A model whose latent functions are Gaussian processes."""

    inference: str = "auto"
    inducing_points: Any = None
    hyperparameters: str = "average"
    n_restarts: int = 2
    warm_start: bool = False
    max_iter: int | None = None
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

    def _make_request(self, *asked: Any, single_output: bool) -> ProcessRequest:
        """Make the request; a warm start goes on from a fit that asked for the same."""
        points, kernel = self.inducing_points, self._bind_kernel()
        if points is not None and not isinstance(points, numbers.Integral):
            points = self._check_rows(points)
        wanted = (kernel, getattr(self, "n_features_in_", None), *asked)
        warm = self.warm_start and is_fitted(self) and self._fitted.asked == wanted
        return ProcessRequest(
            kernel,
            self.inference,
            points,
            self.n_restarts,
            self.max_iter,
            self.n_jobs,
            self.random_state,
            check_hyperparameters(self.hyperparameters),
            wanted,
            self._fitted if warm else None,
            self._input_names,
            single_output,
        )

    def _page_process(self, part: Any, answer: Form, noise_variance: float) -> Form:
        """Return the form of a process; the noise says which errors are too small to see."""
        latent = page_forms.find_form(part, noise_variance)
        note = latent.pop("note", "")
        return {**page_forms.form_linear({"kind": "identity"}, latent, answer), "note": note}


def describe_processes(
    cost: str,
    *,
    many_rows: int,
    many_settings: Mapping[str, Any],
    places: Mapping[str, tuple[int, float, float]],
    inference: str = "",
    likelihood: str = "",
    on_dask: bool = False,
) -> tuple[Member, ...]:
    """Return the candidates of an estimator of processes.

    ``places`` has the order of each, and the largest tables on which it is compared by default and
    at all.
    """
    return tuple(
        replace(
            one,
            cost=cost,
            order=places[one.name][0],
            usual_rows=places[one.name][1],
            most_rows=places[one.name][2],
            inference=one.inference or inference,
            likelihood=one.likelihood or likelihood,
            on_dask=on_dask and one.on_dask,
            many_rows=many_rows,
            many_settings=many_settings,
        )
        for one in _CANDIDATES
        if one.name in places
    )


def _make_time_kernel() -> kernels.Kernel:
    """Return a walk along the first column, a trend, and a smooth function of all columns."""
    walk = kernels.Columns(kernels.Matern(smoothness=0.5), 0)
    return kernels.Scaled(walk) + kernels.Linear() + kernels.Scaled(kernels.RBF(ard=True))


def _make_group_kernel(main: kernels.Kernel, *, slopes: bool = False) -> kernels.Kernel:
    """Return a function of the other columns, and an offset (and slopes) of each group, the last.

    Groups are different, however their numbers differ, and so is one that was not seen.
    """
    same = kernels.Columns(kernels.Categorical(_DIFFERENT).fixed(), -1)
    others = kernels.Columns(main, -1, complement=True)
    offsets = others + kernels.Scaled(same)
    if not slopes:
        return offsets
    return offsets + same * kernels.Columns(kernels.Linear(), -1, complement=True)


def _make_candidate(name: str, settings: Mapping[str, Any], **words: Any) -> Member:
    return Member(name, 0, "", {**settings, "n_restarts": 0}, **words)


_SMOOTH = kernels.Scaled(kernels.RBF())
_CANDIDATES = (
    _make_candidate(
        "linear-groups",
        {"kernel": _make_group_kernel(kernels.Linear())},
        feature_space="the columns, and an indicator of each group",
        advice="rows of the same group differ from others by an intercept",
        role="groups",
    ),
    _make_candidate("process", {"kernel": _SMOOTH}, on_dask=True),
    _make_candidate(
        "process-ard",
        {},
        advice="a smooth surface that depends on few of the columns",
        usual_columns=40,
        on_dask=True,
    ),
    _make_candidate(
        "process-time",
        {"kernel": _make_time_kernel()},
        feature_space="a walk in time, a trend, and a smooth function",
        advice="later rows depend on earlier ones",
        usual_columns=40,
        role="time",
    ),
    _make_candidate(
        "process-groups",
        {"kernel": _make_group_kernel(kernels.Scaled(kernels.RBF(ard=True)), slopes=True)},
        feature_space="a smooth function, and an intercept and slopes of each group",
        advice="groups differ by an intercept and by slopes",
        usual_columns=40,
        role="groups",
    ),
    _make_candidate(
        "process-robust",
        {"kernel": _SMOOTH, "likelihood": likelihoods.StudentT()},
        likelihood="Student-t: outliers",
        inference="variational, by a bound of the evidence",
        advice="a smooth function, and some targets are outliers",
    ),
)
