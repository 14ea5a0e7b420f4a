"""What a command works with: its model, and pictures of files, folders and videos."""

import functools
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
import typer

from posterity import persistence, vision
from posterity.cli.outcome import ModelError
from posterity.vision import images
from posterity.vision.commands.picture_requests import DetectRequest
from posterity.vision.commands.training_requests import EvaluateRequest

DEFAULT = "faces"
"""Detector of frontal faces."""

T = TypeVar("T")


def load_model(path: str | None, kind: type[T], packaged: str, advice: str) -> T:
    """Load a saved model of a class, or the one of the package.

    Parameters
    ----------
    path : str, optional
        File of the model. None: the model of the package.
    kind : class
        Class that the model must have.
    packaged : str
        Name of the model of the package.
    advice : str
        What to do about a model of another class.
    """
    if path is None:
        try:
            model = vision.load_packaged(packaged)
        except persistence.FileError as error:
            raise typer.BadParameter(f"{error} Add --model FILE.") from None
    else:
        model = persistence.load(path)
    if not isinstance(model, kind):
        raise ModelError(f"{path!r} contains a {type(model).__name__}, {advice}")
    return model


def load_detector(request: DetectRequest | EvaluateRequest) -> vision.WindowDetector:
    """Load a detector, and let the options of the search take the place of its own."""
    model, opencv = request.model, request.opencv
    if model is not None and opencv is not None:
        raise typer.BadParameter("choose --model or --opencv, not both.")
    advice = "not a detector; train one with 'posterity vision train-detector'."
    detector = (
        load_model(model, vision.WindowDetector, DEFAULT, advice)
        if opencv is None
        else _read_cascade(opencv)
    )
    if request.prior is not None:
        if detector.calibration_ is None:
            raise ModelError(f"{model or opencv!r} has no probabilities that --prior could change.")
        detector.set_params(prior=request.prior)
    if request.min_size is not None:
        detector.set_params(min_size=request.min_size)
    return detector


def require_pillow() -> None:
    """Refuse to go on without the package that reads images."""
    if importlib.util.find_spec("PIL") is None:
        raise ModelError("Images are read by Pillow; run pip install 'posterity[vision]'.")


def count_jobs(jobs: int | None) -> int:
    """Return the number of threads: that asked for, or one per core."""
    return jobs if jobs is not None else os.cpu_count() or 1


def _read_cascade(path: str) -> vision.WindowDetector:
    try:
        return vision.WindowDetector.from_opencv(path)
    except ValueError as error:
        raise ModelError(str(error)) from None


STREAM = "-"
SUFFIXES = (".png", ".jpg", ".jpeg")
"""Files that pictures are drawn to."""

Frames: TypeAlias = Any  # an image, or a pair of an earlier and a later one
_STDIN = "standard input"
_DEPTHS = {b"P5": 2, b"P6": 3}  # dimensions of gray and colour images
_LONGEST_WORD = 10  # digits in the header of a frame


@dataclass(frozen=True, eq=False)
class Picture:
    """The name of a picture, and a function that reads it or raises ImageError."""

    name: str
    load: Callable[[], Frames]
    relative: str  # name of its drawing


def list_pictures(inputs: Iterable[str], mode: str) -> Iterator[Picture]:
    """Yield files that are named, and all images of folders that are named."""
    return list_files(inputs, functools.partial(vision.read_image, mode=mode), vision.list_images)


def list_files(
    inputs: Iterable[str],
    read: Callable[[Path], Frames],
    list_folder: Callable[[Path], Iterable[Path]],
) -> Iterator[Picture]:
    """Yield files that are named, and the files of folders, each read when it is needed."""
    for text in inputs:
        place = Path(text)
        if text == STREAM:
            yield refuse_picture(text, "Standard input is read only with --video.")
        elif not place.is_dir():
            yield open_picture(place, place.name, read)
        else:
            n = 0
            for n, path in enumerate(list_folder(place), start=1):
                yield open_picture(path, str(path.relative_to(place)), read)
            if n == 0:
                yield refuse_picture(text, f"The folder {text} contains no images.")


def open_picture(path: Path, relative: str, read: Callable[[Path], Frames]) -> Picture:
    """A file that is read when it is needed."""
    return Picture(str(path), functools.partial(read, path), relative)


def refuse_picture(name: str, sentence: str) -> Picture:
    """A picture that cannot be read."""

    def refuse() -> Frames:
        raise vision.ImageError(sentence)

    return Picture(name, refuse, name)


def list_frames(source: str, mode: str) -> Iterator[Picture]:
    """Yield the frames of a folder, of an animated file, or of standard input, in order."""
    if source == STREAM:
        yield from _read_stream(sys.stdin.buffer, mode)
    elif Path(source).is_dir():
        yield from list_pictures([source], mode)
    else:
        yield from _read_animation(Path(source), mode)


def pair_frames(frames: Iterable[Picture]) -> Iterator[Picture]:
    """Yield pairs of neighbouring frames; a frame that cannot be read is yielded by itself.

    The first frame, and one of another size than the frame before, only begin a pair.
    """
    before = None
    for frame in frames:
        try:
            now = frame.load()
        except vision.ImageError as error:
            yield refuse_picture(frame.name, str(error))
            continue
        if before is not None and before.shape[:2] == now.shape[:2]:
            yield Picture(frame.name, functools.partial(_give, (before, now)), frame.relative)
        before = now


def _give(frames: Frames) -> Frames:
    return frames


def _hold(place: str, k: int, image: Any, mode: str) -> Picture:
    """A frame that has been read already."""
    convert = vision.to_gray if mode == "gray" else vision.to_color
    return Picture(f"{place}#{k}", functools.partial(_give, convert(image)), f"frame_{k:06d}.png")


def _read_animation(path: Path, mode: str) -> Iterator[Picture]:
    """Yield the frames of a GIF, WebP, PNG or TIFF file; a broken one ends the sequence."""
    from PIL import ImageSequence

    try:
        vision.read_image(path)  # says in a sentence what is wrong with the first frame
        with images.open_file(path) as animation:
            for k, frame in enumerate(ImageSequence.Iterator(animation)):
                if frame.width * frame.height > images.MOST_PIXELS:
                    raise ValueError(f"frame {k} has {frame.width} x {frame.height} pixels")
                yield _hold(str(path), k, np.asarray(frame.convert("RGB")), mode)
    except vision.ImageError as error:
        yield refuse_picture(str(path), str(error))


def _read_stream(stream: BinaryIO, mode: str) -> Iterator[Picture]:
    """Yield binary PGM and PPM images that follow each other, as ffmpeg's image2pipe writes."""
    for k in itertools.count():
        try:
            image = _read_pnm(stream)
        except ValueError as error:
            yield refuse_picture(_STDIN, f"Standard input: frame {k} {error}.")
            return
        if image is None:
            return
        yield _hold(_STDIN, k, image, mode)


def _read_pnm(stream: BinaryIO) -> Any:
    """Read one image (H, W) or (H, W, 3); None at the end of the stream."""
    kind = stream.read(2)
    if not kind:
        return None
    numbers = [_read_word(stream) for _ in range(3)] if kind in _DEPTHS else []
    if not all(word.isdigit() for word in numbers) or numbers[2:] != [b"255"]:
        raise ValueError("is not a binary PGM or PPM image of 8 bits")
    width, height = int(numbers[0]), int(numbers[1])
    if not 0 < width * height <= images.MOST_PIXELS:
        raise ValueError(f"has {width} x {height} pixels")
    shape = (height, width, 3)[: _DEPTHS[kind]]
    data = stream.read(int(np.prod(shape)))
    if len(data) < np.prod(shape):
        raise ValueError("is cut off")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _read_word(stream: BinaryIO) -> bytes:
    """Read a word of a header and the blank that ends it."""
    word = b""
    while len(word) < _LONGEST_WORD:
        byte = stream.read(1)
        if byte == b"#" and not word:
            while stream.read(1) not in (b"\n", b""):
                pass
        elif byte.strip():
            word += byte
        elif word or not byte:
            break
    return word


def find_place(place: str, picture: Picture, *, is_single: bool, suffix: str | None = None) -> Path:
    """Return where to write what is made from a picture; the folder then exists."""
    if is_single:
        return Path(place)
    path = Path(place) / picture.relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path if suffix is None else path.with_suffix(suffix)


def name_drawings(
    work: Iterator[Picture], suffixes: tuple[str, ...] = SUFFIXES
) -> Iterator[Picture]:
    """Give drawings names that can be written and differ from each other."""
    used: set[str] = set()
    for picture in work:
        place = Path(picture.relative)
        if place.suffix.lower() not in suffixes:
            place = place.with_name(f"{place.name}.png")
        names = (place.with_stem(f"{place.stem}-{k}") for k in itertools.count(2))
        while str(place) in used:
            place = next(names)
        used.add(str(place))
        yield Picture(picture.name, picture.load, str(place))
