"""Linear models that keep few of their columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import designs, priors, sparse
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.linear.weighted_model import WeightedModel
from posterity.page_forms import Form
from posterity.sparse import ColumnEngine, LatentOutputs, SparsePosterior, SparseProblem


@declare_parameters
class ChosenColumns(WeightedModel):
    """A linear model of the columns whose prior precision is finite at the largest evidence.

    Parameters
    ----------
    degrees_of_freedom : float, default=0.0
        Of the Student-t prior of each weight, whose scale is one for columns of unit variance. Zero
        is the limit in which any precision is as probable as any other.
    max_iter : int, default=1000
        Passes over the columns.

    Attributes
    ----------
    relevance_ : array of int, of shape (m,)
        Which columns are kept, in increasing order.
    n_iter_, stop_reason_
        Of the search for the columns.
    """

    degrees_of_freedom: float = 0.0
    max_iter: int = 1000
    inference: str = "auto"

    relevance_: NDArray[np.intp] = field(init=False)
    log_evidence_: float = field(init=False)
    stop_reason_: str = field(init=False)

    def _choose_columns(
        self,
        design: designs.Design,
        outputs: LatentOutputs,
        *,
        nearest: bool,
        own_columns: bool = False,
        n_sets: int = 1,
    ) -> SparsePosterior:
        """Choose columns under any likelihood, and set what the posterior of those kept tells."""
        problem = SparseProblem(
            priors.Sparse(self.degrees_of_freedom, among=n_sets * design.n_columns),
            self.fit_intercept,
            max_iter=self.max_iter,
            own_columns=own_columns,
        )
        engine = ColumnEngine.from_design(design, outputs, problem)
        chosen, found = engine.choose_columns(nearest=nearest)
        self.n_iter_, self.stop_reason_ = sparse.report_choice(chosen, "column", self.max_iter)
        self._n_columns, self.relevance_ = design.n_columns, chosen.places
        self.precision_, self.log_evidence_ = found.precision, found.log_evidence
        self.posterior_ = found.without_rows()
        return found

    def _insert_zeros(self, coef: Array) -> Array:
        """The weights of all columns, (..., M, K), of which those that are out are zero."""
        *leading, _, K = coef.shape
        every = np.zeros((*leading, self._n_columns, K))
        every[..., self.relevance_, :] = coef
        return every

    def _queries(self, X: ArrayLike) -> Array:
        """The columns that are kept, at the rows of X."""
        return super()._queries(X)[:, self.relevance_]

    def _to_design_weights(self, A: Array, b: Array) -> tuple[Array, Array]:
        """Weights of columns that are out are zero, and for sure."""
        return A[:, self.relevance_], b

    def _page_columns(self) -> Form:
        places = [int(place) for place in self.relevance_]
        return {"kind": "chosen", "of": super()._page_columns(), "places": places}

    def _page_coef(self) -> Array:
        return super()._page_coef()[:, self.relevance_]
