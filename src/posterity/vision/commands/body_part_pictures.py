"""Draw the parts of a body, their entropy, and its joints, side by side."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import displays, files, vision
from posterity.vision import bodies

_MATPLOTLIB = threading.Lock()  # which is not made for threads
_MARGIN = 12  # pixels around a person


def draw_body_parts(
    place: Path,
    depth: NDArray[np.float32],
    probabilities: NDArray[np.float32],
    joints: vision.Joints,
    camera: bodies.Camera,
) -> None:
    """Write a picture of the parts, of their entropy, and of joints over depth."""
    labels = vision.displays.LabelMapDisplay.from_probabilities(probabilities, bodies.PARTS)
    skeleton = vision.displays.SkeletonDisplay.from_joints(
        joints, camera=camera, image=shade(depth)
    )
    with _MATPLOTLIB, displays.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12.5, 4.6), layout="constrained")
        first, second, third = figure.subplots(1, 3)
        labels.plot(first).set_title("Parts")
        labels.plot_entropy(second).set_title("Doubt")
        skeleton.plot(third).set_title("Joints, probability in %")
        for axes in (first, second, third):
            axes.set(**find_frame(depth))
            axes.spines[:].set_visible(False)
        with files.replace_atomically(place) as file:
            figure.savefig(file, format=place.suffix.removeprefix(".").lower(), dpi=100)


def shade(depth: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Gray values of depth: near is dark, far is bright, and no reading is white.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import body_part_pictures
    >>> body_part_pictures.shade(np.array([[0.0, 2.0, 3.0]], dtype=np.float32))
    array([[255,  90, 220]], dtype=uint8)
    """
    seen = depth > 0.0
    low, high = (depth[seen].min(), depth[seen].max()) if seen.any() else (0.0, 1.0)
    share = (depth - low) / max(float(high - low), 1e-6)
    return np.where(seen, np.rint(90.0 + 130.0 * share), 255.0).astype(np.uint8)


def find_frame(depth: NDArray[np.float32]) -> dict[str, Any]:
    """Limits of axes around the readings of an image, with a margin."""
    rows, columns = np.nonzero(depth)
    height, width = depth.shape
    left, right = max(columns.min() - _MARGIN, 0), min(columns.max() + _MARGIN, width - 1)
    top, bottom = max(rows.min() - _MARGIN, 0), min(rows.max() + _MARGIN, height - 1)
    return {"xlim": (left - 0.5, right + 0.5), "ylim": (bottom + 0.5, top - 0.5)}
