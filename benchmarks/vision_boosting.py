"""Trees on Haar features of windows: the loop of the detector beside the engine of the library.

``python -m benchmarks vision_boosting`` learns from the same windows with both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine, report, vision_data, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity.trees.boosting import candidates
from posterity.trees.boosting.tree_records import TreeRules
from posterity.vision.haar import HaarFeatures, WindowRows
from posterity.vision.windows import boosting, samples
from posterity.vision.windows.pyramid import Inset
from posterity.vision.windows.samples import Background, Variations

WINDOW = (24, 24)
N_TESTS = 300
N_TREES = 24
RATE = 0.5
NOTE = (
    "Trees of two levels from 300 features that are drawn afresh for each, learning rate 0.5, one "
    "thread; half of the windows are varied faces, half are drawn from scenes. Log loss is that of "
    "other faces and other scenes. The loop of the detector codes features by 64 even steps, looks "
    "only at the windows that hold 99.5 % of the weight, and finds the values of leaves by four "
    "Newton steps; the engine codes by quantiles, looks at all windows, and takes one step."
)


def draw_windows(n: int) -> tuple[list[WindowRows], list[NDArray[np.bool_]]]:
    """Windows to learn from and to test on, and which of them are faces."""
    faces, groups = vision_data.read_faces()
    scenes = vision_data.read_scenes()
    rng = np.random.default_rng(0)
    nothing = np.empty((0, 4))
    held = groups % 5 == 0
    rows, classes = [], []
    for part, share in ((~held, 1), (held, 2)):
        some = [scene[None] for k, scene in enumerate(scenes) if (k % 5 == 0) == (share == 2)]
        background = Background(some, [nothing] * len(some), WINDOW, "gray", Inset())
        objects = samples.cut_windows(
            faces[part][:, None], WINDOW, Inset(0.1, 0.1, 0.1, 0.1), n // share, Variations(), rng
        )
        others = background.draw(n // share, 6.0, rng)
        rows.append(WindowRows.from_pixels(np.concatenate([objects, others])))
        classes.append(np.arange(len(rows[-1])) < len(objects))
    return rows, classes


def boost_windows(
    rows: list[WindowRows], classes: list[NDArray[np.bool_]]
) -> tuple[Array, float, float]:
    """Activations of the windows to test on by the loop of the detector, and its seconds."""
    features = HaarFeatures((1, *WINDOW))
    rules = boosting.Rules(n_tests=N_TESTS, depth=2, learning_rate=RATE)
    windows = boosting.BoostedWindows(features, rows[0], classes[0], np.zeros(len(rows[0])))
    windows.boost(1, rules, np.random.default_rng(1))  # compiles
    windows.activation[:] = 0.0
    trees, (_, seconds) = worker.time_work(
        lambda: windows.boost(N_TREES, rules, np.random.default_rng(0))
    )
    return boosting.evaluate_trees(trees, rows[1]), seconds, windows.log_loss()


def boost_in_engine(
    rows: list[WindowRows], classes: list[NDArray[np.bool_]]
) -> tuple[Array, float, float]:
    """The same by the engine: windows to test on follow with weight zero."""
    together = rows[0].append(rows[1])
    is_object = np.concatenate(classes)
    weights = np.repeat([1.0, 0.0], [len(rows[0]), len(rows[1])])
    features = HaarFeatures((1, *WINDOW))

    def derive(latents: Array) -> tuple[Array, Array]:
        p = 1.0 / (1.0 + np.exp(-latents))
        return is_object[:, None] - p, p * (1.0 - p)

    def boost(n: int, X: WindowRows, counts: Array) -> Array:
        rules = candidates.FreshRules(
            n, N_TESTS, RATE, TreeRules("level", max_depth=2, prior_precision=1.0)
        )
        start = np.zeros((len(X), 1))
        rng = np.random.default_rng(0)
        return candidates.boost_fresh_tests(features, X, derive, counts, start, rules, rng, 1)[1][
            :, 0
        ]

    boost(1, together, weights)  # compiles
    latents, (_, seconds) = worker.time_work(lambda: boost(N_TREES, together, weights))
    n = len(rows[0])
    return latents[n:], seconds, _log_loss(latents[:n], classes[0])


def _log_loss(activation: Array, is_object: NDArray[np.bool_]) -> float:
    return float(np.mean(np.logaddexp(0.0, np.where(is_object, -activation, activation))))


def run(options: Options) -> None:
    """Learn from the same windows with both; write and show the scores."""
    if not vision_data.FACES.exists():
        options.console.print("vision_boosting: skipped, because shared/data/vision is not here")
        return
    rows, classes = draw_windows(500 if options.quick else 5000)
    runs: list[dict[str, Any]] = []
    for name, boost in (("detector", boost_windows), ("engine", boost_in_engine)):
        activation, seconds, own = boost(rows, classes)
        runs.append(
            {
                "contender": name,
                "windows": len(rows[0]),
                "ms_a_tree": 1000.0 * seconds / N_TREES,
                "log_loss_learned": own,
                "log_loss": _log_loss(activation, classes[1]),
            }
        )
    task = {"name": "windows of faces and scenes", "runs": runs}
    title = "Boosted trees on windows"
    described = machine.describe()
    result = {"benchmark": "vision_boosting", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table of both."""
    columns = (
        ("windows", "windows"),
        ("ms_a_tree", "a tree, CPU ms"),
        ("log_loss_learned", "log loss, windows learned from"),
        ("log_loss", "log loss, other windows"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
        for run in task["runs"]
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["loop", *(heading for _, heading in columns)]
    return "\n".join([*lines, *report.table(heading, body), ""])
