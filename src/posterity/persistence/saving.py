"""Save models to files and load them."""

from __future__ import annotations

import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning

from posterity import callers, files
from posterity.persistence import archive, decoding, describing, encoding, npy, strict_json
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
        _warn_of_versions(document, describing.read_versions(opened.manifest))
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
    return describing.make_header(model, document.training_rows), [first, *document.arrays]
