"""List the models that a comparison knows by name."""

from posterity import tables
from posterity.comparison import classifiers, regressors
from posterity.comparison.members import Member


def family(task: tables.Task | None = None) -> tuple[Member, ...]:
    """Return every model that a comparison knows, cheapest first.

    Parameters
    ----------
    task : "regression" or "classification", optional
        Only models for this task. None: regressors, then classifiers.

    Examples
    --------
    >>> from posterity import comparison
    >>> [row.name for row in comparison.family("classification")][:3]
    ['linear', 'logistic', 'sparse']
    """
    members = {"regression": regressors.MEMBERS, "classification": classifiers.MEMBERS}
    if task is None:
        return members["regression"] + members["classification"]
    if task not in members:
        raise ValueError(f"task={task!r} must be 'regression' or 'classification'.")
    return members[task]
