"""Count pictures, and end with exit code 3 if some could not be read."""

from dataclasses import dataclass

import typer

from posterity.cli import outcome
from posterity.vision.commands import results
from posterity.vision.commands.results import PictureResult


@dataclass
class Tally:
    """Number of pictures so far, and of those that could not be read."""

    n_pictures: int = 0
    n_failed: int = 0

    @property
    def n_read(self) -> int:
        """Number of pictures that could be read."""
        return self.n_pictures - self.n_failed

    def add(self, result: PictureResult) -> None:
        """Count a picture, and say why it could not be read."""
        self.n_pictures += 1
        if result.found is None:
            self.n_failed += 1
            outcome.print_error(results.make_printable(result.error))

    def finish(self) -> None:
        """Exit with code 3 if a picture could not be read."""
        if self.n_failed:
            files = count_things(self.n_pictures, "image", "images")
            outcome.print_error(f"{self.n_failed:,} of {files} could not be read.")
            raise typer.Exit(outcome.DATA)


def count_things(n: int, one: str, many: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from posterity.vision.commands import tally
    >>> tally.count_things(1, "box", "boxes"), tally.count_things(1200, "box", "boxes")
    ('1 box', '1,200 boxes')
    """
    return f"{n:,} {one if n == 1 else many}"
