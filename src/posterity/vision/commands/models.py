"""Load the model of a command: a saved one, or that of the package."""

from typing import TypeVar

import typer

from posterity import persistence, vision
from posterity.cli.outcome import ModelError

T = TypeVar("T")


def load_model(path: str | None, kind: type[T], packaged: str, advice: str) -> T:
    """Load a saved model of a class, or the one of the package.

    Parameters
    ----------
    path : str, optional
        File of the model. None: the model of the package.
    kind : class
        Class that the model must have.
    packaged : str
        Name of the model of the package.
    advice : str
        What to do about a model of another class.
    """
    if path is None:
        try:
            model = vision.load_packaged(packaged)
        except persistence.FileError as error:
            raise typer.BadParameter(f"{error} Add --model FILE.") from None
    else:
        model = persistence.load(path)
    if not isinstance(model, kind):
        raise ModelError(f"{path!r} contains a {type(model).__name__}, {advice}")
    return model
