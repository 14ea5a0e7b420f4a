"""Pictures of pictures: small copies for the documentation, and all of them on one sheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gallery import _catalogue
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

SHEET = _catalogue.OUT / "contact_sheet.png"
WIDTH, HEIGHT = 2400, 260  # of the sheet, and of each row of pictures
GAP, LINE = 24, 24  # between pictures, and of a line of text
BLACK, GREY = (34, 34, 34), (110, 110, 110)


def palette(image: Image.Image) -> Image.Image:
    """The picture in 256 colours of its own; no dithering, which would speckle what is flat."""
    # The means of k-means follow the gradients of a surface: other choices show them in bands.
    return image.convert("RGB").quantize(256, kmeans=1, dither=Image.Dither.NONE)


def shrink(picture: Path, copy: Path) -> None:
    """A copy of a picture with a palette."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(picture) as image:
        palette(image).save(copy, optimize=True)


def rows(scripts: list[_catalogue.Script]) -> Iterator[list[tuple[_catalogue.Script, Image.Image]]]:
    """Pictures of one height, as many in a row as there is room for."""
    row: list[tuple[_catalogue.Script, Image.Image]] = []
    used = GAP
    for script in scripts:
        with Image.open(script.figure) as image:
            size = (round(image.width * HEIGHT / image.height), HEIGHT)
            small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        if row and used + small.width + GAP > WIDTH:
            yield row
            row, used = [], GAP
        row.append((script, small))
        used += small.width + GAP
    if row:
        yield row


def contact_sheet(scripts: list[_catalogue.Script]) -> None:
    """Every picture with its name and tags, at a height at which its point can be seen."""
    packed = list(rows(scripts))
    step = HEIGHT + 2 * LINE + GAP
    sheet = Image.new("RGB", (WIDTH, GAP + step * len(packed)), "white")
    pen = ImageDraw.Draw(sheet)
    bold, plain = (
        ImageFont.truetype(font_manager.findfont(f"DejaVu Sans{weight}"), 17)
        for weight in (":bold", "")
    )
    for k, row in enumerate(packed):
        left, top = GAP, GAP + k * step
        for script, image in row:
            sheet.paste(image, (left, top))
            below = top + HEIGHT
            pen.text((left, below + 4), script.name, font=bold, fill=BLACK)
            pen.text((left, below + 4 + LINE), ", ".join(script.tags), font=plain, fill=GREY)
            left += image.width + GAP
    SHEET.parent.mkdir(exist_ok=True)
    sheet.save(SHEET)
