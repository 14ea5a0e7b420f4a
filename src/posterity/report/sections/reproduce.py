"""How to make the report again, and what was taken for granted on the way."""

from posterity.report.material import Material
from posterity.report.sections.blocks import Block, Code, Items, Row, Section, Table, Text


def section(material: Material) -> Section:
    """The exact command, what was inferred, what was left out, and versions."""
    story = material.story
    blocks: list[Block] = [Code(story.command)]
    if story.comparison is not None:
        blocks += [Text("The same model in Python:"), Code(story.comparison.best.code)]
    if story.inferred:
        blocks += [Text("What was inferred, and how to say otherwise:"), Items(story.inferred)]
    if story.schema.dropped:
        rows = tuple(Row((one.name, one.why)) for one in story.schema.dropped)
        blocks.append(Table("Columns that no model reads.", ("Column", "Why"), rows, words=(0, 1)))
    blocks.append(_circumstances(material))
    lead = "Typed again on the same file, this command gives the same numbers."
    return Section("reproduce", "How to reproduce it", lead, tuple(blocks))


def _circumstances(material: Material) -> Table:
    story = material.story
    rows = [Row(("seed", str(story.seed)))]
    if story.comparison is not None:
        rows.append(Row(("folds", str(story.comparison.folds))))
    rows += [Row(pair) for pair in story.versions]
    return Table("What else the numbers depend on.", ("What", "Value"), tuple(rows), words=(0, 1))
