"""RelevanceVectorRegressor and -Classifier beside their peers: the same kernel, the same model.

The packages that take minutes for a thousand rows have pages of their own, with fewer rows.
"""

from functools import partial

from benchmarks import bananas, friedman, harness, probabilities, relevance_machines
from benchmarks.cases import Benchmark, Contender, Size, Task, predict_mean
from benchmarks.options import Options
from benchmarks.relevance_machines import WIDTH, WIDTH_OF_CLASSES

_regressor = partial(Contender, facts=relevance_machines.facts)
_classifier = partial(Contender, predict=probabilities.predict, facts=relevance_machines.facts)


def _friedman(rows: int) -> Task:
    size = Size(rows, friedman.COLUMNS)
    return Task("Friedman's function", size, friedman.generate, friedman.score)


def _bananas(rows: int) -> Task:
    return Task("2 bananas", Size(rows, 2), bananas.generate, probabilities.score)


_OURS = _regressor("posterity RelevanceVectorRegressor", relevance_machines.PosterityRegressor)
_OFFSET = _regressor("posterity, with an offset", relevance_machines.PosterityWithOffset)
_FAST = _regressor("fastrvm RVR", relevance_machines.FastRegressor, needs="fastrvm")
_ALTERNATING = _regressor(
    "sklearn-rvm EMRVR", relevance_machines.AlternatingRegressor, needs="sklearn_rvm"
)
_DETERMINATION = _regressor("scikit-learn ARDRegression", relevance_machines.PeerDetermination)
_SVR = _regressor("scikit-learn SVR", relevance_machines.PeerRegressor, predict=predict_mean)

_OUR_CLASSES = _classifier(
    "posterity RelevanceVectorClassifier", relevance_machines.PosterityClassifier
)
_FAST_CLASSES = _classifier("fastrvm RVC", relevance_machines.FastClassifier, needs="fastrvm")
_ALTERNATING_CLASSES = _classifier(
    "sklearn-rvm EMRVC", relevance_machines.AlternatingClassifier, needs="sklearn_rvm"
)
_SVC = _classifier("scikit-learn SVC, calibrated by 5 folds", relevance_machines.PeerClassifier)

_SAME = (
    "All have the kernel RBF({width:g}) with a candidate for each row, and no offset. The log "
    "evidence is computed by one function from the {found} that each "
    "package found, and not taken from what it tells."
)
_NOTE = _SAME.format(width=WIDTH, found="vectors, precisions and noise")
_NOTE_OF_CLASSES = _SAME.format(width=WIDTH_OF_CLASSES, found="vectors and precisions")
_SCALE = " Support vectors are there for scale: they have another loss, and penalty {c:g}."

REGRESSION = Benchmark(
    name="relevance_vectors",
    title="Relevance vector regression, kernel given; predictions with deviations",
    tasks=tuple(_friedman(n) for n in (500, 1_000, 2_000, 4_000)),
    contenders=(_OURS, _OFFSET, _FAST, _SVR),
    note=_NOTE + _SCALE.format(c=relevance_machines.SVM_PENALTY),
)

FEW_ROWS = Benchmark(
    name="relevance_vectors_few",
    title="Relevance vector regression of few rows, kernel given; predictions with deviations",
    tasks=(_friedman(500),),
    contenders=(_OURS, _FAST, _ALTERNATING, _DETERMINATION),
    note=_NOTE + " ARDRegression is given the columns of the kernel.",
)

CLASSES = Benchmark(
    name="relevance_vectors_classes",
    title="Relevance vector classification, kernel given",
    tasks=tuple(_bananas(n) for n in (500, 1_000, 2_000)),
    contenders=(_OUR_CLASSES, _FAST_CLASSES, _SVC),
    note=_NOTE_OF_CLASSES + _SCALE.format(c=1.0),
)

FEW_ROWS_OF_CLASSES = Benchmark(
    name="relevance_vectors_classes_few",
    title="Relevance vector classification of few rows, kernel given",
    tasks=(_bananas(250),),
    contenders=(_OUR_CLASSES, _FAST_CLASSES, _ALTERNATING_CLASSES),
    note=_NOTE_OF_CLASSES,
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    for benchmark in (REGRESSION, FEW_ROWS, CLASSES, FEW_ROWS_OF_CLASSES):
        harness.run(benchmark, options)
