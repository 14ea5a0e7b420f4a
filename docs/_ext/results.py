"""Tables of benchmarks, made from their results when the documentation is built.

``{results} NAME`` shows one file of ``benchmarks/results``; its option ``show`` is ``speed`` or
``accuracy``. ``{measured-with}`` says on what machines and with which versions all were made.
"""

from collections.abc import Iterable
from typing import ClassVar

from benchmarks import compact, machine, readings
from benchmarks.compact import Column
from benchmarks.readings import Result, Table
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def _shown(argument: str) -> str:
    return directives.choice(argument, ("speed", "accuracy"))


class ResultsDirective(SphinxDirective):
    """The medians of one benchmark: a line a task, below it a row a contender."""

    required_arguments = 1
    option_spec: ClassVar = {"show": _shown}

    def run(self) -> list[nodes.Node]:
        """The table, and where it comes from."""
        name, show = self.arguments[0], self.options.get("show", "speed")
        if name not in readings.names():
            raise self.error(f"There are no results {name!r} in {readings.RESULTS}.")
        self.env.note_dependency(str(readings.RESULTS / f"{name}.json"))
        result = readings.read(name)
        columns = compact.columns(result, show)
        if not columns:
            raise self.error(f"The results {name!r} have nothing on {show}.")
        said = ". ".join(filter(None, (compact.origin(result.record), "All numbers: ")))
        source = nodes.literal("", f"benchmarks/results/{name}.json")
        caption = nodes.paragraph("", "", nodes.Text(said), source, nodes.Text("."))
        caption["classes"].append("results-origin")
        return [_table(result, columns), caption]


def _table(result: Result, columns: list[Column]) -> nodes.table:
    group = nodes.tgroup(cols=len(columns) + 1)
    group += [nodes.colspec(colwidth=1) for _ in range(len(columns) + 1)]
    group += nodes.thead("", _row(["", *(column.heading for column in columns)]))
    group += nodes.tbody("", *(row for t in result.tables for row in _rows(t, columns)))
    return nodes.table("", group, classes=["results"])


def _rows(table: Table, columns: list[Column]) -> Iterable[nodes.row]:
    """The task over the whole width, then its contenders."""
    task = nodes.entry("", nodes.paragraph(text=table.name), morecols=len(columns))
    yield nodes.row("", task, classes=["results-task"])
    for contender in table.rows:
        cells = [compact.cell(table, contender, column) for column in columns]
        row = _row([contender, *cells])
        row["classes"] += ["results-ours"] if compact.is_ours(contender) else []
        yield row


def _row(cells: Iterable[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=cell)) for cell in cells))


class MeasuredWithDirective(SphinxDirective):
    """Dates, machines and versions of all results, in a paragraph."""

    def run(self) -> list[nodes.Node]:
        """The paragraph, from every file of results."""
        records = [readings.read(name).record for name in readings.names()]
        dated = [record for record in records if "machine" in record]
        for name in readings.names():
            self.env.note_dependency(str(readings.RESULTS / f"{name}.json"))
        dates = " and ".join(sorted({record["date"] for record in dated}))
        hosts = dict.fromkeys(_host(record["machine"]) for record in dated)
        devices = [record["device"] for record in records if "device" in record]
        versions = compact.versions(records, ("python", *machine.PACKAGES))
        said = f"Measured {dates} on {'; '.join(hosts)}, and on {', '.join(devices)}. {versions}."
        return [nodes.paragraph(text=said)]


def _host(m: dict[str, object]) -> str:
    return f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB, {str(m['os']).split()[0]}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer both directives, and the style of their tables."""
    app.add_directive("results", ResultsDirective)
    app.add_directive("measured-with", MeasuredWithDirective)
    app.add_css_file("results.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
