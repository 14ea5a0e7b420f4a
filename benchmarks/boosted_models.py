"""Boosted trees and forests of several packages with their defaults, for classes and numbers.

What a package offers for categories is used: columns of categories reach CatBoost as integers
that it is told of, LightGBM and scikit-learn in a data frame of that type, and all others as plain
numbers. Packages beside scikit-learn are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import util
from typing import Any, TypeAlias

import numpy as np
from sklearn import ensemble, model_selection

from benchmarks.cases import Array
from benchmarks.forest_models import SEED, threads
from posterity import distributions, trees

SPREAD_FOLDS = 5
FEW_ROWS = 800  # of a table for NGBoost, which takes most of the time where there are more
Columns: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Booster:
    """A contender: it is built for the columns that are categories."""

    name: str
    make: Callable[..., Any]  # of the categorical columns, and settings by their names
    predict: Callable[[Any, Array], Any]
    needs: str | None = None
    rounds: str = "n_estimators"  # what the package calls their number
    most_rows: int | None = None  # of a table that there is time for

    def takes(self, rows: int) -> bool:
        """Whether it is measured on a table of so many rows."""
        return self.most_rows is None or rows <= self.most_rows

    def build(self, categorical: Columns = (), rounds: int | None = None) -> Any:
        """The model that is to be fitted; None: as many rounds as is its default."""
        return self.make(categorical, **({} if rounds is None else {self.rounds: rounds}))

    @property
    def is_here(self) -> bool:
        """Whether its package is installed."""
        return self.needs is None or util.find_spec(self.needs) is not None


class Framed:
    """A model whose categories come in a data frame, as integers or as a type of their own."""

    def __init__(self, model: Any, categorical: Columns, *, typed: bool) -> None:
        self.model, self.categorical, self.typed = model, categorical, typed

    def fit(self, X: Array, y: Array) -> Framed:
        """Fit the model within."""
        self.model.fit(self.frame(X), y)
        return self

    def predict_proba(self, X: Array) -> Array:
        """One column a class."""
        return self.model.predict_proba(self.frame(X))

    def predict(self, X: Array) -> Array:
        """What the model predicts."""
        return self.model.predict(self.frame(X))

    def frame(self, X: Array) -> Any:
        """The rows with a type for each column."""
        import pandas

        table = pandas.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
        kinds = {f"x{place}": np.int64 for place in self.categorical}
        table = table.astype(kinds)
        return table.astype(dict.fromkeys(kinds, "category")) if self.typed else table


class Spread:
    """A mean, and the root mean square of its cross-validated residuals as standard deviation."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self.build = build

    def fit(self, X: Array, y: Array) -> Spread:
        """Fit each fold and then all rows."""
        square = 0.0
        folds = model_selection.KFold(SPREAD_FOLDS, shuffle=True, random_state=SEED)
        for train, test in folds.split(X):
            mean = self.build().fit(X[train], y[train]).predict(X[test])
            square += float(np.sum((y[test] - mean) ** 2))
        self.spread = np.sqrt(square / len(y))
        self.model = self.build().fit(X, y)
        return self

    def predict_dist(self, X: Array) -> distributions.Normal:
        """The same standard deviation everywhere."""
        return distributions.Normal(self.model.predict(X), self.spread)


def classifiers() -> tuple[Booster, ...]:
    """Return the classifiers, ours first."""
    booster = partial(Booster, predict=predict_proba)
    return (
        booster("posterity BoostedTreesClassifier", partial(_ours, "BoostedTreesClassifier")),
        booster("posterity RandomForestClassifier", partial(_ours, "RandomForestClassifier")),
        booster("posterity LogitBoostClassifier", partial(_ours, "LogitBoostClassifier")),
        booster("CatBoost", partial(_cat, "CatBoostClassifier"), needs="catboost"),
        booster("LightGBM", partial(_light, "LGBMClassifier"), needs="lightgbm"),
        booster(
            "scikit-learn HistGradientBoosting",
            partial(_histogram, "Classifier"),
            rounds="max_iter",
        ),
    )


def regressors() -> tuple[Booster, ...]:
    """Return the regressors, ours first."""
    ours = partial(Booster, predict=predict_distribution)
    cat = partial(_cat, "CatBoostRegressor")
    uncertain = partial(cat, loss_function="RMSEWithUncertainty")
    return (
        ours("posterity BoostedTreesRegressor", partial(_ours, "BoostedTreesRegressor")),
        ours("posterity RandomForestRegressor", partial(_ours, "RandomForestRegressor")),
        Booster("CatBoost", cat, predict_mean, "catboost"),
        Booster("CatBoost with uncertainty", uncertain, predict_moments, "catboost"),
        Booster(
            "LightGBM, cross-validated spread", _light_with_spread, predict_distribution, "lightgbm"
        ),
        Booster("NGBoost", _natural, predict_natural, "ngboost", most_rows=FEW_ROWS),
        Booster(
            "scikit-learn HistGradientBoosting",
            partial(_histogram, "Regressor"),
            predict_mean,
            rounds="max_iter",
        ),
    )


def predict_proba(model: Any, X: Array) -> Any:
    """One column a class; some packages round them to a sum that is not one."""
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    return P / P.sum(axis=1, keepdims=True), None


def predict_distribution(model: Any, X: Array) -> Any:
    """The whole distribution, in posterity's way."""
    return model.predict_dist(X)


def predict_mean(model: Any, X: Array) -> Any:
    """The mean alone."""
    return np.asarray(model.predict(X)), None


def predict_moments(model: Any, X: Array) -> Any:
    """A normal with the mean and the variance that CatBoost says."""
    mean, variance = np.asarray(model.predict(X)).T
    return distributions.Normal(mean, np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny)))


def predict_natural(model: Any, X: Array) -> Any:
    """NGBoost's normal."""
    found = model.pred_dist(X)
    return distributions.Normal(found.loc, found.scale)


def _ours(kind: str, categorical: Columns, **settings: Any) -> Any:
    if categorical and kind.startswith("Boosted"):
        settings["categorical_features"] = categorical
    return getattr(trees, kind)(n_jobs=threads(), random_state=SEED, **settings)


def _cat(kind: str, categorical: Columns, **settings: Any) -> Any:
    import catboost

    model = getattr(catboost, kind)(
        thread_count=threads(),
        random_seed=SEED,
        verbose=False,
        allow_writing_files=False,
        cat_features=list(categorical) or None,
        **settings,
    )
    return _framed(model, categorical, typed=False)


def _light(kind: str, categorical: Columns, **settings: Any) -> Any:
    import lightgbm

    model = getattr(lightgbm, kind)(n_jobs=threads(), random_state=SEED, verbose=-1, **settings)
    return _framed(model, categorical, typed=True)


def _light_with_spread(categorical: Columns, **settings: Any) -> Any:
    return Spread(partial(_light, "LGBMRegressor", categorical, **settings))


def _histogram(kind: str, categorical: Columns, **settings: Any) -> Any:
    settings |= {"early_stopping": False} if settings else {}  # rounds that are told are made
    model = getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=SEED, **settings)
    return _framed(model, categorical, typed=True)


def _natural(categorical: Columns, **settings: Any) -> Any:
    import ngboost

    return ngboost.NGBRegressor(random_state=SEED, verbose=False, **settings)


def _framed(model: Any, categorical: Columns, *, typed: bool) -> Any:
    return Framed(model, categorical, typed=typed) if categorical else model
