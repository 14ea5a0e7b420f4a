"""The command as a person meets it."""

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from posterity import datasets, regression
from posterity.cli import app, demo, demo_classes

runner = CliRunner()


def test_without_words_it_says_what_it_can_do():
    result = runner.invoke(app, [])
    assert "demo" in result.output


def test_the_version_is_shown():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("posterity ")


def test_the_demonstration_ranks_every_model_by_log_score():
    console = Console(record=True, width=80)
    demo.show(console, folds=2, seed=0)
    text = console.export_text()
    for words in ("log score", "RMSE", "in 90 %", "log evidence", "Brier", "wrong"):
        assert words in text
    lines = [line for line in text.splitlines() if "+-" in line]
    scores = [float(line.split("+-")[0].split()[-1]) for line in lines]
    families = [demo.family(), demo_classes.family()]
    assert len(scores) == sum(map(len, families))
    for family in families:
        first, scores = scores[: len(family)], scores[len(family) :]
        assert first == sorted(first, reverse=True)
        assert all(name in text for name in family)


def test_every_public_regressor_is_demonstrated():
    shown = {type(model) for model in demo.family().values()}
    public = {getattr(regression, name) for name in regression.__all__} - {regression.Regressor}
    assert shown == public


def test_scores_are_those_of_rows_not_seen():
    """A model that interpolates its rows must not look good."""

    def spike(A, B):
        return (A[:, None, 0] == B[None, :, 0]).astype(float)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    data = datasets.Dataset(X, 3.0 * X[:, 0] + rng.normal(size=60), ("x",), "y", "a line")
    models = {
        "memory": regression.DualLinearRegression(kernel=spike, noise_variance=1e-6),
        "line": regression.BayesianLinearRegression(),
    }
    best, worst = demo.rank(models, data, folds=5, seed=0)
    assert (best.name, worst.name) == ("line", "memory")
    assert best.rmse == pytest.approx(1.0, abs=0.3)
    assert best.coverage == pytest.approx(0.9, abs=0.1)


def test_the_verdict_names_the_best_and_its_rivals():
    def score(name, value, evidence):
        return demo.Score(name, f"{name.upper()}()", value, 0.05, 1.0, 0.9, evidence, 0.1)

    text = demo.verdict([score("a", -1.0, None), score("b", -1.01, -50.0), score("c", -2.0, -40.0)])
    assert "best by 'a': A()." in text
    assert "Within its standard error are b." in text
    assert text.endswith("it is 'c'.")
    alone = demo.verdict([score("a", -1.0, None)])
    assert "evidence" not in alone
