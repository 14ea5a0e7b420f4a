"""The README's tables of measurements: chosen rows, every number from ``benchmarks/results``.

``python -m benchmarks.summary`` writes each between its two marks of the README.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import compact, readings, report
from benchmarks.highlights import ADVICE, ROWS, Advice, Measure, Row
from benchmarks.readings import RESULTS, Result, Table

README = Path(__file__).parents[1] / "README.md"
PACKAGES = (
    "numpy",
    "scikit-learn",
    "statsmodels",
    "gpy",
    "gpytorch",
    "fastrvm",
    "catboost",
    "lightgbm",
)


def render(rows: Sequence[Row] = ROWS, folder: Path = RESULTS) -> str:
    """The section: where the numbers come from, and the table."""
    results = {row.benchmark: readings.read(row.benchmark, folder) for row in rows}
    body = [line for row in rows for line in _lines(row, results[row.benchmark])]
    heading = ["", "posterity", "peer", "the peer", "its time / ours"]
    rule = ["---", "---:", "---:", "---", "---:"]
    table = ["| " + " | ".join(line) + " |" for line in (heading, rule, *body)]
    return "\n".join([*provenance(results.values()), "", *table])


def provenance(results: Iterable[Result]) -> list[str]:
    """Dates, machines, processes and versions of these results, as their files say."""
    records = [result.record for result in results]
    dates = sorted({record["date"] for record in records if "date" in record})
    machines = {
        record["machine"]["cpu"]: record["machine"] for record in records if "date" in record
    }
    repeats = sorted({record["repeats"] for record in records if "repeats" in record})
    threads = sorted({count for record in records for count in compact.threads(record)})
    devices = [f"{r['device']} with PyTorch {r['torch']}" for r in records if "device" in r]
    hosts = [f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB" for m in machines.values()]
    return [
        f"Measured {dates[0]} to {dates[-1]} on {'; '.join([*hosts, *devices])}.",
        f"Medians of {repeats[0]} to {repeats[-1]} fresh processes in turns with the peer, "
        f"{' or '.join(threads)} BLAS threads, the same for all of a row;",
        f"{compact.versions(records, PACKAGES)}.",
        "Above 1 in the last column, posterity is faster; below 1, the peer is.",
    ]


def _lines(row: Row, result: Result) -> Iterable[list[str]]:
    """A line for the first peer with our numbers, and one for each further peer."""
    table = result.table(row.task)
    label, own = row.label, _words(table, row.ours, row.measures)
    for contender, name in row.peers:
        theirs = _words(table, contender, row.measures)
        yield [label, own, theirs, name, _ratio(table, row, contender)]
        label, own = "", ""
    if not row.peers:
        yield [label, own, "", "", ""]


def _words(table: Table, contender: str, measures: Sequence[Measure]) -> str:
    numbers = table.rows[contender]
    return ", ".join(filter(None, (measure.of(numbers) for measure in measures)))


def _ratio(table: Table, row: Row, contender: str) -> str:
    """The peer's time over ours; nothing where the first measurement is not a time."""
    key = row.measures[0].key
    own, theirs = table.rows[row.ours].get(key), table.rows[contender].get(key)
    if (
        key not in (*compact.TIMES, "fit_cpu_s")
        or not isinstance(own, float)
        or not isinstance(theirs, float)
    ):
        return ""
    return report.number(theirs / own, 2)


def render_advice(rows: Sequence[Advice] = ADVICE, folder: Path = RESULTS) -> str:
    """The models to take by kind of data, the seconds of one fit, and when they were measured."""
    result = readings.read("durations", folder)
    heading = ["your data", "model", "10,000 rows x 20 columns"]
    body = [[row.data, row.models, _say_seconds(row, result)] for row in rows]
    table = ["| " + " | ".join(line) + " |" for line in (heading, ["---", "---", "---:"], *body)]
    return "\n".join(
        [
            *table,
            "",
            "CPU seconds of one fit as `compare` makes it, in the order of names; in brackets of",
            "two classes. At 10,000 rows a process has 200 inducing points, `GPLVM` 100.",
            f"Measured {result.record['date']} on {result.record['machine']['cpu']}.",
        ]
    )


def _say_seconds(row: Advice, result: Result) -> str:
    """The seconds of each contender, those of classes in brackets."""
    first, *others = (
        ", ".join(
            report.number(seconds, 2 if seconds >= 0.01 else 1)
            for name in names
            if isinstance(seconds := result.table(task).rows[name]["fit_cpu_s"], float)
        )
        for task, names in row.contenders.items()
    )
    return first + " s" + "".join(f" ({other} s)" for other in others)


def insert_section(text: str, section: str, name: str) -> str:
    """A page with the section between the marks of this name.

    Examples
    --------
    >>> page = "before <!-- seconds: begin --> old <!-- seconds: end --> after"
    >>> insert_section(page, "new", "seconds").splitlines()
    ['before <!-- seconds: begin -->', '', 'new', '', '<!-- seconds: end --> after']
    """
    begin, end = (f"<!-- {name}: {place} -->" for place in ("begin", "end"))
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"The page has no {begin} before a {end}; put both where the table goes.")
    return f"{before}{begin}\n\n{section}\n\n{end}{after}"


def fill_readme(text: str) -> str:
    """The README with both tables as the results have them."""
    return insert_section(insert_section(text, render(), "measured"), render_advice(), "seconds")


if __name__ == "__main__":
    README.write_text(fill_readme(README.read_text("utf-8")), "utf-8")
