"""``posterity vision body-parts`` on rendered people: files, folders, units, and odd files."""

import csv
import io
import json
import os

import numpy as np
import pytest
from PIL import Image
from support.for_each import for_each
from typer.testing import CliRunner

import posterity
from posterity import vision
from posterity.cli import app
from posterity.vision import bodies


@pytest.fixture(scope="module")
def model():
    return vision.load_packaged("body_parts")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two people: one as PNG, one as an array, and files that cannot be used."""
    folder = tmp_path_factory.mktemp("depth")
    camera = bodies.Camera(60, 80, 71.25)
    people = vision.datasets.bodies(2, max_turn=30.0, random_state=5, camera=camera)
    whole = np.rint(1000 * people.depth).astype(np.uint16)
    (folder / "good").mkdir()
    Image.fromarray(whole[0]).save(folder / "good" / "a.png")
    np.save(folder / "good" / "b.npy", whole[1] / 1000.0)
    (folder / "odd").mkdir()
    Image.fromarray(whole[0]).save(folder / "odd" / "a.png")
    np.save(folder / "odd" / "millimetres.npy", whole[0].astype(float))
    np.save(folder / "odd" / "nothing.npy", np.zeros((4, 4)))
    (folder / "odd" / "empty.png").write_bytes(b"")
    (folder / "odd" / "escape\x1b[31m.png").write_bytes(b"x")
    (folder / "odd" / "colour.jpg").write_bytes(b"which is not even looked at")
    posterity.save(posterity.BayesianLinearRegression(), folder / "line.posterity")
    return folder


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    """Run the command where the images are; ``OUT`` in a line is an empty folder."""
    monkeypatch.chdir(world)

    def invoke(line):
        words = [word.replace("OUT", str(tmp_path)) for word in line.split()]
        return CliRunner().invoke(app, ["vision", "body-parts", *words])

    return invoke


def test_one_image_gives_joints_labels_and_a_picture(run, world, model, tmp_path):
    line = "good/a.png --min-probability 0.2 --labels OUT/l.png --draw OUT/p.png --json"
    result = run(line)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    depth = vision.read_depth(world / "good" / "a.png")
    labels = vision.read_label_map(tmp_path / "l.png")
    np.testing.assert_array_equal(labels, model.predict(depth))
    expected = model.predict_proba(depth).max(axis=2)[depth > 0].mean()
    assert told["expected_accuracy"] == pytest.approx(expected, abs=1e-4)
    joints = model.find_joints(depth)
    (found,) = told["found"]
    assert len(found["joints"]) == np.sum(joints.probability >= 0.2) > 5
    for joint in found["joints"]:
        k = bodies.JOINTS.index(joint["joint"])
        np.testing.assert_allclose(
            [joint[axis] for axis in "xyz"], joints.positions[k], atol=0.0006
        )
        row, column = model.find_camera(depth.shape).find_pixels(joints.positions[k])
        assert (joint["row"], joint["column"]) == (
            pytest.approx(row, abs=0.06),
            pytest.approx(column, abs=0.06),
        )
    assert vision.read_image(tmp_path / "p.png").shape[1] > 800


@pytest.mark.full
def test_a_folder_is_labelled_in_parallel(run, world, tmp_path):
    line = "good --out OUT/joints.csv --labels OUT/labels --draw OUT/drawn --jobs 2"
    result = run(line)
    assert result.exit_code == 0, result.output
    assert "The model of the package has learned from rendered people" in result.stdout
    rows = list(csv.DictReader(io.StringIO((tmp_path / "joints.csv").read_text())))
    assert [row["image"] for row in rows] == sorted(row["image"] for row in rows)
    assert {row["image"] for row in rows} == {os.path.join("good", n) for n in ("a.png", "b.npy")}
    assert all(float(row["probability"]) >= 0.5 for row in rows)
    for folder in ("labels", "drawn"):
        assert sorted(p.name for p in (tmp_path / folder).iterdir()) == ["a.png", "b.npy.png"]


def test_readings_beyond_the_range_are_ignored(run, world):
    depth = vision.read_depth(world / "good" / "a.png")
    middle = np.median(depth[depth > 0])
    told = json.loads(run(f"good/a.png --far {middle} --json").stdout)
    assert told["pixels"] == np.sum((depth > 0) & (depth < middle))
    told = json.loads(run(f"good/a.png --near {middle} --json").stdout)
    assert told["pixels"] == np.sum(depth >= middle)


def test_a_wider_camera_sees_joints_further_apart(run):
    def spread(line):
        (found,) = json.loads(run(f"{line} --min-probability 0 --json").stdout)["found"]
        return np.ptp([joint["x"] / joint["z"] for joint in found["joints"]])

    assert spread("good/a.png --field-of-view 90") > 1.3 * spread("good/a.png")


def test_odd_files_are_skipped_and_named(run, tmp_path):
    result = run("odd --out OUT/joints.json")
    assert result.exit_code == 3
    assert "Traceback" not in result.output
    assert "4 of 5 images could not be read." in result.stderr
    assert "If the unit is wrong, add --depth-unit." in result.stderr
    assert "nothing.npy has no readings: all its pixels are 0." in result.stderr
    assert "\x1b[31m.png" not in result.stderr
    told = json.loads((tmp_path / "joints.json").read_text())["images"]
    assert sum("error" in one for one in told) == 4
    (good,) = (one for one in told if "joints" in one)
    assert good["pixels"] > 100


@for_each(
    ("line", "code", "said"),
    [
        ("gone.png", 3, "gone.png cannot be read"),
        ("odd/millimetres.npy --depth-unit mm --far 0.2", 3, "no readings between 0.1 and 0.2 m"),
        ("good/a.png --depth-unit inch", 2, "not a unit of depth"),
        ("good/a.png --near 3 --far 2", 2, "must be less than"),
        ("good/a.png --model line.posterity", 4, "not a BodyPartForest"),
        ("good/a.png --labels labels.jpg", 2, "must end in .png or .npy"),
        ("good/a.png --draw parts.txt", 2, "must end in .png or .jpg"),
        ("good --draw good/drawn", 2, "inside the input folder"),
        ("good/a.png --out joints.txt", 2, "must end in .json or .csv"),
        ("good/a.png --out - --json", 2, "add --out FILE"),
    ],
)
def test_a_wrong_use_is_told_in_a_sentence(line, code, said, world, monkeypatch):
    monkeypatch.chdir(world)
    result = CliRunner().invoke(app, ["vision", "body-parts", *line.split()])
    words = " ".join(result.output.replace("\u2502", "").split())
    assert (result.exit_code, said in words) == (code, True), result.output
