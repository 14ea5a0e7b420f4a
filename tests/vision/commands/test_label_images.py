"""Folders of images and labels: what is paired, what numbers and colours mean, odd files."""

import numpy as np
import pytest
from PIL import Image

from posterity import tables, vision
from posterity.vision.commands import label_images

COLORS = {0: (67, 99, 216), 1: (60, 180, 75), 2: (230, 25, 75)}


@pytest.fixture
def folders(tmp_path):
    """Two images with labels by number, one with a pixel to leave out."""
    for name in ("images", "labels"):
        (tmp_path / name / "more").mkdir(parents=True)
    for k, name in enumerate(("a", "more/b")):
        vision.write_image(tmp_path / f"images/{name}.jpg", np.full((4, 6, 3), 90 * k, np.uint8))
        Image.fromarray(label_array(k)).save(tmp_path / f"labels/{name}.png")
    return tmp_path


def label_array(k):
    labels = np.array([[0, 1, 1], [2, 2, 1]], dtype=np.uint8).repeat(2, 0).repeat(2, 1)
    labels[0, 0] = 255 if k else 0
    return labels


def read(place, **more):
    return label_images.read_labelled_images(str(place / "images"), str(place / "labels"), **more)


def test_images_are_paired_by_name_and_void_is_one_label(folders):
    found = read(folders)
    assert len(found.images) == 2
    np.testing.assert_array_equal(found.labels[0], label_array(0))
    assert found.labels[1][0, 0] == label_images.VOID
    assert found.classes.name_all([0, 2]) == {0: "0", 2: "2"}


def test_numbers_palettes_and_colours_mean_the_same(folders):
    names = "\n".join(f"c{k} #%02x%02x%02x" % color for k, color in COLORS.items())
    (folders / "classes.txt").write_text(names + "\n")
    palette = np.array([COLORS[k] for k in range(3)], dtype=np.uint8)
    expected = label_array(0)
    vision.write_label_map(folders / "labels/a.png", expected, palette)
    Image.fromarray(palette[np.minimum(label_array(0), 2)]).save(folders / "labels/more/b.png")
    found = read(folders)
    for labels in found.labels:
        np.testing.assert_array_equal(labels, expected)
    assert found.classes.names == {0: "c0", 1: "c1", 2: "c2"}


def test_a_class_called_void_is_left_out_and_255_may_be_a_class(folders):
    (folders / "labels/classes.txt").write_text("0 sky\n1 void\n2 ground\n255 wall\n")
    found = read(folders)
    assert (found.labels[0] == label_images.VOID).sum() == 12
    assert found.labels[1][0, 0] == 255


def test_files_that_do_not_belong_together_are_named(folders, capsys):
    Image.fromarray(np.zeros((4, 5), np.uint8)).save(folders / "labels/a.png")
    found = read(folders)
    assert found.n_failed == 1
    assert len(found.images) == 1
    said = capsys.readouterr().err
    assert "5 x 4 pixels" in said
    assert "a.png" in said


def test_a_label_that_is_no_class_is_named_with_its_place(folders, capsys):
    (folders / "classes.txt").write_text("sky\nground\n")
    with pytest.raises(tables.TableError, match="learned from"):
        read(folders)
    assert "the label 2 at row 2, column 0" in capsys.readouterr().err


def test_colours_need_a_list_and_unknown_ones_are_named(folders, capsys):
    picture = np.zeros((4, 6, 3), np.uint8)
    Image.fromarray(picture).save(folders / "labels/a.png")
    assert read(folders).n_failed == 1
    assert "no classes.txt says" in capsys.readouterr().err
    (folders / "classes.txt").write_text("a #000001\nb #100000\nc\n")
    assert read(folders).n_failed == 1
    assert "the colour #000000 at row 0, column 0" in capsys.readouterr().err


def test_folders_without_pairs_are_refused(folders, tmp_path):
    with pytest.raises(tables.TableError, match="not a folder with labels"):
        label_images.pair_places(str(folders / "images"), str(tmp_path / "none"))
    for path in (folders / "labels").rglob("*.png"):
        path.rename(path.with_stem(path.stem + "_labels"))
    with pytest.raises(tables.TableError, match=r"such as a\.png"):
        read(folders)
    Image.fromarray(np.zeros((4, 6), np.uint8)).save(folders / "images/a.png")
    with pytest.raises(tables.TableError, match="same name"):
        read(folders)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "names no class"),
        (b"a\n\nb\n", "class 1 has no name"),
        (b"0 a\n0 b\n", "same number 0"),
        (b"a #000000\nb #000000\n", "same colour"),
        (b"99999999 a\n", "larger than"),
        (b"\xff\xfe", "not a text file"),
    ],
)
def test_bad_lists_of_classes_are_refused_in_a_sentence(tmp_path, text, said):
    place = tmp_path / "classes.txt"
    place.write_bytes(text)
    with pytest.raises(tables.TableError, match=said):
        label_images.read_class_list(place)


def test_names_may_begin_with_digits_if_not_all_do(tmp_path):
    place = tmp_path / "classes.txt"
    place.write_text("3 trees\nsky\n")
    assert label_images.read_class_list(place).names == {0: "3 trees", 1: "sky"}


def test_label_maps_keep_numbers_up_to_16_bits(tmp_path):
    for most in (255, 65535):
        labels = np.array([[0, 7], [most, 1]])
        vision.write_label_map(tmp_path / "labels.png", labels)
        np.testing.assert_array_equal(vision.read_label_map(tmp_path / "labels.png"), labels)
    with pytest.raises(ValueError, match=r"must end in \.png"):
        vision.write_label_map(tmp_path / "labels.jpg", labels)
    with pytest.raises(ValueError, match="between 0 and 65535"):
        vision.write_label_map(tmp_path / "labels.png", labels - 1)
    with pytest.raises(ValueError, match="whole numbers"):
        vision.write_label_map(tmp_path / "labels.png", labels * 0.5)
