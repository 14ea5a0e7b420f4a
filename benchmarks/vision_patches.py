"""Classes of patches from Gabor features: faces labelled as those of women or men, by age.

``python -m benchmarks.vision_patches`` measures and writes the results. The labels are those of the
example of the sources; the page on patches says what such a classifier must not be used for.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import harness, machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from benchmarks.vision_body_parts import find_calibration_error
from posterity import BayesianLogisticRegression
from posterity.vision import Gabor, PatchClassifier

FACES = Path(__file__).parents[2] / "shared/data/vision/gender_utk60.npz"
AGES = (0, 10, 20, 40, 60, 120)
NOTE = (
    "10,000 faces of 60 x 60 pixels to learn from and 2,000 to test on, as the set is split; all "
    "methods have the same 1,064 Gabor magnitudes. The standard error of an accuracy of 91 % is "
    "0.6 points. Parameters of the peers are those of the design, not searched. Calibration "
    "error: mean gap between probability and accuracy of the predicted class, in ten bins."
)


def read_faces() -> tuple[Any, Any, Any, Any]:
    """Patches (N, 60, 60), labels, ages, and which of them are for testing."""
    from PIL import Image

    data = np.load(FACES)
    ends, raw = data["offset"], data["jpeg"].tobytes()
    patches = [
        np.asarray(Image.open(io.BytesIO(raw[a:b])).convert("L"))
        for a, b in itertools.pairwise(ends)
    ]
    return np.stack(patches), data["female"].astype(int), data["age"], data["test"] == 1


def build_lightgbm() -> Any:
    """LightGBM with 300 trees of 15 leaves, as in the design."""
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=300,
        learning_rate=0.08,
        num_leaves=15,
        colsample_bytree=0.3,
        n_jobs=1,
        random_state=0,
        verbose=-1,
    )


@dataclass(frozen=True)
class Contender:
    """A name, and how to build the classifier of patches."""

    name: str
    build: Callable[[], Any]


def _on_features(build: Callable[[], Any]) -> Any:
    return PatchClassifier(classifier=build())


CONTENDERS = (
    Contender("posterity PatchClassifier", partial(PatchClassifier, random_state=0)),
    Contender(
        "posterity Bayesian logistic regression", partial(_on_features, BayesianLogisticRegression)
    ),
    Contender(
        "scikit-learn logistic regression, C = 0.003",
        partial(
            _on_features,
            lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.003, max_iter=1000)),
        ),
    ),
    Contender("LightGBM", partial(_on_features, build_lightgbm)),
)


def score(p: Array, y: Array) -> dict[str, float]:
    """Accuracy in percent, log loss and calibration error of probabilities of the second class."""
    right = (p > 0.5) == (y == 1)
    own = np.clip(np.where(y == 1, p, 1.0 - p), 1e-12, 1.0)
    return {
        "accuracy": 100.0 * float(right.mean()),
        "log_loss": -float(np.log(own).mean()),
        "calibration_error": find_calibration_error(np.maximum(p, 1.0 - p), right.astype(float)),
    }


def measure(contender: Contender, quick: bool) -> dict[str, Any]:
    """Fit, and score the test patches as a whole and by age."""
    patches, y, age, test = read_faces()
    rows = np.flatnonzero(~test)[: 600 if quick else None]
    model = contender.build()
    _, (_, fit_s) = worker.time_work(lambda: model.fit(patches[rows], y[rows]))
    p, (_, predict_s) = worker.time_work(lambda: model.predict_proba(patches[test])[:, 1])
    numbers: dict[str, Any] = {
        **score(p, y[test]),
        "fit_cpu_s": fit_s,
        "predict_ms": 1000.0 * predict_s / int(test.sum()),
    }
    units = getattr(model.classifier_, "n_units_", None)
    by_age = {
        f"{low} to {high - 1}": {"n": int(some.sum()), **score(p[some], y[test][some])}
        for low, high in itertools.pairwise(AGES)
        if (some := (age[test] >= low) & (age[test] < high)).any()
    }
    return {**numbers, "units": units, "by_age": by_age}


def run(options: Options) -> None:
    """Measure all contenders; write and show the tables."""
    if not FACES.exists():
        options.console.print("vision_patches: skipped, because shared/data/vision is not here")
        return
    runs = []
    for contender in CONTENDERS:
        options.console.print(f"vision_patches: {contender.name}")
        with harness.threads_of_children(1):
            numbers = harness.in_new_process(_measure_after_warm_up, contender.name, options.quick)
        runs.append({"contender": contender.name, **numbers})
    task = {"name": "faces of 60 x 60 pixels", "runs": runs}
    result = {
        "benchmark": "vision_patches",
        "title": "Classes of patches",
        **machine.describe(),
        "tasks": [task],
    }
    report.publish(result, page(result), options)


def _measure_after_warm_up(name: str, quick: bool) -> dict[str, Any]:
    (contender,) = (one for one in CONTENDERS if one.name == name)
    few = np.zeros((2, 60, 60), dtype=np.uint8)
    return worker.run_after_warm_up(
        lambda: Gabor().fit_transform(few), lambda: measure(contender, quick), 1
    )


def page(result: dict[str, Any]) -> str:
    """A table of the classifiers, and one of the errors of the first by age."""
    columns = (
        ("accuracy", "accuracy, %"),
        ("log_loss", "log loss"),
        ("calibration_error", "calibration error"),
        ("fit_cpu_s", "fit, CPU s"),
        ("predict_ms", "patch, CPU ms"),
        ("units", "units"),
    )
    (task,) = result["tasks"]
    body = [[r["contender"], *(report.number(r.get(k)) for k, _ in columns)] for r in task["runs"]]
    ages = [
        [name, *(report.number(group[k]) for k in ("n", "accuracy", "log_loss"))]
        for name, group in task["runs"][0]["by_age"].items()
    ]
    return "\n".join(
        [
            *(f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""),
            *report.table(["classifier", *(heading for _, heading in columns)], body),
            *("", f"By age, {task['runs'][0]['contender']}:", ""),
            *report.table(["age", "patches", "accuracy, %", "log loss"], ages),
            "",
        ]
    )


if __name__ == "__main__":
    run(Options(threads=1, console=Console()))
