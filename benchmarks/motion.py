"""Walking and running: joints that were not seen, from those that were, in motions held out.

The protocol is that of Taylor, Hinton and Roweis (2007): angles scaled as theirs, 31 motions to
learn from and two held out, of which the right leg or the upper body is hidden in every frame.
``python -m benchmarks.motion --model "nearest neighbour"`` fits one of the models.
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
from scipy import special

from benchmarks import harness, machine, motion_models, report, worker
from benchmarks.cases import Array, Scores
from benchmarks.options import Options

FOLDER_NAME = "shared/data/gplvm"
FOLDER = Path(__file__).parents[2] / FOLDER_NAME
POSITION, TURN = slice(0, 3), slice(3, 6)  # of the body as a whole
CONSTANT = (38, 39, 47, 50, 51, 59)  # angles that were not recorded
ANGLES = [i for i in range(6, 62) if i not in CONSTANT]
FIRST_ANGLE = 9  # after three positions, three sines and three cosines
RIGHT_LEG, UPPER_BODY = range(13, 20), range(20, 62)
QUICK = 20  # a rehearsal takes every so many frames
SEQUENCES = ("first", "second")
NOTE = (
    "Errors are in degrees, over the hidden angles of all frames of a motion; coverage is that of "
    "the central intervals, the log score that of the normal with the mean and the standard "
    "deviation told, per degree (higher is better). Each model is fitted to whole frames once. "
    "GPLVM is told which motion a frame is of, and widens its bands by leaving motions out; the "
    "others take frames for independent."
)


@dataclass(frozen=True)
class Frames:
    """Scaled frames to learn from and held out, with the motion of each."""

    Y: Array
    groups: Array
    Y_test: Array
    groups_test: Array
    degrees: Array  # what one unit of each column is


@dataclass(frozen=True)
class Model:
    """As the table names it, and how it is made."""

    name: str
    build: Callable[[], Any]


def _latent(*sizes: int, **options: Any) -> Callable[[], motion_models.Latent]:
    return partial(motion_models.Latent, *sizes, **options)


VARIATIONAL = {"inference": "variational"}
MODELS = (
    Model("posterity GPLVM, 4 dimensions", _latent(4, 100)),
    Model("posterity GPLVM, 4 dimensions, dynamics", _latent(4, 100, moving=True)),
    Model("posterity GPLVM, variational", _latent(8, 60, **VARIATIONAL)),
    Model("posterity GPLVM, variational, dynamics", _latent(8, 60, moving=True, **VARIATIONAL)),
    Model("posterity PCA, conditional normal", motion_models.Components),
    Model("posterity BayesianLinearRegression", motion_models.Ridge),
    Model("nearest neighbour", motion_models.Neighbour),
    Model("mean pose", motion_models.MeanPose),
)


def joints(numbers: Sequence[int]) -> list[int]:
    """The columns of angles, by their numbers in the recording."""
    return [FIRST_ANGLE + ANGLES.index(i) for i in numbers if i in ANGLES]


HIDDEN = {"right leg": joints(RIGHT_LEG), "upper body": joints(UPPER_BODY)}


def frames(step: int = 1) -> Frames:
    """The recordings in Taylor's units, every so many frames."""
    with np.load(FOLDER / "cmu35_walk_jog.npz", allow_pickle=False) as file:
        bias, scale = file["taylor_bias"], file["taylor_scale"]
        Y, Y_test = ((_columns(file[key][::step]) - bias) * scale for key in ("Y", "Y_test"))
        return Frames(Y, file["seq"][::step], Y_test, file["seq_test"][::step], 1.0 / scale[0])


def _columns(recorded: Array) -> Array:
    """Position, sine and cosine of the turn, and the angles that vary."""
    turn = np.deg2rad(recorded[:, TURN])
    return np.hstack([recorded[:, POSITION], np.sin(turn), np.cos(turn), recorded[:, ANGLES]])


def score_errors(error: Array, deviation: Array | None) -> Scores:
    """Score errors and standard deviations in degrees.

    Examples
    --------
    >>> score_errors(np.array([[3.0, -3.0]]), None)
    {'rmse': 3.0}
    """
    scores = {"rmse": float(np.sqrt(np.mean(error**2)))}
    if deviation is None:
        return scores
    z = error / deviation
    log_density = -0.5 * (z**2 + np.log(2.0 * np.pi)) - np.log(deviation)
    within = {f"coverage_{p}": special.ndtri(0.5 + p / 200.0) for p in (90, 50)}
    shares = {key: float(np.mean(np.abs(z) <= bound)) for key, bound in within.items()}
    return scores | shares | {"log_score": float(np.mean(log_density))}


def run(options: Options, models: Sequence[Model] = MODELS) -> None:
    """Fit every model; write and show how well it fills in each set of joints."""
    if not FOLDER.exists():
        message = f"{FOLDER_NAME} is not beside the repository."
        options.console.print(f"motion: skipped, because {message}")
        return
    step, runs = (QUICK if options.quick else 1), []
    with harness.threads_of_children(options.threads):
        for model in models:
            options.console.print(f"motion: {model.name}")
            numbers = harness.in_new_process(complete_frames, model, step, options.threads)
            runs.append({"contender": model.name, **numbers})
    result = {
        "benchmark": "motion",
        "title": "Walking and running: joints that were not seen",
        **machine.describe(),
        "tasks": [{"name": "motion capture", "runs": runs}],
    }
    report.publish(result, page(result), options)


def complete_frames(model: Model, step: int, threads: int | None) -> dict[str, Any]:
    """Seconds and scores of one model."""
    data = frames(step)
    few = slice(None, None, -(-len(data.Y) // 100))
    return worker.run_after_warm_up(
        lambda: model.build().fit(data.Y[few], data.groups[few]),
        lambda: _score_model(model, data),
        threads,
    )


def _score_model(model: Model, data: Frames) -> dict[str, Any]:
    built = model.build()
    _, (fit_s, _) = worker.time_work(lambda: built.fit(data.Y, data.groups))
    return {
        "fit_wall_s": fit_s,
        **{name: _fill_columns(built, data, columns) for name, columns in HIDDEN.items()},
    }


def _fill_columns(built: motion_models.Way, data: Frames, columns: list[int]) -> dict[str, Any]:
    """Scores of each motion, the columns hidden in all of its frames."""
    H = data.Y_test.copy()
    H[:, columns] = np.nan
    (mean, deviation), (seconds, _) = worker.time_work(lambda: built.complete(H, data.groups_test))
    unit = data.degrees[columns]
    error = (data.Y_test[:, columns] - mean) * unit
    spread = None if deviation is None else deviation * unit
    numbers = {}
    for code, name in enumerate(SEQUENCES):
        rows = data.groups_test == code
        numbers[name] = score_errors(error[rows], None if spread is None else spread[rows])
    return {"complete_wall_s": seconds, **numbers}


def page(result: dict[str, Any]) -> str:
    """A table for each set of joints: models by scores of both motions."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    for name in HIDDEN:
        heading = ["", *(f"{said}, {which}" for said in SCORES.values() for which in SEQUENCES)]
        heading += ["fit, s", "complete, s"]
        body = [_table_row(run, name) for run in result["tasks"][0]["runs"]]
        lines += [f"## {name}", "", *report.table(heading, body), ""]
    return "\n".join(lines)


SCORES = {
    "rmse": "RMSE",
    "coverage_90": "90 % coverage",
    "coverage_50": "50 % coverage",
    "log_score": "log score",
}


def _table_row(run: dict[str, Any], name: str) -> list[str]:
    found = run[name]
    scores = [found[which].get(key) for key in SCORES for which in SEQUENCES]
    seconds = (run["fit_wall_s"], found["complete_wall_s"])
    return [run["contender"], *map(report.number, (*scores, *seconds))]


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
