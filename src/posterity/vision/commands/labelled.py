"""Images with known boxes: where they lie, and the earlier frame of each."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posterity import tables, vision
from posterity.arrays import Array


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
