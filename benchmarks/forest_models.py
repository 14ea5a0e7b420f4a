"""Forests and boosted trees of several packages, with as many threads as the process may use.

LightGBM is imported when it is first used.
"""

from __future__ import annotations

import os
import pickle
from functools import partial
from typing import Any

import numpy as np
from sklearn import ensemble

from benchmarks import probabilities
from benchmarks.cases import Array, Contender, Scores, predict_mean
from posterity import distributions
from posterity.trees import RandomForestClassifier, RandomForestRegressor

TREES = 100
ROUNDS = 100
SEED = 0
PLAIN = "posterity, plain average of trees"
_LEAST_SPREAD = 1e-6  # of a mean: trees that all agree are not certain


def threads() -> int:
    """How many threads the harness gave this process; without a word of it, all cores."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def pickle_size(model: Any) -> Scores:
    """Return the size of the fitted model in MB."""
    return {"pickle_mb": len(pickle.dumps(model, pickle.HIGHEST_PROTOCOL)) / 1e6}


def classifiers() -> tuple[Contender, ...]:
    """Return the classifiers, ours first."""
    contender = partial(Contender, predict=probabilities.predict, facts=pickle_size)
    forests = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)
    return (
        contender("posterity RandomForestClassifier", partial(_forest, RandomForestClassifier)),
        contender(PLAIN, _plain),
        *(contender(f"scikit-learn {kind.__name__}", partial(_forest, kind)) for kind in forests),
        contender("scikit-learn HistGradientBoostingClassifier", _histogram_classifier),
        contender("scikit-learn AdaBoostClassifier", _adaptive),
        contender("LightGBM LGBMClassifier", partial(_light, "LGBMClassifier"), needs="lightgbm"),
    )


def regressors() -> tuple[Contender, ...]:
    """Return the regressors, ours first."""
    contender = partial(Contender, facts=pickle_size)
    spread = partial(contender, predict=predict_spread)
    mean = partial(contender, predict=predict_mean)
    forests = (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)
    return (
        contender(
            "posterity RandomForestRegressor",
            partial(_forest, RandomForestRegressor),
            predict=predict_distribution,
        ),
        *(spread(f"scikit-learn {kind.__name__}", partial(_forest, kind)) for kind in forests),
        mean("scikit-learn HistGradientBoostingRegressor", _histogram_regressor),
        mean("LightGBM LGBMRegressor", partial(_light, "LGBMRegressor"), needs="lightgbm"),
    )


def _forest(kind: type) -> Any:
    return kind(TREES, n_jobs=threads(), random_state=SEED)


def _plain() -> Any:
    return _forest(RandomForestClassifier).set_params(sharpness=1.0)


def _histogram_classifier() -> Any:
    return ensemble.HistGradientBoostingClassifier(
        max_iter=ROUNDS, early_stopping=False, random_state=SEED
    )


def _histogram_regressor() -> Any:
    return ensemble.HistGradientBoostingRegressor(
        max_iter=ROUNDS, early_stopping=False, random_state=SEED
    )


def _adaptive() -> Any:
    return ensemble.AdaBoostClassifier(n_estimators=TREES, random_state=SEED)


def _light(kind: str) -> Any:
    import lightgbm

    build = getattr(lightgbm, kind)
    return build(n_estimators=ROUNDS, n_jobs=threads(), random_state=SEED, verbose=-1)


def predict_distribution(model: Any, X: Array) -> Any:
    """The whole distribution, in posterity's way."""
    return model.predict_dist(X)


def predict_spread(model: Any, X: Array) -> Any:
    """A normal with the mean of scikit-learn's trees, and the spread between them."""
    answers = np.stack([tree.predict(X) for tree in model.estimators_])
    mean = answers.mean(axis=0)
    return distributions.Normal(mean, np.maximum(answers.std(axis=0), _LEAST_SPREAD * abs(mean)))
