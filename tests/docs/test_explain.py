"""Shapley values of boosted trees in the plots of the shap package, where it is installed."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.pages import read_examples

shap = pytest.importorskip("shap")

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"


@pytest.fixture(scope="module")
def page():
    """What the examples of the page define, up to the first Shapley values."""
    made = {}
    for example in read_examples(PAGE).examples:
        exec(example.source, made)
        if "values" in made:
            return made
    raise AssertionError("The page makes no Shapley values.")


def test_plots_of_shap_take_the_values(page):
    exec(re.search(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)[1], page)
    explanation = page["explanation"]
    total = explanation.base_values + explanation.values.sum(axis=1)
    rows = page["new"][page["columns"]]
    np.testing.assert_allclose(total, page["model"].predict(rows))


def test_values_resemble_those_of_shap_for_any_model(page):
    columns, model = page["columns"], page["model"]
    known, new = page["known"][columns], page["new"][columns]

    def predict(X):
        return model.predict(pd.DataFrame(X, columns=columns))

    theirs = shap.explainers.Exact(predict, known.to_numpy())(new.to_numpy()[:30], silent=True)
    for d in range(len(columns)):
        assert np.corrcoef(theirs.values[:, d], page["values"][:30, d])[0, 1] > 0.9
