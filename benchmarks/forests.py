"""RandomForestClassifier beside other forests and boosted trees; and how far they are calibrated.

Two pages from one run: ``forests``, and ``calibration`` with the diagrams of the same fits.
"""

from benchmarks import calibration, forest_models, forest_scores, forest_sets, harness, report
from benchmarks.cases import Benchmark
from benchmarks.options import Options

BENCHMARK = Benchmark(
    name="forests",
    title="Forests and boosted trees: classes",
    tasks=(
        forest_sets.cover_task(forest_scores.of_classes),
        *forest_sets.real_tasks(forest_scores.of_classes),
    ),
    contenders=forest_models.classifiers(),
    note=f"{forest_models.TREES} trees or rounds each, none stopped early, otherwise the defaults; "
    "as many threads as BLAS has, for all that take them. posterity raises the average of its "
    "trees to a power that is learned on rows out of the bag; the plain average is shown too. "
    f"{forest_scores.CLASSES_NOTE} {forest_scores.SEEDS_NOTE} {forest_sets.SPLITS}",
)


def run(options: Options, benchmark: Benchmark = BENCHMARK) -> None:
    """Measure; write the tables, and those of calibration."""
    result = harness.run(benchmark, options, forest_scores.measure)
    diagrams = calibration.of_run(result, "calibration", "Reliability of forests and boosted trees")
    report.publish(diagrams, calibration.page(diagrams), options)
