"""Section with the command that makes the report, the inferred schema and versions."""

from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Block, Code, Items, Row, Section, Table, Text


def section(data: ReportData) -> Section:
    """Show the exact command, the inferred schema, ignored columns and versions."""
    contents = data.contents
    blocks: list[Block] = [Code(contents.command)]
    if contents.comparison is not None:
        blocks += [Text("The same model in Python:"), Code(contents.comparison.best.code)]
    if contents.inferred:
        blocks += [Text("Inferred from the table, with the options to change it:")]
        blocks += [Items(contents.inferred)]
    if contents.schema.dropped:
        rows = tuple(Row((one.name, one.why)) for one in contents.schema.dropped)
        blocks.append(
            Table("Ignored columns.", ("Column", "Reason"), rows, words=(0, 1), sortable=False)
        )
    blocks.append(_list_settings(data))
    lead = "Run on the same file, this command gives the same numbers."
    return Section("reproduce", "How to reproduce this report", lead, tuple(blocks))


def _list_settings(data: ReportData) -> Table:
    contents = data.contents
    rows = [Row(("seed", str(contents.seed)))]
    if contents.comparison is not None:
        rows.append(Row(("folds", str(contents.comparison.folds))))
    rows += [Row(pair) for pair in contents.versions]
    return Table(
        "Settings and versions.", ("Name", "Value"), tuple(rows), words=(0, 1), sortable=False
    )
