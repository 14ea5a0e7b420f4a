"""Files that are damaged, or made to do harm, are refused with a sentence; none of them does."""

import contextlib
import hashlib
import io
import json
import resource
import signal
import sys
import tracemalloc
import zipfile

import model_files
import numpy as np
import pytest
from golden_models import X, models, names, y

import posterity
from posterity import features, kernels, persistence, trees
from posterity.persistence import fields
from posterity.persistence.registry import Registry, known

pytestmark = pytest.mark.filterwarnings("ignore")

SECONDS = 20  # of one file: a machine may be busy, but not for ever
MEMORY = 8 << 30  # of all that a test may claim
N_FILES = 2000


def more_models():
    short = {"max_iter": 3, "inducing_points": 4, "inference": "variational"}
    sums = posterity.RandomForestRegressor(4, tests=trees.Projections(), random_state=0)
    boosted = posterity.LogitBoostClassifier(trees.Orientations(4), n_rounds=5)
    hard = posterity.LogisticTreeClassifier(2, gates="hard", n_restarts=0, max_iter=20)
    words = posterity.GaussianProcessRegressor(kernels.Subsequence(2).fixed(), noise_variance=0.1)
    bends = posterity.BayesianLinearRegression(features=features.Polynomial(2))
    return {
        "sums": sums.fit(X, y),
        "oriented": boosted.fit(X, names),
        "hard_tree": hard.fit(X, names),
        "variational": posterity.GPLVM(1, **short).fit(X),
        "words": words.fit([f"{name} {i}" for i, name in enumerate(names)], y),
        "polynomial": bends.fit(X, y),
        "counts": posterity.DiscreteClassifier().fit(names[:, None], y > np.median(y)),
        "clusters": posterity.KernelKMeans(2).fit(X),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sound files by name, and rows for their models."""
    folder = tmp_path_factory.mktemp("sound")
    sound = {}
    for name, model in {**models(), **more_models()}.items():
        persistence.save(model, folder / name)
        rows = {"words": ["far 1", "x"], "counts": names[:3, None]}.get(name, X[:5])
        sound[name] = (folder / name).read_bytes(), rows
    return sound


class Watched:
    """Notes what a program may not do while a file is read. A hook cannot be taken off again."""

    BAD = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess", "socket", "ctypes")
    BAD += ("exec", "pickle", "marshal", "os.remove", "os.rename", "os.mkdir", "shutil")

    def __init__(self):
        self.found = None
        sys.addaudithook(self._note)

    def _note(self, event, arguments):
        if self.found is None:
            return
        writes = event == "open" and str(arguments[1]) not in ("r", "rb", "None")
        if writes or event.startswith(self.BAD):
            self.found.append((event, str(arguments)[:200]))

    @contextlib.contextmanager
    def watching(self):
        self.found = []
        yield self.found
        self.found = None


@pytest.fixture(scope="module")
def watched():
    registry = Registry()
    for name in known():  # modules and annotations are code, which is run once, and not watched
        thing = registry.found(name)
        if isinstance(thing, type):
            fields._hints(thing)
    return Watched()


@pytest.fixture
def limits():
    """A file that would take all memory, or for ever, fails the test instead."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))

    def late(signum, frame):
        raise AssertionError("a file took too long")

    handler = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, before)


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


@pytest.mark.parametrize("part", range(10))
def test_thousands_of_changed_files_do_no_harm(part, files, watched, limits, tmp_path):
    rng = np.random.default_rng(part)
    path = tmp_path / "model"
    keys = list(files)
    refused = loaded = 0
    for i in range(N_FILES // 10):
        data, rows = files[keys[i % len(keys)]]
        path.write_bytes(model_files.changed_file(data, rng))
        signal.alarm(SECONDS)
        with watched.watching() as found:
            try:
                model = persistence.load(path)
            except persistence.FileError as error:
                refused += 1
                assert len(str(error)) > 10
                assert "\n" not in str(error)
                model = None
        assert found == []
        if model is not None:
            loaded += 1
            ask(model, rows)
        signal.alarm(0)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert refused > 50
    assert loaded > 5
