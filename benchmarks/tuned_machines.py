"""Support vector machines of scikit-learn with penalty and width by five-fold cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.cases import Array

FOLDS = 5
EPSILONS = (0.05, 0.2)  # in standard deviations of the targets


@dataclass(frozen=True)
class Grid:
    """What is tried; a width of 1 is one over the number of columns and their variance."""

    penalties: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1000.0)
    widths: tuple[float, ...] = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)

    def values(self, X: Array, prefix: str) -> dict[str, list[float]]:
        """Named as scikit-learn names parameters of parts."""
        unit = 1.0 / (X.shape[1] * X.var())
        gammas = [width * unit for width in self.widths]
        return {f"{prefix}C": list(self.penalties), f"{prefix}gamma": gammas}


FEW = Grid((1.0, 10.0, 100.0), (0.5, 1.0, 2.0))  # for thousands of rows


class TunedClassifier:
    """SVC of standardised columns, or of pixels as they are; probabilities by calibration."""

    def __init__(self, grid: Grid | None = None, pixels: bool = False) -> None:
        self.grid, self.pixels = grid or Grid(), pixels

    def fit(self, X: Array, y: Array) -> Self:
        """Choose, fit and calibrate."""
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        model = _scale_inputs(SVC(), self.pixels)
        values = self.grid.values(_standardise_columns(X, self.pixels), "machine__")
        self.machine = GridSearchCV(model, values, cv=folds).fit(X, y).best_estimator_
        probable = CalibratedClassifierCV(clone(self.machine), ensemble=False, cv=folds)
        self.probable = probable.fit(X, y)
        return self

    def predict(self, X: Array) -> Array:
        """The class by the machine itself."""
        return self.machine.predict(X)

    def predict_proba(self, X: Array) -> Array:
        """One column a class."""
        return self.probable.predict_proba(X)

    @property
    def vectors(self) -> int:
        """How many rows the machine keeps."""
        return len(self.machine["machine"].support_)


class TunedRegressor:
    """SVR of standardised columns and targets; its tube is chosen too."""

    def __init__(self, grid: Grid | None = None) -> None:
        self.grid = grid or Grid()

    def fit(self, X: Array, y: Array) -> Self:
        """Choose and fit."""
        folds = KFold(FOLDS, shuffle=True, random_state=0)
        model = TransformedTargetRegressor(
            _scale_inputs(SVR(), False), transformer=StandardScaler()
        )
        values = self.grid.values(_standardise_columns(X, False), "regressor__machine__")
        values["regressor__machine__epsilon"] = list(EPSILONS)
        search = GridSearchCV(model, values, cv=folds, scoring="neg_mean_squared_error")
        self.machine = search.fit(X, y).best_estimator_
        return self

    def predict(self, X: Array) -> Array:
        """The mean alone."""
        return self.machine.predict(X)

    @property
    def vectors(self) -> int:
        """How many rows the machine keeps."""
        return len(self.machine.regressor_["machine"].support_)


def _scale_inputs(machine: BaseEstimator, pixels: bool) -> Pipeline:
    scaler: Any = "passthrough" if pixels else StandardScaler()
    return Pipeline([("scaler", scaler), ("machine", machine)])


def _standardise_columns(X: Array, pixels: bool) -> Array:
    """The columns as the machine sees them."""
    return X if pixels else np.asarray(StandardScaler().fit_transform(X))
