"""Boosted stumps of several packages: trees of one threshold each.

LightGBM is imported when it is first used.
"""

from functools import partial
from typing import Any

from sklearn import ensemble

from benchmarks import probabilities
from benchmarks.cases import Contender
from benchmarks.forest_models import SEED, pickle_size, threads
from posterity.trees import LogitBoostClassifier

ROUNDS = 200

_contender = partial(Contender, predict=probabilities.predict, facts=pickle_size)


def ours(rate: float = 0.5) -> Contender:
    """LogitBoost; the textbook's takes whole steps, of rate one."""
    return _contender(f"posterity LogitBoostClassifier, rate {rate:g}", partial(_ours, rate))


def histogram(rate: float) -> Contender:
    """Return scikit-learn's boosting on histograms."""
    name = f"scikit-learn HistGradientBoostingClassifier, rate {rate:g}"
    return _contender(name, partial(_histogram, rate))


def light(rate: float) -> Contender:
    """Return LightGBM's classifier."""
    name = f"LightGBM LGBMClassifier, rate {rate:g}"
    return _contender(name, partial(_light, rate), needs="lightgbm")


def exact(rate: float) -> Contender:
    """scikit-learn's sorted columns."""
    name = f"scikit-learn GradientBoostingClassifier, rate {rate:g}"
    return _contender(name, partial(_exact, rate))


def adaptive() -> Contender:
    """AdaBoost, whose weak classifiers are stumps."""
    return _contender("scikit-learn AdaBoostClassifier", _adaptive)


def _ours(rate: float) -> Any:
    return LogitBoostClassifier(
        n_estimators=ROUNDS, learning_rate=rate, n_jobs=threads(), random_state=SEED
    )


def _histogram(rate: float) -> Any:
    return ensemble.HistGradientBoostingClassifier(
        learning_rate=rate,
        max_iter=ROUNDS,
        max_depth=1,
        early_stopping=False,
        random_state=SEED,
    )


def _light(rate: float) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(
        num_leaves=2,
        learning_rate=rate,
        n_estimators=ROUNDS,
        n_jobs=threads(),
        random_state=SEED,
        verbose=-1,
    )


def _exact(rate: float) -> Any:
    return ensemble.GradientBoostingClassifier(
        learning_rate=rate, n_estimators=ROUNDS, max_depth=1, random_state=SEED
    )


def _adaptive() -> Any:
    return ensemble.AdaBoostClassifier(n_estimators=ROUNDS, random_state=SEED)
