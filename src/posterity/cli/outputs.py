"""Where results go, and what must not be overwritten there."""

import os
from pathlib import Path

import typer

from posterity import persistence

REPORT_MARK = b"<!-- posterity report -->"


def check(path: str, *, force: bool, inputs: tuple[str, ...] = ()) -> None:
    """Refuse, before any work is done, a place where the result would destroy something.

    A report and a model of posterity's own may be replaced by newer ones; anything else only
    where the user insists, and the input itself never.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise typer.BadParameter(
            f"there is no folder {str(place.parent)!r} to write {path!r} into."
        )
    if place.is_dir():
        raise typer.BadParameter(f"{path!r} is a folder; name a file.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise typer.BadParameter(f"{path!r} may not be written by you.")
    if not place.exists():
        return
    if any(name != "-" and Path(name).exists() and place.samefile(name) for name in inputs):
        raise typer.BadParameter(f"{path!r} is read; the result needs another name.")
    if not force and not is_ours(place):
        raise typer.BadParameter(f"{path!r} exists; take another name, or replace it with --force.")


def check_folder(path: str, *, force: bool, inputs: tuple[str, ...] = ()) -> None:
    """Refuse a place for many files where they would lie among others, or is no folder."""
    place = Path(path)
    if path == "-":
        raise typer.BadParameter("--dask needs --out FOLDER, in which workers write their files.")
    if any(name for name in inputs if _within(place, Path(name))):
        raise typer.BadParameter(f"{path!r} lies in the folder that is read; take another.")
    if not place.is_dir():
        if place.exists():
            raise typer.BadParameter(f"{path!r} is a file; with --dask name a folder.")
        check(path, force=force, inputs=inputs)
        return
    if any(Path(name).exists() and _within(Path(name), place) for name in inputs):
        raise typer.BadParameter(f"{path!r} is read; the result needs another folder.")
    if not os.access(place, os.W_OK):
        raise typer.BadParameter(f"{path!r} may not be written by you.")
    if not force and any(place.iterdir()):
        raise typer.BadParameter(
            f"the folder {path!r} is not empty; take another, or replace what was predicted there "
            "with --force."
        )


def _within(inner: Path, outer: Path) -> bool:
    return inner.resolve().is_relative_to(outer.resolve())


def is_ours(place: Path) -> bool:
    """Whether a file is a report or a model that posterity wrote."""
    with place.open("rb") as file:
        if REPORT_MARK in file.read(200):
            return True
    try:
        persistence.describe(place)
    except persistence.FileError:
        return False
    return True
