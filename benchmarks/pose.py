"""Human poses from silhouettes: 63 outputs carried by one set of relevance vectors.

The rows are the histograms of shape contexts of Agarwal and Triggs, the targets 21 joints in space.
Relevance vectors see the roots of the histograms, other kernels the histograms as they come.
``python -m benchmarks.pose --model "1 nearest neighbour"`` fits one of the models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import harness, machine, report, worker
from benchmarks.cases import Array, Data
from benchmarks.options import Options
from posterity import KernelRidgeRegression, RelevanceVectorRegressor, kernels

FOLDER_NAME = "shared/data/pose"
FOLDER = Path(__file__).parents[2] / FOLDER_NAME
JOINTS = 21
WARM_UP_ROWS = 100
QUICK = 10  # a rehearsal takes every tenth frame
WIDTHS = (0.35, 0.5, 0.7, 1.0)  # of the median distance
NOTE = (
    "The mean distance between the joints predicted and those recorded, over test frames and "
    "joints. The frames kept are those that a prediction looks at."
)


@dataclass(frozen=True)
class Model:
    """As the table names it, how it is made, and how many frames it keeps once fitted."""

    name: str
    build: Callable[[], Any]
    kept: Callable[[Any, int], int]


def vectors(model: Any, frames: int) -> int:
    """Count the relevance vectors of a model."""
    return len(model.relevance_)


def none(model: Any, frames: int) -> int:
    """Count no frames: the model has weights for columns."""
    return 0


def every(model: Any, frames: int) -> int:
    """Count all frames: the model compares with each of them."""
    return frames


def neighbour(scaled: bool) -> Any:
    """The pose of the nearest frame, columns as they come or scaled to unit variance."""
    nearest = KNeighborsRegressor(1)
    return make_pipeline(StandardScaler(), nearest) if scaled else nearest


def _ridge(name: str, kernel: kernels.Kernel) -> Model:
    full = f"posterity KernelRidgeRegression, {name}"
    return Model(full, partial(KernelRidgeRegression, kernel), every)


class RootHistograms(BaseEstimator):
    """Relevance vectors on the roots of histograms, between which distances mean most.

    The width is that of the least joint distance on the last fifth of the training frames.
    """

    def __init__(self, share: float | None) -> None:
        self.share = share  # of the frames that may be kept

    def fit(self, X: Array, Y: Array) -> RootHistograms:
        """Choose the width, then fit on all frames."""
        roots = np.sqrt(X)
        n = 4 * len(X) // 5
        typical = float(np.median(pdist(roots[::5])))

        def miss(width: float) -> float:
            model = self._model(width, n).fit(roots[:n], Y[:n])
            return joint_distance(model.predict(roots[n:]), Y[n:])

        best = min((factor * typical for factor in WIDTHS), key=miss)
        self.model_ = self._model(best, len(X)).fit(roots, Y)
        self.relevance_ = self.model_.relevance_
        return self

    def predict(self, X: Array) -> Array:
        """Joints of each frame."""
        return np.asarray(self.model_.predict(np.sqrt(X)))

    def _model(self, width: float, frames: int) -> RelevanceVectorRegressor:
        most = None if self.share is None else int(self.share * frames)
        return RelevanceVectorRegressor(kernels.RBF(width).fixed(), max_vectors=most)


MODELS = (
    Model("posterity, roots, at most a tenth of the frames", partial(RootHistograms, 0.1), vectors),
    Model("posterity, roots", partial(RootHistograms, None), vectors),
    _ridge("RBF", kernels.RBF()),
    _ridge("chi-squared", kernels.ChiSquared()),
    Model("1 nearest neighbour", partial(neighbour, False), every),
    Model("1 nearest neighbour, columns scaled", partial(neighbour, True), every),
    Model("linear", LinearRegression, none),
    Model("mean pose", DummyRegressor, none),
)


def frames(step: int = 1) -> Data:
    """The stored split, every so many frames of it."""
    with np.load(FOLDER / "agarwal_triggs_silhouette.npz", allow_pickle=False) as file:
        keys = ("X_train", "Y_train", "X_test", "Y_test")
        return Data(*(file[key][::step].astype(np.float64) for key in keys))


def joint_distance(predicted: Array, recorded: Array) -> float:
    """Mean distance over frames and joints.

    Examples
    --------
    >>> import numpy as np
    >>> joint_distance(np.zeros((2, 6)), np.tile([3.0, 4.0, 0.0, 0.0, 0.0, 1.0], (2, 1)))
    3.0
    """
    difference = np.reshape(predicted - recorded, (len(recorded), -1, 3))
    return float(np.mean(np.linalg.norm(difference, axis=2)))


def run(options: Options, models: Sequence[Model] = MODELS) -> None:
    """Fit every model; write and show distances and frames kept."""
    if not FOLDER.exists():
        message = f"{FOLDER_NAME} is not beside the repository."
        options.console.print(f"pose: skipped, because {message}")
        return
    step, runs = (QUICK if options.quick else 1), []
    with harness.threads_of_children(options.threads):
        for model in models:
            options.console.print(f"pose: {model.name}")
            numbers = harness.in_new_process(fit_step, model, step, options.threads)
            runs.append({"contender": model.name, **numbers})
    data = frames(step)
    task = {
        "name": "silhouettes",
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "outputs": data.y.shape[1],
        "test_rows": len(data.y_test),
        "runs": runs,
    }
    title = "Human poses from silhouettes"
    result = {"benchmark": "pose", "title": title, **machine.describe(), "tasks": [task]}
    report.publish(result, page(result), options)


def fit_step(model: Model, step: int, threads: int | None) -> dict[str, Any]:
    """Seconds, distance and frames kept of one model."""
    data = frames(step)
    few = slice(None, None, -(-len(data.y) // WARM_UP_ROWS))
    return worker.run_after_warm_up(
        lambda: model.build().fit(data.X[few], data.y[few]),
        lambda: _fit_and_predict(model, data),
        threads,
    )


def _fit_and_predict(model: Model, data: Data) -> dict[str, Any]:
    built = model.build()
    _, (fit_s, _) = worker.time_work(lambda: built.fit(data.X, data.y))
    predicted, (predict_s, _) = worker.time_work(lambda: built.predict(data.X_test))
    kernel = getattr(built, "kernel_", None)
    return {
        "joint_distance": joint_distance(predicted, data.y_test),
        "kept": model.kept(built, len(data.y)),
        "fit_wall_s": fit_s,
        "predict_wall_s": predict_s,
        **({} if kernel is None else {"kernel": f"{kernel}"}),
    }


def page(result: dict[str, Any]) -> str:
    """A table of the models."""
    (task,) = result["tasks"]
    size = f"{task['rows']:,} x {task['columns']}, {task['outputs']} outputs, "
    lines = [f"# {result['title']}: {size}{task['test_rows']} test frames", ""]
    lines += [*report.provenance(result), "", NOTE, ""]
    heading = ["", "joint distance", "frames kept", "share, %", "fit, s", "predict, s"]
    body = [_table_row(found, task["rows"]) for found in task["runs"]]
    return "\n".join([*lines, *report.table(heading, body), ""])


def _table_row(found: dict[str, Any], rows: int) -> list[str]:
    numbers = (100.0 * found["kept"] / rows, found["fit_wall_s"], found["predict_wall_s"])
    distance = report.number(found["joint_distance"])
    return [found["contender"], distance, f"{found['kept']:,}", *map(report.number, numbers)]


def main(
    names: Annotated[list[str] | None, typer.Option("--model", help="Models; none: all.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Fit some models to every frame; anything less than all is only shown."""
    some = [model for model in MODELS if names is None or model.name in names]
    folder = None if names is None else Options(quick=True).results
    run(Options(threads=threads, console=Console(), folder=folder), some)


if __name__ == "__main__":
    typer.run(main)
