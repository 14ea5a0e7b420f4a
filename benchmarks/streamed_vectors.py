"""Relevance vectors of more rows than memory has room for the kernel between: N x N is not formed.

Every fit has a fresh process, so that its memory is its own.
"""

from functools import partial

from benchmarks import friedman, harness, relevance_machines
from benchmarks.cases import Benchmark, Contender, Size, Task
from benchmarks.options import Options

ROWS = (12_500, 50_000)
GIB = 2**30


def _task(rows: int) -> Task:
    size = Size(rows, friedman.COLUMNS)
    return Task("Friedman's function", size, friedman.generate, friedman.score)


_contender = partial(Contender, facts=relevance_machines.facts)
_MATRICES = ", ".join(f"{8.0 * n**2 / GIB:.1f}" for n in ROWS)

BENCHMARK = Benchmark(
    name="streamed_vectors",
    title="Relevance vector regression, candidates streamed; predictions with deviations",
    tasks=tuple(_task(n) for n in ROWS),
    contenders=(_contender("posterity", relevance_machines.PosterityWithOffset),),
    note=f"The kernel between all rows would take {_MATRICES} GiB, and packages that form it are "
    f"not here. Given is RBF({relevance_machines.WIDTH:g}).",
)


def run(options: Options) -> None:
    """Measure and write the table."""
    harness.run(BENCHMARK, options)
