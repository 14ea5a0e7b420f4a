"""``posterity vision walk``: animate a walk, or the poses behind silhouettes."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, vision
from posterity.arrays import Array
from posterity.cli import outcome, output
from posterity.cli.output import OutputPrinter
from posterity.vision import masks
from posterity.vision.commands import results, sources
from posterity.vision.commands.picture_requests import WalkRequest

_ANIMATIONS, _TABLE = (".svg", ".gif"), ".csv"
_ADVICE = "not a WalkingModel; fit one in Python and save it with posterity.save."
_FRAME = ("folder", "frame", "mode", "probability", "joint")
_HEADS = (*_FRAME, "x", "y", "z", "sd_x", "sd_y", "sd_z")


@dataclass(frozen=True)
class _Walk:
    """Poses to show, the time between them, and modes if they were inferred."""

    poses: Array
    interval: float
    folders: tuple[str, ...] = ()  # of each frame
    found: vision.PoseModes | None = None


def run(request: WalkRequest, printer: OutputPrinter) -> None:
    """Find the poses, and write them."""
    if request.mask and request.sample:
        raise typer.BadParameter("choose --mask or --sample, not both.")
    suffix = Path(request.out).suffix.lower()
    if suffix not in (*_ANIMATIONS, _TABLE):
        raise typer.BadParameter(f"--out {request.out!r} must end in .svg, .gif or .csv.")
    output.check_output_file(request.out, force=request.force, inputs=tuple(request.mask or ()))
    if suffix == ".gif" or request.mask:
        sources.require_pillow()
    model = sources.load_model(request.model, vision.WalkingModel, "walking", _ADVICE)
    walk = _infer_walk(request, model) if request.mask else _make_walk(request, model)
    names = vision.datasets.motions()[0].motion.skeleton.names
    if walk.poses.shape[1] != len(names):
        raise outcome.ModelError(
            f"The model has {walk.poses.shape[1]} joints; the command knows a skeleton of "
            f"{len(names)} only. Use predict_modes in Python."
        )
    if suffix == _TABLE:
        _write_table(request.out, walk, names)
    else:
        vision.displays.WalkAnimation(walk.poses, names, interval=walk.interval).save(request.out)
    _conclude(request, printer, walk)


def _make_walk(request: WalkRequest, model: vision.WalkingModel) -> _Walk:
    """The mean cycle, or a walk drawn at random."""
    try:
        if not request.sample:
            interval = request.interval or model.find_period() / request.frames
            return _Walk(model.find_cycle(request.frames)[1], interval)
        interval = request.interval or model.find_interval()
        walk = model.sample(request.frames, interval=interval, random_state=request.seed)
    except ValueError as error:
        raise outcome.ModelError(str(error)) from None
    return _Walk(walk, interval)


def _infer_walk(request: WalkRequest, model: vision.WalkingModel) -> _Walk:
    """Poses of the silhouettes of all folders, each a motion."""
    listed = [(folder, path) for folder in request.mask or () for path in _list_folder(folder)]
    figures = [_read_mask(path) for _, path in listed]
    folders = tuple(folder for folder, _ in listed)
    groups = np.unique(folders, return_inverse=True)[1]
    interval = request.interval or model.find_interval()
    times = interval * np.array([np.sum(groups[:k] == groups[k]) for k in range(len(groups))])
    found = model.predict_modes(figures, groups=groups, times=times)
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
        return masks.read_figure(path)
    except vision.ImageError as error:
        outcome.print_error(results.make_printable(str(error)))
        raise typer.Exit(outcome.DATA) from None


def _write_table(out: str, walk: _Walk, names: tuple[str, ...]) -> None:
    with files.replace_atomically(out) as file:
        file.write(results.format_csv(_HEADS, _list_rows(walk, names)))


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


def _conclude(request: WalkRequest, printer: OutputPrinter, walk: _Walk) -> None:
    n = len(walk.poses)
    printer.say(f"{n:,} frames, {n * walk.interval:.2f} s, written to {request.out}.")
    summary: dict[str, object] = {"frames": n, "interval": walk.interval, "out": request.out}
    if walk.found is not None:
        several = int(np.sum(walk.found.probability[:, 0] < 0.9))
        spread = 100.0 * float(np.mean(walk.found.standard_deviation()))
        printer.say(
            f"Coordinates of joints have a standard deviation of {spread:.1f} cm on average."
        )
        if several:
            printer.say(f"{several:,} frames have more than one pose that explains the silhouette.")
        summary |= {"ambiguous": several, "standard_deviation_cm": spread}
    if not request.mask:
        printer.next("vision", "walk", "--mask", "FOLDER", "--out", "walk.gif")
    printer.give(summary)
