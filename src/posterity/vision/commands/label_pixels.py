"""Label the pixels of images with a saved model: ``segment`` and ``surfaces``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, progress, vision
from posterity.arrays import Array
from posterity.cli import outcome
from posterity.cli.voice import OutputPrinter
from posterity.vision import base
from posterity.vision.commands import (
    class_lists,
    detectors,
    drawings,
    models,
    parallel,
    pictures,
    results,
)
from posterity.vision.commands.learn_labels import PixelModel
from posterity.vision.commands.pictures import Picture

_SHOWN = 20  # images in the table for people
_MOST_COLUMNS = 6  # classes that have a column each
_MOST_LISTED = 3  # classes of an image that are listed if there are more


@dataclass(frozen=True)
class LabelRequest:
    """Images to label, the model, and what to write.

    Attributes
    ----------
    out, entropy, probabilities : str, optional
        File of the labels, of their entropy, and of all probabilities; folders if there are
        several images.
    kind : type
        Class of the model.
    command : str
        Subcommand that trains such models.
    """

    inputs: tuple[str, ...]
    model: str | None
    out: str | None
    entropy: str | None
    probabilities: str | None
    classes: str | None
    jobs: int | None
    force: bool
    kind: type
    command: str

    @property
    def is_single(self) -> bool:
        """Whether there is one image, whose labels are written to a file and not to a folder."""
        return len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()


@dataclass(frozen=True)
class LabelResult:
    """Shares of the classes in an image and its mean entropy, or why it could not be read."""

    name: str
    shares: dict[str, float] = field(default_factory=dict)
    entropy: float = float("nan")
    error: str = ""

    def as_record(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        if self.error:
            return {"image": self.name, "error": self.error}
        return {"image": self.name, "shares": self.shares, "entropy": self.entropy}


def run(plan: LabelRequest, voice: OutputPrinter) -> None:
    """Label all pictures, write what was asked for, and count what cannot be read."""
    detectors.require_pillow()
    _check_outputs(plan)
    model = load_model(plan.model, plan.kind, plan.command)
    jobs = detectors.count_jobs(plan.jobs)
    model.set_params(n_jobs=jobs if plan.is_single else 1)
    work = pictures.list_pictures(plan.inputs, "color")
    labeller = _PictureLabeller(plan, model, _choose_colors(plan, model))
    found = []
    for result in progress.track(
        parallel.map_in_order(labeller, work, jobs),
        description="Labelling",
        unit="images",
        size=lambda _: 1,
    ):
        if result.error:
            outcome.print_error(results.make_printable(result.error))
        found.append(result)
    _conclude(plan, found, voice)


def load_model(path: str | None, kind: type, command: str) -> PixelModel:
    """Load a model of a class; say how to train one if there is none."""
    if path is None:
        raise typer.BadParameter(
            "no model comes with posterity: train one with 'posterity vision "
            f"{command} --images DIR --labels DIR --out FILE', and add --model FILE."
        )
    advice = f"not a {kind.__name__}; train one with 'posterity vision {command}'."
    model: PixelModel = models.load_model(path, kind, "", advice)
    return model


@dataclass(frozen=True, eq=False)
class _PictureLabeller:
    """Reads a picture, labels its pixels, and writes what was asked for."""

    plan: LabelRequest
    model: PixelModel
    colors: NDArray[np.uint8]

    def __call__(self, picture: Picture) -> LabelResult:
        try:
            p = self.model.predict_proba(picture.load())
            entropy = measure_relative_entropy(p)
            best = np.argmax(p, axis=-1)
            self._write(picture, p, best, entropy)
        except vision.ImageError as error:
            return LabelResult(picture.name, error=str(error))
        except MemoryError:
            return LabelResult(picture.name, error=f"{picture.name} is too large for the memory.")
        names = self.model.names_
        shares = np.bincount(best.ravel(), minlength=len(names)) / best.size
        return LabelResult(
            picture.name, dict(zip(names, shares.tolist(), strict=True)), float(entropy.mean())
        )

    def _write(
        self, picture: Picture, p: Array, best: NDArray[np.int64], entropy: NDArray[np.float32]
    ) -> None:
        plan = self.plan
        if plan.out is not None:
            labels = np.asarray(self.model.classes_)[best]
            vision.write_label_map(self._place(plan.out, picture, ".png"), labels, self.colors)
        if plan.entropy is not None:
            write_entropy(self._place(plan.entropy, picture, ".png"), entropy)
        if plan.probabilities is not None:
            place = self._place(plan.probabilities, picture, ".npy")
            with files.replace_atomically(place) as file:
                np.save(file, p.astype(np.float32))

    def _place(self, out: str, picture: Picture, suffix: str) -> Path:
        return drawings.find_place(out, picture, is_single=self.plan.is_single, suffix=suffix)


def measure_relative_entropy(p: Array) -> NDArray[np.float32]:
    """Entropy of probabilities (..., C) over the largest it can be: 0 is sure, 1 knows nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import label_pixels
    >>> label_pixels.measure_relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([0., 1.], dtype=float32)
    """
    share = base.measure_entropy(p) / np.log2(max(p.shape[-1], 2))
    return np.clip(share, 0.0, 1.0).astype(np.float32)


def write_entropy(place: Path, entropy: NDArray[np.float32]) -> None:
    """Write entropy as gray values, or as numbers to a file that ends in .npy."""
    if place.suffix.lower() == ".npy":
        with files.replace_atomically(place) as file:
            np.save(file, entropy)
    else:
        vision.write_image(place, np.rint(255.0 * entropy).astype(np.uint8))


def _choose_colors(plan: LabelRequest, model: PixelModel) -> NDArray[np.uint8]:
    """Colours of the labels by number; those of a list of classes, if there is one."""
    numbers = np.asarray(model.classes_)
    colors = np.zeros((256, 3), dtype=np.uint8)
    shown = numbers[numbers < len(colors)]
    colors[shown] = vision.choose_colors(len(shown))
    if plan.classes is not None:
        for k, color in class_lists.read_class_list(Path(plan.classes)).colors.items():
            colors[min(k, len(colors) - 1)] = color
    return colors


def _check_outputs(plan: LabelRequest) -> None:
    """Refuse outputs that cannot be written, before any work."""
    asked = (
        ("--out", plan.out, (".png",)),
        ("--entropy", plan.entropy, (".png", ".npy")),
        ("--probabilities", plan.probabilities, (".npy",)),
    )
    for option, path, suffixes in asked:
        drawings.check_drawings(
            path,
            plan.inputs,
            option=option,
            is_single=plan.is_single,
            force=plan.force,
            suffixes=suffixes,
            why="several images are labelled",
        )


def _conclude(plan: LabelRequest, found: list[LabelResult], voice: OutputPrinter) -> None:
    """Print shares and entropy, and end with exit code 3 if a file could not be read."""
    good = [result for result in found if not result.error]
    if good:
        names = list(good[0].shares)
        few = len(names) <= _MOST_COLUMNS
        rows = [
            (
                results.make_printable(result.name),
                *(
                    [f"{result.shares[name]:.0%}" for name in names]
                    if few
                    else [_list_common_classes(result)]
                ),
                f"{result.entropy:.2f}",
            )
            for result in good[:_SHOWN]
        ]
        heads = names if few else ["most common classes"]
        voice.table("Share of pixels", ("image", *heads, "entropy"), rows)
    if len(good) > _SHOWN:
        voice.say(f"{len(good) - _SHOWN:,} further images; --json prints all.")
    written = {"Labels": plan.out, "Entropy": plan.entropy, "Probabilities": plan.probabilities}
    voice.say(*(f"{what} written to {path}." for what, path in written.items() if path))
    n_failed = len(found) - len(good)
    voice.give({"images": len(good), "failed": n_failed, "found": [r.as_record() for r in found]})
    if n_failed:
        outcome.print_error(f"{n_failed:,} of {len(found):,} images could not be read.")
        raise typer.Exit(outcome.DATA)


def _list_common_classes(result: LabelResult) -> str:
    """Return the most common classes of an image in words."""
    common = sorted(result.shares, key=lambda name: -result.shares[name])[:_MOST_LISTED]
    return ", ".join(f"{name} {result.shares[name]:.0%}" for name in common if result.shares[name])
