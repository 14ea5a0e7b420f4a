"""Thousands of model files, each changed at random, are refused or load; none does harm."""

import contextlib

import model_files
import numpy as np
import pytest

from posterity import persistence

pytestmark = pytest.mark.filterwarnings("ignore")

N_FILES = 2000


def ask(model, rows):
    """Ask all that can be asked; an exception is an answer."""
    for name in ("predict", "predict_dist", "predict_proba", "transform", "apply", "activation"):
        with contextlib.suppress(Exception):
            getattr(model, name)(rows)
    with contextlib.suppress(Exception):
        model.predict_quantiles(rows)
    with contextlib.suppress(Exception):
        model.inverse_transform(model.transform(rows))
    with contextlib.suppress(Exception):
        repr(model)


def tried(path):
    """The model of a file and None, or None and why there is none."""
    try:
        return persistence.load(path), None
    except persistence.FileError as error:
        return None, str(error)


@pytest.mark.full(but=1)
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_changed_files_do_no_harm(part, files, watched, limits, tmp_path):
    rng = np.random.default_rng(part)
    path = tmp_path / "model"
    keys = list(files)
    sentences = []
    for i in range(N_FILES // 10):
        data, rows = files[keys[i % len(keys)]]
        path.write_bytes(model_files.changed_file(data, rng))
        limits()
        with watched.watching() as found:
            model, sentence = tried(path)
        assert found == []
        sentences.append(sentence)
        ask(model, rows)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert all(s is None or (len(s) > 10 and "\n" not in s) for s in sentences)
    assert 5 < sentences.count(None) < len(sentences) - 50  # some are changed for no worse
