"""The README's table of measurements: chosen rows, every number from ``benchmarks/results``.

``python -m benchmarks.summary`` writes it between two marks of the README.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import compact, readings, report
from benchmarks.highlights import ROWS, Measure, Row
from benchmarks.readings import RESULTS, Result, Table

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
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
        f"Measured {' and '.join(dates)} on {'; '.join([*hosts, *devices])}.",
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


def insert_section(text: str, section: str) -> str:
    """A page with the section between the marks.

    Examples
    --------
    >>> insert_section(f"before {BEGIN} old {END} after", "new").splitlines()
    ['before <!-- measured: begin -->', '', 'new', '', '<!-- measured: end --> after']
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page has no {BEGIN} before a {END}; put both where the table goes.")
    return f"{before}{BEGIN}\n\n{section}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(insert_section(README.read_text("utf-8"), render()), "utf-8")
