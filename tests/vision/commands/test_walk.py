"""``posterity vision walk``: the cycle, silhouettes, tables, and odd folders."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import posterity
from posterity import vision
from posterity.cli import app


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "masks").mkdir()
    (folder / "black").mkdir()
    (folder / "nothing").mkdir()
    (folder / "dark").mkdir()
    masks = vision.datasets.walkers(1, step=9).masks
    for k, mask in enumerate(masks):
        Image.fromarray(mask.astype(np.uint8) * 255).save(folder / "masks" / f"{k:03d}.png")
        Image.fromarray(255 - mask.astype(np.uint8) * 255).save(folder / "dark" / f"{k:03d}.png")
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(folder / "black" / "a.png")
    posterity.save(posterity.BayesianLinearRegression(), folder / "line.posterity")
    return folder


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    monkeypatch.chdir(world)

    def invoke(line):
        words = line.replace("OUT", str(tmp_path)).split()
        return CliRunner().invoke(app, ["vision", "walk", *words])

    return invoke


def test_the_cycle_is_an_animated_drawing(run, tmp_path):
    answer = run("--out OUT/walk.svg --frames 8 --json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["frames"] == 8
    root = ElementTree.parse(tmp_path / "walk.svg").getroot()
    moving = [one for one in root.iter() if one.tag.endswith("animate")]
    assert {len(one.get("values").split(";")) for one in moving} == {9}


@pytest.mark.full
def test_silhouettes_become_an_animation(run, tmp_path):
    answer = run("--mask masks --out OUT/walk.gif --interval 0.6")
    assert answer.exit_code == 0, answer.output
    with Image.open(tmp_path / "walk.gif") as animation:
        assert animation.n_frames == 5
        assert len(animation.convert("RGB").getcolors(1 << 20)) > 3
    assert "standard deviation" in answer.stdout


def test_a_table_lists_joints_with_deviations(run, tmp_path):
    assert run("--mask masks --mask masks --out OUT/walk.csv").exit_code == 0
    with (tmp_path / "walk.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = [row for row in rows if row["mode"] == "1"]
    assert len({row["joint"] for row in rows}) == 38
    assert {row["folder"] for row in rows} == {"masks"}
    assert all(float(row["sd_x"]) >= 0.0 for row in first)


def test_a_dark_figure_on_white_is_the_same_mask(run, tmp_path):
    for name in ("masks", "dark"):
        assert run(f"--mask {name} --out OUT/{name}.csv").exit_code == 0
    white, dark = ((tmp_path / f"{name}.csv").read_text() for name in ("masks", "dark"))
    assert dark == white.replace("masks,", "dark,")


def test_samples_depend_on_the_seed(run, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        line = f"--sample --frames 5 --seed {seed} --out OUT/{name}.svg"
        assert run(line).exit_code == 0
    texts = [(tmp_path / f"{name}.svg").read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--out OUT/walk.png", 2, "must end in"),
        ("--mask missing --out OUT/a.svg", 2, "is not a folder"),
        ("--mask nothing --out OUT/a.svg", 2, "contains no images"),
        ("--mask black --out OUT/a.svg", 3, "is empty"),
        ("--mask masks --sample --out OUT/a.svg", 2, "not both"),
        ("--model line.posterity --out OUT/a.svg", 4, "not a WalkingModel"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run, line, code, words):
    answer = run(line)
    assert answer.exit_code == code, answer.output
    assert words in " ".join(answer.output.replace("│", " ").split())
