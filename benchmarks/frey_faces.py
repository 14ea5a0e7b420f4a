"""A script that draws two dimensions of a film of one face, with the faces between the frames.

``python -m benchmarks.frey_faces`` writes a picture to benchmarks/data and prints where it is.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import matplotlib.pyplot as plt
import numpy as np
import typer
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from benchmarks.cases import Array
from posterity import GPLVM, displays

HERE = Path(__file__).parent
FOLDER_NAME = "shared/data/gplvm"
FOLDER = HERE.parent.parent / FOLDER_NAME
DIMENSIONS, CARRIERS, BRIGHTEST = 2, 80, 255.0


def faces(step: int) -> tuple[Array, tuple[int, int]]:
    """Every so many frames, pixels between 0 and 1, with height and width."""
    with np.load(FOLDER / "frey_faces.npz", allow_pickle=False) as file:
        height, width = (int(n) for n in file["image_shape"])
        return file["X"][::step] / BRIGHTEST, (height, width)


def fit_faces(X: Array, steps: int) -> GPLVM:
    """The most probable latent points, the process carried by few; steps are not to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GPLVM(DIMENSIONS, inducing_points=CARRIERS, max_iter=steps).fit(X)


def draw(model: GPLVM, shape: tuple[int, int], target: Path, n_images: int) -> None:
    """The map of the frames, shaded by doubt, with faces of the model at some of them."""
    with displays.style():
        figure, ax = plt.subplots(figsize=(12, 10))
        display = displays.LatentMapDisplay.from_estimator(
            model, image_shape=shape, n_images=n_images
        )
        display.plot(ax, image_size=34.0, cmap="gray").set(title="Frey's faces, GPLVM")
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target)
        plt.close(figure)


def main(
    step: Annotated[int, typer.Option(min=1, help="Take every so many frames.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="L-BFGS iterations.")] = 300,
    images: Annotated[int, typer.Option(min=0, help="Faces to show, at most.")] = 90,
    target: Annotated[Path, typer.Option(help="The picture.")] = HERE / "data" / "frey_faces.png",
) -> None:
    """Fit, draw and say where the picture is."""
    console = Console()
    if not FOLDER.exists():
        message = f"{FOLDER_NAME} is not beside the repository."
        console.print(f"frey_faces: skipped, because {message}")
        return
    X, shape = faces(step)
    draw(fit_faces(X, steps), shape, target, images)
    console.print(f"{target}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
