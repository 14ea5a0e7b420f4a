"""KernelRidgeRegression beside scikit-learn's: with the penalty given, and with one chosen.

All have the same kernel. scikit-learn's has no offset, which standardised targets do not need.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn.kernel_ridge
from sklearn.model_selection import GridSearchCV

from benchmarks import friedman, harness, standardised
from benchmarks.cases import Benchmark, Contender, Scores, Size, Task
from benchmarks.options import Options
from posterity import kernels
from posterity.process import KernelRidgeRegression

LENGTH_SCALE = 1.0
PENALTY = 0.1
PENALTIES = 10.0 ** np.arange(-4.0, 2.5, 0.5)


def _posterity(penalty: float | None) -> KernelRidgeRegression:
    return KernelRidgeRegression(kernels.RBF(LENGTH_SCALE), penalty)


def _scikit_learn() -> sklearn.kernel_ridge.KernelRidge:
    gamma = 0.5 / LENGTH_SCALE**2
    return sklearn.kernel_ridge.KernelRidge(alpha=PENALTY, kernel="rbf", gamma=gamma)


def _search(folds: int) -> GridSearchCV:
    grid = {"alpha": PENALTIES}
    return GridSearchCV(_scikit_learn(), grid, cv=folds, scoring="neg_mean_squared_error")


def report_choice(fitted: standardised.Standardised) -> Scores:
    """The penalty that was found, as a power of ten."""
    model = fitted.model
    found = model.best_params_["alpha"] if isinstance(model, GridSearchCV) else model.alpha_
    return {"log10_penalty": math.log10(found)}


def _contender(name: str, build: Callable[[], Any], **more: Any) -> Contender:
    return Contender(name, build, standardised.fit, standardised.predict_mean, **more)


def _tasks(*rows: int) -> tuple[Task, ...]:
    sizes = (Size(n, friedman.COLUMNS) for n in rows)
    return tuple(
        Task("Friedman's function", size, friedman.generate, friedman.score) for size in sizes
    )


GIVEN = Benchmark(
    name="kernel_ridge",
    title="Kernel ridge regression, the penalty given; mean predictions",
    tasks=_tasks(1_000, 2_000, 4_000),
    contenders=(
        _contender("posterity KernelRidgeRegression", partial(_posterity, PENALTY)),
        _contender("scikit-learn KernelRidge", _scikit_learn),
    ),
)

CHOSEN = Benchmark(
    name="kernel_ridge_chosen",
    title="Kernel ridge regression, the penalty chosen; mean predictions",
    tasks=_tasks(1_000, 2_000, 4_000),
    contenders=(
        _contender(
            "posterity KernelRidgeRegression, leave one out",
            partial(_posterity, None),
            facts=report_choice,
        ),
        _contender(
            f"scikit-learn GridSearchCV, 5 folds, {len(PENALTIES)} penalties",
            partial(_search, 5),
            facts=report_choice,
        ),
    ),
    note="posterity looks through every penalty that can matter; scikit-learn through "
    f"{len(PENALTIES)} between {PENALTIES[0]:g} and {PENALTIES[-1]:g}.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(GIVEN, options)
    harness.run(CHOSEN, options)
