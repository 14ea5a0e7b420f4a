"""Save and load models, and describe a model file without building the model."""

from __future__ import annotations

import importlib.metadata
import math
import numbers
import os
import reprlib
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from posterity import callers, files, tables
from posterity.persistence import archive, decoding, encoding, fields, npy, strict_json
from posterity.persistence.errors import FileError
from posterity.persistence.registry import Registry

_DATA = (numbers.Number, str, bytes, list, tuple, dict, set, np.ndarray, np.generic, type(None))
_MAX_DOCUMENT = 256 << 20


def save(model: Any, path: str | os.PathLike[str], *, classes: Sequence[Any] = ()) -> None:
    """Save a model to a file that contains numbers and names, and no code.

    The file is written atomically. Predictions of the loaded model are bit-identical, and the same
    model gives the same bytes.

    Parameters
    ----------
    model : estimator
        A fitted or unfitted estimator, or a pipeline or another meta-estimator of scikit-learn.
    path : str or path
        Path of the file; the usual extension is ".posterity".
    classes : sequence of classes and functions, default=()
        User-defined classes and functions in the model, such as a kernel. The file contains only
        their names: pass them to :func:`load` too.

    Raises
    ------
    FileError
        If the model contains something that cannot be saved, such as a function that is not in
        ``classes``, or an array on a device.
    TypeError
        If this is not a model, or ``path`` is not a file path.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import BayesianLinearRegression, persistence
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "line.posterity"
    >>> model = BayesianLinearRegression().fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1])
    >>> persistence.save(model, place)
    >>> persistence.load(place).predict([[3.0]]) == model.predict([[3.0]])
    array([ True])
    """
    place = files.check_path(path)
    header, members = _encode_model(model, Registry(classes))
    with files.replace_atomically(place) as file:
        archive.write(file, header, members)


def compute_size(model: Any, *, classes: Sequence[Any] = ()) -> int:
    """Return the file size of a model in bytes, without writing a file.

    Parameters
    ----------
    model, classes
        As for :func:`save`.

    Examples
    --------
    >>> from posterity import LinearRegression, persistence
    >>> persistence.compute_size(LinearRegression()) < 2000
    True
    """
    return archive.compute_size(*_encode_model(model, Registry(classes)))


def load(path: str | os.PathLike[str], *, classes: Sequence[Any] = ()) -> Any:
    """Load a model from a file.

    Only classes of posterity, common ones of scikit-learn, and those in ``classes`` are built; the
    file contains no code, and names in it cannot run any. Memory use is proportional to the size of
    the file.

    Parameters
    ----------
    path : str or path
        Path of the file, as passed to :func:`save`.
    classes : sequence of classes and functions, default=()
        User-defined classes and functions, as passed to :func:`save`.

    Raises
    ------
    FileError
        If the file is damaged, was changed, has a newer version, or is not a model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import persistence
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "other.posterity"
    >>> _ = place.write_text("something else")
    >>> persistence.load(place)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    posterity.persistence.errors.FileError: ...other.posterity: This is not a model file: its
    first bytes are different.
    """
    registry = Registry(classes)
    with archive.open_archive(path) as opened:
        document = strict_json.read_json(_read_document(opened), "model.json")
        decoding.check_names(document, registry)
        _warn_of_versions(document, read_versions(opened.manifest))
        return decoding.decode(document, _ArrayReader(opened), opened.n_arrays, registry)


def _warn_of_versions(document: Any, versions: dict[str, str]) -> None:
    """Warn if the file contains objects of another version of scikit-learn."""
    written, here = versions.get("scikit-learn"), sklearn.__version__
    foreign = [name for name in decoding.list_class_names(document) if name.startswith("sklearn.")]
    if foreign and written != here:
        callers.warn_caller(
            InconsistentVersionWarning(
                estimator_name=foreign[0],
                current_sklearn_version=here,
                original_sklearn_version=written,
            ),
        )


@dataclass(frozen=True)
class _ArrayReader:
    """Read the arrays of a file by number."""

    opened: archive.Archive

    def __call__(self, number: int) -> NDArray[Any]:
        with self.opened.open_member(f"arrays/{number}.npy") as reader:
            return npy.read_array(reader)


def _read_document(opened: archive.Archive) -> bytes:
    n = opened.sizes["model.json"]
    if n > _MAX_DOCUMENT:
        raise FileError(f"model.json has {n:,} bytes, more than allowed.")
    with opened.open_member("model.json") as reader:
        return reader.read(n)


def _encode_model(model: Any, registry: Registry) -> tuple[dict[str, Any], list[archive.Member]]:
    """Return the manifest header and the members of a model."""
    if isinstance(model, _DATA):
        raise TypeError(
            f"save expects a model, not {model!r:.60} ({type(model).__name__}): pass an estimator, "
            "fitted or not, or a pipeline that holds one."
        )
    document = encoding.encode(model, registry)
    text = strict_json.write_json({"objects": document.objects, "root": document.root})
    if len(text) > _MAX_DOCUMENT:
        raise FileError("The model has too many small parts for a model file.")
    first = archive.Member("model.json", len(text), lambda: iter((text,)))
    return make_header(model, document.training_rows), [first, *document.arrays]


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
