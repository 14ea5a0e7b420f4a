"""``posterity vision train-segmenter`` and ``segment`` on generated textures, and odd files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from posterity import vision
from posterity.cli import app

TRAIN = "vision train-segmenter --images images --labels labels --textons 12 --trees 6 --jobs 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six images of stripes and noise, their labels, a list of classes, and a segmenter."""
    place, rng = tmp_path_factory.mktemp("segment"), np.random.default_rng(0)
    for k in range(6):
        stripes = np.where((np.arange(48) + k) % 6 < 3, 60, 190)[None].repeat(32, axis=0)
        noise = rng.integers(40, 216, size=(32, 48))
        labels = (np.arange(48) >= 16 + 3 * k).astype(int)[None].repeat(32, axis=0)
        labels[:, 0] = 2
        for name in ("images", "labels"):
            (place / name).mkdir(exist_ok=True)
        image = np.where(labels == 1, noise, stripes).astype(np.uint8)
        vision.write_image(place / "images" / f"{k}.png", image)
        vision.write_label_map(place / "labels" / f"{k}.png", labels)
    (place / "classes.txt").write_text("stripes #ff0000\nnoise #0000ff\nvoid\n")
    return place


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def call(line):
        return CliRunner().invoke(app, line.split())

    return call


@pytest.fixture(scope="module")
def trained(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        line = f"{TRAIN} --folds 2 --out model.posterity --json"
        return CliRunner().invoke(app, line.split())


@pytest.mark.full
def test_training_says_how_good_the_segmenter_is(trained):
    assert trained.exit_code == 0, trained.output
    said = json.loads(trained.stdout)
    assert said["classes"] == {"0": "stripes", "1": "noise"}
    assert said["n_images"] == 6
    assert said["accuracy"] > 0.7


def test_labels_doubt_and_probabilities_are_written(trained, run, tmp_path):
    out, doubt, p = tmp_path / "l.png", tmp_path / "d.png", tmp_path / "p.npy"
    found = run(
        "vision segment images/0.png --model model.posterity --classes classes.txt "
        f"--out {out} --entropy {doubt} --probabilities {p} --json"
    )
    assert found.exit_code == 0, found.output
    labels, known = vision.read_label_map(out), vision.read_label_map("labels/0.png")
    assert np.mean((labels == known)[known < 2]) > 0.8
    assert vision.read_image(doubt).shape == (32, 48)
    assert np.load(p).shape == (32, 48, 2)
    assert set(json.loads(found.stdout)["found"][0]["shares"]) == {"stripes", "noise"}


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("vision segment images/0.png --out OUT.png", 2, "train-segmenter"),
        ("vision segment images/0.png --model classes.txt", 4, "classes.txt"),
        (
            "vision train-segmenter --images images --labels none --out m.posterity",
            3,
            "not a folder",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(run, line, code, sentence):
    found = run(line)
    assert found.exit_code == code, found.output
    assert sentence in " ".join(found.output.split())


def test_labels_of_another_size_are_named(run, folder):
    odd = folder / "odd"
    odd.mkdir(exist_ok=True)
    for k in range(6):
        vision.write_label_map(odd / f"{k}.png", np.zeros((8, 9), dtype=int))
    found = run("vision train-segmenter --images images --labels odd --out m.posterity")
    assert found.exit_code == 3
    assert "odd/0.png has 9 x 8 pixels" in " ".join(found.output.split())
