"""The sections of the report, one a module, in the order of the page.

Each is a function from what is known to a section, or to nothing where it does not apply.
"""

from collections.abc import Callable

from posterity.report.material import Material
from posterity.report.sections import (
    calibration,
    classes,
    curves,
    inputs,
    panel,
    prediction,
    ranking,
    reproduce,
    residuals,
    surprising,
    vectors,
)
from posterity.report.sections.blocks import Section

ORDER: tuple[Callable[[Material], Section | None], ...] = (
    ranking.section,
    prediction.section,
    classes.section,
    calibration.section,
    residuals.section,
    inputs.section,
    curves.section,
    vectors.section,
    surprising.section,
    panel.section,
    reproduce.section,
)


def of(material: Material) -> tuple[Section, ...]:
    """Those that apply."""
    return tuple(found for make in ORDER if (found := make(material)) is not None)
