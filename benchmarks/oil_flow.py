"""Three kinds of flow in a pipe, twelve measurements, in two dimensions: are neighbours alike?

A row is an error where its nearest neighbour among the others is of another kind. No model sees
the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks import harness, latent_models, machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import GPLVM, PCA, KernelPCA

FOLDER_NAME = "shared/data/gplvm"
FOLDER = Path(__file__).parents[2] / FOLDER_NAME
STEPS, MOST_DIMENSIONS, CARRIERS = 1000, 10, 30
QUICK = 10  # steps of a rehearsal
EFFECTIVE = 0.01  # relevance, in units of the largest, of a dimension that counts
NOTE = (
    "Errors of 100 rows. Of a model with more than two dimensions, the two that matter most, in "
    "units of their length scales; its "
    f"dimensions are those whose relevance is above {EFFECTIVE} of the largest. Reported by "
    "others: PCA 20, generative topographic mapping 7, GPLVM 4."
)


@dataclass(frozen=True)
class Placed:
    """Rows in two dimensions, and how many the model uses."""

    points: Array
    dimensions: int = 2


@dataclass(frozen=True)
class Model:
    """As the table names it, and how it places rows, in so many steps."""

    name: str
    place: Callable[[Array, int], Placed]
    needs: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether its package is installed."""
        return self.needs is None or util.find_spec(self.needs) is not None


def linear(Y: Array, steps: int) -> Placed:
    """Place the rows along two principal components."""
    return Placed(PCA(2).fit_transform(Y))


def kernel_components(Y: Array, steps: int) -> Placed:
    """Kernel principal components, the kernel as it comes."""
    return Placed(KernelPCA(2).fit_transform(Y))


def most_probable(Y: Array, steps: int, *, back_constraints: bool = False) -> Placed:
    """GPLVM, latent points free or a function of their rows."""
    model = GPLVM(2, back_constraints=back_constraints, max_iter=steps)
    return Placed(model.fit(Y).embedding_)


def peer(Y: Array, steps: int) -> Placed:
    """The most probable points, by GPy."""
    return Placed(latent_models.GPy(2, steps).fit(Y).points)


def bayesian(kind: type[latent_models.PosterityVariational], Y: Array, steps: int) -> Placed:
    """Many dimensions, of which most switch themselves off."""
    model = kind(MOST_DIMENSIONS, steps, CARRIERS).fit(Y)
    return most_relevant(model.points, model.relevances)


def most_relevant(points: Array, relevances: Array) -> Placed:
    """The two dimensions that matter most, each in units of its length scale.

    Examples
    --------
    >>> points = np.array([[-3.0, -1.0, -2.0], [3.0, 1.0, 2.0]])
    >>> most_relevant(points, np.array([0.25, 0.001, 1.0]))
    Placed(points=array([[-1. , -0.5],
           [ 1. ,  0.5]]), dimensions=2)
    """
    order = np.argsort(-relevances, kind="stable")[:2]
    deviations = np.std(points[:, order], axis=0)
    scaled = points[:, order] * np.sqrt(relevances[order]) / deviations
    return Placed(scaled, int(np.sum(relevances > EFFECTIVE)))


MODELS = (
    Model("posterity PCA", linear),
    Model("posterity KernelPCA", kernel_components),
    Model("posterity GPLVM", most_probable),
    Model("posterity GPLVM, back constraints", partial(most_probable, back_constraints=True)),
    Model("posterity GPLVM, variational", partial(bayesian, latent_models.PosterityVariational)),
    Model("GPy GPLVM", peer, needs="GPy"),
    Model("GPy BayesianGPLVM", partial(bayesian, latent_models.GPyVariational), needs="GPy"),
)


def rows() -> tuple[Array, Array]:
    """Measurements, (100, 12), and the kind of each."""
    with np.load(FOLDER / "oil_flow100.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float64), file["y"].astype(np.float64)


def neighbour_errors(points: Array, kinds: Array) -> int:
    """Rows whose nearest neighbour is of another kind.

    Examples
    --------
    >>> neighbour_errors(np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([0.0, 0.0, 1.0, 0.0]))
    2
    """
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    return int(np.sum(kinds[np.argmin(distances, axis=1)] != kinds))


def run(options: Options, models: Sequence[Model] = MODELS) -> None:
    """Place the rows by every model; write and show the errors."""
    if not FOLDER.exists():
        message = f"{FOLDER_NAME} is not beside the repository."
        options.console.print(f"oil_flow: skipped, because {message}")
        return
    steps, runs = (QUICK if options.quick else STEPS), []
    with harness.threads_of_children(options.threads):
        for model in models:
            if model.is_here:
                options.console.print(f"oil_flow: {model.name}")
                numbers = harness.in_new_process(place_rows, model, steps, options.threads)
                runs.append({"contender": model.name, **numbers})
    result = {
        "benchmark": "oil_flow",
        "title": "Flow in a pipe: nearest neighbours in two dimensions",
        **machine.describe(),
        "not_installed": [model.name for model in models if not model.is_here],
        "tasks": [{"name": "oil flow", "runs": runs}],
    }
    report.publish(result, page(result), options)


def place_rows(model: Model, steps: int, threads: int | None) -> dict[str, Any]:
    """Errors, dimensions and seconds of one model."""
    Y, kinds = rows()
    return worker.run_after_warm_up(
        lambda: model.place(Y[::2], 2), lambda: _score_model(model, Y, kinds, steps), threads
    )


def _score_model(model: Model, Y: Array, kinds: Array, steps: int) -> dict[str, Any]:
    found, (seconds, _) = worker.time_work(lambda: model.place(Y, steps))
    return {
        "errors": neighbour_errors(found.points, kinds),
        "dimensions": found.dimensions,
        "fit_wall_s": seconds,
    }


def page(result: dict[str, Any]) -> str:
    """A table of the models."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    if result["not_installed"]:
        lines += [f"Left out, because not installed: {', '.join(result['not_installed'])}.", ""]
    body = [
        [
            run["contender"],
            f"{run['errors']}",
            f"{run['dimensions']}",
            report.number(run["fit_wall_s"]),
        ]
        for run in result["tasks"][0]["runs"]
    ]
    table = report.table(["", "errors", "dimensions", "fit, s"], body)
    return "\n".join([*lines, *table, ""])
