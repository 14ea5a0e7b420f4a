"""Write the golden files of this version: python tests/persistence/make_golden.py.

To be run once for each version of the format. Files of earlier versions stay as they are: that
they can be read is what they are kept for.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import golden_models
from persistence_cases import answers

from posterity import persistence

FOLDER = Path(__file__).parent / "golden"


def main() -> None:
    """One model file and one file of what it says, for each model."""
    FOLDER.mkdir(exist_ok=True)
    for name, model in golden_models.models().items():
        persistence.save(model, FOLDER / f"{name}.posterity")
        said = answers(persistence.load(FOLDER / f"{name}.posterity"), golden_models.queries(name))
        np.savez(FOLDER / f"{name}.npz", **said)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
