"""Section with the command that makes the report, the inferred schema and versions."""

from posterity.report.material import ReportData
from posterity.report.sections.blocks import Block, Code, Items, Row, Section, Table, Text


def section(material: ReportData) -> Section:
    """Show the exact command, the inferred schema, ignored columns and versions."""
    story = material.story
    blocks: list[Block] = [Code(story.command)]
    if story.comparison is not None:
        blocks += [Text("The same model in Python:"), Code(story.comparison.best.code)]
    if story.inferred:
        blocks += [Text("Inferred from the table, with the options to change it:")]
        blocks += [Items(story.inferred)]
    if story.schema.dropped:
        rows = tuple(Row((one.name, one.why)) for one in story.schema.dropped)
        blocks.append(
            Table("Ignored columns.", ("Column", "Reason"), rows, words=(0, 1), sortable=False)
        )
    blocks.append(_list_settings(material))
    lead = "Run on the same file, this command gives the same numbers."
    return Section("reproduce", "How to reproduce this report", lead, tuple(blocks))


def _list_settings(material: ReportData) -> Table:
    story = material.story
    rows = [Row(("seed", str(story.seed)))]
    if story.comparison is not None:
        rows.append(Row(("folds", str(story.comparison.folds))))
    rows += [Row(pair) for pair in story.versions]
    return Table(
        "Settings and versions.", ("Name", "Value"), tuple(rows), words=(0, 1), sortable=False
    )
