"""``posterity vision`` on discs between bars: train, detect, evaluate, and odd files."""

import csv
import io
import json
import os
import zlib

import numpy as np
import pytest
from benchmarks import vision_odd_files
from PIL import Image
from support import discs
from support.for_each import for_each
from typer.testing import CliRunner

import posterity
from posterity import tables, vision
from posterity.cli import app
from posterity.vision.commands import train_detector

TRAIN = f"vision train-detector --patches patches --scenes scenes {discs.OPTIONS} --jobs 1"


def write_images(folder, images):
    folder.mkdir()
    for k, image in enumerate(images):
        vision.write_image(folder / f"{k:03d}.png", image)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Patches and scenes, labelled images, and a detector trained by the command."""
    folder, rng = tmp_path_factory.mktemp("discs"), np.random.default_rng(0)
    write_images(folder / "patches", discs.draw_patches(rng, 150))
    write_images(folder / "scenes", [discs.draw_scene(rng) for _ in range(24)])
    images, rows = [discs.draw_scene(rng) for _ in range(14)], []
    for k, image in enumerate(images[:12]):
        rows.append((f"images/{k:03d}.png", *discs.paste_disc(rng, image), "disc"))
    rows += [(f"images/{k:03d}.png", "", "", "", "", "") for k in (12, 13)]
    write_images(folder / "images", images)
    with open(folder / "boxes.csv", "w", newline="") as file:
        csv.writer(file).writerows([("image", "x", "y", "w", "h", "label"), *rows])
    before = os.getcwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, f"{TRAIN} --out discs.posterity".split())
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    """Run the command where the images are; ``OUT`` in a line is an empty folder."""
    monkeypatch.chdir(world)

    def invoke(line, **more):
        words = [word.replace("OUT", str(tmp_path)) for word in line.split()]
        return CliRunner().invoke(app, words, **more)

    return invoke


def agree(one, other):
    for name in ("rectangles", "thresholds", "leaves", "bounds"):
        first, second = getattr(one.cascade_, name), getattr(other.cascade_, name)
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.calibration_.coef, other.calibration_.coef)


@pytest.mark.full
def test_training_leaves_a_detector_and_no_checkpoint(world):
    assert posterity.load(world / "discs.posterity").n_estimators_ == 60
    assert not (world / "discs.checkpoint.posterity").exists()


@pytest.mark.full
def test_a_resumed_training_gives_the_detector_of_an_uninterrupted_one(
    run, world, tmp_path, monkeypatch
):
    save = train_detector.persistence.save

    def save_and_stop(detector, path):
        save(detector, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(train_detector.persistence, "save", save_and_stop)
        result = run(f"{TRAIN} --out OUT/again.posterity")
    assert result.exit_code == 130
    assert "--resume" in result.output
    assert posterity.load(tmp_path / "again.checkpoint.posterity").n_estimators_ == 30
    result = run(f"{TRAIN} --features 9 --out OUT/again.posterity --resume")
    assert (result.exit_code, "max_features=50, not 9" in result.output) == (4, True)
    result = run(f"{TRAIN} --out OUT/again.posterity --resume")
    assert result.exit_code == 0, result.output
    agree(posterity.load(tmp_path / "again.posterity"), posterity.load(world / "discs.posterity"))


def test_boxes_train_a_detector_too(run, tmp_path):
    line = "vision train-detector --boxes boxes.csv --scenes scenes --out OUT/boxes.posterity"
    result = run(f"{line} {discs.OPTIONS}")
    assert result.exit_code == 0, result.output
    detector = posterity.load(tmp_path / "boxes.posterity")
    near = [
        np.abs(detector.detect(image.name).boxes - image.boxes).max(axis=1).min(initial=99.0) < 5.0
        for image in tables.read_boxes("boxes.csv")[:12]
    ]
    assert np.mean(near) >= 0.5


@pytest.mark.full
def test_a_detector_of_motion_learns_and_searches_pairs_of_frames(run, tmp_path):
    rng, rows, frames = np.random.default_rng(5), ["image,x,y,w,h"], []
    ground, patch = discs.draw_scene(rng), np.kron(discs.draw_patches(rng, 1)[0], np.ones((2, 2)))
    ground[5:37, 70:102] = patch  # a disc that stands still
    for k in range(16):
        frame = ground + rng.integers(0, 6, size=ground.shape, dtype=np.uint8)
        frame[44:76, 3 * k : 3 * k + 32] = patch
        frames.append(frame)
        rows.append(f"{k:03d}.png,{3 * k},44,32,32")
    write_images(tmp_path / "frames", frames)
    (tmp_path / "frames" / "boxes.csv").write_text("\n".join(rows))
    line = "vision train-detector --boxes OUT/frames/boxes.csv --channels motion"
    result = run(f"{line} {discs.OPTIONS} --no-mirror --out OUT/moving.posterity")
    assert "Learning from 15 patches and 15 scenes." in result.output, result.output
    assert run("vision detect images --model OUT/moving.posterity").exit_code == 4
    line = "vision detect OUT/frames --model OUT/moving.posterity --min-probability 0 --json"
    result = run(f"{line} --video")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["images"] == 15
    best = [record["boxes"][0]["x0"] for record in told["found"] if record["boxes"]]
    assert np.mean(np.abs(best - 3.0 * np.arange(1, 16)) < 6.0) > 0.8
    result = run("vision evaluate --model OUT/moving.posterity --boxes OUT/frames/boxes.csv --json")
    assert json.loads(result.stdout)["curve"]["detection_rate"][-1] > 0.8


def test_a_folder_is_searched_as_its_images_are(run, world, tmp_path):
    line = "vision detect images --model discs.posterity --out OUT/boxes.json --draw OUT/drawn"
    result = run(f"{line} --min-probability 0.2")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "boxes.json").read_text())["images"]
    detector = posterity.load(world / "discs.posterity")
    for record in told:
        expected = detector.detect(record["image"]).above(0.2)
        assert record["boxes"] == list(expected)
    assert sum(len(record["boxes"]) > 0 for record in told) >= 10
    drawn = vision.read_image(tmp_path / "drawn" / "000.png", "color")
    assert np.ptp(drawn.astype(int), axis=2).max() > 50  # boxes have a colour


def test_prior_lowers_probabilities(run):
    line = "vision detect images/000.png --model discs.posterity --min-probability 0 --json"
    likely, rare = (
        json.loads(run(f"{line}{more}").output)["found"][0]["boxes"]
        for more in ("", " --prior 0.001")
    )
    assert len(likely) == len(rare) > 0
    assert all(a["probability"] > b["probability"] for a, b in zip(likely, rare, strict=True))


def test_frames_of_a_stream_an_animation_and_a_folder_are_the_same(run, world, tmp_path):
    images = [vision.read_image(path) for path in vision.list_images(world / "images")][:3]
    stream = b"".join(b"P5\n# a camera\n110 80\n255\n" + image.tobytes() for image in images)
    frames = [Image.fromarray(image) for image in images]
    frames[0].save(tmp_path / "frames.tif", save_all=True, append_images=frames[1:])
    write_images(tmp_path / "frames", images)
    line = "vision detect --video --model discs.posterity --out -"
    found = [
        list(csv.DictReader(io.StringIO(result.stdout)))
        for result in (
            run(f"{line} -", input=stream),
            run(f"{line} OUT/frames.tif"),
            run(f"{line} OUT/frames"),
        )
    ]
    boxes = [[(row["x0"], row["probability"]) for row in rows] for rows in found]
    assert len(boxes[0]) >= 2
    assert boxes[0] == boxes[1] == boxes[2]
    cut = run(f"{line} -", input=stream[:-5])
    assert (cut.exit_code, "frame 2 is cut off" in cut.stderr) == (3, True)


def test_scores_are_those_of_the_boxes(run, world, tmp_path):
    line = "vision evaluate --model discs.posterity --boxes boxes.csv --label disc"
    result = run(f"{line} --out OUT/scores.json --draw OUT/scores.png --json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told == json.loads((tmp_path / "scores.json").read_text())
    assert (told["n_images"], told["n_objects"]) == (14, 12)
    detector = posterity.load(world / "discs.posterity")
    known = tables.read_boxes(world / "boxes.csv")
    best = [detector.detect(world / image.name).boxes[:1] for image in known[:12]]
    near = [len(b) and np.abs(b - i.boxes).max() < 3.0 for b, i in zip(best, known, strict=False)]
    assert told["curve"]["detection_rate"][-1] >= np.mean(near) > 0.7
    assert 0.0 <= told["calibration_error"] <= 1.0
    assert vision.read_image(tmp_path / "scores.png").shape[1] > 500


@pytest.fixture
def odd(tmp_path, world):
    """A folder with one good image, and files that claim to be others."""
    folder = tmp_path / "odd"
    folder.mkdir()
    good = (world / "images" / "000.png").read_bytes()
    (folder / "good.png").write_bytes(good)
    (folder / "named_wrongly.jpg").write_bytes(good)
    (folder / "empty.png").write_bytes(b"")
    (folder / "cut.png").write_bytes(good[: len(good) // 2])
    (folder / "text.jpg").write_text("not an image")
    (folder / "folder.png").mkdir()
    header = Image.new("L", (1, 1))
    header.save(folder / "huge.png")
    huge = bytearray((folder / "huge.png").read_bytes())
    huge[16:24] = (60_000).to_bytes(4, "big") * 2  # its header promises 3.6 gigapixels
    huge[29:33] = zlib.crc32(huge[12:29]).to_bytes(4, "big")
    (folder / "huge.png").write_bytes(huge)
    header.save(folder / "dot.png")
    frames = [Image.new("L", (40, 30), shade) for shade in (0, 99)]
    frames[0].save(folder / "moving.gif", save_all=True, append_images=frames[1:])
    (folder / "loop.png").symlink_to(folder / "loop.png")
    (folder / "escape\x1b[31m.png").write_bytes(b"x")
    with open(os.fsencode(folder) + b"/\xff.png", "wb") as file:
        file.write(good)
    return folder


def test_a_folder_of_odd_files_is_searched_to_its_end(run, odd, tmp_path):
    line = f"vision detect {odd} --model discs.posterity --draw OUT/drawn"
    result = run(f"{line} --out OUT/boxes.json --jobs 2")
    assert result.exit_code == 3
    assert "Traceback" not in result.output
    assert "5 of 10 images could not be read." in result.stderr
    assert "huge.png has too many pixels" in result.stderr
    assert "\x1b[31m.png" not in result.stderr
    told = json.loads((tmp_path / "boxes.json").read_text())["images"]
    failed = {os.path.basename(record["image"]) for record in told if "error" in record}
    assert failed == {"empty.png", "cut.png", "text.jpg", "huge.png", "escape\x1b[31m.png"}
    found = {os.path.basename(r["image"]): len(r["boxes"]) for r in told if "boxes" in r}
    assert found["good.png"] == found["named_wrongly.jpg"] == found["\udcff.png"] > 0
    assert len(list((tmp_path / "drawn").iterdir())) == 5


def test_damaged_files_of_all_kinds_are_told_in_sentences(run, tmp_path):
    (tmp_path / "many").mkdir()
    vision_odd_files.write_odd_files(tmp_path / "many", 100)
    result = run("vision detect OUT/many --model discs.posterity --out OUT/many.json --jobs 2")
    assert result.exit_code == 3
    assert "Traceback" not in result.output
    told = json.loads((tmp_path / "many.json").read_text())["images"]
    assert len(told) == 100
    assert 25 <= sum("boxes" in record for record in told) < 60
    assert all(len(record.get("error", "a sentence.")) > 10 for record in told)


def test_boxes_of_a_coco_file_train_and_score(run, world, tmp_path):
    known = tables.read_boxes(world / "boxes.csv")
    names = {"images": [{"id": k, "file_name": one.name} for k, one in enumerate(known)]}
    boxes = [
        {"image_id": k, "category_id": 1, "bbox": [x0, y0, x1 - x0, y1 - y0]}
        for k, one in enumerate(known)
        for x0, y0, x1, y1 in one.boxes.tolist()
    ]
    text = {**names, "annotations": boxes, "categories": [{"id": 1, "name": "disc"}]}
    (tmp_path / "coco.json").write_text(json.dumps(text))
    line = "vision evaluate --model discs.posterity --images . --json --boxes"
    told = [json.loads(run(f"{line} {name}").stdout) for name in ("boxes.csv", "OUT/coco.json")]
    assert told[0]["curve"] == told[1]["curve"]
    assert told[1]["n_images"] == 14


@for_each(
    ("line", "code", "said"),
    [
        ("detect gone.png --model discs.posterity", 3, "gone.png cannot be read"),
        ("detect images --model gone.posterity", 3, "gone.posterity"),
        ("detect images --opencv boxes.csv", 4, "cannot be read as a cascade"),
        ("detect images --model a --opencv b", 2, "not both"),
        ("detect images --model discs.posterity --out boxes.txt", 2, "must end in .json or .csv"),
        ("detect images --model discs.posterity --out boxes.csv", 2, "already exists"),
        ("detect images --model discs.posterity --draw images/drawn", 2, "inside the input folder"),
        ("detect images scenes --video --model discs.posterity", 2, "one folder"),
        ("train-detector --patches patches", 2, "add --scenes"),
        ("train-detector --boxes boxes.csv --window 12", 2, "not a height and a width"),
        ("train-detector --patches patches --scenes scenes --resume", 2, "no checkpoint"),
        ("evaluate --boxes boxes.csv --label cup --model discs.posterity", 3, "Labels are 'disc'"),
    ],
)
def test_a_wrong_use_is_told_in_a_sentence(line, code, said, world, monkeypatch):
    monkeypatch.chdir(world)
    result = CliRunner().invoke(app, ["vision", *line.split()])
    assert (result.exit_code, said in " ".join(result.output.replace("\u2502", "").split())) == (
        code,
        True,
    ), result.output
