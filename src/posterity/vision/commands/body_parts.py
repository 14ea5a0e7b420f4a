"""``posterity vision body-parts``: parts of the body and joints in depth images."""

import functools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, vision
from posterity.vision import bodies, depth_images
from posterity.vision.commands import results, sources
from posterity.vision.commands.picture_requests import BodyPartsRequest
from posterity.vision.commands.picture_tasks import PictureFile, PictureTask, Tally, count_things
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture

Depth = NDArray[np.float32]

JOINTS = Kind("joints", ("joint", "probability", "x", "y", "z", "column", "row"))

_MOST_PIXELS = 4_000_000  # of an image: each has 31 probabilities
_READABLE = (0.1, 10.0)  # metres
_CARD = (
    "The model of the package has learned from rendered people who stand alone before a depth "
    "camera and face it; its errors and limits are on the page on bodies of the documentation."
)
_MATPLOTLIB = threading.Lock()  # which is not made for threads
_MARGIN = 12  # pixels around a person


class BodyPartsTask(PictureTask):
    """Labels the pixels of depth images, finds joints, and writes what is asked for."""

    kind = JOINTS
    made = (
        PictureFile("labels", "Labels written", (".png", ".npy"), "several images are labelled"),
        PictureFile("draw", "Drawn"),
    )
    description, title = "Labelling", "Joints"
    heads = ("image", "joint", "probability", "right, m", "down, m", "forward, m")
    n_words = 2
    further = "joints; --out joints.csv writes all."
    command, next_out, next_drawing = "body-parts", "joints.json", "parts"
    request: BodyPartsRequest

    def check_request(self) -> None:
        """Refuse a unit without size, an empty range, and outputs that cannot be written."""
        self.unit = parse_unit(self.request.depth_unit)
        near, far = self.request.near, self.request.far
        if near >= far:
            raise typer.BadParameter(f"--near {near:g} must be less than --far {far:g}.")
        super().check_request()

    def prepare_model(self) -> None:
        """Load the forest, and tell it the angle of the camera."""
        advice = "not a BodyPartForest; fit one in Python and save it with posterity.save."
        path = self.request.model
        self.model = sources.load_model(path, vision.BodyPartForest, "body_parts", advice)
        self.model.set_params(n_jobs=self.n_jobs)
        if self.request.field_of_view is not None:
            self.model.set_params(field_of_view=self.request.field_of_view)

    def list_pictures(self) -> Iterator[Picture]:
        """Yield depth images."""
        read = functools.partial(vision.read_depth, unit=self.unit, most_pixels=_MOST_PIXELS)
        list_folder = functools.partial(vision.list_images, suffixes=depth_images.SUFFIXES)
        work = sources.list_files(self.request.inputs, read, list_folder)
        return sources.name_drawings(work, (".png",))

    def read(self, picture: Picture) -> Depth:
        """Drop readings that are too near or too far; refuse an image without any."""
        depth, name = picture.load(), picture.name
        near, far = max(self.request.near, _READABLE[0]), min(self.request.far, _READABLE[1])
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

    def work_on(self, picture: Picture, content: Depth) -> PictureResult:
        """Label the pixels, and find the joints."""
        p = self.model.predict_proba(content)
        joints, camera = self.model.find_joints(content), self.model.find_camera(content.shape)
        is_probable = joints.probability[:, None] >= self.request.min_probability
        positions = np.where(is_probable, joints.positions, np.nan)
        kept = vision.Joints(positions, joints.probability)
        seen = p.max(axis=2)[content > 0.0]
        about = {"pixels": len(seen), "expected_accuracy": round(float(seen.mean()), 4)}
        if place := self.find_place("labels", picture):
            _write_labels(place, p, content)
        if place := self.find_place("draw", picture):
            draw_body_parts(place, content, p, kept, camera)
        return PictureResult(picture.name, list_joints(kept, camera), about=about)

    def count(self, result: PictureResult) -> dict[str, Any]:
        """Return the numbers of joints and pixels, and that of pixels expected to be right."""
        pixels, expected = result.about["pixels"], result.about["expected_accuracy"]
        return {"joints": len(result.list_found()), "pixels": pixels, "right": pixels * expected}

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return a row for each joint."""
        name = results.make_printable(result.name)
        return [
            (
                *(name, joint["joint"], f"{joint['probability']:.2f}"),
                *(f"{joint[axis]:.2f}" for axis in "xyz"),
            )
            for joint in result.list_found()
        ]

    def describe(self, tally: Tally) -> Iterator[str]:
        """Yield the number of joints, and how many pixels are expected to be right."""
        numbers = self.give(tally)
        yield (
            f"Found {count_things(numbers['joints'], 'joint', 'joints')} in "
            f"{count_things(tally.n_read, 'image', 'images')}; "
            f"{100 * numbers['expected_accuracy']:.0f} % of {numbers['pixels']:,} pixels are "
            "expected to have the right part."
        )
        if self.request.model is None:
            yield _CARD

    def give(self, tally: Tally) -> dict[str, Any]:
        """Return the numbers of joints and pixels, and the share that is expected to be right."""
        joints, pixels, right = (tally.totals[name] for name in ("joints", "pixels", "right"))
        return {"joints": joints, "pixels": pixels, "expected_accuracy": right / max(pixels, 1)}


run = BodyPartsTask.run


def _write_labels(place: Path, p: Any, depth: Depth) -> None:
    labels = np.where(depth > 0.0, p.argmax(axis=2), bodies.BACKGROUND).astype(np.uint8)
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


def draw_body_parts(
    place: Path,
    depth: Depth,
    probabilities: Depth,
    joints: vision.Joints,
    camera: bodies.Camera,
) -> None:
    """Write a picture of the parts, of their entropy, and of joints over depth."""
    labels = vision.displays.LabelMapDisplay.from_probabilities(probabilities, bodies.PARTS)
    skeleton = vision.displays.SkeletonDisplay.from_joints(
        joints, camera=camera, image=shade(depth)
    )
    with _MATPLOTLIB, results.start_figure(12.5, 4.6) as figure:
        first, second, third = figure.subplots(1, 3)
        labels.plot(first).set_title("Parts")
        labels.plot_entropy(second).set_title("Doubt")
        skeleton.plot(third).set_title("Joints, probability in %")
        for axes in (first, second, third):
            axes.set(**find_frame(depth))
            axes.spines[:].set_visible(False)
        results.save_figure(place, figure, dpi=100)


def shade(depth: Depth) -> NDArray[np.uint8]:
    """Gray values of depth: near is dark, far is bright, and no reading is white.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import body_parts
    >>> body_parts.shade(np.array([[0.0, 2.0, 3.0]], dtype=np.float32))
    array([[255,  90, 220]], dtype=uint8)
    """
    seen = depth > 0.0
    low, high = (depth[seen].min(), depth[seen].max()) if seen.any() else (0.0, 1.0)
    share = (depth - low) / max(float(high - low), 1e-6)
    return np.where(seen, np.rint(90.0 + 130.0 * share), 255.0).astype(np.uint8)


def find_frame(depth: Depth) -> dict[str, Any]:
    """Limits of axes around the readings of an image, with a margin."""
    rows, columns = np.nonzero(depth)
    height, width = depth.shape
    left, right = max(columns.min() - _MARGIN, 0), min(columns.max() + _MARGIN, width - 1)
    top, bottom = max(rows.min() - _MARGIN, 0), min(rows.max() + _MARGIN, height - 1)
    return {"xlim": (left - 0.5, right + 0.5), "ylim": (bottom + 0.5, top - 0.5)}


def parse_unit(text: str | None) -> str | float | None:
    """Parse a unit of depth: its name, or its size in metres."""
    if text is None or text in ("mm", "cm", "m"):
        return text
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0.0 < size < 1000.0:
        raise typer.BadParameter(
            f"{text!r} is not a unit of depth; use mm, cm, m, or its size in metres such as 0.0002."
        )
    return size
