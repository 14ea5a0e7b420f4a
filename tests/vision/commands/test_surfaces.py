"""``posterity vision train-surfaces`` and ``surfaces`` on generated streets, and odd files."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import posterity
from posterity import vision
from posterity.cli import app

TRAIN = "vision train-surfaces --images images --labels labels --trees 8 --jobs 1"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Images with labels, a list of classes, and a layout trained by the command."""
    folder = tmp_path_factory.mktemp("streets")
    data = vision.datasets.streets(6, (48, 64))
    for name in ("images", "labels", "photos/more"):
        (folder / name).mkdir(parents=True)
    for k in range(5):
        vision.write_image(folder / f"images/{k}.png", data.images[k])
        vision.write_label_map(folder / f"labels/{k}.png", data.labels[k] + (1 if k else 0))
    (folder / "images/5.png").write_bytes(b"no image")
    vision.write_label_map(folder / "labels/5.png", data.labels[5])
    (folder / "classes.txt").write_text("void\nsupport #3cb44b\nvertical #e6194b\nsky #4363d8\n")
    vision.write_image(folder / "photos/a.png", data.images[5])
    vision.write_image(folder / "photos/more/b.jpg", data.images[4])
    before = os.getcwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, f"{TRAIN} --out layout.posterity --json".split())
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    return folder, result


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    """Run the command where the images are; ``OUT`` in a line is an empty folder."""
    monkeypatch.chdir(world[0])

    def invoke(line):
        words = [word.replace("OUT", str(tmp_path)) for word in line.split()]
        return CliRunner().invoke(app, words)

    return invoke


def test_training_names_classes_and_leaves_broken_files_out(world):
    folder, result = world
    answer = json.loads(result.stdout)
    assert answer["classes"] == {"1": "support", "2": "vertical", "3": "sky"}
    assert (answer["n_images"], answer["failed"]) == (5, 1)
    assert "5.png is not an image" in result.stderr
    model = posterity.load(folder / "layout.posterity")
    assert model.names_ == ("support", "vertical", "sky")
    assert model.n_jobs is None


@pytest.mark.full
def test_labels_doubt_and_probabilities_of_one_image_are_written(run, tmp_path):
    result = run(
        "vision surfaces photos/a.png --model layout.posterity --out OUT/l.png --entropy OUT/d.npy "
        "--probabilities OUT/p.npy --classes classes.txt"
    )
    assert result.exit_code == 0, result.output
    p, doubt = np.load(tmp_path / "p.npy"), np.load(tmp_path / "d.npy")
    labels = vision.read_label_map(tmp_path / "l.png")
    np.testing.assert_array_equal(labels, p.argmax(axis=-1) + 1)
    assert doubt.shape == labels.shape
    entropy = -np.sum(p * np.log(p + 1e-12), axis=-1) / np.log(3.0)
    np.testing.assert_allclose(doubt, entropy, atol=1e-4)
    shown = vision.read_image(tmp_path / "l.png", "color")
    np.testing.assert_array_equal(np.unique(shown[labels == 3], axis=0), [[67, 99, 216]])
    assert "Share of pixels" in result.output


@pytest.mark.full
def test_folders_are_labelled_into_folders_and_bad_files_named(run, tmp_path, world):
    (world[0] / "photos/c.png").write_bytes(b"")
    line = "vision surfaces photos --model layout.posterity --out OUT/l --entropy OUT/d --json"
    result = run(line)
    (world[0] / "photos/c.png").unlink()
    assert result.exit_code == 3
    assert "c.png is empty" in result.stderr
    assert json.loads(result.stdout)["failed"] == 1
    for name in ("l/a.png", "l/more/b.png", "d/a.png", "d/more/b.png"):
        assert (tmp_path / name).is_file()
    shares = json.loads(result.stdout)["found"][0]["shares"]
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("vision surfaces photos/a.png --out OUT/l.png", 2, "train-surfaces"),
        ("vision surfaces photos/a.png --model classes.txt", 4, "classes.txt"),
        ("vision surfaces photos/a.png --model layout.posterity --out OUT/l.jpg", 2, "end in .png"),
        ("vision surfaces photos --model layout.posterity --out photos/l", 2, "inside the input"),
        ("vision train-surfaces --images none --labels labels --out OUT/m", 3, "not a folder"),
    ],
)
def test_wrong_requests_end_in_a_sentence(run, line, code, said):
    result = run(line)
    assert result.exit_code == code, result.output
    assert said in " ".join((result.output + result.stderr).split())
    assert "Traceback" not in result.output
