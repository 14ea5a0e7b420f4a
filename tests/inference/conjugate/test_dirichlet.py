"""Counts under Dirichlet priors, against the chain rule, mpmath and differences."""

import mpmath
import numpy as np
import pytest
from support.for_each import for_each

from posterity.inference.conjugate import dirichlet

COUNTS = np.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 7.0, 1.0], [1.0, 0.0, 0.0]])
BASE = np.array([0.5, 0.3, 0.2])


def by_the_chain_rule(counts, base, s):
    """Each observation by the mean of what those before it left, one after another."""
    total = 0.0
    for row in counts:
        seen = np.zeros(len(base))
        for c, n in enumerate(row):
            for _ in range(int(n)):
                total += np.log((seen[c] + s * base[c]) / (seen.sum() + s))
                seen[c] += 1
    return total


@for_each("s", [1e-3, 0.4, 1.0, 30.0, 1e5])
def test_evidence_is_the_product_of_predictions(s):
    found = dirichlet.CategoryCounts(COUNTS, BASE).log_evidence(s)
    assert found == pytest.approx(by_the_chain_rule(COUNTS, BASE, s), rel=1e-10)


@for_each("s", [1e-8, 2.5, 1e8])
def test_evidence_of_fractions_keeps_its_digits_at_both_ends(s):
    counts = np.array([[0.5, 2.25, 0.0], [40.0, 0.0, 1e-3]])
    mpmath.mp.dps = 60
    expected = mpmath.mpf(0)
    for row in counts:
        expected += mpmath.loggamma(s) - mpmath.loggamma(s + mpmath.fsum(map(mpmath.mpf, row)))
        for n, m in zip(row, s * BASE, strict=True):
            expected += mpmath.loggamma(mpmath.mpf(m) + mpmath.mpf(n)) - mpmath.loggamma(m)
    found = dirichlet.CategoryCounts(counts, BASE).log_evidence(s)
    assert found == pytest.approx(float(expected), rel=1e-9)


@for_each("s", [1e-3, 0.4, 30.0])
def test_slope_is_what_differences_give(s):
    table, h = dirichlet.CategoryCounts(COUNTS, BASE), 1e-5
    low, high = (table.log_evidence(s * np.exp(step)) for step in (-h, h))
    assert table.log_evidence_slope(s) == pytest.approx((high - low) / (2 * h), rel=1e-6)


def test_the_mean_adds_the_prior_as_rows():
    mean = np.exp(dirichlet.compute_log_mean(COUNTS, BASE, 2.0))
    np.testing.assert_allclose(mean[1], BASE)
    np.testing.assert_allclose(mean[0], (COUNTS[0] + 2.0 * BASE) / 7.0)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0)


def test_the_rule_of_succession():
    np.testing.assert_allclose(dirichlet.apply_rule_of_succession(np.array([3.0, 0.0])), [0.8, 0.2])


def test_the_concentration_learned_is_the_best_of_a_grid():
    tables = [
        dirichlet.CategoryCounts(COUNTS, BASE),
        dirichlet.CategoryCounts(COUNTS.T, np.full(4, 0.25)),
    ]
    grid = np.exp(np.linspace(-6, 6, 4001))
    log_prior = np.log(grid) - 2.0 * np.log1p(grid)
    values = [sum(t.log_evidence(s) for t in tables) for s in grid] + log_prior
    best = dirichlet.learn_concentration(tables)
    assert best.converged
    assert np.exp(best.x[0]) == pytest.approx(grid[np.argmax(values)], rel=4e-3)
    assert -best.value == pytest.approx(values.max(), rel=1e-6)


def test_rows_seen_once_leave_the_concentration_as_it_was_believed():
    best = dirichlet.learn_concentration([dirichlet.CategoryCounts(np.eye(3), BASE)])
    assert best.x[0] == pytest.approx(0.0, abs=1e-6)


def test_a_concentration_is_recovered():
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(30, rng.dirichlet(4.0 * BASE)) for _ in range(2000)])
    best = dirichlet.learn_concentration([dirichlet.CategoryCounts(counts.astype(float), BASE)])
    assert np.exp(best.x[0]) == pytest.approx(4.0, rel=0.05)
