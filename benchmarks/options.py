"""How a benchmark is run, and where its results go."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    repeats: int = 5
    threads: int | None = None
    quick: bool = False
    console: Console = field(default_factory=lambda: Console(quiet=True))
    folder: Path | None = None

    @property
    def results(self) -> Path:
        """A rehearsal must not replace the tables that are kept."""
        return self.folder or HERE / ("data/quick" if self.quick else "results")
