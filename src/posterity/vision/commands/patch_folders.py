"""Read folders of small images: one subfolder for each class, named after it."""

from dataclasses import dataclass, field
from pathlib import Path

from posterity import tables, vision
from posterity.vision import patches
from posterity.vision.commands.reading import ImageReading
from posterity.vision.integrals import Pixels


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
            return patches.stack_gray_patches([vision.read_image(path)], size)[0]

        paths = list(vision.list_images(one))
        for patch in found.work.read_all(read, paths, f"Reading {one.name}"):
            found.patches.append(patch)
            found.labels.append(one.name)
    if not found.patches:
        raise tables.TableError(f"No image of {folder} can be read.")
    return found
