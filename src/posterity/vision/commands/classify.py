"""Classes by a saved model: of pixels (``segment``, ``surfaces``), or of small images."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from posterity import files, vision
from posterity.arrays import Array
from posterity.cli.output import OutputPrinter
from posterity.vision import base, patches
from posterity.vision.commands import label_images, results, sources
from posterity.vision.commands.picture_requests import ClassifyPatchesRequest, PixelRequest
from posterity.vision.commands.picture_tasks import PictureFile, PictureTask, Tally, count_things
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture
from posterity.vision.integrals import Pixels

_MOST_COLUMNS = 6  # classes that have a column each
_MOST_LISTED = 3  # classes of an image that are listed if there are more
_WHY = "several images are labelled"


class LabelTask(PictureTask):
    """Labels the pixels of pictures, and writes what was asked for."""

    kind = Kind("")
    made = (
        PictureFile("out", "Labels written", (".png",), _WHY),
        PictureFile("entropy", "Entropy written", (".png", ".npy"), _WHY),
        PictureFile("probabilities", "Probabilities written", (".npy",), _WHY),
    )
    description, title = "Labelling", "Share of pixels"
    further = "images; --json prints all."
    out = None
    request: PixelRequest

    def prepare_model(self) -> None:
        """Load the model; say how to train one if there is none."""
        request = self.request
        kind, train = getattr(vision, request.system), f"posterity vision {request.trained_by}"
        if request.model is None:
            raise typer.BadParameter(
                f"no model comes with posterity: train one with '{train} --images DIR --labels DIR "
                "--out FILE', and add --model FILE."
            )
        advice = f"not a {request.system}; train one with '{train}'."
        self.model = sources.load_model(request.model, kind, "", advice)
        self.model.set_params(n_jobs=self.n_jobs)
        self.colors = self._choose_colors()
        names = self.model.names_
        self.few: tuple[str, ...] = names if len(names) <= _MOST_COLUMNS else ()
        self.heads = ("image", *(self.few or ("most common classes",)), "entropy")

    def list_pictures(self) -> Iterator[Picture]:
        """Yield images in colour."""
        return sources.list_pictures(self.request.inputs, "color")

    def work_on(self, picture: Picture, content: Any) -> PictureResult:
        """Label the pixels of an image, and measure the shares of classes."""
        p = self.model.predict_proba(content)
        entropy, best = measure_relative_entropy(p), np.argmax(p, axis=-1)
        self._write(picture, p, best, entropy)
        names = self.model.names_
        shares = np.bincount(best.ravel(), minlength=len(names)) / best.size
        named = dict(zip(names, shares.tolist(), strict=True))
        return PictureResult(
            picture.name, (), about={"shares": named, "entropy": float(entropy.mean())}
        )

    def _write(
        self, picture: Picture, p: Array, best: NDArray[np.int64], entropy: NDArray[np.float32]
    ) -> None:
        if place := self.find_place("out", picture, ".png"):
            vision.write_label_map(place, np.asarray(self.model.classes_)[best], self.colors)
        if place := self.find_place("entropy", picture, ".png"):
            write_entropy(place, entropy)
        if place := self.find_place("probabilities", picture, ".npy"):
            with files.replace_atomically(place) as file:
                np.save(file, p.astype(np.float32))

    def _choose_colors(self) -> NDArray[np.uint8]:
        """Colours of the labels by number; those of a list of classes, if there is one."""
        numbers = np.asarray(self.model.classes_)
        colors = np.zeros((256, 3), dtype=np.uint8)
        shown = numbers[numbers < len(colors)]
        colors[shown] = vision.choose_colors(len(shown))
        if self.request.classes is not None:
            listed = label_images.read_class_list(Path(self.request.classes))
            for k, color in listed.colors.items():
                colors[min(k, len(colors) - 1)] = color
        return colors

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return the row of an image: shares of classes, and entropy."""
        if result.error:
            return []
        shares, doubt = result.about["shares"], f"{result.about['entropy']:.2f}"
        columns = [f"{shares[name]:.0%}" for name in self.few] or [_list_common_classes(shares)]
        return [(results.make_printable(result.name), *columns, doubt)]


def measure_relative_entropy(p: Array) -> NDArray[np.float32]:
    """Entropy of probabilities (..., C) over the largest it can be: 0 is sure, 1 knows nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import classify
    >>> classify.measure_relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
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


def _list_common_classes(shares: dict[str, float]) -> str:
    """Return the most common classes of an image in words."""
    common = sorted(shares, key=lambda name: -shares[name])[:_MOST_LISTED]
    return ", ".join(f"{name} {shares[name]:.0%}" for name in common if shares[name])


class ClassifyTask(PictureTask):
    """Classifies small images, many at once."""

    kind = Kind("classes", ("class", "probability"))
    description, title = "Classifying", "Classes"
    heads, n_words = ("image", "class", "probability"), 2
    further = "images; --out classes.csv writes all."
    batch_size = 64  # which costs less than each by itself
    request: ClassifyPatchesRequest

    def prepare_model(self) -> None:
        """Load the classifier."""
        advice = "not a PatchClassifier; train one with posterity vision train-patches FOLDER."
        self.model = sources.load_model(self.request.model, vision.PatchClassifier, "", advice)

    def list_pictures(self) -> Iterator[Picture]:
        """Yield gray images."""
        return sources.list_pictures(self.request.inputs, "gray")

    def read(self, picture: Picture) -> Pixels:
        """Read an image at the size of patches."""
        return patches.stack_gray_patches([picture.load()], self.model.size)[0]

    def work(self, batch: Sequence[tuple[Picture, Pixels]]) -> list[PictureResult]:
        """Return the probabilities of each picture's classes, the most probable first."""
        found = self.model.predict_proba(np.stack([pixels for _, pixels in batch]))
        return [
            PictureResult(picture.name, self._rank_classes(p))
            for (picture, _), p in zip(batch, found, strict=True)
        ]

    def _rank_classes(self, p: Array) -> list[dict[str, Any]]:
        names, order = self.model.classes_, np.argsort(-p, kind="stable")
        return [{"class": str(names[k]), "probability": round(float(p[k]), 4)} for k in order]

    def count(self, result: PictureResult) -> dict[str, int]:
        """Return the most probable class."""
        return {result.list_found()[0]["class"]: 1}

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return the most probable class of an image."""
        name = results.make_printable(result.name)
        best = result.list_found()[:1]
        return [(name, one["class"], f"{one['probability']:.2f}") for one in best]

    def describe(self, tally: Tally) -> Iterator[str]:
        """Yield the number of images of each class."""
        shares = ", ".join(f"{n:,} {name}" for name, n in sorted(tally.totals.items()))
        images = count_things(tally.n_read, "image", "images")
        yield f"Classified {images}" + (f": {shares}." if shares else ".")

    def give(self, tally: Tally) -> dict[str, Any]:
        """Return the number of images of each class."""
        return {"classes": dict(tally.totals)}


_TASKS = {"PatchClassifier": ClassifyTask}


def run(request: PixelRequest | ClassifyPatchesRequest, printer: OutputPrinter) -> None:
    """Classify pixels, or whole images."""
    _TASKS.get(request.system, LabelTask).run(request, printer)
