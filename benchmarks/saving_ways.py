"""Ways to bring a fitted model to a file and back, each as people write it."""

import pickle
from pathlib import Path
from typing import Any

import joblib

from posterity import persistence

PROTOCOL = 5


class Posterity:
    """``posterity.save`` and ``posterity.load``."""

    def save(self, model: Any, path: Path) -> None:
        """To a file that takes its place whole."""
        persistence.save(model, path)

    def prepare(self, path: Path) -> None:
        """Nothing is to be known of a file before it is loaded."""

    def load(self, path: Path) -> Any:
        """Back, every hash compared."""
        return persistence.load(path)


class Pickle:
    """``pickle``, in its newest protocol."""

    def save(self, model: Any, path: Path) -> None:
        """To an open file."""
        with path.open("wb") as file:
            pickle.dump(model, file, protocol=PROTOCOL)

    def prepare(self, path: Path) -> None:
        """Nothing can be known of a file before it is loaded."""

    def load(self, path: Path) -> Any:
        """Back, by running what is in the file."""
        with path.open("rb") as file:
            return pickle.load(file)


class Joblib:
    """``joblib``: a pickle whose arrays lie beside the code, as they are or compressed."""

    compress = 0

    def save(self, model: Any, path: Path) -> None:
        """To a file."""
        joblib.dump(model, path, compress=self.compress)

    def prepare(self, path: Path) -> None:
        """Nothing can be known of a file before it is loaded."""

    def load(self, path: Path) -> Any:
        """Back, by running what is in the file."""
        return joblib.load(path)


class JoblibCompressed(Joblib):
    """The same, compressed as its manual advises."""

    compress = 3


class Skops:
    """``skops``: no code in the file, but names of types that the reader must trust."""

    trusted: list[str]

    def save(self, model: Any, path: Path) -> None:
        """To a file."""
        import skops.io

        skops.io.dump(model, path)

    def prepare(self, path: Path) -> None:
        """A reader looks once at the types and then trusts them: not on the clock."""
        import skops.io

        self.trusted = skops.io.get_untrusted_types(file=path)

    def load(self, path: Path) -> Any:
        """Back, building only what is trusted."""
        import skops.io

        return skops.io.load(path, trusted=self.trusted)
