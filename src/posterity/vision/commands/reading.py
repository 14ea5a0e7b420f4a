"""Read images to learn from or to be scored on; those that cannot be read are left out.

Folders of patches and scenes, folders of one class each, and images with known boxes.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import typer

from posterity import progress, tables, vision
from posterity.arrays import Array
from posterity.cli import outcome
from posterity.vision import patches, resizing
from posterity.vision.commands import picture_tasks, results
from posterity.vision.integrals import Pixels

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class ImageReading:
    """Reads images one after the other and counts those that cannot be read."""

    n_failed: int = 0

    def read_all(
        self,
        read: Callable[[T], R | None],
        items: Iterable[T],
        description: str,
        *,
        n_jobs: int = 1,
        name: Callable[[T], object] = str,
    ) -> Iterator[R]:
        """Yield what can be read, in order; report and count what cannot.

        Parameters
        ----------
        read : callable
            Returns what is read of an image, or None for one that does not count; raises
            ImageError for one that cannot be read.
        items : iterable
            Images.
        description : str
            What is done, for the progress bar.
        n_jobs : int, default=1
            Number of threads.
        name : callable, default=str
            Returns the name of an image.
        """

        def attempt(item: T) -> tuple[R | None, str]:
            try:
                return read(item), ""
            except vision.ImageError as error:
                return None, str(error)
            except MemoryError:
                return None, f"{name(item)} is too large for the memory."

        every = list(items)
        work = picture_tasks.map_in_order(attempt, every, n_jobs)
        for found, error in progress.track(
            work, description=description, total=len(every), unit="images", size=lambda _: 1
        ):
            if error:
                self.n_failed += 1
                outcome.print_error(results.make_printable(error))
            elif found is not None:
                yield found


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
            return patches.stack_gray_patches([vision.read_image(path)], size)[0]

        paths = list(vision.list_images(one))
        for patch in found.work.read_all(read, paths, f"Reading {one.name}"):
            found.patches.append(patch)
            found.labels.append(one.name)
    if not found.patches:
        raise tables.TableError(f"No image of {folder} can be read.")
    return found


_FINEST = 1.6  # pixels of a patch for one of the window, as finer ones are averaged anyway
_MOST_BYTES = 6_000_000_000  # of all scenes


@dataclass(frozen=True, eq=False)
class LabelledFrames:
    """An image, or a pair of frames, with the boxes of the objects in it."""

    name: str
    frames: Any
    boxes: Array


@dataclass(frozen=True)
class LabelledReader:
    """Reads the images that a file of boxes names.

    Attributes
    ----------
    folder : Path
        Folder that names are relative to.
    channels : str
        Of the detector: what is not gray needs the earlier frame, which is the image before in the
        order of the names in the same folder.
    """

    folder: Path
    channels: str = "gray"

    def read(self, image: tables.LabelledImage) -> LabelledFrames | None:
        """Read an image; None if it is the first frame of its folder and a pair is needed."""
        place = self.folder / image.name
        if self.channels == "gray":
            return LabelledFrames(image.name, vision.read_image(place), image.boxes)
        before = _find_earlier(place.parent).get(place)
        if before is None and place.is_file():
            return None
        now = vision.read_image(place)
        pair = vision.read_image(before or place), now
        if pair[0].shape != now.shape:
            raise vision.ImageError(f"{place} has another size than the frame before, {before}.")
        return LabelledFrames(image.name, pair, image.boxes)


def find_folder(boxes: str, images: str | None) -> Path:
    """Return the folder that names of images are relative to."""
    return Path(boxes).parent if images is None else Path(images)


@functools.cache
def _find_earlier(folder: Path) -> dict[Path, Path | None]:
    """Return the image before each image of a folder, by name."""
    paths = [path for path in vision.list_images(folder) if path.parent == folder]
    return dict(zip(paths, [None, *paths], strict=False))


def stack_frames(frames: Any) -> Any:
    """Return an image (H, W), or a pair, as an array (F, H, W)."""
    return np.stack(frames) if isinstance(frames, tuple) else np.asarray(frames)[None]


@dataclass(eq=False)
class TrainingImages:
    """Patches (N, F, h, w), scenes, the boxes in them, and the image of each patch."""

    patches: list[Any] = field(default_factory=list)
    scenes: list[Any] = field(default_factory=list)
    scene_boxes: list[Array] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    n_bytes: int = 0
    reading: ImageReading = field(default_factory=ImageReading)

    def add_scene(self, frames: Any, boxes: Array) -> None:
        """Take up a scene; refuse more of them than memory has room for."""
        self.n_bytes += stack_frames(frames).nbytes
        if self.n_bytes > _MOST_BYTES:
            raise tables.TableError(
                f"The scenes have more than {_MOST_BYTES:,} pixels; use fewer or smaller ones."
            )
        self.scenes.append(frames)
        self.scene_boxes.append(boxes)


def read_folders(patches: str, scenes: str, size: tuple[int, int]) -> TrainingImages:
    """Read a folder of patches and a folder of scenes."""
    found = TrainingImages()
    for k, image in enumerate(
        found.reading.read_all(vision.read_image, _list_folder(patches), "Reading patches")
    ):
        found.patches.append(image[None])
        found.groups.append(k)
    if len({patch.shape for patch in found.patches}) > 1:
        found.patches = [resizing.resize_planes(patch, *size) for patch in found.patches]
    read_scenes(scenes, found)
    return found


def read_scenes(folder: str, found: TrainingImages) -> None:
    """Add the images of a folder, which show no object."""
    for image in found.reading.read_all(vision.read_image, _list_folder(folder), "Reading scenes"):
        found.add_scene(image, np.empty((0, 4)))


def read_labelled(
    known: Iterable[tables.LabelledImage], reader: LabelledReader, size: tuple[int, int]
) -> TrainingImages:
    """Cut patches out of images with known boxes; the images are scenes too."""
    found = TrainingImages()
    for k, image in enumerate(found.reading.read_all(reader.read, known, "Reading images")):
        frames = stack_frames(image.frames)
        for box in image.boxes:
            found.patches.append(cut_patch(frames, box, size))
            found.groups.append(k)
        found.add_scene(image.frames, image.boxes)
    return found


def find_patch_size(window: tuple[int, int], inset: tuple[float, ...]) -> tuple[int, int]:
    """Return height and width of patches that are cut or resized for a window."""
    top, left, bottom, right = inset
    return (
        round(_FINEST * window[0] / (1.0 - top - bottom)),
        round(_FINEST * window[1] / (1.0 - left - right)),
    )


def cut_patch(frames: Any, box: Array, size: tuple[int, int]) -> Any:
    """Cut a box out of frames (F, H, W), grown about its middle to the shape of a patch.

    Beyond the edge of the image its last pixels go on.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import reading
    >>> frames = np.arange(36, dtype=np.uint8).reshape(1, 6, 6)
    >>> reading.cut_patch(frames, np.array([2.0, 1.0, 3.0, 4.0]), (3, 3))
    array([[[ 7,  8,  9],
            [13, 14, 15],
            [19, 20, 21]]], dtype=uint8)
    """
    x0, y0, x1, y1 = (float(number) for number in box)
    height = max(y1 - y0, (x1 - x0) * size[0] / size[1])
    width = height * size[1] / size[0]
    top, left = round((y0 + y1 - height) / 2.0), round((x0 + x1 - width) / 2.0)
    lines = np.clip(np.arange(top, top + max(1, round(height))), 0, frames.shape[1] - 1)
    columns = np.clip(np.arange(left, left + max(1, round(width))), 0, frames.shape[2] - 1)
    return resizing.resize_planes(frames[:, lines[:, None], columns], *size)


def _list_folder(folder: str) -> list[Path]:
    paths = list(vision.list_images(folder)) if Path(folder).is_dir() else []
    if not paths:
        raise tables.TableError(f"{folder} is not a folder with images.")
    return paths


def parse_window(text: str) -> tuple[int, int]:
    """Parse a height and a width such as 24x24."""
    match = re.fullmatch(r"(\d{1,4})\s*[x,]\s*(\d{1,4})", text.strip().lower())
    if not match:
        raise typer.BadParameter(f"{text!r} is not a height and a width; use, for example, 24x24.")
    return int(match[1]), int(match[2])
