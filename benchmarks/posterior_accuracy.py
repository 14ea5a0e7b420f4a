"""How far Laplace and expectation propagation are from the exact posterior, on small sets.

The exact probabilities are averages over long Markov chains, and the exact evidence is annealed
importance sampling, both with their errors; of two weights they are integrals on a grid. Nothing
is learned: every kernel and every prior is given, so that all compare one and the same posterior.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import gaussian_process as gp
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from benchmarks import bananas, exact_posteriors, machine, report
from benchmarks.cases import Data, Size
from benchmarks.options import Options
from posterity import kernels
from posterity.linear import BayesianLogisticRegression
from posterity.process import GaussianProcessClassifier

TEST_ROWS, SEED = 200, 0
LENGTH_SCALE = 0.7
SHOWN = {"mean_error": "{:.4f}", "largest_error": "{:.4f}", "log_evidence_off": "{:+.3f}"}


@dataclass(frozen=True)
class Case:
    """Data, approximations of their posterior, and how the posterior itself is found."""

    name: str
    data: Data
    models: dict[str, Any]
    reference: Callable[[exact_posteriors.Effort], exact_posteriors.Reference]


def cases() -> list[Case]:
    """What is measured, in order."""
    return [
        two_weights(rows=50, prior_variance=4.0),
        process(rows=60, classes=2, variance=1.0),
        process(rows=60, classes=2, variance=25.0),
        process(rows=60, classes=3, variance=4.0),
    ]


def process(rows: int, classes: int, variance: float) -> Case:
    """Bananas under a Gaussian process whose kernel is given."""
    data = bananas.generate(np.random.default_rng(SEED), Size(rows, 2, TEST_ROWS), classes)
    kernel = kernels.Scaled(kernels.RBF(LENGTH_SCALE), variance).fixed()
    models: dict[str, Any] = {"posterity, Laplace": _posterity(kernel, "laplace")}
    if classes == 2:
        models["posterity, propagation"] = _posterity(kernel, "propagation")
        theirs = ConstantKernel(variance) * RBF(LENGTH_SCALE)
        models["scikit-learn, Laplace"] = gp.GaussianProcessClassifier(theirs, optimizer=None)
    else:
        models["posterity, nearest normal"] = _posterity(kernel, "auto")
    return Case(
        f"Gaussian process, {classes} classes, {rows} rows, variance {variance:g}",
        data,
        models,
        lambda effort: exact_posteriors.sample_posterior(data, kernel, classes, effort),
    )


def _posterity(kernel: kernels.Kernel, inference: str) -> GaussianProcessClassifier:
    return GaussianProcessClassifier(kernel, "zero", inference=inference)


def two_weights(rows: int, prior_variance: float) -> Case:
    """Logistic regression with two weights and no offset."""
    rng = np.random.default_rng(SEED)
    X, X_test = rng.standard_normal((rows, 2)), 2.0 * rng.standard_normal((TEST_ROWS, 2))
    y = (X @ [2.0, -1.0] + rng.logistic(size=rows) > 0.0).astype(np.float64)
    data = Data(X, y, X_test, np.zeros(TEST_ROWS))
    model = BayesianLogisticRegression(
        prior_variance=prior_variance, fit_intercept=False, standardize=False
    )
    return Case(
        f"Logistic regression, 2 weights, {rows} rows, prior variance {prior_variance:g}",
        data,
        {"posterity, Laplace": model},
        lambda effort: exact_posteriors.integrate_posterior(data, prior_variance),
    )


def run(options: Options) -> dict[str, Any]:
    """Fit, sample, compare; write and show how far apart they are."""
    effort = exact_posteriors.REHEARSAL if options.quick else exact_posteriors.Effort()
    result = {
        "benchmark": "posterior_accuracy",
        "title": "Probabilities and evidences beside the exact ones",
        **machine.describe(),
        "effort": vars(effort),
        "tasks": [compare_models(case, effort) for case in cases()],
    }
    report.publish(result, page(result), options)
    return result


def compare_models(case: Case, effort: exact_posteriors.Effort) -> dict[str, Any]:
    """The errors of every approximation."""
    start = time.perf_counter()
    exact = case.reference(effort)
    seconds = time.perf_counter() - start
    return {
        "name": case.name,
        "log_evidence": exact.log_evidence,
        "reference_s": seconds,
        **exact.facts,
        "models": {name: errors(m, case.data, exact) for name, m in case.models.items()},
    }


def errors(model: Any, data: Data, exact: exact_posteriors.Reference) -> dict[str, float]:
    """Return the errors of test probabilities and log evidence, and seconds of the fit."""
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    off = np.abs(model.predict_proba(data.X_test) - exact.probabilities)
    peer = isinstance(model, gp.GaussianProcessClassifier)
    found = model.log_marginal_likelihood_value_ if peer else model.log_evidence_
    return {
        "mean_error": float(off.mean()),
        "largest_error": float(off.max()),
        "log_evidence_off": float(found - exact.log_evidence),
        "fit_wall_s": seconds,
    }


def page(result: dict[str, Any]) -> str:
    """A table a case, and how well the exact numbers are known."""
    lines = [f"# {result['title']}", "", *report.provenance(result)]
    lines += [f"Probabilities at {TEST_ROWS} fresh rows, nothing learned.", ""]
    heading = ["", "mean error", "largest error", "log evidence, less the exact"]
    for task in result["tasks"]:
        body = [
            [name, *(form.format(row[key]) for key, form in SHOWN.items())]
            for name, row in task["models"].items()
        ]
        lines += [f"## {task['name']}", "", known(task), "", *report.table(heading, body), ""]
    return "\n".join(lines)


def known(task: dict[str, Any]) -> str:
    """A sentence on the exact numbers."""
    if "effective_size" not in task:
        return f"Exact, on a grid: log evidence {task['log_evidence']:.3f}."
    return (
        f"By Markov chains: log evidence {task['log_evidence']:.3f} with standard error "
        f"{task['log_evidence_error']:.3f}; that of a probability is at most "
        f"{task['probability_error']:.4f}. The largest R is {task['scale_reduction']:.3f}, the "
        f"least effective number of draws {task['effective_size']:,.0f}."
    )
