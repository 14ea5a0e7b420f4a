"""Draw a mask beside the poses that it may show."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posterity import displays, files, vision
from posterity.arrays import Array
from posterity.vision import PoseModes, bodies

LEAST_MODE = 0.1
"""Probability from which a pose is shown; the most probable one always is."""

_MOST = 3  # poses in a picture


def draw_modes(place: Path, mask: NDArray[np.bool_], modes: PoseModes, frame: int) -> None:
    """Write a picture of the mask, of its most probable poses as seen, and of the first turned.

    Parameters
    ----------
    place : Path
        File to write.
    mask : array (H, W) of bool
    modes : PoseModes
        Poses of 16 joints.
    frame : int
        Number of the frame of the mask.
    """
    probability, poses = (a[:_MOST] for a in modes.list_probable(frame, LEAST_MODE))
    around = np.einsum("kjd,de->kjde", modes.standard_deviations[frame, :_MOST] ** 2, np.eye(3))
    with displays.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2.7 * (len(poses) + 2), 3.6), layout="constrained")
        axes = figure.subplots(1, len(poses) + 2)
        axes[0].imshow(~mask, cmap="gray", vmin=-0.6, vmax=1.0)
        axes[0].set(xticks=[], yticks=[], title="Silhouette")
        for k, p in enumerate(probability):
            _plot_pose(axes[1 + k], poses[k], around[k]).set_title(f"Pose, {100 * p:.0f} %")
        _plot_pose(axes[-1], poses[0], around[0], turn=90.0).set_title("First pose, turned")
        for ax in axes:
            ax.spines[:].set_visible(False)
        with files.replace_atomically(place) as file:
            figure.savefig(file, format=place.suffix.removeprefix(".").lower(), dpi=100)


def _plot_pose(ax, pose: Array, around: Array, turn: float = 0.0):  # type: ignore[no-untyped-def]
    display = vision.displays.SkeletonDisplay.from_positions(pose, bodies.BONES, covariance=around)
    drawn = display.plot(ax, turn=turn)
    drawn.set(xlim=(-0.8, 0.8), ylim=(1.05, -0.95), xticks=[], yticks=[])
    return drawn
