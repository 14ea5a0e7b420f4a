"""``posterity vision track`` on a square that moves, and odd frames."""

import csv
import json

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from typer.testing import CliRunner

from posterity import vision
from posterity.cli import app

N, SIDE = 6, 20


def make_frames():
    rng = np.random.default_rng(0)
    ground, square = (
        128 + 45 * ndimage.gaussian_filter(rng.normal(size=shape), size) * size * 3
        for shape, size in (((60, 80), 3.0), ((SIDE, SIDE), 1.5))
    )
    for t in range(N):
        frame = ground.copy()
        frame[20 : 20 + SIDE, 10 + 3 * t : 10 + 3 * t + SIDE] = square
        yield np.clip(frame, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    for k, frame in enumerate(make_frames()):
        vision.write_image(folder / f"{k:03d}.png", frame)
    (folder / "003.png").write_bytes(b"not an image")
    return folder


def run(line):
    return CliRunner().invoke(app, f"vision track {line}".split())


@pytest.mark.full(but=1)
def test_a_bad_frame_is_predicted_and_the_track_goes_on(frames, tmp_path):
    out = tmp_path / "track.csv"
    result = run(f"{frames} --box 10,20,20,20 --out {out} --draw {tmp_path / 'drawn'}")
    assert result.exit_code == 3
    assert "003.png" in result.output
    assert "1 of 6 frames could not be read" in result.output
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["read"] for row in rows] == ["True"] * 3 + ["False"] + ["True"] * 2
    assert abs(float(rows[-1]["x0"]) - 25.0) < 3.0
    assert float(rows[3]["std_x"]) > float(rows[2]["std_x"])
    assert len(list((tmp_path / "drawn").iterdir())) == N


@pytest.mark.full
def test_json_and_animation(frames, tmp_path):
    source = tmp_path / "moving.gif"
    pictures = [Image.fromarray(frame) for frame in make_frames()][:3]
    pictures[0].save(source, save_all=True, append_images=pictures[1:])
    out, drawn = tmp_path / "track.json", tmp_path / "out.gif"
    result = run(f"{source} --box 10,20,20,20 --out {out} --draw {drawn} --json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["frames"] == 3
    track = json.loads(out.read_text())["frames"]
    assert track[0]["x0"] == 10.0
    assert 0.0 <= track[-1]["probability"] <= 1.0
    with Image.open(drawn) as animation:
        assert animation.n_frames == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("FRAMES --box 1,2,3", "--box"),
        ("FRAMES --box 1,2,-3,4", "left, top, width and height"),
        ("FRAMES --box 5,5,2,2", "too small"),
        ("FRAMES --box 500,5,20,20", "outside the frame"),
        ("missing.gif --box 5,5,20,20", "There is no first frame"),
        ("EMPTY --box 5,5,20,20", "There is no first frame"),
        ("FRAMES --box 5,5,20,20 --out track.txt", "must end in .json or .csv"),
        ("FRAMES --box 5,5,20,20 --draw out.mp4", "must be a folder or end in .gif"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(frames, tmp_path, line, words):
    (tmp_path / "empty").mkdir()
    line = line.replace("FRAMES", str(frames)).replace("EMPTY", str(tmp_path / "empty"))
    result = run(line)
    assert result.exit_code not in (0, 1)
    assert words in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output
