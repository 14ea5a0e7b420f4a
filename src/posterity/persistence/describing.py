"""Describe a model file without building the model."""

from __future__ import annotations

import importlib.metadata
import math
import os
import reprlib
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

from posterity import tables
from posterity.persistence import archive, fields
from posterity.persistence.errors import FileError

_FITTED_INSIDE = ("best_estimator_", "regressor_")  # of searches and of transformed targets
_LONGEST = 200  # maximum length of a shown text


@dataclass(frozen=True)
class Description:
    """Content of a model file.

    Attributes
    ----------
    class_name : str
        Class of the model: "GaussianProcessRegressor", "Pipeline", "TableModel".
    estimator : str
        Class of the estimator inside a pipeline, a search or a TableModel; otherwise the same.
    parameters : dict of str
        Parameters of that estimator, as text.
    log_evidence : float or None
        Log evidence of that estimator, if any; the sum over several outputs.
    training_rows : int
        Number of training rows contained in the file, raw or standardised.
    target, task : str or None
        Target column and task of a TableModel: "regression" or "classification".
    inputs : tuple of str
        Input columns of a TableModel.
    notes : tuple of str
        Remarks for the user.
    versions : dict of str
        Versions of posterity, NumPy and scikit-learn that wrote the file.
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
    """Describe a model file from its manifest; the model is not built.

    The whole file is read once, and the hash of every member is checked.

    Parameters
    ----------
    path : str or path
        Path of the file, as passed to :func:`save`.

    Raises
    ------
    FileError
        If the file is damaged, was changed, has a newer version, or is not a model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import RidgeRegression, persistence
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "line.posterity"
    >>> persistence.save(RidgeRegression(2.0).fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1]), place)
    >>> said = persistence.describe(place)
    >>> said.class_name, said.training_rows, said.parameters["alpha"]
    ('RidgeRegression', 0, '2.0')
    """
    with archive.open_archive(path) as opened:
        opened.verify()
        said = _clean(opened.manifest)
        try:
            summary: dict[str, Any] = dict(said["summary"])
            summary |= {"class_name": summary.pop("class"), "notes": said["notes"]}
            summary |= {"versions": read_versions(said), "n_bytes": opened.n_bytes}
            return _check_types(Description(**summary, members=opened.sizes))
        except (TypeError, KeyError, ValueError) as error:
            raise FileError("manifest.json does not say what the model is.") from error


def make_header(model: Any, training_rows: int) -> dict[str, Any]:
    """Return the description of a model for the manifest."""
    inside = _find_inner_estimator(model)
    schema = model.schema_ if isinstance(model, tables.TableModel) else None
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
            "parameters": _format_parameters(inside),
            "log_evidence": total if total is not None and math.isfinite(total) else None,
            "training_rows": training_rows,
            "target": None if schema is None else schema.target,
            "task": None if schema is None else schema.task,
            "inputs": [] if schema is None else [column.name for column in schema.inputs],
        },
        "notes": [*_make_notes(training_rows), *getattr(inside, "notes_", ())],
    }


def read_versions(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the library versions that wrote a file."""
    versions = _clean(manifest.get("versions"))
    if not isinstance(versions, dict) or not _are_texts(versions.values()):
        raise FileError("manifest.json does not say which versions wrote the file.")
    return versions


def _make_notes(training_rows: int) -> list[str]:
    if not training_rows:
        return []
    rows = "1 row" if training_rows == 1 else f"{training_rows:,} rows"
    return [f"The file contains {rows} of training data, which anyone with the file can read."]


def _find_inner_estimator(model: Any) -> Any:
    """Return the estimator inside a TableModel, pipeline or search."""
    if isinstance(model, tables.TableModel):
        fitted = vars(model).get("estimator_", model.estimator)
        return _find_inner_estimator(tables.strip_exposure(fitted))
    if isinstance(model, Pipeline):
        return _find_inner_estimator(model.steps[-1][1])
    held = (getattr(model, "__dict__", {}).get(name) for name in _FITTED_INSIDE)
    return next((_find_inner_estimator(found) for found in held if found is not None), model)


def _format_parameters(inside: Any) -> dict[str, str]:
    given = inside.get_params(deep=False) if callable(getattr(inside, "get_params", None)) else {}
    return {name: _format_value(value) for name, value in given.items()}


def _format_value(value: Any) -> str:
    """Format a value; objects without a repr are named by their class."""
    if isinstance(value, types.FunctionType):
        text = value.__qualname__
    elif repr(value) == object.__repr__(value):
        text = type(value).__qualname__
    elif isinstance(value, str | list | tuple | dict):
        text = reprlib.repr(value)
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _clean(said: Any) -> Any:
    """Return a value of the manifest without control characters, lists as tuples."""
    if isinstance(said, str):
        return "".join(c if c.isprintable() else "?" for c in said[: 2 * _LONGEST])
    if isinstance(said, dict):
        return {_clean(name): _clean(value) for name, value in said.items()}
    return tuple(map(_clean, said)) if isinstance(said, list) else said


def _check_types(found: Description) -> Description:
    """Return a description, the values of which are of the right types."""
    fields.check_fields(Description, vars(found), types_too=True)
    if not _are_texts(found.parameters.values()) or found.training_rows < 0:
        raise TypeError
    return found


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
