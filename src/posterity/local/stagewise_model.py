"""The parameters and the fit of estimators that add one unit at a time to a sum."""

from __future__ import annotations

import copy
import itertools
import numbers
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, features, page_forms, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference import rows as equal_rows
from posterity.local import (
    AnyLikelihood,
    Stages,
    StagewiseFitter,
    StagewiseStep,
    prepare_stages,
    validate_stages,
)
from posterity.models.fitted import report_weight_bounds
from posterity.page_forms import Form

_UNITS = {"arctan": features.LearnedArctan, "radial": features.LearnedRadial}


@declare_parameters
class StagewiseModel(BaseEstimator):
    """An estimator whose latent value is a sum of ``n_units`` units, found one by one.

    A subclass checks the targets and says what latent values predict.

    Parameters
    ----------
    n_units : int, default=20
        Maximum number of units. The fit ends earlier when no unit gains a thousandth of a nat.
    units : {"arctan", "radial"}, default="arctan"
        Smooth steps, arctan(a'x + b), or radial bumps, exp(-r^2 / 2 l^2) around a centre.
    n_restarts : int, default=4
        Number of further searches at each stage. Each starts from the best of 63 random units,
        ranked by one Newton step of their weights.
    learning_rate : float, default=1
        Factor on each unit, above 0 and at most 1. With a factor of 0.1 the fit needs some hundred
        units and often predicts better, most of all if there are hundreds of columns.
    subsample : float, default=1
        Share of the rows, drawn anew for each unit, that its search looks at.
    max_iter : int, default=3000
        Maximum number of iterations of a search. Units with a small ``learning_rate`` need not be
        the most probable ones: 15 iterations are enough, fast, and guard against overfitting.
    n_jobs : int, optional
        Number of searches that run at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing units and held-out rows. The first units do not depend on ``n_units``.

    Attributes
    ----------
    n_units_ : int
        K, the number of units.
    units_ : LearnedFeatures or None
        The units as a transformer to ``n_units_`` columns; None without units.
    log_likelihoods_ : array of shape (K + 1,)
        Log-likelihood of the training rows for the constant, and after each unit. It increases.
    n_iter_ : int
        Number of iterations of the searches that were kept.
    stop_reason_ : str
        Why the fit ended.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.
    """

    n_units: int = field(default=20, kw_only=False)
    units: str = "arctan"
    n_restarts: int = 4
    validation_fraction: float | None = None
    learning_rate: float = 1.0
    subsample: float = 1.0
    max_iter: int = 3000
    n_jobs: int | None = None
    random_state: Any = None

    units_: features.LearnedFeatures | None = field(init=False)
    validation_scores_: Array | None = field(init=False)
    coef_: Array = field(init=False)
    intercept_: Any = field(init=False)
    _stages: Stages = field(init=False)

    def truncate(self, n_units: int) -> Self:
        """A fitted copy of the first units only: what a fit with so many gives.

        Parameters
        ----------
        n_units : int
            How many, from none to ``n_units_``.
        """
        check_is_fitted(self)
        validation.check_count(n_units, "n_units", least=0)
        if n_units > self.n_units_:
            raise ValueError(f"n_units={n_units} is more than the {self.n_units_} of this model.")
        other = copy.copy(self)
        other._adopt(self._stages.truncate(n_units))
        return other

    def _form_units(self, answer: Form) -> Form:
        """Return the form from which a page computes latent values, and an answer from them."""
        space = {"kind": "none"} if self.units_ is None else page_forms.form_columns(self.units_)
        latent = page_forms.form_weights(self.coef_, self.intercept_)
        return page_forms.form_linear(space, latent, answer)

    def _check_parameters(self) -> None:
        for name, least in (("n_units", 1), ("n_restarts", 0), ("max_iter", 1)):
            validation.check_count(getattr(self, name), name, least=least)
        if not isinstance(self.units, str) or self.units not in _UNITS:
            raise ValueError(f"units={self.units!r} must be one of {', '.join(map(repr, _UNITS))}.")
        for name in ("learning_rate", "subsample"):
            if validation.check_positive(getattr(self, name), name) > 1.0:
                raise ValueError(f"{name}={getattr(self, name)} must be at most 1.")
        part = self.validation_fraction
        if part is not None and not (isinstance(part, numbers.Real) and 0.0 < part < 1.0):
            raise ValueError(
                f"validation_fraction={part!r} must lie between 0 and 1; None holds out nothing."
            )

    def _fit_stages(
        self,
        X: Array,
        y: Array,
        sample_weight: Array | None,
        likelihood: AnyLikelihood,
        *,
        by_target: bool,
    ) -> Self:
        """Find the units, and how many there should be where rows are held out to see."""
        rows, targets, counts, order = equal_rows.merge_and_sort(X, y, sample_weight)
        rows = rows[:, order]
        # three, whether used or not: the units are those of a fit that holds nothing out
        of_stages, of_split, of_trial = arrays.generator(self.random_state).spawn(3)
        whole, self.validation_scores_ = self._prepare(rows, targets, counts, likelihood), None
        if self.validation_fraction is None:
            self._adopt(whole.fit(self.n_units, of_stages).with_columns(np.argsort(order)))
            return self
        groups = targets if by_target else np.zeros(len(targets))
        folds = equal_rows.draw_folds(groups, self.validation_fraction, of_split)
        trials = [
            self._prepare(rows[kept], targets[kept], counts[kept], likelihood)
            for kept in (folds != k for k in range(folds.max() + 1))
        ]
        found = validate_stages(whole, trials, rows, folds, n_stages=self.n_units, rng=of_trial)
        self.validation_scores_ = found.scores
        stages = found.apply(whole.fit(found.n_units, of_stages))
        self._adopt(stages.with_columns(np.argsort(order)))
        return self

    def _prepare(
        self, X: Array, y: Array, counts: Array, likelihood: AnyLikelihood
    ) -> StagewiseFitter:
        unit = _UNITS[self.units](1, n_restarts=self.n_restarts, random_state=0)
        unit.fit(X, sample_weight=counts)
        return prepare_stages(
            unit,
            X,
            y,
            counts,
            likelihood,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            learning_rate=self.learning_rate,
            subsample=self.subsample,
        )

    def _adopt(self, stages: Stages) -> None:
        """Publish a fit."""
        self._stages = stages
        self.n_units_ = stages.n_units
        self.units_ = stages.joint_units()
        self.log_likelihoods_ = np.array([step.log_likelihood for step in stages.steps])
        self.n_iter_ = max(1, sum(step.n_iter for step in stages.steps))
        self.stop_reason_ = stages.stop_reason
        self.at_bounds_ = report_weight_bounds(stages)

    def _compute_latents(self, X: ArrayLike) -> Array:
        """The latent values (n, C)."""
        check_is_fitted(self)
        return self._stages.latents(validation.check_X(self, X, reset=False))

    def _iterate_units(self, X: ArrayLike) -> Iterator[tuple[StagewiseStep, Array]]:
        """The model after each unit, and its latent values (n, C)."""
        check_is_fitted(self)
        latents = self._stages.iterate_latents(validation.check_X(self, X, reset=False))
        return itertools.islice(zip(self._stages.steps, latents, strict=True), 1, None)
