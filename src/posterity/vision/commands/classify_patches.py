"""``posterity vision classify-patches``: classes of small images, with probabilities."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posterity import vision
from posterity.arrays import Array
from posterity.vision import patches
from posterity.vision.commands import results, sources
from posterity.vision.commands.picture_requests import ClassifyPatchesRequest
from posterity.vision.commands.picture_tasks import PictureTask, Tally, count_things
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture
from posterity.vision.integrals import Pixels


class ClassifyTask(PictureTask):
    """Classifies small images, many at once."""

    kind = Kind("classes", ("class", "probability"))
    description, title = "Classifying", "Classes"
    heads, n_words = ("image", "class", "probability"), 2
    further = "images; --out classes.csv writes all."
    batch_size = 64  # which costs less than each by itself
    request: ClassifyPatchesRequest

    def open(self) -> None:
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


run = ClassifyTask.run
