"""Models to files and back."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning

from posterity import files
from posterity.persistence import archive, decoding, describing, encoding, npy, strict_json
from posterity.persistence.errors import FileError
from posterity.persistence.registry import Registry

_DATA = (numbers.Number, str, bytes, list, tuple, dict, set, np.ndarray, np.generic, type(None))
_MAX_DOCUMENT = 256 << 20


def save(model: Any, path: str | os.PathLike[str], *, classes: Sequence[Any] = ()) -> None:
    """Write a model to a file that holds numbers and names, and no code.

    The file takes its place whole or not at all. Predictions of the loaded model are the same to
    the last bit. The same model makes the same bytes.

    Parameters
    ----------
    model : estimator
        Fitted or not; also a pipeline or another of scikit-learn's common parts around one.
    path : str or path
        Where to; by custom it ends in ".posterity".
    classes : sequence of classes and functions, default=()
        Those of your own that the model holds, such as a kernel that you wrote. The file has their
        names only: :func:`load` needs them too.

    Raises
    ------
    FileError
        Where the model holds something that no file can, such as a function that was not named in
        ``classes``, or an array on a device.
    TypeError
        Where this is not a model, or ``path`` not the name of a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import persistence
    >>> from posterity.regression import BayesianLinearRegression
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "line.posterity"
    >>> model = BayesianLinearRegression().fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1])
    >>> persistence.save(model, place)
    >>> persistence.load(place).predict([[3.0]]) == model.predict([[3.0]])
    array([ True])
    """
    place = files.check_path(path)
    header, members = _written(model, Registry(classes))
    with files.replacing(place) as file:
        archive.write(file, header, members)


def size(model: Any, *, classes: Sequence[Any] = ()) -> int:
    """How many bytes the file of a model would have; none is written.

    Parameters
    ----------
    model, classes
        As for :func:`save`.

    Examples
    --------
    >>> from posterity import persistence
    >>> from posterity.regression import LinearRegression
    >>> persistence.size(LinearRegression()) < 2000
    True
    """
    return archive.size(*_written(model, Registry(classes)))


def load(path: str | os.PathLike[str], *, classes: Sequence[Any] = ()) -> Any:
    """The model in a file.

    Only classes of the library, those of scikit-learn that are common around its models, and those
    named in ``classes`` are ever built; no code comes from the file, and none is found by a name in
    it. Memory is spent in proportion to the size of the file.

    Parameters
    ----------
    path : str or path
        As given to :func:`save`.
    classes : sequence of classes and functions, default=()
        The same as for :func:`save`.

    Raises
    ------
    FileError
        Where the file is damaged, was changed, is of a newer version, or is no model file at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import persistence
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "other.posterity"
    >>> _ = place.write_text("something else")
    >>> persistence.load(place)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    posterity.persistence.errors.FileError: ...other.posterity: This is not a model file: it does
    not begin like one.
    """
    registry = Registry(classes)
    with archive.opened(path) as opened:
        document = strict_json.loads(_text(opened), "model.json")
        decoding.check_names(document, registry)
        _warn_of_versions(document, describing.versions(opened.manifest))
        return decoding.decode(document, _Arrays(opened), opened.n_arrays, registry)


def _warn_of_versions(document: Any, versions: dict[str, str]) -> None:
    """Parts of scikit-learn hold what they please, in every version something else."""
    written, here = versions.get("scikit-learn"), sklearn.__version__
    foreign = [name for name in decoding.names(document) if name.startswith("sklearn.")]
    if foreign and written != here:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=foreign[0],
                current_sklearn_version=here,
                original_sklearn_version=written,
            ),
            stacklevel=3,
        )


@dataclass(frozen=True)
class _Arrays:
    """The arrays of a file by number."""

    opened: archive.Archive

    def __call__(self, number: int) -> NDArray[Any]:
        with self.opened.reading(f"arrays/{number}.npy") as reader:
            return npy.read(reader)


def _text(opened: archive.Archive) -> bytes:
    n = opened.sizes["model.json"]
    if n > _MAX_DOCUMENT:
        raise FileError(f"model.json has {n:,} bytes, more than a model file may.")
    with opened.reading("model.json") as reader:
        return reader.take(n)


def _written(model: Any, registry: Registry) -> tuple[dict[str, Any], list[archive.Member]]:
    """What the manifest says, and all other members."""
    if isinstance(model, _DATA):
        raise TypeError(
            f"save takes a model, not {model!r:.60} ({type(model).__name__}): pass an estimator, "
            "fitted or not, or a pipeline that holds one."
        )
    document = encoding.encode(model, registry)
    text = strict_json.dumps({"objects": document.objects, "root": document.root})
    if len(text) > _MAX_DOCUMENT:
        raise FileError("The model holds too many small parts for a model file.")
    first = archive.Member("model.json", len(text), lambda: iter((text,)))
    return describing.header(model, document.training_rows), [first, *document.arrays]
