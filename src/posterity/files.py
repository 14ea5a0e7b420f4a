"""Write files atomically."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MODE = 0o666  # permissions of a new file before the umask


def check_path(path: object) -> Path:
    """Check that an argument is a file path.

    Parameters
    ----------
    path : str or path
        Path given by the user.

    Examples
    --------
    >>> from posterity import files
    >>> files.check_path("line.posterity").suffix
    '.posterity'
    >>> files.check_path(3)
    Traceback (most recent call last):
        ...
    TypeError: A file path must be a str or a pathlib.Path, not 3 (int).
    """
    if isinstance(path, str | Path):
        return Path(path)
    if isinstance(path, os.PathLike) and isinstance(text := os.fspath(path), str):
        return Path(text)
    remedy = " Write its bytes to a file first." if hasattr(path, "read") else ""
    raise TypeError(
        "A file path must be a str or a pathlib.Path, "
        f"not {path!r:.60} ({type(path).__name__}).{remedy}"
    )


@contextlib.contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` when the block succeeds.

    The data is written to a temporary file in the same folder. If the block raises or is
    interrupted, the temporary file is removed and an existing file at ``path`` is unchanged.

    Parameters
    ----------
    path : str or path
        Path of the finished file.

    Yields
    ------
    binary file
        File open for writing, reading and seeking.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import files
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with files.replace_atomically(place) as file:
    ...     _ = file.write(b"1 2 3")
    >>> place.read_text()
    '1 2 3'
    """
    place = Path(os.path.realpath(path))  # follow symbolic links: replace their target
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _find_permissions(place))
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_directory(place.parent)


def _find_permissions(place: Path) -> int:
    """Return the permissions of the replaced file, or those of a new file."""
    try:
        return place.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return _MODE & ~mask


def _sync_directory(directory: Path) -> None:
    """Flush a folder to disk where the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
