"""Sound model files, and an eye on what is done while others are read."""

import contextlib
import importlib
import pkgutil
import resource
import signal
import sys

import numpy as np
import pytest
from golden_models import X, models, names, table, y

import posterity
from posterity import features, kernels, persistence, trees
from posterity.persistence import fields, registry

ROOMS = [room.name for room in pkgutil.iter_modules(posterity.__path__) if room.name.isalpha()]
SECONDS = 20  # of one file: a machine may be busy, but not for ever
MEMORY = 8 << 30  # of all that a test may claim


def more_models():
    short = {"max_iter": 3, "inducing_points": 4, "inference": "variational"}
    sums = posterity.RandomForestRegressor(4, splits=trees.Projections(), random_state=0)
    boosted = posterity.LogitBoostClassifier(splits=trees.Orientations(4), n_estimators=5)
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


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Sound files by name, and rows for their models."""
    folder = tmp_path_factory.mktemp("sound")
    sound = {}
    for name, model in {**models(), **more_models()}.items():
        persistence.save(model, folder / name)
        rows = {"words": ["far 1", "x"], "counts": names[:3, None], "table": table}.get(name, X[:5])
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


@pytest.fixture(scope="session")
def classes():
    """All classes of the library that a file may contain, those that hold others before these."""
    modules = (importlib.import_module(f"posterity.{room}") for room in ROOMS)
    names = (f"{m.__name__[10:]}.{name}" for m in modules for name in getattr(m, "__all__", ()))
    found, unread = [], [cls for name in names if (cls := registry._find_public(name))]
    while unread:
        if (cls := unread.pop()) not in found:
            found.append(cls)
            unread += registry._list_records(cls).values()
    return found


@pytest.fixture(scope="session")
def watched(classes):
    for cls in classes:  # modules and annotations are code, which is run once, and not watched
        fields._resolve_annotations(cls)
    for name in registry._SKLEARN:
        registry.Registry().find_class(name)
    return Watched()


@pytest.fixture
def limits():
    """A file that would take all memory, or for ever, fails the test instead.

    The clock starts with each call of what is returned.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))

    def late(signum, frame):
        raise AssertionError("a file took too long")

    handler = signal.signal(signal.SIGALRM, late)
    yield lambda: signal.alarm(SECONDS)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, before)
