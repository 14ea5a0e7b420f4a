"""``posterity vision classify-patches``: classes of small images, with probabilities."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posterity import progress, vision
from posterity.arrays import Array
from posterity.cli import outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision import patches
from posterity.vision.commands import detectors, models, parallel, pictures, results
from posterity.vision.commands.pictures import Picture
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.tally import Tally, count_things
from posterity.vision.integrals import Pixels

CLASSES = Kind("classes", ("class", "probability"))
_SHOWN = 20  # images in the table for people
_TOGETHER = 64  # images that are classified at once, which costs less than each by itself


@dataclass(frozen=True)
class ClassifyPatchesRequest:
    """Which images to classify, with which model, and where to write the classes."""

    inputs: tuple[str, ...]
    model: str
    out: str | None
    jobs: int | None
    force: bool


@dataclass
class _Counts:
    """What has been seen so far: images, classes, and the first results."""

    files: Tally = field(default_factory=Tally)
    classes: dict[str, int] = field(default_factory=dict)
    first: list[PictureResult] = field(default_factory=list)

    def add(self, result: PictureResult, *, keep: bool) -> None:
        """Count a result, and keep it if it is asked for."""
        self.files.add(result)
        for best in list(result.found or ())[:1]:
            self.classes[best["class"]] = self.classes.get(best["class"], 0) + 1
        if keep:
            self.first.append(result)


def run(plan: ClassifyPatchesRequest, voice: OutputPrinter) -> None:
    """Classify all images, and count what cannot be read."""
    detectors.require_pillow()
    if plan.out is not None and plan.out != results.STDOUT:
        results.find_format(plan.out)
        outputs.check_output_file(plan.out, force=plan.force, inputs=plan.inputs)
    advice = "not a PatchClassifier; train one with posterity vision train-patches FOLDER."
    model = models.load_model(plan.model, vision.PatchClassifier, "", advice)
    work = pictures.list_pictures(plan.inputs, "gray")
    counts, keep_all = _Counts(), voice.machine and plan.out is None
    with results.open_writer(plan.out, CLASSES) as writer:
        classify = functools.partial(classify_pictures, model)
        batches = parallel.map_in_order(classify, _batch(work), detectors.count_jobs(plan.jobs))
        found = itertools.chain.from_iterable(batches)
        for result in progress.track(
            found, description="Classifying", unit="images", size=lambda _: 1
        ):
            writer.write(result)
            counts.add(result, keep=keep_all or (plan.out is None and len(counts.first) < _SHOWN))
    _conclude(plan, voice, counts)


def _batch(work: Iterator[Picture]) -> Iterator[list[Picture]]:
    """Yield lists of pictures that are classified together."""
    return iter(lambda: list(itertools.islice(work, _TOGETHER)), [])


def classify_pictures(
    model: vision.PatchClassifier, work: Sequence[Picture]
) -> list[PictureResult]:
    """Return the probabilities of each picture's classes, the most probable first."""
    read = [_read_patch(picture, model.size) for picture in work]
    pixels = [one for one in read if not isinstance(one, str)]
    found = iter(model.predict_proba(np.stack(pixels)) if pixels else ())
    return [
        PictureResult(picture.name, None, one)
        if isinstance(one, str)
        else PictureResult(picture.name, _rank_classes(model, next(found)))
        for picture, one in zip(work, read, strict=True)
    ]


def _read_patch(picture: Picture, size: tuple[int, int]) -> Pixels | str:
    """Return a picture at the size of patches, or why it cannot be read."""
    try:
        return patches.stack_gray_patches([picture.load()], size)[0]
    except vision.ImageError as error:
        return str(error)


def _rank_classes(model: vision.PatchClassifier, p: Array) -> list[dict[str, Any]]:
    order = np.argsort(-p, kind="stable")
    return [{"class": str(model.classes_[k]), "probability": round(float(p[k]), 4)} for k in order]


def _conclude(plan: ClassifyPatchesRequest, voice: OutputPrinter, counts: _Counts) -> None:
    """Print the first classes and counts, and end with exit code 3 if a file could not be read."""
    rows: list[Any] = [
        (results.make_printable(one.name), best["class"], f"{best['probability']:.2f}")
        for one in counts.first
        for best in list(one.found or ())[:1]
    ]
    if plan.out is None and rows:
        voice.table("Classes", ("image", "class", "probability"), rows[:_SHOWN], words=2)
    shares = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.classes.items()))
    images = count_things(counts.files.n_read, "image", "images")
    voice.say(f"Classified {images}" + (f": {shares}." if shares else "."))
    if plan.out not in (None, results.STDOUT):
        voice.say(f"Classes written to {plan.out}.")
    voice.give(
        {
            "images": counts.files.n_read,
            "failed": counts.files.n_failed,
            "classes": counts.classes,
            "out": plan.out,
            "found": [one.as_record(CLASSES) for one in counts.first] if plan.out is None else None,
        }
    )
    counts.files.finish()
