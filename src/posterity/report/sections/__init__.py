"""The sections of the report in the order of the page.

Each is a function that returns a section, or None if the section does not apply.
"""

from collections.abc import Callable

from posterity.report.contents import ReportData
from posterity.report.sections import (
    calibration,
    curves,
    inputs,
    models,
    prediction,
    ranking,
    rows,
    usage,
    weights,
)
from posterity.report.sections.blocks import Section

ORDER: tuple[Callable[[ReportData], Section | None], ...] = (
    ranking.section,
    prediction.show_numbers,
    prediction.show_classes,
    ranking.show_flagged,
    calibration.section,
    calibration.show_residuals,
    inputs.section,
    weights.section,
    curves.section,
    rows.show_vectors,
    rows.show_surprising_rows,
    usage.show_panel,
    models.section,
    usage.show_command,
)


def make_sections(data: ReportData) -> tuple[Section, ...]:
    """Return the sections that apply."""
    return tuple(found for make in ORDER if (found := make(data)) is not None)
