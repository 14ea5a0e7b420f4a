"""The benchmark of principal components judges what it says."""

import numpy as np
import pytest
from benchmarks import principal
from benchmarks.cases import Size
from support.for_each import for_each

CONTENDERS = [*principal.IN_MEMORY.contenders, *principal.IN_BLOCKS.contenders]


@for_each("size", [Size(300, 20, 30), Size(20, 90, 30)], ids=["tall", "wide"])
@for_each("contender", CONTENDERS, ids=lambda contender: contender.name)
def test_every_contender_finds_the_components(contender, size):
    data = principal.generate(np.random.default_rng(0), size)
    model = contender.fit(contender.build(), data.X, data.y)
    prediction = contender.predict(model, data.X_test)
    scores = principal.score(data, prediction)
    assert prediction[0].shape == (30, 10)
    assert scores["digits"] > (9.0 if contender.build is principal.PCA else 0.5)


def test_an_error_costs_digits():
    data = principal.generate(np.random.default_rng(0), Size(300, 20, 30))
    wrong = data.reference.copy()
    wrong[3, 0] *= 1.001
    assert principal.score(data, (data.X, wrong))["digits"] == pytest.approx(3.0, abs=1e-6)
    turned = data.reference.copy()
    turned[9, 1:] = np.eye(20)[0]
    assert principal.score(data, (data.X, turned))["digits"] < 2.0
