"""``posterity vision evaluate`` for models of classes: segmenters, surfaces, patches."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

import posterity
from posterity import vision
from posterity.cli import app
from posterity.vision.commands.evaluate_classes import ClassCounts, ClassScores


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Labelled streets with a surface layout and a segmenter, and patches with a classifier."""
    place, rng = tmp_path_factory.mktemp("scored"), np.random.default_rng(0)
    data = vision.datasets.streets(6, (48, 64))
    for name in ("images", "labels", "patches/columns", "patches/rows"):
        (place / name).mkdir(parents=True)
    for k in range(3):
        labels = data.labels[k].copy()
        labels[:, 0] = 255
        vision.write_image(place / f"images/{k}.png", data.images[k])
        vision.write_label_map(place / f"labels/{k}.png", labels)
    names = dict(enumerate(("support", "vertical", "sky")))
    kinds = [("felzenszwalb", 50), ("slic", 40)]
    layout = vision.SurfaceLayout(kinds, n_estimators=6, max_size=64, random_state=0)
    segmenter = vision.TextonSegmenter(
        12, n_colors=6, n_gradients=0, n_estimators=6, cv=2, smooth=False, random_state=0
    )
    for model, name in ((layout, "layout"), (segmenter, "segmenter")):
        model.fit(data.images[3:], data.labels[3:], names=names)
        posterity.save(model, place / f"{name}.posterity")
    waves = np.sin(np.arange(16) + rng.uniform(0, 6, size=(24, 1, 1))) * np.ones((24, 16, 16))
    is_row = np.arange(24) % 2 == 1
    waves[is_row] = waves[is_row].transpose(0, 2, 1)
    pixels = (128 + 40 * waves + 40 * rng.normal(size=waves.shape)).clip(0, 255).astype(np.uint8)
    classes = np.where(is_row, "rows", "columns")
    units = posterity.StagewiseClassifier(4, random_state=0)
    patches = vision.PatchClassifier((16, 16), features=vision.Gabor((4, 3)), classifier=units)
    posterity.save(patches.fit(pixels[:16], classes[:16]), place / "patches.posterity")
    for k in range(16, 24):
        vision.write_image(place / f"patches/{classes[k]}/{k}.png", pixels[k])
    return place


@pytest.fixture
def run(world, tmp_path, monkeypatch):
    """Run ``vision evaluate`` where the images are; ``OUT`` in a line is an empty folder."""
    monkeypatch.chdir(world)

    def invoke(line):
        words = [word.replace("OUT", str(tmp_path)) for word in line.split()]
        return CliRunner().invoke(app, ["vision", "evaluate", *words])

    return invoke


@pytest.mark.parametrize("name", ["layout", "segmenter"])
def test_pixel_scores_are_those_of_the_probabilities(run, world, tmp_path, name):
    line = f"--model {name}.posterity --images images --labels labels --json --jobs 1"
    result = run(f"{line} --out OUT/scores.json --draw OUT/scores.png")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told == json.loads((tmp_path / "scores.json").read_text())
    model = posterity.load(world / f"{name}.posterity")
    p, y = [], []
    for k in range(3):
        labels = vision.read_label_map(world / f"labels/{k}.png")
        p.append(model.predict_proba(vision.read_image(world / f"images/{k}.png", "color"))[:, 1:])
        y.append(labels[:, 1:])
    p, y = np.concatenate([x.reshape(-1, 3) for x in p]), np.concatenate([x.ravel() for x in y])
    assert told["n_pixels"] == len(y) == 3 * 48 * 63
    assert told["accuracy"] == pytest.approx(np.mean(p.argmax(axis=1) == y))
    assert told["log_score"] == pytest.approx(np.mean(np.log(p[np.arange(len(y)), y])), rel=1e-4)
    recall = [np.mean(p[y == c].argmax(axis=1) == c) for c in range(3)]
    assert [row["recall"] for row in told["classes"]] == pytest.approx(recall)
    assert told["class_accuracy"] == pytest.approx(np.mean(recall))
    assert [row["class"] for row in told["classes"]] == ["support", "vertical", "sky"]
    assert vision.read_image(tmp_path / "scores.png").shape[1] > 500


def test_patches_are_scored_by_the_names_of_their_folders(run, world, tmp_path):
    (world / "patches/rows/broken.png").write_bytes(b"not an image")
    result = run("--model patches.posterity --images patches --out OUT/scores.csv")
    (world / "patches/rows/broken.png").unlink()
    assert result.exit_code == 3
    assert "broken.png" in result.stderr
    assert "Accuracy 100.0 +- 0.0 %" in result.output
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0] == "class,images,recall,precision,intersection_over_union"
    assert lines[1] == "columns,4,1.0,1.0,1.0"


def test_counts_of_images_add_up_to_the_scores_of_all_pixels():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), size=400), rng.integers(3, size=400)
    parts = [slice(0, 100), slice(100, 250), slice(250, 400)]
    counts = [ClassCounts.from_predictions(p[at], y[at]) for at in parts]
    scores = ClassScores(counts, ["a", "b", "c"], "pixels")
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    gaps = [abs(np.sum((right - top)[np.floor(10 * top) == b])) for b in range(10)]
    assert scores.calibration_error == pytest.approx(np.sum(gaps) / 400)
    assert scores.log_score == pytest.approx(-log_loss(y, p))
    shares = np.bincount(y) / 400
    assert scores.baseline_log_score == pytest.approx(np.mean(np.log(shares[y])))
    union = np.sum((y == 1) | (p.argmax(axis=1) == 1))
    both = np.sum((y == 1) & (p.argmax(axis=1) == 1))
    assert scores.tabulate()[1][1][-1] == pytest.approx(both / union)
    off = [np.sum(right[at] - right.mean()) for at in parts]
    assert scores.accuracy_error == pytest.approx(np.sqrt(np.var(off, ddof=1) * 3) / 400, rel=0.05)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--images images --labels labels", 2, "add --boxes FILE"),
        ("--model layout.posterity --images images", 2, "needs --labels"),
        ("--model segmenter.posterity --boxes x.csv", 2, "needs --images and --labels"),
        ("--model patches.posterity --images patches --prior 0.5", 2, "--prior has no meaning"),
        ("--model patches.posterity --images none", 3, "one subfolder of images"),
        ("--model patches.posterity --images .", 3, "images is not named after a class"),
        ("--model layout.posterity --images images --labels odd", 3, "odd/0.png has the label 9"),
        (
            "--model layout.posterity --images images --labels labels --classes names.txt",
            4,
            "Class 2 is 'sky' in layout.posterity, but 'sea' in names.txt",
        ),
        ("--model bank.posterity --images images", 4, "contains a TextonBank"),
    ],
)
def test_wrong_requests_end_in_a_sentence(run, world, line, code, said):
    (world / "odd").mkdir(exist_ok=True)
    vision.write_label_map(world / "odd/0.png", np.full((48, 64), 9))
    (world / "names.txt").write_text("support\nvertical\nsea\n")
    posterity.save(posterity.load(world / "segmenter.posterity").bank_, world / "bank.posterity")
    result = run(line)
    assert result.exit_code == code, result.output
    assert said in " ".join((result.output + result.stderr).split())
    assert "Traceback" not in result.output
