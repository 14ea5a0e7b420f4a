"""The grid is true: each likelihood x prior x features x inference fits, or refuses in a sentence.

A cell that fits is compared with a sampler on the same 24 rows and at the same parameters; the
sampler is compared with brute force. ``python tests/test_grid.py`` writes the table of the walk
into docs/likelihoods.md.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from support import elliptical_slices

from posterity import (
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    RelevanceVectorRegressor,
    SparseLinearRegression,
    kernels,
    likelihoods,
)

PAGE = Path(__file__).parents[1] / "docs" / "likelihoods.md"
BEGIN, END = "<!-- grid: begin -->", "<!-- grid: end -->"

RNG = np.random.default_rng(5)
X = np.column_stack([np.linspace(-2.0, 2.0, 24), RNG.normal(size=24)])
NEW = np.column_stack([np.linspace(-2.3, 2.3, 7), np.zeros(7)])
F = 1.2 * X[:, 0]
CLASSES = (RNG.logistic(size=24) < F).astype(float)
RATINGS = 1.0 + np.digitize(F + RNG.logistic(size=24), [-1.0, 0.5, 1.5])
LIKELIHOODS: dict[str, tuple[likelihoods.Likelihood, Any]] = {
    "Normal": (likelihoods.Normal(0.25), F + 0.5 * RNG.normal(size=24)),
    "StudentT": (likelihoods.StudentT(0.4, 4.0), F + 0.4 * RNG.standard_t(4.0, size=24)),
    "Gamma": (likelihoods.Gamma(3.0), RNG.gamma(3.0, np.exp(0.6 * F) / 3.0)),
    "LogNormal": (likelihoods.LogNormal(0.25), np.exp(0.6 * F + 0.5 * RNG.normal(size=24))),
    "Poisson": (likelihoods.Poisson(), RNG.poisson(np.exp(0.5 + 0.5 * F)) + 0.0),
    "NegativeBinomial": (
        likelihoods.NegativeBinomial(3.0),
        RNG.poisson(np.exp(0.5 + 0.5 * F) * RNG.gamma(3.0, 1.0 / 3.0, 24)) + 0.0,
    ),
    "Bernoulli": (likelihoods.Bernoulli(), CLASSES),
    "Beta": (likelihoods.Beta(8.0), RNG.beta(8.0 * expit(F), 8.0 * expit(-F))),
    "Ordinal": (likelihoods.Ordinal(range(1, 5), [1.5, 1.0]), RATINGS),
    "Ordinal, probit": (likelihoods.Ordinal(range(1, 5), [0.9, 0.6], "probit"), RATINGS),
}
INFERENCES = ("laplace", "variational", "propagation", "exact", "auto")
KERNEL = kernels.Scaled(kernels.RBF(1.5), 1.5).fixed()
PRIOR_VARIANCE = 1.0


@dataclass(frozen=True)
class Space:
    """A prior and a feature space: the estimator that has them, and the prior of latent values."""

    estimator: Callable[..., Any]
    covariance: Callable[[Any, np.ndarray], np.ndarray]  # of a fitted model, and rows


def standardized(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Columns at some rows, less the mean at the rows of X and in units of the deviation there."""
    return (rows - columns.mean(axis=0)) / columns.std(axis=0)


def of_weights(columns: Callable[[Any, np.ndarray], np.ndarray], variance: Any) -> Any:
    """The covariance of latent values from independent weights of standardised columns."""

    def covariance(model: Any, rows: np.ndarray) -> np.ndarray:
        Z = standardized(columns(model, X), columns(model, rows))
        return (Z * variance(model)) @ Z.T

    return covariance


SPACES = {
    "linear, normal prior": Space(
        functools.partial(GeneralizedLinearRegression, prior_variance=PRIOR_VARIANCE),
        of_weights(lambda model, rows: rows, lambda model: PRIOR_VARIANCE),
    ),
    "linear, sparse prior": Space(
        SparseLinearRegression,
        of_weights(
            lambda model, rows: rows[:, model.relevance_], lambda model: 1.0 / model.precision_
        ),
    ),
    "process": Space(
        functools.partial(GaussianProcessRegressor, KERNEL), lambda model, rows: KERNEL(rows)
    ),
    "process, inducing points": Space(
        functools.partial(GaussianProcessRegressor, KERNEL, inducing_points=X),
        lambda model, rows: KERNEL(rows),
    ),
    "kernel at rows, sparse prior": Space(
        functools.partial(RelevanceVectorRegressor, kernels.RBF(1.5).fixed(), random_state=0),
        of_weights(
            lambda model, rows: model.kernel_(rows, model.relevance_vectors_),
            lambda model: 1.0 / model.precision_,
        ),
    ),
}
# In predicted standard deviations. The error of the sampler itself is up to 0.04; Laplace's normal
# is known to be off by more: its tolerance is a guard against change, and not a claim.
TOLERANCES = {"laplace": 0.5, "variational": 0.25, "propagation": 0.1, "auto": 0.5}
TOLERANCES |= {"exact": 0.1}
every_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)


@functools.cache
def fit_cell(space: str, likelihood: str, inference: str) -> Any:
    """A fitted model, or the sentence in which it is refused."""
    part, y = LIKELIHOODS[likelihood]
    model = SPACES[space].estimator(likelihood=part, inference=inference)
    try:
        return model.fit(X, y)
    except ValueError as error:
        return str(error)


@functools.cache
def measure_cell(space: str, likelihood: str, inference: str) -> float | str:
    """The largest distance of a predicted latent value from the sampler, or why there is none.

    Of means in predicted standard deviations, or of standard deviations by their logarithm.
    """
    model = fit_cell(space, likelihood, inference)
    if isinstance(model, str):
        return model
    part, y = LIKELIHOODS[likelihood]
    shift, variance = part.fit_constant(y, np.ones(24))
    rows = np.concatenate([X, NEW])
    covariance = SPACES[space].covariance(model, rows) + variance
    drawn = elliptical_slices.draw_latents(
        part, y, shift, covariance, np.random.default_rng(0), n_chains=1000, n_steps=30
    )
    mean, sd = drawn[:, 24:].mean(axis=0), drawn[:, 24:].std(axis=0)
    found = model.predict_latent(NEW)
    away = np.abs(found.mean() - mean) / sd
    return float(max(np.max(away), np.max(np.abs(np.log(found.standard_deviation() / sd)))))


def test_the_sampler_agrees_with_brute_force():
    part, y = likelihoods.Ordinal([1, 2, 3], [1.5]), np.array([3.0, 1.0])
    S = np.array([[2.0, 1.2], [1.2, 3.0]])
    a = np.linspace(-9.0, 9.0, 401) + 0.4
    grid = np.stack(np.meshgrid(a, a, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = np.sum(part.log_prob(y, grid), axis=1)
    log_p -= 0.5 * np.sum((grid - 0.4) @ np.linalg.inv(S) * (grid - 0.4), axis=1)
    w = np.exp(log_p - log_p.max())
    mean = w @ grid / w.sum()
    second = (grid - mean).T @ (w[:, None] * (grid - mean)) / w.sum()
    drawn = elliptical_slices.draw_latents(
        part, y, 0.4, S, np.random.default_rng(1), n_chains=2000, n_steps=30
    )
    sd = np.sqrt(np.diag(second))
    np.testing.assert_allclose((drawn.mean(axis=0) - mean) / sd, 0.0, atol=0.03)
    np.testing.assert_allclose(
        np.cov(drawn.T) / np.outer(sd, sd), second / np.outer(sd, sd), atol=0.04
    )


@pytest.mark.full(but=3)
@every_likelihood
def test_cells_agree_with_the_sampler_or_refuse(likelihood):
    for space in SPACES:
        for inference in INFERENCES:
            found = measure_cell(space, likelihood, inference)
            if isinstance(found, str):
                assert re.search(r"inference='.*'|inference=.* must be", found), found
                assert found.endswith("."), found
            else:
                assert found <= TOLERANCES[inference], (space, inference, found)
        assert not isinstance(fit_cell(space, likelihood, "auto"), str)


def read_table() -> dict[tuple[str, str], dict[str, float]]:
    """What the page says of each cell: the ways of inference that fit, and their distances."""
    text = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    heads, _, *lines = (
        [c.strip() for c in line.split("|")[1:-1]] for line in text.split("\n")[1:-1]
    )
    cells = {}
    for line in lines:
        for space, cell in zip(heads[1:], line[1:], strict=True):
            found = dict(part.rsplit(" ", 1) for part in cell.split(", "))
            cells[space, line[0].strip("`")] = {name: float(x) for name, x in found.items()}
    return cells


def list_cell(space: str, likelihood: str) -> dict[str, float]:
    """The ways of inference that fit, by their initials, with their distances from the sampler."""
    named = {name[0].upper(): name for name in INFERENCES if name != "auto"}
    if "process" not in space and isinstance(LIKELIHOODS[likelihood][0], likelihoods.Averaged):
        named["V"] = "auto"
    found = {letter: measure_cell(space, likelihood, name) for letter, name in named.items()}
    return {letter: x for letter, x in found.items() if not isinstance(x, str)}


@pytest.mark.full
def test_the_page_shows_the_table_of_this_walk():
    shown = read_table()
    assert shown.keys() == {(space, name) for space in SPACES for name in LIKELIHOODS}
    for (space, likelihood), cell in shown.items():
        found = list_cell(space, likelihood)
        assert found.keys() == cell.keys(), (space, likelihood)
        np.testing.assert_allclose([found[n] for n in cell], list(cell.values()), atol=0.06)


def write_table() -> None:
    lines = [f"| | {' | '.join(SPACES)} |", "|---" * (len(SPACES) + 1) + "|"]
    for likelihood in LIKELIHOODS:
        cells = (list_cell(space, likelihood).items() for space in SPACES)
        said = (", ".join(f"{name} {x:.2f}" for name, x in cell) for cell in cells)
        lines.append(f"| `{likelihood}` | {' | '.join(said)} |")
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text("\n".join([before + BEGIN, *lines, END]) + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    write_table()
