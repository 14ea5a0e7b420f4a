"""``posterity vision walk``: animate a walk, or the poses behind silhouettes."""

import csv
import functools
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, vision
from posterity.arrays import Array
from posterity.cli import outcome, outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision import masks
from posterity.vision.commands import detectors, models, results

_ANIMATIONS, _TABLE = (".svg", ".gif"), ".csv"
_ADVICE = "not a WalkingModel; fit one in Python and save it with posterity.save."
_FRAME = ("folder", "frame", "mode", "probability", "joint")
_HEADS = (*_FRAME, "x", "y", "z", "sd_x", "sd_y", "sd_z")


@dataclass(frozen=True)
class WalkRequest:
    """What to animate, with which model, and where to write it."""

    masks: tuple[str, ...]
    model: str | None
    out: str
    frames: int
    sample: bool
    interval: float | None
    seed: int
    force: bool


@dataclass(frozen=True)
class _Walk:
    """Poses to show, the time between them, and modes if they were inferred."""

    poses: Array
    interval: float
    folders: tuple[str, ...] = ()  # of each frame
    found: vision.PoseModes | None = None


def run(plan: WalkRequest, voice: OutputPrinter) -> None:
    """Find the poses, and write them."""
    suffix = Path(plan.out).suffix.lower()
    if suffix not in (*_ANIMATIONS, _TABLE):
        raise typer.BadParameter(f"--out {plan.out!r} must end in .svg, .gif or .csv.")
    outputs.check_output_file(plan.out, force=plan.force, inputs=plan.masks)
    if suffix == ".gif" or plan.masks:
        detectors.require_pillow()
    model = models.load_model(plan.model, vision.WalkingModel, "walking", _ADVICE)
    walk = _infer_walk(plan, model) if plan.masks else _make_walk(plan, model)
    names = vision.datasets.motions()[0].motion.skeleton.names
    if walk.poses.shape[1] != len(names):
        raise outcome.ModelError(
            f"The model has {walk.poses.shape[1]} joints; the command knows a skeleton of "
            f"{len(names)} only. Use predict_modes in Python."
        )
    if suffix == _TABLE:
        _write_table(plan.out, walk, names)
    else:
        vision.displays.WalkAnimation(walk.poses, names, interval=walk.interval).save(plan.out)
    _conclude(plan, voice, walk)


def _make_walk(plan: WalkRequest, model: vision.WalkingModel) -> _Walk:
    """The mean cycle, or a walk drawn at random."""
    try:
        if not plan.sample:
            interval = plan.interval or model.find_period() / plan.frames
            return _Walk(model.find_cycle(plan.frames)[1], interval)
        interval = plan.interval or model.find_interval()
        walk = model.sample(plan.frames, interval=interval, random_state=plan.seed)
    except ValueError as error:
        raise outcome.ModelError(str(error)) from None
    return _Walk(walk, interval)


def _infer_walk(plan: WalkRequest, model: vision.WalkingModel) -> _Walk:
    """Poses of the silhouettes of all folders, each a motion."""
    listed = [(folder, path) for folder in plan.masks for path in _list_folder(folder)]
    figures = [_read_mask(path) for _, path in listed]
    folders = tuple(folder for folder, _ in listed)
    groups = np.unique(folders, return_inverse=True)[1]
    interval = plan.interval or model.find_interval()
    times = np.concatenate([np.arange(np.sum(groups == k)) for k in np.unique(groups)]) * interval
    order = np.argsort(groups, kind="stable")
    own = np.empty(len(groups))
    own[order] = times
    found = model.predict_modes(figures, groups=groups, times=own)
    return _Walk(found.best(), interval, folders, found)


def _list_folder(folder: str) -> Iterator[Path]:
    if not Path(folder).is_dir():
        raise typer.BadParameter(f"--mask {folder!r} is not a folder of images.")
    listed = list(vision.list_images(folder))
    if not listed:
        raise typer.BadParameter(f"The folder {folder!r} contains no images.")
    yield from listed


def _read_mask(path: Path) -> NDArray[np.bool_]:
    try:
        return masks.check_figure(vision.read_mask(path), str(path))
    except vision.ImageError as error:
        outcome.print_error(results.make_printable(str(error)))
        raise typer.Exit(outcome.DATA) from None


def _write_table(out: str, walk: _Walk, names: tuple[str, ...]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_HEADS)
    for row in _list_rows(walk, names):
        table.writerow(row)
    with files.replace_atomically(out) as file:
        file.write(text.getvalue().encode())


def _list_rows(walk: _Walk, names: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    decimals = functools.partial(np.format_float_positional, precision=4, trim="-")
    if walk.found is None:
        for t, pose in enumerate(walk.poses):
            for name, where in zip(names, pose, strict=True):
                yield ("", t, 1, 1, name, *map(decimals, where), "", "", "")
        return
    found = walk.found
    for t, k in np.argwhere(found.probability > 0.0):
        for j, name in enumerate(names):
            numbers = (*found.poses[t, k, j], *found.standard_deviations[t, k, j])
            p = decimals(found.probability[t, k])
            yield (walk.folders[t], t, k + 1, p, name, *map(decimals, numbers))


def _conclude(plan: WalkRequest, voice: OutputPrinter, walk: _Walk) -> None:
    n = len(walk.poses)
    voice.say(f"{n:,} frames, {n * walk.interval:.2f} s, written to {plan.out}.")
    summary: dict[str, object] = {"frames": n, "interval": walk.interval, "out": plan.out}
    if walk.found is not None:
        several = int(np.sum(walk.found.probability[:, 0] < 0.9))
        spread = 100.0 * float(np.mean(walk.found.standard_deviation()))
        voice.say(f"Coordinates of joints have a standard deviation of {spread:.1f} cm on average.")
        if several:
            voice.say(f"{several:,} frames have more than one pose that explains the silhouette.")
        summary |= {"ambiguous": several, "standard_deviation_cm": spread}
    if not plan.masks:
        voice.next("vision", "walk", "--mask", "FOLDER", "--out", "walk.gif")
    voice.give(summary)
