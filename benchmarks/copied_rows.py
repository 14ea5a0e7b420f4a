"""Copies and near-copies of rows: what models say of noise and of new rows beside the truth.

``python -m benchmarks.copied_rows`` prints a table; nothing is kept. Rows are drawn from a smooth
function of two columns beside one that does not matter, with normal noise. Some are repeated with
the same target, moved by a share of a length scale; the third column of a repetition may differ.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import posterity
from posterity import copies

NEW_ROWS = 10_000
_COVERED = 0.9

Rows = tuple[np.ndarray, np.ndarray]

MODELS: dict[str, Callable[[], Any]] = {
    "process": posterity.GaussianProcessRegressor,
    "vectors": posterity.RelevanceVectorRegressor,
    "ridge": posterity.KernelRidgeRegression,
    "forest": lambda: posterity.RandomForestRegressor(random_state=0),
    "boosted": lambda: posterity.BoostedTreesRegressor(random_state=0),
}


@dataclass(frozen=True)
class Case:
    """A number of rows, of which some are repeated."""

    n_rows: int
    n_pairs: int
    gap: float  # between a row and its repetition, in length scales
    decimals: int | None  # of the targets
    differs: bool  # the column that does not matter, in a repetition
    noise: float = 0.5

    def draw(self, seed: int) -> tuple[Rows, Rows]:
        """Training rows with repetitions, and new rows."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-3.0, 3.0, (self.n_rows + NEW_ROWS, 3))
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + self.noise * rng.normal(size=len(X))
        y = y if self.decimals is None else np.round(y, self.decimals)
        train, new = slice(self.n_rows), slice(self.n_rows, None)
        again = rng.permutation(self.n_rows)[np.arange(self.n_pairs) % self.n_rows]
        moved = X[again] + self.gap * rng.normal(size=(self.n_pairs, 3))
        if self.differs:
            moved[:, 2] = rng.uniform(-3.0, 3.0, self.n_pairs)
        given = np.vstack([X[train], moved]), np.append(y[train], y[again])
        return given, (X[new], y[new])


CASES = [
    *(
        Case(n, pairs, gap, decimals, differs)
        for n, pairs in ((60, 1), (60, 5), (60, 20), (200, 4), (600, 20))
        for gap, decimals, differs in (
            (1e-6, None, False),
            (1e-2, None, False),
            (1e-4, 3, True),
            (1e-3, 1, False),
        )
    ),
    Case(80, 0, 0.0, None, False),
    Case(80, 320, 0.0, None, False),
]


def measure(model: Any, case: Case, seed: int) -> tuple[float, float, float, float]:
    """Ratio of noise, coverage of new rows, mean and least log density."""
    (X, y), (X_new, y_new) = case.draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", copies.CopiedRowsWarning)
        dist = model.fit(X, y).predict_dist(X_new)
    log_p, outside = dist.log_prob(y_new), 1.0 - 2.0 * np.abs(dist.cdf(y_new) - 0.5)
    noise = getattr(model, "noise_variance_", np.nan) / case.noise**2
    return noise, np.mean(outside >= 1.0 - _COVERED), log_p.mean(), log_p.min()


def main() -> None:
    """Print a row for each case: medians over seeds, and the least log density of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="process")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=600, help="Leave out cases with more rows.")
    args = parser.parse_args()
    print("rows pairs gap    decimals differs | noise/true coverage mean log p  least log p")
    for case in (case for case in CASES if case.n_rows <= args.rows):
        found = np.array([measure(MODELS[args.model](), case, s) for s in range(args.seeds)])
        noise, coverage, mean, _ = np.median(found, axis=0)
        print(
            f"{case.n_rows:4d} {case.n_pairs:5d} {case.gap:6.0e} {case.decimals!s:>8} "
            f"{case.differs!s:>7} | {noise:10.2g} {coverage:8.3f} {mean:10.3g} "
            f"{found[:, 3].min():12.3g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
