"""What all columns of a design offer to a softmax model, from one pass over its rows.

The rows are seen through sums of the size of the columns alone, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes.scores import selected
from posterity.inference.sparse_bayes.softmax_scores import (
    SharedModel,
    SharedWork,
    beside,
    gross_gains,
)
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.problem import weighted_gram
from posterity.inference.weights.targets import RowTargets


@dataclass(frozen=True)
class AllColumns:
    """All columns of a design, as the one block that there is."""

    places: NDArray[np.intp]

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Nothing is known against any: one that does not vary has nothing to offer."""
        return np.ones(len(self.places), dtype=np.bool_)

    def blocks(self) -> Iterator[AllColumns]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class DesignScores:
    """The sums over rows at the mode, of P columns: all, and ones where there is an offset."""

    columns: designs.Standardized
    fit: LaplaceFit
    used: NDArray[np.intp]  # (m,) or (m + 1,): columns in use, the ones included
    H: Array  # (P, J, P, J)
    slope: Array  # (P, J)
    c: Array  # (P, J)

    @classmethod
    def of(cls, columns: designs.Standardized, model: SharedModel) -> DesignScores:
        """One pass."""
        fit, W = model.fit, model.fit.weights.W
        ones = np.arange(columns.n_columns - columns.offset, columns.n_columns)
        used = np.append(model.places, ones)

        def terms(part: designs.Design, t: RowTargets) -> list[Array]:
            Z = part.rows(0, part.n_rows)[:, used]
            A = t.latents(Z @ W)
            c = -0.5 * t.curvature_pullback(A, fit.spread(Z))
            gram = weighted_gram(part, t.curvature(A))
            return [gram, part.rmatvec(t.slope(A)), part.rmatvec(c)]

        H, slope, c = fit.problem.targets.total(columns, terms)
        P, J = slope.shape
        return cls(columns, fit, used, H.reshape(P, J, P, J), slope, c)

    @cached_property
    def _moved(self) -> Array:
        moved = self.c[self.used].reshape(-1)
        return linalg.solve_cholesky(self.fit.L, moved) if len(moved) else moved

    def quick(self, block: AllColumns) -> Array:
        """A rank, (b,): squared qualities by sparsities, as if no column were in use."""
        i = block.places
        Q2 = np.sum(self.slope[i] ** 2, axis=1)
        D = np.einsum("ijij->i", self.H)[i]
        return np.divide(Q2, D, out=np.zeros_like(Q2), where=D > 0.0)

    def gains(self, block: AllColumns, within: NDArray[np.intp], prior: priors.Sparse) -> Array:
        """What columns, by their positions, would gain, (k,)."""
        i, J = block.places[within], self.slope.shape[1]
        squares = np.einsum("ijik->ijk", self.H[i][:, :, i, :])
        G = self.H[i][:, :, self.used, :].reshape(len(i) * J, len(self.used) * J)
        S, C = beside(squares.copy(), self.c[i], G, self.fit, self._moved)
        gross = gross_gains(S, np.stack([self.slope[i], C], axis=2), prior)
        return np.maximum(gross - prior.price(self.fit.problem.prior.n_weights), 0.0)

    def work(self, model: SharedModel, block: AllColumns, short: NDArray[np.intp]) -> SharedWork:
        """The columns in use, and those of these positions."""
        m, J = len(model.places), self.slope.shape[1]
        places = block.places[short]
        i = np.concatenate([self.used[:m], places, self.used[m:]])
        H = self.H[i][:, :, i, :].reshape(len(i) * J, len(i) * J)

        def design(among: NDArray[np.intp]) -> designs.Design:
            kept = i[among]
            return selected(self.columns, kept[kept < len(self.columns.center)])

        return SharedWork.of(model, places, H, self.slope[i], self.c[i], design)
