"""Writing files so that a reader never meets half of one."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MODE = 0o666  # what a new file may be, before the user's mask


def check_path(path: object) -> Path:
    """The path of a file, or a sentence where something else was given.

    Parameters
    ----------
    path : str or path
        As a user gave it.

    Examples
    --------
    >>> from posterity import files
    >>> files.check_path("line.posterity").suffix
    '.posterity'
    >>> files.check_path(3)
    Traceback (most recent call last):
        ...
    TypeError: A file is named by a str or a pathlib.Path, not by 3 (int).
    """
    if isinstance(path, str | Path):
        return Path(path)
    if isinstance(path, os.PathLike) and isinstance(text := os.fspath(path), str):
        return Path(text)
    remedy = " Write its bytes to a file first." if hasattr(path, "read") else ""
    raise TypeError(
        "A file is named by a str or a pathlib.Path, "
        f"not by {path!r:.60} ({type(path).__name__}).{remedy}"
    )


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes its place, whole, when the block ends well.

    Until then it lies beside its place under another name; whatever goes wrong, an interruption
    included, it is removed and what stood at ``path`` before is still there.

    Parameters
    ----------
    path : str or path
        The path of the finished file.

    Yields
    ------
    binary file
        Open for writing, reading and seeking.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import files
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with files.replacing(place) as file:
    ...     _ = file.write(b"1 2 3")
    >>> place.read_text()
    '1 2 3'
    """
    place = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _permissions(place))
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_directory(place.parent)


def _permissions(place: Path) -> int:
    """Those of the file that is replaced, or those a new file has under the user's mask."""
    try:
        return place.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return _MODE & ~mask


def _sync_directory(directory: Path) -> None:
    """Make the new name last through a loss of power, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
