"""Boxes that a detector finds, with probabilities, as JSON, CSV and pictures."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import files, validation
from posterity.arrays import Array
from posterity.vision import images
from posterity.vision.integrals import Pixels

_COLUMNS = ("x0", "y0", "x1", "y1", "probability", "activation", "support")
_SURE, _UNSURE = np.array([0, 170, 60]), np.array([230, 60, 0])  # colours of boxes


@dataclass(frozen=True, eq=False)
class Detections:
    """Boxes that a detector found, from the most probable on.

    Parameters
    ----------
    boxes : array of shape (n, 4)
        Left, top, right and bottom in pixels; the first pixel reaches from 0 to 1.
    probability : array of shape (n,)
        Probability that the box shows an object; NaN if the detector is not calibrated.
    activation : array of shape (n,)
        Sum of the trees in the best window.
    support : array of shape (n,)
        Number of windows that agree on the box.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Detections
    >>> boxes = np.array([[10.0, 20.0, 34.0, 44.0], [5.0, 5.0, 29.0, 29.0]])
    >>> found = Detections(boxes, np.array([0.9, 0.2]), np.array([4.0, 0.5]), np.array([7, 1]))
    >>> len(found), len(found.above(0.5))
    (2, 1)
    >>> print(found.above(0.5).to_csv())
    x0,y0,x1,y1,probability,activation,support
    10.0,20.0,34.0,44.0,0.9,4.0,7
    """

    boxes: Array
    probability: Array
    activation: Array
    support: NDArray[np.int64]

    def __post_init__(self) -> None:
        n = len(self.boxes)
        validation.require_array(self.boxes, "boxes", np.float64, (n, 4))
        for name in ("probability", "activation", "support"):
            validation.require_array(getattr(self, name), name, (np.float64, np.int64), (n,))

    def __len__(self) -> int:
        return len(self.boxes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for box, p, a, n in zip(
            self.boxes, self.probability, self.activation, self.support, strict=True
        ):
            p = None if np.isnan(p) else round(float(p), 4)
            numbers = [*(round(float(v), 2) for v in box), p, round(float(a), 4), int(n)]
            yield dict(zip(_COLUMNS, numbers, strict=True))

    @property
    def score(self) -> Array:
        """Numbers by which boxes are ranked, (n,): probabilities.

        Without probabilities, the whole part is the number of windows, and the rest grows with the
        activation, so that boxes of equally many windows have an order too.
        """
        if len(self) == 0 or not np.isnan(self.probability).any():
            return self.probability
        return self.support + 0.5 + 0.5 * self.activation / (1.0 + np.abs(self.activation))

    def take(self, chosen: Any) -> Detections:
        """Some of the boxes: a mask, places, or a slice."""
        return Detections(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def above(self, probability: float) -> Detections:
        """The boxes with at least this probability."""
        return self.take(self.probability >= probability)

    def to_json(self, path: str | os.PathLike[str] | None = None, **about: Any) -> str:
        """The boxes as JSON, an object with the key ``boxes``.

        Parameters
        ----------
        path : str or path, optional
            File to write too.
        **about
            Further keys, such as the name of the image.
        """
        text = json.dumps({**about, "boxes": list(self)}, indent=1)
        _write(path, text)
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The boxes as CSV, with a header; to a file too if a path is given."""
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self)
        _write(path, out.getvalue())
        return out.getvalue().rstrip("\n")

    def draw(self, image: Any) -> Pixels:
        """A copy of the image in colour with the boxes on it and, where known, probabilities.

        Parameters
        ----------
        image : array (H, W) or (H, W, 3)
            The image in which the boxes were found.

        Returns
        -------
        array (H, W, 3) of uint8
        """
        from PIL import Image, ImageDraw

        picture = Image.fromarray(images.to_color(image).copy())
        pen, line = ImageDraw.Draw(picture), max(1, round(min(picture.size) / 250))
        for box, p in zip(self.boxes[::-1], self.probability[::-1], strict=True):
            share = 1.0 if np.isnan(p) else float(p)
            color = tuple((share * _SURE + (1.0 - share) * _UNSURE).astype(int).tolist())
            x0, y0, x1, y1 = map(float, box)
            pen.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), outline=color, width=line)
            if not np.isnan(p):
                size = float(np.clip(0.2 * (y1 - y0), 9, 24))
                pen.text((x0 + line + 1, y0 + line), f"{p:.2f}", fill=color, font_size=size)
        return np.asarray(picture)


def _write(path: str | os.PathLike[str] | None, text: str) -> None:
    if path is not None:
        with files.replace_atomically(files.check_path(path)) as file:
            file.write(text.rstrip("\n").encode() + b"\n")
