"""Demo of body parts: rendered people, and the model of the package."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from posterity import displays, files, vision
from posterity.vision import bodies, images
from posterity.vision.commands.body_parts import find_frame, shade
from posterity.vision.commands.demo.demonstration import Demonstration, hide_axes

_N_PEOPLE = 3


def show_bodies(folder: Path) -> Demonstration:
    """Label the parts of rendered people, and find their joints."""
    model = vision.load_packaged("body_parts")
    people = vision.datasets.bodies(_N_PEOPLE, max_turn=45.0, distance=(2.2, 2.8), random_state=18)
    p = model.predict_proba(people.depth)
    seen = people.depth > 0.0
    share = np.mean(p.argmax(axis=3)[seen] == people.parts[seen])
    expected = p.max(axis=3)[seen].mean()
    _write_depth(folder / "depth.png", people.depth[0])
    with displays.style():
        figure = Figure(figsize=(11, 8.0), layout="constrained")
        axes = figure.subplots(_N_PEOPLE, 4).T
        for k, depth in enumerate(people.depth):
            labels = vision.displays.LabelMapDisplay.from_probabilities(p[k], bodies.PARTS)
            axes[0, k].imshow(shade(depth), cmap="gray", vmin=0, vmax=255)
            labels.plot(axes[1, k], legend=False)
            labels.plot_entropy(axes[2, k], colorbar=False, max_entropy=3.5)
            skeleton = vision.displays.SkeletonDisplay.from_joints(
                model.find_joints(depth),
                camera=model.find_camera(depth.shape),
                image=shade(depth),
                min_probability=0.5,
            )
            skeleton.plot(axes[3, k])
            for ax in axes[:, k]:
                ax.set(**find_frame(depth))
        hide_axes(axes.flat)
        for ax, name in zip(axes[:, 0], ("Depth", "Parts", "Entropy", "Joints, %"), strict=True):
            ax.set_title(name)
    return Demonstration(
        "body-parts",
        "Bodies in depth images",
        "A forest that comes with the package assigns pixels of rendered people to 31 parts of the "
        "body and finds their joints.",
        figure,
        f"The forest expects {100 * expected:.0f} % of the pixels to have the right part; "
        f"{100 * share:.0f} % have. Entropy is bright where it doubts, and numbers beside joints "
        "are probabilities in percent that they are within 10 cm.",
        ("vision", "body-parts", str(folder / "depth.png"), "--draw", str(folder / "parts.png")),
    )


def _write_depth(place: Path, depth: np.ndarray) -> None:
    """Write depth in millimetres as an image of 16 bits."""
    picture = images.import_pillow().fromarray(np.rint(1000.0 * depth).astype(np.uint16))
    with files.replace_atomically(place) as file:
        picture.save(file, format="PNG")
