"""The script fits, draws, and says where the picture is."""

import numpy as np
import pytest
from benchmarks import frey_faces


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    phase = rng.uniform(0.0, 6.0, size=(60, 1))
    X = 127.0 + 100.0 * np.sin(phase + np.arange(20) / 4.0) + rng.normal(size=(60, 20))
    np.savez(tmp_path / "frey_faces.npz", X=X.astype(np.uint8), image_shape=np.array([5, 4]))
    monkeypatch.setattr(frey_faces, "FOLDER", tmp_path)
    monkeypatch.setattr(frey_faces, "CARRIERS", 10)
    return tmp_path


def test_a_picture_is_written_where_it_says(folder, capsys):
    target = folder / "pictures" / "faces.png"
    frey_faces.main(step=2, steps=5, images=4, target=target)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.strip().endswith("faces.png")


def test_pixels_are_between_zero_and_one(folder):
    X, shape = frey_faces.faces(3)
    assert X.shape == (20, 20)
    assert shape == (5, 4)
    assert 0.0 <= X.min() < X.max() <= 1.0


def test_absent_data_are_no_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(frey_faces, "FOLDER", tmp_path / "absent")
    frey_faces.main(step=1, steps=1, images=0, target=tmp_path / "none.png")
    assert "skipped" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
