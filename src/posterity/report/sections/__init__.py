"""The sections of the report, one module each, in the order of the page.

Each module has a function that returns a section, or None if the section does not apply.
"""

from collections.abc import Callable

from posterity.report.material import ReportData
from posterity.report.sections import (
    calibration,
    classes,
    curves,
    flagged,
    inputs,
    models,
    panel,
    prediction,
    ranking,
    reproduce,
    residuals,
    surprising,
    vectors,
    weights,
)
from posterity.report.sections.blocks import Section

ORDER: tuple[Callable[[ReportData], Section | None], ...] = (
    ranking.section,
    prediction.section,
    classes.section,
    flagged.section,
    calibration.section,
    residuals.section,
    inputs.section,
    weights.section,
    curves.section,
    vectors.section,
    surprising.section,
    panel.section,
    models.section,
    reproduce.section,
)


def make_sections(material: ReportData) -> tuple[Section, ...]:
    """Return the sections that apply."""
    return tuple(found for make in ORDER if (found := make(material)) is not None)
