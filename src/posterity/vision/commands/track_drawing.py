"""Draw a track: one file per frame, or an animation."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from posterity import files, vision

Drawer: TypeAlias = Callable[[str, Any, vision.TrackedBox], None]
_MOST_BYTES = 500_000_000  # of the frames of an animation
_WRITABLE = (".png", ".jpg", ".jpeg")


@contextlib.contextmanager
def open_drawer(draw: str | None) -> Iterator[Drawer]:
    """Yield a function that draws a frame; an animation appears when the block succeeds."""
    if draw is None:
        yield lambda name, image, found: None
    elif Path(draw).suffix.lower() == ".gif":
        animation = _Animation()
        yield animation.add
        animation.write(draw)
    else:
        yield _FolderDrawer(Path(draw)).add


class _FolderDrawer:
    """Writes a file per frame; a frame that cannot be read is drawn on the one before."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, None

    def add(self, name: str, image: Any, found: vision.TrackedBox) -> None:
        self._before = self._before if image is None else image
        place = self._folder / name
        if place.suffix.lower() not in _WRITABLE:
            place = place.with_name(f"{place.name}.png")
        place.parent.mkdir(parents=True, exist_ok=True)
        vision.write_image(place, found.draw(self._before))


class _Animation:
    """Keeps frames of 256 colours, as many as memory should hold."""

    def __init__(self) -> None:
        self._frames: list[Any] = []
        self._n_bytes = 0
        self._before: Any = None

    def add(self, name: str, image: Any, found: vision.TrackedBox) -> None:
        from PIL import Image

        self._before = self._before if image is None else image
        drawn = found.draw(self._before)
        self._n_bytes += drawn.shape[0] * drawn.shape[1]
        if self._n_bytes > _MOST_BYTES:
            raise vision.ImageError(
                f"The animation would have more than {_MOST_BYTES:,} pixels; draw to a folder."
            )
        self._frames.append(Image.fromarray(np.asarray(drawn)).quantize(256))

    def write(self, path: str) -> None:
        if not self._frames:
            return
        with files.replace_atomically(path) as file:
            self._frames[0].save(
                file, format="GIF", save_all=True, append_images=self._frames[1:], duration=40
            )
