"""Write the golden files that are missing: python tests/persistence/make_golden.py.

Files that exist stay as they are: that a later version reads them is what they are kept for.
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
    """Write one model file and one file of its answers for each model that has none."""
    for name, model in golden_models.models().items():
        if (FOLDER / f"{name}.posterity").exists():
            continue
        persistence.save(model, FOLDER / f"{name}.posterity")
        said = answers(persistence.load(FOLDER / f"{name}.posterity"), golden_models.queries(name))
        np.savez(FOLDER / f"{name}.npz", **said)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
