"""The classifiers of the demonstration."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline

from posterity import classification
from posterity.cli import demo_classes


def test_every_public_classifier_is_demonstrated():
    last = [m[-1] if isinstance(m, Pipeline) else m for m in demo_classes.family().values()]
    public = {getattr(classification, name) for name in classification.__all__}
    public -= {classification.Classifier, classification.SeparationWarning}
    assert {type(model) for model in last} == public


@pytest.fixture(scope="module")
def rows():
    X, y = demo_classes.cells()
    return X[::4], y[::4]


def test_scores_are_those_of_rows_not_seen(rows):
    X, y = rows
    model = classification.BayesianLogisticRegression()
    score = demo_classes.measure("it", model, X, y, folds=3, seed=0)
    split = StratifiedKFold(3, shuffle=True, random_state=0)
    P = cross_val_predict(model, X, y, cv=split, method="predict_proba")
    assert score.log_score == pytest.approx(-log_loss(y, P), rel=1e-10)
    expected = 2.0 * brier_score_loss(y == "malignant", P[:, 1])
    assert score.brier == pytest.approx(expected, rel=1e-10)
    guessed = np.where(P[:, 1] > 0.5, "malignant", "benign")
    assert score.wrong == pytest.approx(np.mean(guessed != y))
    assert score.log_evidence == model.fit(X, y).log_evidence_


def test_the_best_comes_first(rows):
    models = {
        "frequencies": classification.BayesianLogisticRegression(prior_variance=1e-12),
        "columns": classification.BayesianLogisticRegression(),
    }
    best, worst = demo_classes.rank(models, *rows, folds=3, seed=0)
    assert (best.name, worst.name) == ("columns", "frequencies")
    assert best.wrong < 0.2 < worst.wrong


def test_the_cells_are_ten_measurements_of_569():
    X, y = demo_classes.cells()
    assert X.shape == (569, 10)
    assert sorted(set(y)) == ["benign", "malignant"]
