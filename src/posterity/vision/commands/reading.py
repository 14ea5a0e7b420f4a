"""Read many images; those that cannot be read are reported, counted and left out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from posterity import progress, vision
from posterity.cli import outcome
from posterity.vision.commands import results

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
