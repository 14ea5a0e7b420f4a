"""``posterity vision pose``: poses of people from silhouettes."""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from posterity import vision
from posterity.arrays import Array
from posterity.cli.output import OutputPrinter
from posterity.vision import PoseModes, bodies, masks
from posterity.vision.commands import results, sources
from posterity.vision.commands.picture_requests import PoseRequest
from posterity.vision.commands.picture_tasks import PictureFile, PictureTask, Tally, count_things
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture
from posterity.vision.masks import Mask

JOINTS = Kind(
    "joints", ("joint", "x", "y", "z", "x_low", "x_high", "y_low", "y_high", "z_low", "z_high")
)

_MOST_PIXELS = 20_000_000
_LEVEL = 0.9
_LEAST_MODE = 0.1  # probability from which a pose is shown; the most probable one always is
_MOST = 3  # poses in a picture
_CARD = (
    "The model of the package has learned from rendered silhouettes of a few people; its errors "
    "and limits are on the page on silhouettes of the documentation."
)


class PoseTask(PictureTask):
    """Finds the poses of masks, of each by itself or of the frames of a video together."""

    kind = JOINTS
    made = (PictureFile("draw", "Drawn"),)
    description, nouns = "Posing", ("mask", "masks")
    heads = ("joint", "right, m", "down, m", "forward, m")
    command, next_out, next_drawing = "pose", "pose.json", "poses"
    request: PoseRequest

    def check_request(self) -> None:
        """Refuse videos that are not one folder, and outputs that cannot be written."""
        inputs, is_video = self.request.inputs, self.request.video
        if is_video and (len(inputs) != 1 or not Path(inputs[0]).is_dir()):
            raise typer.BadParameter("--video needs one folder, with a mask for each frame.")
        self.batch_size = None if is_video else 1
        super().check_request()

    def prepare_model(self) -> None:
        """Load the model, and refuse one of other joints."""
        advice = "not a SilhouettePose; fit one in Python and save it with posterity.save."
        self.model = sources.load_model(self.request.model, vision.SilhouettePose, "pose", advice)
        if self.model.contexts_ is None or self.model.target_shape_ != (len(bodies.JOINTS), 3):
            raise typer.BadParameter(
                "The model must have learned the 16 joints of posterity.vision.bodies from masks."
            )

    def list_pictures(self) -> Iterator[Picture]:
        """Yield masks of figures."""
        read = functools.partial(masks.read_figure, most_pixels=_MOST_PIXELS)
        work = sources.list_files(self.request.inputs, read, vision.list_images)
        return sources.name_drawings(work, (".png",))

    def work(self, batch: Sequence[tuple[Picture, Mask]]) -> Iterator[PictureResult]:
        """Find the poses of masks that were read together."""
        X, video = [mask for _, mask in batch], self.request.video
        answer = self.model.predict_dist(X, video=video)
        every = self.model.predict_modes(X, video=video)
        low, high = answer.interval(_LEVEL)
        for k, (picture, mask) in enumerate(batch):
            probability, poses = every.list_probable(k, _LEAST_MODE)
            if place := self.find_place("draw", picture):
                draw_modes(place, mask, every, k)
            about = {
                "regions": masks.find_largest_region(mask)[1],
                "modes": [
                    {"probability": round(float(p), 4), "joints": np.round(pose, 3).tolist()}
                    for p, pose in zip(probability, poses, strict=True)
                ],
            }
            yield PictureResult(picture.name, list_joints(poses[0], low[k], high[k]), about=about)

    def count(self, result: PictureResult) -> dict[str, int]:
        """Return whether a mask has several regions."""
        return {"several_regions": int(result.about["regions"] > 1)}

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return a row for each joint."""
        return [
            (
                joint["joint"],
                *(
                    f"{joint[a]:.2f}, {joint[f'{a}_low']:.2f} to {joint[f'{a}_high']:.2f}"
                    for a in "xyz"
                ),
            )
            for joint in result.list_found()
        ]

    def show(self, tally: Tally, printer: OutputPrinter) -> None:
        """Print the most probable pose of the first mask."""
        first = next((result for result in tally.first if result.found is not None), None)
        if first is None:
            return
        title = f"Pose of {results.make_printable(first.name)}"
        printer.table(title, self.heads, self.list_rows(first), words=1)
        chances = [f"{100 * mode['probability']:.0f} %" for mode in first.about["modes"]]
        if len(chances) > 1:
            printer.say(f"The silhouette may show {len(chances)} poses: {', '.join(chances)}.")

    def describe(self, tally: Tally) -> Iterator[str]:
        """Yield the number of masks, and of those with several regions."""
        yield f"Found poses of {count_things(tally.n_read, *self.nouns)}."
        if n_several := tally.totals["several_regions"]:
            several = count_things(n_several, "mask has", "masks have")
            yield f"{several} more than one region; the largest was used."
        if self.request.model is None:
            yield _CARD


run = PoseTask.run


def list_joints(pose: Array, low: Array, high: Array) -> list[dict[str, Any]]:
    """Return joints in metres from the middle of the hips, with 90 % intervals, as JSON types."""
    rows = []
    for name, place, least, most in zip(bodies.JOINTS, pose, low, high, strict=True):
        bounds = np.column_stack([least, most]).ravel()
        values = [name, *(round(float(number), 3) for number in (*place, *bounds))]
        rows.append(dict(zip(JOINTS.columns, values, strict=True)))
    return rows


def draw_modes(place: Path, mask: Mask, modes: PoseModes, frame: int) -> None:
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
    probability, poses = (a[:_MOST] for a in modes.list_probable(frame, _LEAST_MODE))
    around = np.einsum("kjd,de->kjde", modes.standard_deviations[frame, :_MOST] ** 2, np.eye(3))
    with results.start_figure(2.7 * (len(poses) + 2), 3.6) as figure:
        axes = figure.subplots(1, len(poses) + 2)
        axes[0].imshow(~mask, cmap="gray", vmin=-0.6, vmax=1.0)
        axes[0].set(xticks=[], yticks=[], title="Silhouette")
        for k, p in enumerate(probability):
            _plot_pose(axes[1 + k], poses[k], around[k]).set_title(f"Pose, {100 * p:.0f} %")
        _plot_pose(axes[-1], poses[0], around[0], turn=90.0).set_title("First pose, turned")
        for ax in axes:
            ax.spines[:].set_visible(False)
        results.save_figure(place, figure, dpi=100)


def _plot_pose(ax, pose: Array, around: Array, turn: float = 0.0):  # type: ignore[no-untyped-def]
    display = vision.displays.SkeletonDisplay.from_positions(pose, bodies.BONES, covariance=around)
    drawn = display.plot(ax, turn=turn)
    drawn.set(xlim=(-0.8, 0.8), ylim=(1.05, -0.95), xticks=[], yticks=[])
    return drawn
