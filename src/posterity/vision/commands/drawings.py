"""Files that a command makes from pictures: one file for one picture, or a folder for several."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import typer

from posterity.cli import outputs
from posterity.vision.commands.pictures import STREAM, Picture

SUFFIXES = (".png", ".jpg", ".jpeg")


def check_drawings(
    place: str | None,
    inputs: tuple[str, ...],
    *,
    option: str,
    is_single: bool,
    force: bool,
    suffixes: tuple[str, ...] = SUFFIXES,
    why: str = "several images are drawn",
) -> None:
    """Refuse a file or a folder that cannot be written, before any work."""
    if place is None:
        return
    if is_single:
        if Path(place).suffix.lower() not in suffixes:
            raise typer.BadParameter(f"{option} {place!r} must end in {' or '.join(suffixes)}.")
        outputs.check_output_file(place, force=force, inputs=inputs)
        return
    folders = tuple(name for name in inputs if name != STREAM)
    outputs.check_output_folder(place, force=force, inputs=folders, why=why, option=option)


def find_place(place: str, picture: Picture, *, is_single: bool, suffix: str | None = None) -> Path:
    """Return where to write what is made from a picture; the folder then exists."""
    if is_single:
        return Path(place)
    path = Path(place) / picture.relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path if suffix is None else path.with_suffix(suffix)


def name_drawings(
    work: Iterator[Picture], suffixes: tuple[str, ...] = SUFFIXES
) -> Iterator[Picture]:
    """Give drawings names that can be written and differ from each other."""
    used: set[str] = set()
    for picture in work:
        place = Path(picture.relative)
        if place.suffix.lower() not in suffixes:
            place = place.with_name(f"{place.name}.png")
        names = (place.with_stem(f"{place.stem}-{k}") for k in itertools.count(2))
        while str(place) in used:
            place = next(names)
        used.add(str(place))
        yield Picture(picture.name, picture.load, str(place))
