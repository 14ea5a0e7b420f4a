"""``posterity vision pose`` on drawn figures: masks, folders, videos, and odd files."""

import json

import numpy as np
import pytest
from PIL import Image, ImageChops
from typer.testing import CliRunner

import posterity
from posterity import vision
from posterity.cli import app
from posterity.vision import ImageError, ShapeContexts, SilhouettePose, bodies, masks


def make_figures(n):
    """Bodies with an arm that swings, and where 16 joints would be."""
    rows, columns = np.mgrid[:48, :48]
    figures, joints = [], []
    for k in range(n):
        angle = 0.8 * np.sin(0.4 * k)
        figure = ((rows - 24) / 20) ** 2 + ((columns - 24) / 7) ** 2 < 1.0
        along = (rows - 14) * np.sin(angle) + (columns - 24) * np.cos(angle)
        across = (rows - 14) * np.cos(angle) - (columns - 24) * np.sin(angle)
        figures.append(figure | ((along > 0) & (along < 18) & (np.abs(across) < 2)))
        joints.append(np.outer(np.linspace(0.0, 1.0, 16), [np.cos(angle), np.sin(angle), 0.1]))
    return np.array(figures), np.array(joints)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks")
    figures, joints = make_figures(60)
    contexts = ShapeContexts(8, n_points=30)
    model = SilhouettePose(12, contexts=contexts, grid_shape=(6, 4)).fit(figures, joints)
    posterity.save(model, folder / "m.posterity")
    posterity.save(posterity.BayesianLinearRegression(), folder / "line.posterity")
    (folder / "walk").mkdir()
    for k in range(4):
        Image.fromarray(figures[k]).save(folder / "walk" / f"{k}.png")
    two = figures[0].copy()
    two[0:2, 0:2] = True
    Image.fromarray(two).save(folder / "two.png")
    (folder / "odd").mkdir()
    Image.fromarray(figures[0]).save(folder / "odd" / "good.png")
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(folder / "odd" / "empty.png")
    (folder / "odd" / "text.png").write_bytes(b"no picture")
    return folder


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    monkeypatch.chdir(world)

    def invoke(line):
        words = [word.replace("OUT", str(tmp_path)) for word in line.split()]
        return CliRunner().invoke(app, ["vision", "pose", *words])

    return invoke


def test_one_mask_gives_joints_with_intervals_and_a_picture(run, tmp_path):
    result = run("walk/0.png -m m.posterity --draw OUT/p.png --json")
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)["found"]
    assert sum(mode["probability"] for mode in found["modes"]) <= 1.0 + 1e-3
    assert len(found["joints"]) == 16
    joint = found["joints"][-1]
    assert joint["x_low"] < joint["x"] < joint["x_high"]
    assert joint["x"] == pytest.approx(1.0, abs=0.1)
    with Image.open(tmp_path / "p.png") as drawn:
        assert drawn.width > 300


def test_a_folder_is_a_video_or_single_masks(run, tmp_path):
    for video in ("", " --video"):
        result = run(f"walk -m m.posterity --out OUT/p.json --force{video}")
        assert result.exit_code == 0, result.output
        told = json.loads((tmp_path / "p.json").read_text())["images"]
        assert [len(one["joints"]) for one in told] == [16] * 4
    assert run("walk/0.png --video -m m.posterity").exit_code == 2


def test_a_dark_figure_on_white_has_the_same_pose(run, world, tmp_path):
    with Image.open(world / "walk" / "0.png") as mask:
        ImageChops.invert(mask.convert("L")).save(tmp_path / "0.png")
    for name, place in (("white", "walk/0.png"), ("dark", "OUT/0.png")):
        assert run(f"{place} -m m.posterity --out OUT/{name}.json").exit_code == 0
    white, dark = (
        json.loads((tmp_path / f"{name}.json").read_text())["images"][0]["joints"]
        for name in ("white", "dark")
    )
    assert white == dark


def test_of_several_regions_the_largest_is_used_with_a_word(run):
    result = run("two.png -m m.posterity")
    assert result.exit_code == 0, result.output
    assert "more than one region; the largest was used" in " ".join(result.output.split())


def test_odd_files_are_reported_in_sentences_and_left_out(run):
    result = run("odd -m m.posterity --json")
    assert result.exit_code == 3
    told = " ".join(result.output.split())
    assert "empty.png is empty" in told
    assert "text.png is not an image" in told
    assert "2 of 3 images could not be read" in told
    assert "Traceback" not in told


def test_models_of_other_classes_are_refused(run):
    result = run("walk/0.png -m line.posterity")
    assert result.exit_code != 0
    assert "not a SilhouettePose" in " ".join(result.output.split())


def test_the_model_of_the_package_poses_a_person_of_whom_it_knows_nothing(run, world):
    walk = next(one for one in vision.datasets.motions() if one.subject == "08")
    sampler = bodies.VideoSampler(turn=(80.0, 100.0))
    video = sampler.render(walk, np.random.default_rng(0), frames=6)
    (world / "new").mkdir()
    for k, mask in enumerate(video.masks):
        Image.fromarray(mask).save(world / "new" / f"{k}.png")
    result = run("new --video --json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["found"]
    poses = [[[joint[axis] for axis in "xyz"] for joint in one["joints"]] for one in found]
    off = np.linalg.norm(np.array(poses) - video.joints, axis=2).mean()
    resting = np.linalg.norm(video.joints, axis=2).mean()
    assert off < 0.4 * resting
    assert "rendered silhouettes" in " ".join(run("new/0.png").output.split())


def test_masks_are_bright_or_opaque_and_photographs_are_refused(tmp_path):
    figure = make_figures(1)[0][0]
    dark = np.where(figure, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(masks.to_mask(dark, "a"), figure)
    np.testing.assert_array_equal(masks.to_mask(figure.astype(np.uint8), "a"), figure)
    clear = np.dstack([np.full((48, 48, 3), 90, np.uint8), np.where(figure, 255, 0)])
    Image.fromarray(clear.astype(np.uint8)).save(tmp_path / "clear.png")
    np.testing.assert_array_equal(masks.read_mask(tmp_path / "clear.png"), figure)
    ramp = np.tile(np.arange(256, dtype=np.uint8), (20, 1))
    with pytest.raises(ImageError, match=r"a\.png is not a mask"):
        masks.to_mask(ramp, "a.png")
