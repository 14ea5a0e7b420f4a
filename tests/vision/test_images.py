"""Images are read as arrays, whatever their format; what cannot be read is said in a sentence."""

import contextlib
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from support.for_each import for_each

from posterity.vision import ImageError, list_images, read_image, to_color, to_gray, write_image

GRADIENT = np.add.outer(np.arange(12), 5 * np.arange(20)).astype(np.uint8)
COLOR = np.stack([GRADIENT, GRADIENT[::-1], GRADIENT[:, ::-1]], axis=2)


def encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, format=kind, **options)
    return out.getvalue()


def turned():
    exif = Image.Exif()
    exif[0x0112] = 6  # turn right
    return encode(Image.fromarray(GRADIENT), "PNG", exif=exif)


def palette_with_transparency():
    image = Image.new("P", (20, 12), 1)
    image.putpalette([0, 0, 0, 200, 10, 10])
    return encode(image, "GIF", transparency=1)


def animation():
    frames = [Image.fromarray(GRADIENT), Image.fromarray(255 - GRADIENT)]
    return encode(frames[0], "GIF", save_all=True, append_images=frames[1:])


def promise_of(width, height):
    """A PNG whose header promises more pixels than there are."""

    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * 100)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


WHOLE = {
    "gray.png": (encode(Image.fromarray(GRADIENT), "PNG"), GRADIENT),
    "color.png": (encode(Image.fromarray(COLOR), "PNG"), to_gray(COLOR)),
    "wrong.jpg": (encode(Image.fromarray(GRADIENT), "PNG"), GRADIENT),
    "no suffix": (encode(Image.fromarray(GRADIENT), "BMP"), GRADIENT),
    "deep.png": (encode(Image.fromarray(GRADIENT.astype(np.uint16) * 257), "PNG"), GRADIENT),
    "deep.tif": (encode(Image.fromarray(GRADIENT.astype(np.int32) * 257), "TIFF"), GRADIENT),
    "float.tif": (encode(Image.fromarray(GRADIENT.astype(np.float32)), "TIFF"), GRADIENT),
    "bits.png": (encode(Image.fromarray(GRADIENT > 50), "PNG"), (GRADIENT > 50) * np.uint8(255)),
    "turned.png": (turned(), np.rot90(GRADIENT, -1)),
    "clear.gif": (palette_with_transparency(), np.full((12, 20), 255)),
    "moving.gif": (animation(), GRADIENT),
    "small.ppm": (encode(Image.fromarray(COLOR), "PPM"), to_gray(COLOR)),
}
JPEG = encode(Image.fromarray(np.tile(COLOR, (30, 30, 1))), "JPEG")
BROKEN = {
    "empty.png": (b"", "is empty"),
    "text.jpg": (b"not an image", "is not an image"),
    "cut.jpg": (JPEG[: len(JPEG) // 3], "cannot be decoded"),
    "cut.png": (WHOLE["gray.png"][0][:50], "cannot be decoded"),
    "huge.png": (promise_of(60_000, 60_000), "too many pixels|60000 x 60000 pixels"),
    "large.png": (promise_of(9_000, 9_000), "9000 x 9000 pixels"),
    "short.png": (promise_of(2_000, 2_000), "cannot be decoded"),
    "script.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not an image"),
    "beyond.tif": (encode(Image.fromarray(np.float32([[1e9]])), "TIFF"), "not within 16 bits"),
    "nan.tif": (encode(Image.fromarray(np.float32([[np.nan]])), "TIFF"), "not within 16 bits"),
}


@for_each("name", list(WHOLE))
def test_images_are_read_by_their_contents(name, tmp_path):
    (tmp_path / name).write_bytes(WHOLE[name][0])
    pixels = read_image(tmp_path / name)
    assert pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels.astype(int), WHOLE[name][1], atol=1)
    assert read_image(tmp_path / name, "color").shape == (*pixels.shape, 3)


@for_each("name", list(BROKEN))
def test_what_cannot_be_read_is_named(name, tmp_path):
    (tmp_path / name).write_bytes(BROKEN[name][0])
    with pytest.raises(ImageError, match=BROKEN[name][1]) as caught:
        read_image(tmp_path / name)
    assert name in str(caught.value)


def test_bytes_at_random_never_end_in_a_traceback(tmp_path):
    rng = np.random.default_rng(0)
    sources = [content for content, _ in WHOLE.values()] + [JPEG]
    for k in range(120):
        content = bytearray(sources[k % len(sources)][: rng.integers(20, 3000)])
        for at in rng.integers(len(content), size=rng.integers(1, 6)):
            content[at] = rng.integers(256)
        path = tmp_path / f"{k}.jpg"
        path.write_bytes(content)
        with contextlib.suppress(ImageError):
            assert read_image(path).dtype == np.uint8


def test_missing_files_and_folders_are_named(tmp_path):
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(ImageError, match="cannot be read") as caught:
            read_image(path)
        assert path.name in str(caught.value)


def test_images_are_listed_and_written(tmp_path):
    write_image(tmp_path / "b.png", COLOR)
    (tmp_path / "in").mkdir()
    write_image(tmp_path / "in" / "a.PNG", GRADIENT)
    (tmp_path / "notes.txt").write_text("no image")
    assert [path.name for path in list_images(tmp_path)] == ["b.png", "a.PNG"]
    np.testing.assert_array_equal(read_image(tmp_path / "b.png", "color"), COLOR)
    with pytest.raises(ValueError, match="must end in"):
        write_image(tmp_path / "a.eps", COLOR)


def test_arrays_of_all_kinds_become_bytes():
    half = np.full((2, 3), 0.5)
    assert np.all(to_gray(half) == 128)
    assert np.all(to_gray(np.full((2, 3), 32896, dtype=np.uint16)) == 128)
    clear = np.zeros((2, 3, 4), dtype=np.uint8)
    assert np.all(to_color(clear) == 255)
    for bad in (np.zeros((2, 3), dtype=int), 3.0 * half, np.zeros((2, 3, 2)), np.zeros((0, 3))):
        with pytest.raises(ValueError, match="An image must be"):
            to_gray(bad)
