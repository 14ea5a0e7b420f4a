"""``posterity vision body-parts``: parts of the body and joints in depth images."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, progress, vision
from posterity.cli import outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision import bodies, depth_images
from posterity.vision.commands import (
    body_part_pictures,
    detectors,
    drawings,
    models,
    parallel,
    pictures,
    results,
)
from posterity.vision.commands.pictures import Picture
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.tally import Tally, count_things

JOINTS = Kind("joints", ("joint", "probability", "x", "y", "z", "column", "row"))

_SHOWN = 20  # joints in the table for people
_MOST_PIXELS = 4_000_000  # of an image: each has 31 probabilities
_READABLE = (0.1, 10.0)  # metres
_LABELS = (".png", ".npy")
_CARD = (
    "The model of the package has learned from rendered people who stand alone before a depth "
    "camera and face it; its errors and limits are on the page on bodies of the documentation."
)


@dataclass(frozen=True)
class BodyPartsRequest:
    """Which depth images to read and how, with which model, and what to write."""

    inputs: tuple[str, ...]
    model: str | None
    out: str | None
    labels: str | None
    draw: str | None
    min_probability: float
    unit: str | float | None
    near: float
    far: float
    field_of_view: float | None
    jobs: int | None
    force: bool

    @property
    def is_single(self) -> bool:
        """Whether there is one image, which is drawn to a file and not to a folder."""
        return len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()

    def words(self) -> list[str]:
        """Return the options that repeat this search."""
        named = {
            "--model": self.model,
            "--depth-unit": self.unit,
            "--field-of-view": self.field_of_view,
            "--near": self.near or None,
            "--far": self.far if self.far < _READABLE[1] else None,
        }
        return [str(w) for pair in named.items() if pair[1] is not None for w in pair]


@dataclass
class _Counts:
    """What has been seen so far, and the first joints."""

    files: Tally = field(default_factory=Tally)
    n_joints: int = 0
    n_pixels: int = 0
    n_expected: float = 0.0
    first: list[PictureResult] = field(default_factory=list)

    def add(self, result: PictureResult, *, keep: bool) -> None:
        """Count a result, and keep it if it is asked for."""
        self.files.add(result)
        if result.found is not None:
            self.n_joints += len(result.found)
            self.n_pixels += result.about["pixels"]
            self.n_expected += result.about["pixels"] * result.about["expected_accuracy"]
        if keep:
            self.first.append(result)


def run(plan: BodyPartsRequest, voice: OutputPrinter) -> None:
    """Label all images, find joints, and count what cannot be read."""
    _check_outputs(plan)
    detectors.require_pillow()
    model = _load_forest(plan)
    jobs = detectors.count_jobs(plan.jobs)
    model.set_params(n_jobs=jobs if plan.is_single else 1)
    counts, keep_all = _Counts(), voice.machine and plan.out is None
    with results.open_writer(plan.out, JOINTS) as writer:
        found = parallel.map_in_order(_Labeller(plan, model), _list_work(plan), jobs)
        for result in progress.track(
            found, description="Labelling", unit="images", size=lambda _: 1
        ):
            writer.write(result)
            counts.add(result, keep=keep_all or (plan.out is None and counts.n_joints < _SHOWN))
    _conclude(plan, voice, counts)


def _load_forest(plan: BodyPartsRequest) -> vision.BodyPartForest:
    advice = "not a BodyPartForest; fit one in Python and save it with posterity.save."
    model = models.load_model(plan.model, vision.BodyPartForest, "body_parts", advice)
    if plan.field_of_view is not None:
        model.set_params(field_of_view=plan.field_of_view)
    return model


def _list_work(plan: BodyPartsRequest) -> Iterator[Picture]:
    read = functools.partial(vision.read_depth, unit=plan.unit, most_pixels=_MOST_PIXELS)
    list_folder = functools.partial(vision.list_images, suffixes=depth_images.SUFFIXES)
    return drawings.name_drawings(pictures.list_files(plan.inputs, read, list_folder), (".png",))


@dataclass(frozen=True)
class _Labeller:
    """Reads a depth image, labels its pixels, finds joints, and writes what is asked for."""

    plan: BodyPartsRequest
    model: vision.BodyPartForest

    def __call__(self, picture: Picture) -> PictureResult:
        try:
            depth = self._cut(picture.load(), picture.name)
            return self._label(depth, picture)
        except vision.ImageError as error:
            return PictureResult(picture.name, None, str(error))
        except MemoryError:
            return PictureResult(picture.name, None, f"{picture.name} is too large for the memory.")

    def _cut(self, depth: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Drop readings that are too near or too far; refuse an image without any."""
        near, far = max(self.plan.near, _READABLE[0]), min(self.plan.far, _READABLE[1])
        kept = np.where((depth >= near) & (depth < far), depth, np.float32(0.0))
        if kept.any():
            return kept
        seen = depth[depth > 0.0]
        if not len(seen):
            raise vision.ImageError(f"{name} has no readings: all its pixels are 0.")
        raise vision.ImageError(
            f"{name} has no readings between {near:g} and {far:g} m: they are from "
            f"{seen.min():.4g} to {seen.max():.4g} m. If the unit is wrong, add --depth-unit."
        )

    def _label(self, depth: NDArray[np.float32], picture: Picture) -> PictureResult:
        p = self.model.predict_proba(depth)
        joints, camera = self.model.find_joints(depth), self.model.find_camera(depth.shape)
        least = self.plan.min_probability
        kept = vision.Joints(
            np.where(joints.probability[:, None] >= least, joints.positions, np.nan),
            joints.probability,
        )
        seen = p.max(axis=2)[depth > 0.0]
        about = {"pixels": len(seen), "expected_accuracy": round(float(seen.mean()), 4)}
        if self.plan.labels is not None:
            self._write_labels(p, depth, picture)
        if self.plan.draw is not None:
            place = drawings.find_place(self.plan.draw, picture, is_single=self.plan.is_single)
            body_part_pictures.draw_body_parts(place, depth, p, kept, camera)
        return PictureResult(picture.name, list_joints(kept, camera), about=about)

    def _write_labels(self, p: Any, depth: NDArray[np.float32], picture: Picture) -> None:
        labels = np.where(depth > 0.0, p.argmax(axis=2), bodies.BACKGROUND).astype(np.uint8)
        place = drawings.find_place(str(self.plan.labels), picture, is_single=self.plan.is_single)
        if place.suffix.lower() == ".npy":
            with files.replace_atomically(place) as file:
                np.save(file, labels)
        else:
            colors = vision.choose_colors(bodies.BACKGROUND + 1)
            colors[bodies.BACKGROUND] = 0
            vision.write_label_map(place, labels, colors)


def list_joints(joints: vision.Joints, camera: bodies.Camera) -> list[dict[str, Any]]:
    """Return the joints that have a position, as JSON types, the most probable first.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> from posterity.vision.commands import body_parts
    >>> where = np.full((16, 3), np.nan)
    >>> where[1] = 0.0, -0.5, 2.0
    >>> body_parts.list_joints(vision.Joints(where, np.full(16, 0.9)), vision.bodies.Camera())
    [{'joint': 'neck', 'probability': 0.9, 'x': 0.0, 'y': -0.5, 'z': 2.0, 'column': 160.0, 'row': 48.8}]
    """  # noqa: E501
    pixels = camera.find_pixels(joints.positions)
    rows = []
    for k in np.argsort(-joints.probability, kind="stable"):
        if np.isfinite(joints.positions[k]).all():
            place = [round(float(number), 3) for number in joints.positions[k]]
            row, column = (round(float(number), 1) for number in pixels[k])
            p = round(float(joints.probability[k]), 4)
            values = (joints.names[k], p, *place, column, row)
            rows.append(dict(zip(JOINTS.columns, values, strict=True)))
    return rows


def _check_outputs(plan: BodyPartsRequest) -> None:
    """Refuse wrong combinations of options and outputs that cannot be written."""
    if plan.near >= plan.far:
        raise typer.BadParameter(f"--near {plan.near:g} must be less than --far {plan.far:g}.")
    if plan.out is not None and plan.out != results.STDOUT:
        results.find_format(plan.out)
        outputs.check_output_file(plan.out, force=plan.force, inputs=plan.inputs)
    common: dict[str, Any] = {"is_single": plan.is_single, "force": plan.force}
    drawings.check_drawings(plan.draw, plan.inputs, option="--draw", **common)
    drawings.check_drawings(
        *(plan.labels, plan.inputs),
        option="--labels",
        suffixes=_LABELS,
        why="several images are labelled",
        **common,
    )


def _conclude(plan: BodyPartsRequest, voice: OutputPrinter, counts: _Counts) -> None:
    """Print counts and the first joints, and end with exit code 3 if a file could not be read."""
    if plan.out is None:
        _show_joints(voice, counts)
    written = {"Joints": plan.out if plan.out != results.STDOUT else None, "Labels": plan.labels}
    voice.say(*(f"{what} written to {place}." for what, place in written.items() if place))
    if plan.draw is not None:
        voice.say(f"Drawn to {plan.draw}.")
    expected = counts.n_expected / max(counts.n_pixels, 1)
    voice.say(
        f"Found {count_things(counts.n_joints, 'joint', 'joints')} in "
        f"{count_things(counts.files.n_read, 'image', 'images')}; {100 * expected:.0f} % of "
        f"{counts.n_pixels:,} pixels are expected to have the right part."
    )
    if plan.model is None:
        voice.say(_CARD)
    if plan.out is None:
        further = ["--out", "joints.json"]
        if plan.draw is None:
            further = ["--draw", "parts.png" if plan.is_single else "parts"]
        voice.next("vision", "body-parts", *plan.inputs, *plan.words(), *further)
    voice.give(
        {
            "images": counts.files.n_read,
            "failed": counts.files.n_failed,
            "joints": counts.n_joints,
            "pixels": counts.n_pixels,
            "expected_accuracy": expected,
            "out": plan.out,
            "labels": plan.labels,
            "draw": plan.draw,
            "found": [one.as_record(JOINTS) for one in counts.first] if plan.out is None else None,
        }
    )
    counts.files.finish()


def _show_joints(voice: OutputPrinter, counts: _Counts) -> None:
    rows = [
        (
            results.make_printable(result.name),
            joint["joint"],
            f"{joint['probability']:.2f}",
            *(f"{joint[axis]:.2f}" for axis in "xyz"),
        )
        for result in counts.first
        for joint in result.found or ()
    ]
    if rows:
        heads = ("image", "joint", "probability", "right, m", "down, m", "forward, m")
        voice.table("Joints", heads, rows[:_SHOWN], words=2)
    if counts.n_joints > _SHOWN:
        voice.say(f"{counts.n_joints - _SHOWN:,} further joints; --out joints.csv writes all.")
