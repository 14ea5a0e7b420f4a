"""``posterity vision train-patches`` and ``classify-patches``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from posterity import StagewiseClassifier, vision
from posterity.cli import app
from posterity.vision import patches

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Stripes of two directions, and a file that is not an image."""
    place, rng = tmp_path_factory.mktemp("stripes"), np.random.default_rng(0)
    for k in range(24):
        wave = np.sin(np.arange(16) * 1.2 + rng.uniform(0, 6)) * np.ones((16, 16))
        name, wave = ("rows", wave.T) if k % 2 else ("columns", wave)
        (place / name).mkdir(exist_ok=True)
        noisy = (128 + 60 * wave + 20 * rng.normal(size=(16, 16))).clip(0, 255)
        vision.write_image(place / name / f"{k}.png", noisy.astype(np.uint8))
    (place / "rows" / "broken.png").write_bytes(b"not an image")
    return place


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "stripes.posterity"
    words = ["vision", "train-patches", str(folder), "--out", str(out), "--size", "16x16", "--json"]
    few_units = StagewiseClassifier(3, n_restarts=0, random_state=0)
    with pytest.MonkeyPatch.context() as patch:  # 300 units are learned where patches are tested
        patch.setattr(vision.PatchClassifier, "_default_classifier", lambda _: few_units)
        return out, runner.invoke(app, words)


def test_a_classifier_is_learned_and_tested(trained):
    out, result = trained
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["classes"] == {"columns": 12, "rows": 12}
    assert answer["failed"] == 1
    assert answer["held_out"]["n_images"] == 5
    assert answer["held_out"]["log_score"] > answer["held_out"]["baseline_log_score"]
    assert out.exists()


def test_images_are_classified(folder, trained, tmp_path):
    out = tmp_path / "classes.csv"
    words = ["vision", "classify-patches", str(folder), "--model", str(trained[0])]
    result = runner.invoke(app, [*words, "--out", str(out)])
    assert result.exit_code == 3  # one file cannot be read
    assert "broken.png" in result.stderr
    lines = out.read_text().splitlines()
    assert lines[0] == "image,class,probability"
    assert len(lines) == 1 + 2 * 24
    first = {line.split(",")[0]: line.split(",")[1] for line in reversed(lines[1:])}
    right = [name in path for path, name in first.items()]
    assert np.mean(right) > 0.9


def test_wrong_folders_are_named(folder, tmp_path):
    words = ["vision", "train-patches", "--out", str(tmp_path / "x.posterity")]
    result = runner.invoke(app, [*words, str(folder / "rows")])
    assert result.exit_code == 3
    assert "one subfolder of images for each class" in result.stderr


def test_images_are_classified_together_and_filters_are_built_once(folder, trained, monkeypatch):
    """Filters took 80 ms for each image, which the classifier needs 0.3 ms for."""
    sizes, built = [], []
    classify, build = vision.PatchClassifier.predict_proba, patches._build_filter
    monkeypatch.setattr(
        vision.PatchClassifier, "predict_proba", lambda m, X: sizes.append(len(X)) or classify(m, X)
    )
    monkeypatch.setattr(
        patches, "_build_filter", lambda *place: built.append(place) or build(*place)
    )
    patches._build_bank.cache_clear()
    words = ["vision", "classify-patches", str(folder), "--model", str(trained[0]), "--json"]
    for _ in range(2):
        answer = json.loads(runner.invoke(app, [*words, "--jobs", "1"]).stdout)
        assert answer["images"] == 24
        assert [len(one.get("classes", ())) for one in answer["found"]].count(2) == 24
    assert sizes == [24, 24]
    assert len(built) == len(set(built)) == 1064
