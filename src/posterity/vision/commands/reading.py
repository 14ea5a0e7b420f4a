"""Read many images; those that cannot be read are reported, counted and left out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from posterity import progress, tables, vision
from posterity.cli import outcome
from posterity.vision import gabor
from posterity.vision.commands import results
from posterity.vision.integrals import Pixels

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class ImageReading:
    """Reads images one after the other and counts those that cannot be read."""

    n_failed: int = 0

    def read_all(self, read: Callable[[T], R], items: Iterable[T], description: str) -> Iterator[R]:
        """Yield what can be read; report and count what cannot."""
        for item in progress.track(items, description=description, unit="images", size=lambda _: 1):
            try:
                image = read(item)
            except vision.ImageError as error:
                self.n_failed += 1
                outcome.print_error(results.make_printable(str(error)))
            else:
                yield image


def report_left_out(n_failed: int) -> None:
    """Say how many images could not be read, if there are any."""
    if n_failed:
        outcome.print_error(f"{n_failed:,} images could not be read and are left out.")


@dataclass
class LabelledPatches:
    """Patches of one size, and the class of each."""

    patches: list[Pixels] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    work: ImageReading = field(default_factory=ImageReading)


def read_patches(folder: str, size: tuple[int, int]) -> LabelledPatches:
    """Read the images of each subfolder, brought to one size.

    Raises
    ------
    TableError
        If there is no subfolder, or no image that can be read.
    """
    place = Path(folder)
    classes = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    if not classes:
        raise tables.TableError(
            f"{folder} is not a folder with one subfolder of images for each class."
        )
    found = LabelledPatches()
    for one in classes:

        def read(path: Path) -> Pixels:
            return gabor.stack_gray_patches([vision.read_image(path)], size)[0]

        paths = list(vision.list_images(one))
        for patch in found.work.read_all(read, paths, f"Reading {one.name}"):
            found.patches.append(patch)
            found.labels.append(one.name)
    if not found.patches:
        raise tables.TableError(f"No image of {folder} can be read.")
    return found
