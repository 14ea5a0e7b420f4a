"""Files of boxes: tables and COCO say the same, and errors name the place."""

import json

import numpy as np
import pytest
from support.for_each import for_each

from posterity import tables

COCO = {
    "images": [{"id": 7, "file_name": "a.png"}, {"id": 9, "file_name": "b.png"}],
    "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "disc"}],
    "annotations": [
        {"image_id": 7, "category_id": 2, "bbox": [1, 2, 10, 20]},
        {"image_id": 7, "category_id": 1, "bbox": [5, 5, 4, 4]},
        {"image_id": 9, "category_id": 2, "bbox": [0, 0, 99, 99], "iscrowd": 1},
    ],
}
SIZES = "image,x,y,w,h,label\na.png,1,2,10,20,disc\na.png,5,5,4,4,cup\nb.png,,,,,\n"
CORNERS = "label,image,x0,y0,x1,y1\ndisc,a.png,1,2,11,22\ncup,a.png,5,5,9,9\n,b.png,,,,\n"


@for_each(("name", "text"), [("a.json", json.dumps(COCO)), ("a.csv", SIZES), ("a.tsv", CORNERS)])
def test_all_forms_say_the_same(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    a, b = tables.read_boxes(tmp_path / name)
    np.testing.assert_array_equal(a.boxes, [[1, 2, 11, 22], [5, 5, 9, 9]])
    assert (a.name, a.labels, b.name, len(b.boxes)) == ("a.png", ("disc", "cup"), "b.png", 0)
    only, other = tables.read_boxes(tmp_path / name, label="cup")
    assert (only.labels, other.name) == (("cup",), "b.png")


@for_each(
    ("text", "said"),
    [
        ("image,x,y,w\na,1,2,3\n", "must have the columns image, x, y, w and h"),
        ("image,x,y,w,h\na,1,2,3,4\na,1,2,x,4\n", r"Row 2, column 'w': 'x' is not a number"),
        ("image,x,y,w,h\na,1,2,3,\n", r"Row 1, column 'h': an empty cell is not a number"),
        ("image,x,y,w,h\na,1,2,3,inf\n", r"column 'h': 'inf' is not a number"),
        ("image,x,y,w,h\na,1,2,0,4\n", r"column 'w': '0': the size must be positive"),
        ("image,x0,y0,x1,y1\na,5,2,4,9\n", r"column 'x1': '4': the end must exceed the start"),
        ("image,x,y,w,h\n,1,2,3,4\n", r"column 'image': the name of the image is missing"),
    ],
)
def test_errors_name_row_and_column(text, said, tmp_path):
    path = tmp_path / "boxes.csv"
    path.write_text(text)
    with pytest.raises(tables.TableError, match=said) as caught:
        tables.read_boxes(path)
    assert str(path) in str(caught.value)


@for_each(
    ("text", "said"),
    [
        ("{", "is not a JSON file"),
        ("[1]", "is not a COCO file"),
        (json.dumps({**COCO, "annotations": [{"image_id": 8, "bbox": [1, 2, 3, 4]}]}), "tion 1"),
        (json.dumps({**COCO, "annotations": [{"image_id": 7, "bbox": [1, 2, 0, 4]}]}), "positive"),
    ],
)
def test_what_is_not_coco_is_refused(text, said, tmp_path):
    (tmp_path / "coco.json").write_text(text)
    with pytest.raises(tables.TableError, match=said):
        tables.read_boxes(tmp_path / "coco.json")
