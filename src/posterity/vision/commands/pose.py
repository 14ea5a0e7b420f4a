"""``posterity vision pose``: poses of people from silhouettes."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import progress, vision
from posterity.arrays import Array
from posterity.cli import outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision import bodies, contours, masks
from posterity.vision.commands import detectors, drawings, models, pictures, pose_pictures, results
from posterity.vision.commands.pictures import Picture
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.tally import Tally, count_things

JOINTS = Kind(
    "joints", ("joint", "x", "y", "z", "x_low", "x_high", "y_low", "y_high", "z_low", "z_high")
)

_SHOWN = 16  # joints in the table for people
_MOST_PIXELS = 20_000_000
_LEVEL = 0.9
_CARD = (
    "The model of the package has learned from rendered silhouettes of a few people; its errors "
    "and limits are on the page on silhouettes of the documentation."
)


@dataclass(frozen=True)
class PoseRequest:
    """Which masks to read, with which model, and what to write."""

    inputs: tuple[str, ...]
    model: str | None
    out: str | None
    draw: str | None
    video: bool
    force: bool

    @property
    def is_single(self) -> bool:
        """Whether there is one mask, which is drawn to a file and not to a folder."""
        return len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()

    def words(self) -> list[str]:
        """Return the options that repeat this work."""
        video = ["--video"] if self.video else []
        return [*video, *(("--model", self.model) if self.model else ())]


@dataclass
class _Counts:
    """What has been read so far, and the first results."""

    files: Tally = field(default_factory=Tally)
    n_several: int = 0
    first: list[PictureResult] = field(default_factory=list)

    def add(self, result: PictureResult, *, keep: bool) -> None:
        """Count a result, and keep it if it is asked for."""
        self.files.add(result)
        self.n_several += result.about.get("regions", 1) > 1
        if keep:
            self.first.append(result)


def run(plan: PoseRequest, voice: OutputPrinter) -> None:
    """Find the poses of all masks, and count what cannot be read."""
    _check_outputs(plan)
    detectors.require_pillow()
    model = _load_model(plan)
    counts, keep_all = _Counts(), voice.machine and plan.out is None
    with results.open_writer(plan.out, JOINTS) as writer:
        found = _find_video(plan, model) if plan.video else _find_frames(plan, model)
        for result in progress.track(found, description="Posing", unit="masks", size=lambda _: 1):
            writer.write(result)
            counts.add(result, keep=keep_all or (plan.out is None and not counts.first))
    _conclude(plan, voice, counts)


def _load_model(plan: PoseRequest) -> vision.SilhouettePose:
    advice = "not a SilhouettePose; fit one in Python and save it with posterity.save."
    model = models.load_model(plan.model, vision.SilhouettePose, "pose", advice)
    if model.contexts_ is None or model.target_shape_ != (len(bodies.JOINTS), 3):
        raise typer.BadParameter(
            "The model must have learned the 16 joints of posterity.vision.bodies from masks."
        )
    return model


def _list_work(plan: PoseRequest) -> Iterator[Picture]:
    read = functools.partial(vision.read_mask, most_pixels=_MOST_PIXELS)
    return drawings.name_drawings(
        pictures.list_files(plan.inputs, read, vision.list_images), (".png",)
    )


def _read(picture: Picture) -> NDArray[np.bool_] | PictureResult:
    """A mask, or why it cannot be read."""
    try:
        return masks.check_figure(picture.load(), picture.name)
    except vision.ImageError as error:
        return PictureResult(picture.name, None, str(error))
    except MemoryError:
        return PictureResult(picture.name, None, f"{picture.name} is too large for the memory.")


def _find_frames(plan: PoseRequest, model: vision.SilhouettePose) -> Iterator[PictureResult]:
    """Poses mask by mask."""
    for picture in _list_work(plan):
        mask = _read(picture)
        if isinstance(mask, PictureResult):
            yield mask
        else:
            yield from _describe(plan, model, [(picture, mask)])


def _find_video(plan: PoseRequest, model: vision.SilhouettePose) -> Iterator[PictureResult]:
    """Poses of all frames that can be read, each judged by all."""
    read = []
    for picture in _list_work(plan):
        mask = _read(picture)
        if isinstance(mask, PictureResult):
            yield mask
        else:
            read.append((picture, mask))
    if read:
        yield from _describe(plan, model, read)


def _describe(
    plan: PoseRequest,
    model: vision.SilhouettePose,
    read: list[tuple[Picture, NDArray[np.bool_]]],
) -> Iterator[PictureResult]:
    X = [mask for _, mask in read]
    answer, every = (
        model.predict_dist(X, video=plan.video),
        model.predict_modes(X, video=plan.video),
    )
    low, high = answer.interval(_LEVEL)
    for k, (picture, mask) in enumerate(read):
        probability, poses = every.list_probable(k, pose_pictures.LEAST_MODE)
        if plan.draw is not None:
            place = drawings.find_place(plan.draw, picture, is_single=plan.is_single)
            pose_pictures.draw_modes(place, mask, every, k)
        about = {
            "regions": contours.find_largest_region(mask)[1],
            "modes": [
                {"probability": round(float(p), 4), "joints": np.round(pose, 3).tolist()}
                for p, pose in zip(probability, poses, strict=True)
            ],
        }
        yield PictureResult(picture.name, list_joints(poses[0], low[k], high[k]), about=about)


def list_joints(pose: Array, low: Array, high: Array) -> list[dict[str, Any]]:
    """Return joints in metres from the middle of the hips, with 90 % intervals, as JSON types."""
    rows = []
    for name, place, least, most in zip(bodies.JOINTS, pose, low, high, strict=True):
        bounds = np.column_stack([least, most]).ravel()
        values = [name, *(round(float(number), 3) for number in (*place, *bounds))]
        rows.append(dict(zip(JOINTS.columns, values, strict=True)))
    return rows


def _check_outputs(plan: PoseRequest) -> None:
    """Refuse wrong combinations of options and outputs that cannot be written."""
    if plan.video and (len(plan.inputs) != 1 or not Path(plan.inputs[0]).is_dir()):
        raise typer.BadParameter("--video needs one folder, with a mask for each frame.")
    if plan.out is not None and plan.out != results.STDOUT:
        results.find_format(plan.out)
        outputs.check_output_file(plan.out, force=plan.force, inputs=plan.inputs)
    drawings.check_drawings(
        plan.draw, plan.inputs, option="--draw", is_single=plan.is_single, force=plan.force
    )


def _conclude(plan: PoseRequest, voice: OutputPrinter, counts: _Counts) -> None:
    """Print counts and the first pose, and end with exit code 3 if a file could not be read."""
    if plan.out is None:
        _show_joints(voice, counts)
    if plan.out not in (None, results.STDOUT):
        voice.say(f"Joints written to {plan.out}.")
    if plan.draw is not None:
        voice.say(f"Drawn to {plan.draw}.")
    voice.say(f"Found poses of {count_things(counts.files.n_read, 'mask', 'masks')}.")
    if counts.n_several:
        several = count_things(counts.n_several, "mask has", "masks have")
        voice.say(f"{several} more than one region; the largest was used.")
    if plan.model is None:
        voice.say(_CARD)
    if plan.out is None:
        further = ["--draw", "pose.png" if plan.is_single else "poses"]
        if plan.draw is not None:
            further = ["--out", "pose.json"]
        voice.next("vision", "pose", *plan.inputs, *plan.words(), *further)
    voice.give(
        {
            "masks": counts.files.n_read,
            "failed": counts.files.n_failed,
            "several_regions": counts.n_several,
            "out": plan.out,
            "draw": plan.draw,
            "found": [one.as_record(JOINTS) for one in counts.first] if plan.out is None else None,
        }
    )
    counts.files.finish()


def _show_joints(voice: OutputPrinter, counts: _Counts) -> None:
    for result in counts.first[:1]:
        if result.found is None:
            continue
        rows = [
            (
                joint["joint"],
                *(
                    f"{joint[a]:.2f}, {joint[f'{a}_low']:.2f} to {joint[f'{a}_high']:.2f}"
                    for a in "xyz"
                ),
            )
            for joint in result.found
        ]
        heads = ("joint", "right, m", "down, m", "forward, m")
        voice.table(f"Pose of {results.make_printable(result.name)}", heads, rows[:_SHOWN], words=1)
        chances = [f"{100 * mode['probability']:.0f} %" for mode in result.about["modes"]]
        if len(chances) > 1:
            voice.say(f"The silhouette may show {len(chances)} poses: {', '.join(chances)}.")
