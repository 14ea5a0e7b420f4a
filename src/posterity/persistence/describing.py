"""What a model file says of itself, so that one knows what it is before anything is built."""

from __future__ import annotations

import importlib.metadata
import math
import os
import reprlib
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

from posterity import tables
from posterity.persistence import archive
from posterity.persistence.errors import FileError

_FITTED_INSIDE = ("best_estimator_", "regressor_")  # of searches and of transformed targets
_LONGEST = 200  # characters of a text that is shown


@dataclass(frozen=True)
class Description:
    """What is in a model file.

    Attributes
    ----------
    class_name : str
        Of the model: "GaussianProcessRegressor", "Pipeline", "TableModel".
    estimator : str
        Class of the estimator inside a pipeline, a search or a model of tables; else the same.
    parameters : dict of str
        Parameters of that estimator, as they print.
    log_evidence : float or None
        Of that estimator, where it has one; of several outputs together.
    training_rows : int
        Rows of training data that are in the file, as they were or standardised.
    target, task : str or None
        What a model of tables predicts: the name of a column, and "regression" or
        "classification".
    inputs : tuple of str
        Columns that a model of tables reads.
    notes : tuple of str
        Sentences for a person.
    versions : dict of str
        Of posterity, NumPy and scikit-learn, where the file was written.
    n_bytes : int
        Size of the file.
    members : dict of int
        Size of each member.

    Examples
    --------
    >>> from posterity import persistence
    >>> persistence.Description.__dataclass_params__.frozen
    True
    """

    class_name: str
    estimator: str
    parameters: dict[str, str]
    log_evidence: float | None
    training_rows: int
    target: str | None
    task: str | None
    inputs: tuple[str, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]
    n_bytes: int
    members: dict[str, int]


def describe(path: str | os.PathLike[str]) -> Description:
    """What is in a model file, from its first page; the model is not built.

    The whole file is read once, and every part of it compared with its hash.

    Parameters
    ----------
    path : str or path
        As given to :func:`save`.

    Raises
    ------
    FileError
        Where the file is damaged, was changed, is of a newer version, or is not a model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import persistence
    >>> from posterity.regression import RidgeRegression
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "line.posterity"
    >>> persistence.save(RidgeRegression(2.0).fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1]), place)
    >>> said = persistence.describe(place)
    >>> said.class_name, said.training_rows, said.parameters["alpha"]
    ('RidgeRegression', 0, '2.0')
    """
    with archive.opened(path) as opened:
        opened.verify()
        summary: Any = opened.manifest.get("summary")
        notes: Any = opened.manifest.get("notes")
        try:
            return Description(
                class_name=_text(summary["class"]),
                estimator=_text(summary["estimator"]),
                parameters=_texts(summary["parameters"]),
                log_evidence=_number(summary["log_evidence"]),
                training_rows=_count(summary["training_rows"]),
                target=_maybe(summary["target"]),
                task=_maybe(summary["task"]),
                inputs=tuple(_text(name) for name in summary["inputs"]),
                notes=tuple(_text(note) for note in notes),
                versions=versions(opened.manifest),
                n_bytes=opened.n_bytes,
                members=opened.sizes,
            )
        except (TypeError, KeyError) as error:
            raise FileError("manifest.json does not say what the model is.") from error


def header(model: Any, training_rows: int) -> dict[str, Any]:
    """What the manifest says of a model."""
    inside = _inside(model)
    schema = model.schema if isinstance(model, tables.TableModel) else None
    evidence = getattr(inside, "log_evidence_", None)
    total = None if evidence is None else float(np.sum(evidence))
    return {
        "versions": {
            "posterity": importlib.metadata.version("posterity"),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "summary": {
            "class": type(model).__name__,
            "estimator": type(inside).__name__,
            "parameters": _parameters(inside),
            "log_evidence": total if total is not None and math.isfinite(total) else None,
            "training_rows": training_rows,
            "target": None if schema is None else schema.target,
            "task": None if schema is None else schema.task,
            "inputs": [] if schema is None else [column.name for column in schema.inputs],
        },
        "notes": _notes(training_rows),
    }


def versions(manifest: dict[str, Any]) -> dict[str, str]:
    """Those of the libraries that wrote a file."""
    try:
        return _texts(manifest["versions"])
    except (TypeError, KeyError) as error:
        raise FileError("manifest.json does not say which versions wrote the file.") from error


def _notes(training_rows: int) -> list[str]:
    if not training_rows:
        return []
    rows = "1 row" if training_rows == 1 else f"{training_rows:,} rows"
    return [f"The file holds {rows} of training data: who has the file can read them."]


def _inside(model: Any) -> Any:
    """The estimator in models of tables, pipelines and searches, fitted where they are."""
    if isinstance(model, tables.TableModel):
        return _inside(vars(model).get("estimator_", model.estimator))
    if isinstance(model, Pipeline):
        return _inside(model.steps[-1][1])
    held = (getattr(model, "__dict__", {}).get(name) for name in _FITTED_INSIDE)
    return next((_inside(found) for found in held if found is not None), model)


def _parameters(inside: Any) -> dict[str, str]:
    given = inside.get_params(deep=False) if callable(getattr(inside, "get_params", None)) else {}
    return {name: _shown(value) for name, value in given.items()}


def _shown(value: Any) -> str:
    """As a value prints; what would print a place in memory is named instead."""
    if isinstance(value, types.FunctionType):
        text = value.__qualname__
    elif repr(value) == object.__repr__(value):
        text = type(value).__qualname__
    elif isinstance(value, str | list | tuple | dict):
        text = reprlib.repr(value)
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _text(said: Any) -> str:
    """A text that a terminal shows as it is, whoever wrote it."""
    if not isinstance(said, str):
        raise TypeError
    return "".join(c if c.isprintable() else "?" for c in said[: 2 * _LONGEST])


def _texts(said: Any) -> dict[str, str]:
    if not isinstance(said, dict):
        raise TypeError
    return {_text(name): _text(value) for name, value in said.items()}


def _maybe(said: Any) -> str | None:
    return None if said is None else _text(said)


def _number(said: Any) -> float | None:
    if said is not None and type(said) not in (int, float):
        raise TypeError
    return None if said is None else float(said)


def _count(said: Any) -> int:
    if type(said) is not int or said < 0:
        raise TypeError
    return said
