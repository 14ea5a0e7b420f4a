"""Section with the relevance vectors as rows of the input table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import tables
from posterity.report import numbers
from posterity.report.material import ReportData
from posterity.report.sections import cells
from posterity.report.sections.blocks import Row, Section, Table

_MOST = 30
_SAME = 1e-9


def section(material: ReportData) -> Section | None:
    """Show the relevance vectors; None if there are none, or they are not in the table."""
    story = material.story
    rows = find_training_rows(material)
    if rows is None or not len(rows):
        return None
    shown, names = rows[:_MOST], cells.shown_inputs(material)
    target = story.schema.target
    caption = story.row_number_note + cells.mention_hidden_inputs(material)
    lines = tuple(
        Row(
            (
                numbers.format_count(story.row_number(int(row))),
                *cells.format_cells(story.frame, [target, *names], int(row)),
            ),
            values=(
                float(story.row_number(int(row))),
                *cells.find_values(story.frame, [target, *names], int(row)),
            ),
        )
        for row in shown
    )
    lead = (
        f"The model keeps {numbers.format_plural(len(rows), 'relevance vector')} of "
        f"{numbers.format_plural(story.model.n_rows_, 'row')}; predictions depend on these rows "
        "only."
    )
    if len(rows) > _MOST:
        lead += f" Showing the first {_MOST}."
    words = tuple(range(1, 2 + len(names)))
    table = Table(caption, ("Row", target, *names), lines, words=words)
    return Section("vectors", "Relevance vectors", lead, (table,))


def find_training_rows(material: ReportData) -> NDArray[np.intp] | None:
    """Return the positions of the relevance vectors in the frame.

    The model counts only rows with a target, and may have been fitted to another table, so its
    vectors are compared with the rows of the frame; None if they differ.
    """
    story = material.story
    estimator: Any = tables.strip_exposure(story.model.estimator_)
    vectors = getattr(estimator, "relevance_vectors_", None)
    places = getattr(estimator, "relevance_", None)
    if vectors is None or places is None:
        return None
    with_target = np.flatnonzero(story.model.encode_targets(story.frame)[1])
    if len(with_target) != story.model.n_rows_ or places.max(initial=-1) >= len(with_target):
        return None
    rows = with_target[places]
    X = story.model.encoder_.transform(story.frame[rows])
    return rows if np.allclose(X, vectors, rtol=_SAME, atol=_SAME) else None
