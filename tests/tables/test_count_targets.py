"""A target of few whole numbers is read as counts where its name or its spread says so."""

import numpy as np
import polars as pl
import pytest
from sklearn import datasets
from support.for_each import for_each

from posterity import tables

RNG = np.random.default_rng(0)
FEW = [0, 1, 2, 1, 0, 3] * 10  # neither falling nor open: only a name can tell


def draw(*shares, n=1_000):
    return RNG.choice(len(shares), n, p=np.array(shares) / sum(shares))


def infer(y, name="y", **options):
    x = np.random.default_rng(1).normal(size=len(y))
    return tables.infer(pl.DataFrame({"x": x, name: y}), name, **options)


COUNTS = {
    "Poisson": (RNG.poisson(0.8, 1_000), "y"),
    "Poisson with a peak above 0": (np.minimum(RNG.poisson(2.0, 2_000), 8), "y"),
    "negative binomial": (np.minimum(RNG.negative_binomial(1, 0.6, 1_000), 6), "y"),
    "as text": (RNG.poisson(0.8, 1_000).astype(str), "y"),
    **{
        name: (FEW, name)
        for name in ("n_visits", "num_trips", "claims", "ClaimNb", "Number of doors", "goals")
    },
}
CLASSES = {
    "iris": (datasets.load_iris().target, "kind"),
    "digits": (datasets.load_digits().target, "digit"),
    "wine quality": (
        RNG.choice(np.arange(3, 9), 1_599, p=[0.01, 0.03, 0.43, 0.4, 0.12, 0.01]),
        "y",
    ),
    "ratings": (1 + draw(0.1, 0.1, 0.2, 0.4, 0.2), "rating"),
    "stages of a disease": (draw(164, 55, 36, 35, 13), "num"),
    "falling classes": (draw(0.7, 0.2, 0.1), "y"),
    "equal classes": (draw(1, 1, 1, 1), "y"),
    "two values": ([0, 1] * 30, "claims"),
    "a code": (FEW, "num_class"),
    "from 1 on": ([1, 2, 3, 2, 1, 4] * 10, "visits"),
    "without 1": ([0, 2, 3, 2, 0, 4] * 10, "visits"),
    "few rows": (RNG.poisson(0.8, 60), "y"),
}


@for_each("case", COUNTS)
def test_counts_are_numbers_with_a_word(case):
    y, name = COUNTS[case]
    schema = infer(y, name)
    assert schema.task == "regression"
    assert any("treated as counts because" in note for note in schema.notes)
    assert any("use --task classification" in note for note in schema.notes)
    assert infer(y, name, task="classification").task == "classification"


@for_each("case", CLASSES)
def test_codes_and_ratings_stay_classes(case):
    y, name = CLASSES[case]
    assert infer(y, name).task == "classification"


@pytest.mark.parametrize("mean", [0.5, 1.0, 2.0])
def test_most_poisson_counts_are_recognised(mean):
    rng = np.random.default_rng(2)
    found = [infer(rng.poisson(mean, 1_000)).task for _ in range(20)]
    assert found.count("regression") >= 14
