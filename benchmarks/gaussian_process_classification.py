"""GaussianProcessClassifier beside its peers: a whole fit, and probabilities of fresh rows.

The second page is of expectation propagation; the third of three classes, which posterity couples
by the softmax, and scikit-learn takes one against the rest.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import bananas, gaussian_process, harness, probabilities, process_classifiers
from benchmarks.cases import Benchmark, Contender, Size, Task
from benchmarks.options import Options
from posterity.process import GaussianProcessClassifier


def _contender(
    name: str,
    build: Callable[[], Any],
    facts: Callable[[Any], Any] = process_classifiers.posterity_facts,
    needs: str | None = None,
) -> Contender:
    return Contender(name, build, predict=probabilities.predict, facts=facts, needs=needs)


def _task(rows: int, classes: int = 2) -> Task:
    make = partial(bananas.generate, classes=classes)
    return Task(f"{classes} bananas", Size(rows, 2), make, probabilities.score)


_DEFAULT = _contender("posterity GaussianProcessClassifier", GaussianProcessClassifier)
_SAME = _contender("posterity, the model of the others", process_classifiers.posterity)
_ONE_START = _contender(
    "posterity, the same, one start", partial(process_classifiers.posterity, n_restarts=0)
)
_SCIKIT_LEARN = _contender(
    "scikit-learn GaussianProcessClassifier",
    process_classifiers.scikit_learn,
    process_classifiers.scikit_learn_facts,
)

_PROPAGATION = _contender(
    "posterity, propagation", partial(process_classifiers.posterity, "propagation")
)
_GPY_LAPLACE = _contender(
    "GPy, Laplace", process_classifiers.gpy_laplace, process_classifiers.gpy_facts, "GPy"
)
_GPY_PROPAGATION = _contender(
    "GPy, propagation", process_classifiers.gpy_propagation, process_classifiers.gpy_facts, "GPy"
)

TWO = Benchmark(
    name="gaussian_process_classification",
    title="Gaussian process classification, two classes, Laplace, parameters learned",
    tasks=(_task(500), _task(1_000), _task(2_000)),
    contenders=(_SAME, _ONE_START, _DEFAULT, _SCIKIT_LEARN, _GPY_LAPLACE),
    note="The first two rows and scikit-learn have one model: variance x RBF with one length "
    "scale, no offset, the logistic sigmoid; posterity tries three starts, or one as scikit-learn "
    "does. By default posterity has a length scale for each input and an offset, and ends with the "
    "posterior of expectation propagation. GPy has the same kernel, but the normal distribution "
    "function as its sigmoid: its evidence is of another model.",
)

PROPAGATION = Benchmark(
    name="gaussian_process_propagation",
    title="Gaussian process classification, expectation propagation, parameters learned",
    tasks=(_task(200), _task(500)),
    contenders=(_PROPAGATION, _SAME, _GPY_PROPAGATION),
    note="The second row is Laplace's approximation of the same model. GPy has the normal "
    "distribution function as its sigmoid, so that its evidence is of another model.",
)

THREE = Benchmark(
    name="gaussian_process_classification_three",
    title="Gaussian process classification, three classes, parameters learned",
    tasks=(_task(1_000, 3),),
    contenders=(_SAME, _ONE_START, _DEFAULT, _SCIKIT_LEARN),
    note="posterity's classes are coupled by the softmax and share a kernel; scikit-learn's have a "
    "kernel each and are taken one against the rest, which has no evidence as a whole.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    for benchmark in (TWO, PROPAGATION, THREE):
        harness.run(benchmark, options, gaussian_process.measure)
