"""Demo of people: parts of rendered bodies, poses from silhouettes, and walking."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posterity import displays, files, vision
from posterity.arrays import Array
from posterity.vision import bodies, images
from posterity.vision.commands import results
from posterity.vision.commands.body_parts import find_frame, shade
from posterity.vision.commands.results import Demonstration, hide_axes

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
    with results.start_figure(11, 8.0) as figure:
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
    with results.start_figure(11, 8) as figure:
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


_N_SHOWN = 5


def show_walk(folder: Path) -> Demonstration:
    """Learn how a person walks, and infer the poses of another walk from silhouettes."""
    walks = vision.datasets.walkers(3)
    learned, new = walks.groups < 2, walks.groups == 2
    model = vision.WalkingModel(3, mask_components=12, max_iter=200).fit(
        walks.masks[learned],
        walks.poses[learned],
        groups=walks.groups[learned],
        times=walks.times[learned],
    )
    poses, masks = walks.poses[new], walks.masks[new]
    found = model.predict_modes(masks, times=walks.times[new])
    off = np.linalg.norm(found.best() - poses, axis=-1).mean()
    low, high = found.interval(0.9)
    inside = np.mean((low <= poses) & (poses <= high))
    frames = np.linspace(0, len(poses) - 1, _N_SHOWN).astype(int)
    with results.start_figure(11, 6.4) as figure:
        above, below = figure.subplots(2, _N_SHOWN)
        for k, frame in enumerate(frames):
            above[k].imshow(~masks[frame], cmap="gray")
            sure = np.einsum("jd,de->jde", found.standard_deviation()[frame] ** 2, np.eye(3))
            for positions, color, around in (
                (poses[frame], displays.COLORS["grey"], None),
                (found.best()[frame], displays.COLORS["blue"], sure),
            ):
                skeleton = vision.displays.SkeletonDisplay.from_positions(
                    positions, walks.bones, covariance=around
                )
                skeleton.plot(below[k], color=color)
            below[k].set(xlim=(-0.75, 0.75), ylim=(1.15, -0.8))
            hide_axes((above[k], below[k]))
        above[0].set_title("Silhouettes of a walk")
        below[0].set_title("Poses: true (grey), inferred")
    return Demonstration(
        "walking",
        "Walking from silhouettes",
        "A latent space has learned from two walks of a person how poses follow each other and "
        "look from the side; a third walk is seen only in silhouettes.",
        figure,
        f"Joints are {100 * off:.1f} cm off on average, and {100 * inside:.0f} % of their "
        "coordinates are in the 90 % intervals. Ellipses are of 90 %.",
    )
