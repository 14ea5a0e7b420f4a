"""Demo of poses from silhouettes: a frame by itself, and in its video."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posterity import displays, vision
from posterity.arrays import Array
from posterity.vision import bodies
from posterity.vision.commands.demo.demonstration import Demonstration, hide_axes

_SUBJECT = "08"  # a person of whom the model of the package knows nothing
_TURN = (60.0, 70.0)
_SHOWN = (3, 7, 11, 15, 19)  # frames with legs apart and together


def show_silhouettes(folder: Path) -> Demonstration:
    """Find poses of a person who walks, with the model of the package."""
    walk = next(one for one in vision.datasets.motions() if one.subject == _SUBJECT)
    video = bodies.VideoSampler(turn=_TURN).render(walk, np.random.default_rng(0), frames=30)
    model = vision.load_packaged("pose")
    modes = model.predict_modes(video.masks)
    answer = model.predict_dist(video.masks, video=True)
    found = answer.mean()
    off = np.linalg.norm(found - video.joints, axis=2).mean()
    low, high = answer.interval(0.9)
    inside = np.mean((low <= video.joints) & (video.joints <= high))
    place = folder / "silhouette.png"
    vision.write_image(place, np.where(video.masks[0], 255, 0).astype(np.uint8))
    return Demonstration(
        "pose",
        "Poses from silhouettes",
        "A mixture of kernel regressions has learned from rendered people; this person is not one "
        "of them.",
        _draw_figure(video, modes, found),
        "By itself a frame may show several poses; two are drawn at most. In the video, "
        f"joints are {100 * off:.1f} cm off on average, and {100 * inside:.0f} % of their "
        "coordinates are in the 90 % intervals.",
        ("vision", "pose", str(place)),
    )


def _draw_figure(video: bodies.SilhouetteVideo, modes: vision.PoseModes, found: Array) -> Figure:
    """Draw silhouettes, poses of single frames, and poses of the video over the true ones."""
    colors = displays.COLORS
    with displays.style():
        figure = Figure(figsize=(11, 8), layout="constrained")
        axes = figure.subplots(3, len(_SHOWN))
        for column, frame in zip(axes.T, _SHOWN, strict=True):
            column[0].imshow(~video.masks[frame], cmap="gray")
            column[0].set(xlim=(30, 130), ylim=(130, 30))
            for pose, color in zip(
                modes.list_probable(frame)[1][:2], ("orange", "grey"), strict=False
            ):
                _draw_pose(column[1], pose, colors[color])
            _draw_pose(column[2], video.joints[frame], colors["grey"])
            _draw_pose(column[2], found[frame], colors["blue"])
        hide_axes(axes.flat)
        axes[0, 0].set_title("Silhouettes")
        axes[1, 0].set_title("By itself: first (orange), second")
        axes[2, 0].set_title("In the video; true (grey)")
    return figure


def _draw_pose(ax: Axes, pose: Array, color: str) -> None:
    vision.displays.SkeletonDisplay.from_positions(pose, bodies.BONES).plot(ax, color=color)
    ax.set(xlim=(-0.75, 0.75), ylim=(1.15, -0.9))
