"""Check output paths: whether they can be written, and what must not be overwritten."""

import os
from pathlib import Path

import typer

from posterity import persistence

REPORT_MARK = b"<!-- posterity report -->"


def check_output_file(path: str, *, force: bool, inputs: tuple[str, ...] = ()) -> None:
    """Refuse an output file that cannot be written or would destroy data, before any work.

    Reports and models written by posterity are replaced; other files only with ``force``, and
    the input never.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise typer.BadParameter(
            f"cannot write {path!r}: the folder {str(place.parent)!r} does not exist."
        )
    if place.is_dir():
        raise typer.BadParameter(f"{path!r} is a folder; give the name of a file.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise typer.BadParameter(f"No permission to write {path!r}.")
    if not place.exists():
        return
    if any(name != "-" and Path(name).exists() and place.samefile(name) for name in inputs):
        raise typer.BadParameter(f"{path!r} is the input; give the output another name.")
    if not force and not is_posterity_file(place):
        raise typer.BadParameter(
            f"{path!r} already exists; choose another name, or overwrite it with --force."
        )


def check_output_folder(
    path: str,
    *,
    force: bool,
    inputs: tuple[str, ...] = (),
    why: str = "--dask writes one file per partition",
    option: str = "--out",
) -> None:
    """Refuse an output folder that cannot be written, is not empty, or contains the input.

    ``why`` says why a folder is needed, and ``option`` names it.
    """
    place = Path(path)
    if path == "-":
        raise typer.BadParameter(f"{why}: add {option} FOLDER.")
    if any(name for name in inputs if _is_inside(place, Path(name))):
        raise typer.BadParameter(f"{path!r} is inside the input folder; choose another folder.")
    if not place.is_dir():
        if place.exists():
            raise typer.BadParameter(f"{path!r} is a file; {why}, which needs an output folder.")
        check_output_file(path, force=force, inputs=inputs)
        return
    if any(Path(name).exists() and _is_inside(Path(name), place) for name in inputs):
        raise typer.BadParameter(f"{path!r} contains the input; choose another output folder.")
    if not os.access(place, os.W_OK):
        raise typer.BadParameter(f"No permission to write {path!r}.")
    if not force and any(place.iterdir()):
        raise typer.BadParameter(
            f"the folder {path!r} is not empty; choose another, or replace files in it with "
            "--force."
        )


def _is_inside(inner: Path, outer: Path) -> bool:
    return inner.resolve().is_relative_to(outer.resolve())


def is_posterity_file(place: Path) -> bool:
    """Return whether a file is a report or a model written by posterity."""
    with place.open("rb") as file:
        if REPORT_MARK in file.read(200):
            return True
    try:
        persistence.describe(place)
    except persistence.FileError:
        return False
    return True
