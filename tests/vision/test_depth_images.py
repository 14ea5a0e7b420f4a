"""Depth images are read in metres whatever holds them, and odd files are named."""

import io

import numpy as np
import pytest
from PIL import Image
from support.for_each import for_each

from posterity.vision import ImageError, read_depth

MILLIMETRES = np.array([[0, 1500], [2250, 10_000], [1, 65_535]], dtype=np.uint16)
METRES = (MILLIMETRES / 1000).astype(np.float32)


@for_each("name", ["depth.png", "depth.tif", "depth.pgm"])
def test_sixteen_bits_are_millimetres(name, tmp_path):
    Image.fromarray(MILLIMETRES).save(tmp_path / name)
    np.testing.assert_array_equal(read_depth(tmp_path / name), METRES)


@for_each("dtype", ["uint16", ">u2", "int32", "int64", "float32", ">f8"])
def test_arrays_are_metres_if_floating_and_millimetres_if_whole(dtype, tmp_path):
    values = METRES if "f" in dtype else MILLIMETRES
    np.save(tmp_path / "depth.npy", values.astype(dtype))
    depth = read_depth(tmp_path / "depth.npy")
    assert depth.dtype == np.float32
    np.testing.assert_allclose(depth, METRES, rtol=1e-6)


def test_a_unit_may_be_named_or_be_a_number(tmp_path):
    np.save(tmp_path / "depth.npy", np.array([[5000]]))
    units = ("cm", "m", 0.0002)
    assert [read_depth(tmp_path / "depth.npy", unit)[0, 0] for unit in units] == [50, 5000, 1]
    for wrong in ("inch", 0.0, np.nan):
        with pytest.raises(ValueError, match="'mm', 'cm', 'm', or its size in metres"):
            read_depth(tmp_path / "depth.npy", wrong)


def test_what_is_not_a_distance_is_no_reading(tmp_path):
    np.save(tmp_path / "depth.npy", np.array([[np.nan, np.inf, -1.0, 0.0, 1e300, 2.0]]))
    assert read_depth(tmp_path / "depth.npy").tolist() == [[0, 0, 0, 0, 0, 2]]


def test_an_image_is_turned_as_its_exif_data_say(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.fromarray(MILLIMETRES).save(tmp_path / "depth.png", exif=exif)
    np.testing.assert_array_equal(read_depth(tmp_path / "depth.png"), np.rot90(METRES, -1))


def test_eight_bits_need_a_unit(tmp_path):
    Image.fromarray(np.array([[0, 200]], np.uint8)).save(tmp_path / "depth.png")
    with pytest.raises(ImageError, match=r"depth\.png has 8 bits"):
        read_depth(tmp_path / "depth.png")
    np.testing.assert_allclose(read_depth(tmp_path / "depth.png", "cm"), [[0, 2]])


def as_array(values, **more):
    file = io.BytesIO()
    np.save(file, values, **more)
    return file.getvalue()


def as_archive():
    file = io.BytesIO()
    np.savez(file, depth=METRES)
    return file.getvalue()


def as_picture(mode):
    file = io.BytesIO()
    Image.new(mode, (3, 2)).save(file, "PNG")
    return file.getvalue()


ODD = {
    "objects": (as_array(np.array([[{}]]), allow_pickle=True), "Python objects|allow_pickle"),
    "cut": (as_array(METRES)[:-5], "mmap length is greater|cannot be read as an array"),
    "header": (b"\x93NUMPY\x01\x00\xff\xff{" + b"(" * 400, "cannot be read as an array"),
    "stack": (as_array(np.zeros((4, 3, 2))), r"\(4, 3, 2\): a file holds one image"),
    "row": (as_array(np.zeros(3)), "not an image"),
    "words": (as_array(np.array([["a"]])), "not an image"),
    "void": (as_array(np.zeros((0, 3))), "not an image"),
    "huge": (as_array(np.zeros((1, 1))).replace(b"(1, 1), }", b"(90000, 90000), }"), "odd.npy"),
    "archive": (as_archive(), "is an archive"),
    "empty": (b"", "is empty"),
    "text": (b"depth", "is not an image"),
    "colour": (as_picture("RGB"), "is a colour image"),
    "palette": (as_picture("P"), "is a colour image"),
    "cut image": (as_picture("I;16")[:45], "cannot be decoded|truncated"),
}


@for_each("kind", list(ODD))
def test_odd_files_are_named_in_a_sentence(kind, tmp_path):
    contents, sentence = ODD[kind]
    (tmp_path / "odd.npy").write_bytes(contents)
    with pytest.raises(ImageError, match=rf"odd\.npy.*({sentence})|{sentence}"):
        read_depth(tmp_path / "odd.npy")


def test_more_pixels_than_allowed_are_refused_before_they_are_read(tmp_path):
    np.save(tmp_path / "depth.npy", METRES)
    Image.fromarray(MILLIMETRES).save(tmp_path / "depth.png")
    for name in ("depth.npy", "depth.png"):
        with pytest.raises(ImageError, match="2 x 3 pixels, more than the 5"):
            read_depth(tmp_path / name, most_pixels=5)
    with pytest.raises(ImageError, match=r"gone\.png cannot be read: No such file"):
        read_depth(tmp_path / "gone.png")
