"""A benchmark small enough for a test; a module, because workers import it in their processes."""

import os

import numpy as np
from benchmarks.cases import Benchmark, Contender, Data, Size, Task, predict_mean
from benchmarks.scores import predictive


class Constant:
    """Predicts the mean of the targets seen, with their spread or with none."""

    def fit(self, X, y):
        self.center, self.spread = y.mean(), y.std()
        return self

    def predict(self, X, return_std=False):
        mean = np.full(len(X), self.center)
        return (mean, np.full(len(X), self.spread)) if return_std else mean


class Hungry(Constant):
    """The same, but fitting needs a quarter of a MiB a row for a moment."""

    def fit(self, X, y):
        np.ones((len(X), 2**15))
        return super().fit(X, y)


def noise(rng, size):
    X, X_test = rng.normal(size=(size.rows, size.columns)), np.zeros((size.test_rows, size.columns))
    return Data(X, rng.normal(size=size.rows), X_test, rng.normal(size=size.test_rows))


def score_with_process(data, prediction):
    return predictive(data, prediction) | {"process": float(os.getpid())}


def spread(model):
    return {"log_evidence": float(model.spread)}


SIZE = Size(500, 2, 40)
TOY = Benchmark(
    name="toy",
    title="A toy",
    tasks=(Task("noise", SIZE, noise, score_with_process, seed=3),),
    contenders=(
        Contender("with std", Constant, facts=spread),
        Contender("without", Hungry, predict=predict_mean),
    ),
)
