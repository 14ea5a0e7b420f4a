"""A folder of odd files: does ``posterity vision detect`` end, in a sentence, in bounded memory?

``python -m benchmarks vision_odd_files`` writes ten thousand files to a temporary folder, searches
it in a process of its own, and counts.
"""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import machine, report
from benchmarks.options import Options

N_FILES = 10_000
SIDE = 64
HUGE = (60_000).to_bytes(4, "big")
NOTE = (
    "Files are whole images of many kinds (16 bits, palettes, CMYK, alpha, rotated by EXIF, "
    "animated, of one pixel), images with a wrong extension, and files that are empty, cut off, "
    "damaged at random, random bytes, or PNG files whose header promises 3.6 gigapixels. They are "
    "searched with two threads by the command. Memory is the most that the process had at a time."
)

Writer = Callable[[np.random.Generator], bytes]


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The bytes of an image file."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def draw(rng: np.random.Generator, mode: str = "L") -> Image.Image:
    """A small image of noise."""
    height, width = rng.integers(1, SIDE, size=2)
    pixels = rng.integers(0, 256, size=(height, width, 4), dtype=np.uint8)
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, size=(height, width)).astype(np.uint16))
    return Image.fromarray(pixels, "RGBA").convert("RGB").convert(mode)


def write_animation(rng: np.random.Generator) -> bytes:
    """A GIF of several frames."""
    frames = [draw(rng).resize((30, 30)) for _ in range(5)]
    return encode(frames[0], "GIF", save_all=True, append_images=frames[1:])


def write_turned(rng: np.random.Generator) -> bytes:
    """A JPEG whose EXIF data turn it."""
    exif = Image.Exif()
    exif[0x0112] = int(rng.integers(0, 12))  # from nine on there is no such turn
    return encode(draw(rng, "RGB"), "JPEG", exif=exif)


def promise_size(rng: np.random.Generator) -> bytes:
    """A PNG file whose header says 60,000 x 60,000 pixels."""
    data = bytearray(encode(draw(rng), "PNG"))
    data[16:24] = HUGE * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


def cut_off(rng: np.random.Generator) -> bytes:
    """The beginning of a file."""
    data = WHOLE[int(rng.integers(len(WHOLE)))](rng)
    return data[: int(rng.integers(len(data)))]


def damage(rng: np.random.Generator) -> bytes:
    """A file with some wrong bytes."""
    data = bytearray(WHOLE[int(rng.integers(len(WHOLE)))](rng))
    for place in rng.integers(len(data), size=int(rng.integers(1, 12))):
        data[place] = int(rng.integers(256))
    return bytes(data)


WHOLE: tuple[Writer, ...] = (
    *(lambda rng, m=mode: encode(draw(rng, m), "PNG") for mode in ("1", "L", "LA", "P", "RGBA")),
    lambda rng: encode(draw(rng, "I;16"), "PNG"),
    lambda rng: encode(draw(rng, "I;16"), "TIFF"),
    lambda rng: encode(draw(rng, "CMYK"), "JPEG"),
    lambda rng: encode(draw(rng, "CMYK"), "TIFF"),
    lambda rng: encode(draw(rng, "F"), "TIFF"),
    lambda rng: encode(draw(rng, "RGB"), "WEBP"),
    lambda rng: encode(draw(rng, "RGB"), "BMP"),
    write_animation,
    write_turned,
)
BROKEN: tuple[Writer, ...] = (
    lambda rng: b"",
    lambda rng: rng.bytes(int(rng.integers(1, 3000))),
    promise_size,
    cut_off,
    cut_off,
    damage,
    damage,
)
ENDINGS = ("png", "jpg", "tif", "gif", "webp", "bmp")  # whatever the contents are


def write_odd_files(folder: Path, n: int, seed: int = 0) -> None:
    """Write n files, one in four of them whole."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        kinds = WHOLE if rng.random() < 0.25 else BROKEN
        data = kinds[int(rng.integers(len(kinds)))](rng)
        ending = ENDINGS[int(rng.integers(len(ENDINGS)))]
        (folder / f"{k:05d}.{ending}").write_bytes(data)


def search_folder(folder: Path, out: Path) -> dict[str, float]:
    """Run the command in its own process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["-c", "from posterity.cli import app; app()", "vision", "detect", str(folder)]
    done = subprocess.run(
        [sys.executable, *words, "--out", str(out), "--jobs", "2"], capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(out.read_text())["images"]
    return {
        "exit_code": done.returncode,
        "tracebacks": (done.stdout + done.stderr).count("Traceback"),
        "searched": sum("boxes" in record for record in told),
        "refused": sum("error" in record for record in told),
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mib": after.ru_maxrss / 1024.0,
    }


def run(options: Options) -> None:
    """Write the files, search them, and write what happened."""
    n = N_FILES // 50 if options.quick else N_FILES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "odd"
        folder.mkdir()
        write_odd_files(folder, n)
        numbers = search_folder(folder, Path(place) / "boxes.json")
    row = {"contender": "posterity vision detect", "files": n, **numbers}
    task = {"name": "odd files", "runs": [row]}
    title = "A folder of odd files"
    described = machine.describe()
    result = {"benchmark": "vision_odd_files", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table of one row."""
    columns = (
        ("files", "files"),
        ("searched", "searched"),
        ("refused", "refused in a sentence"),
        ("tracebacks", "tracebacks"),
        ("exit_code", "exit code"),
        ("cpu_s", "CPU s"),
        ("peak_mib", "memory, MiB"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run[key], 5) for key, _ in columns)]
        for run in task["runs"]
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["command", *(heading for _, heading in columns)]
    return "\n".join([*lines, *report.table(heading, body), ""])
