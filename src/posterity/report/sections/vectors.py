"""The relevance vectors as rows of the reader's own table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.report import numbers
from posterity.report.material import Material
from posterity.report.sections import cells
from posterity.report.sections.blocks import Row, Section, Table

_MOST = 30
_SAME = 1e-9


def section(material: Material) -> Section | None:
    """Rows that the model kept; nothing where it keeps none, or where they are not in the table."""
    story = material.story
    rows = kept(material)
    if rows is None or not len(rows):
        return None
    shown, names = rows[:_MOST], cells.columns(material)
    target = story.schema.target
    caption = f"Each line is a row of the file. {story.counting}" + cells.cut(material)
    lines = tuple(
        Row(
            (
                numbers.count(story.row_number(int(row))),
                *cells.cells(story.frame, [target, *names], int(row)),
            )
        )
        for row in shown
    )
    lead = (
        f"All that the model keeps of {numbers.plural(story.model.n_rows_, 'row')} is "
        f"{numbers.plural(len(rows), 'row')}: a prediction is a comparison with these."
    )
    if len(rows) > _MOST:
        lead += f" The first {_MOST} of them:"
    words = tuple(range(1, 2 + len(names)))
    table = Table(caption, ("Row", target, *names), lines, words=words)
    return Section("vectors", "The rows it keeps", lead, (table,))


def kept(material: Material) -> NDArray[np.intp] | None:
    """Positions in the frame of the rows that a relevance vector machine keeps.

    The model counts rows with a target only, and may have been fitted to another table; so what
    it keeps is held against what the frame has there.
    """
    story = material.story
    fitted: dict[str, Any] = vars(story.model.estimator_)
    vectors, places = fitted.get("relevance_vectors_"), fitted.get("relevance_")
    if vectors is None or places is None:
        return None
    with_target = np.flatnonzero(story.model.outcomes(story.frame)[1])
    if len(with_target) != story.model.n_rows_ or places.max(initial=-1) >= len(with_target):
        return None
    rows = with_target[places]
    X = story.model.inputs(story.frame[rows])
    return rows if np.allclose(X, vectors, rtol=_SAME, atol=_SAME) else None
