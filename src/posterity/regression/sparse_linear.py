"""Normal likelihood x sparse prior x any features x closed form: SparseLinearRegression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import designs, linalg, models, priors, validation
from posterity.arrays import Array
from posterity.inference.conjugate import WeightPosterior
from posterity.inference.sparse_bayes import ColumnEngine, SparseProblem, choose_columns
from posterity.linalg import symmetric
from posterity.models import ModelCard
from posterity.regression import sparse_noise
from posterity.regression.linear_model import Rows
from posterity.regression.posterior import PosteriorModel
from posterity.regression.sparse_noise import Noise
from posterity.regression.streamed import StreamedLinearModel

_EPS = float(np.finfo(np.float64).eps)


class SparseLinearRegression(PosteriorModel, StreamedLinearModel):
    """Linear regression that keeps the few columns that raise the evidence.

    Each weight has a normal prior of its own precision, and the precisions are those of the largest
    evidence. Most of them are then infinite: their columns are out, and nobody need measure them
    again. Several outputs share their columns.

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in: one of :mod:`posterity.features` or any scikit-learn
        transformer. None: the columns as they are.
    degrees_of_freedom : float, default=0.0
        Of the Student-t that is the prior of each weight, in units of the noise and for columns of
        unit variance. 0: any precision is as probable as any other, the classical choice.
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an offset, with a unit-information prior about the mean of the targets.
    algorithm : {"sequential", "alternating"}, default="sequential"
        "sequential": from no column on, whichever step raises the evidence most. "alternating":
        from all columns on, as in the textbook; slower, and it ends where it ends.
    max_iter : int, default=1000
        Looks at all columns, or alternations, at most.

    Attributes
    ----------
    relevance_ : array of int, of shape (m,)
        Which columns are kept, in increasing order.
    coef_ : array of shape (M,) or (K, M)
        Posterior mean of the weights, in the units of the data; zero for columns that are out.
    intercept_ : float or array of shape (K,)
        Posterior mean of the offset.
    precision_ : array of shape (m,)
        Prior precisions of the weights that are kept, for columns of unit variance and in units of
        the noise: a weight has variance ``noise_variance_ / precision_`` before the data.
    noise_variance_ : float or array of shape (K,)
        Learned, or as given.
    log_evidence_ : float
        Log marginal likelihood of all targets given the precisions, constants included.
    posterior_ : WeightPosterior
        Of the weights that are kept, as prediction uses it.
    features_ : transformer or None
        The fitted features.
    n_iter_ : int
        Looks at all columns, or alternations.
    stop_reason_ : str
        Why the search ended.

    Notes
    -----
    All that is learned of the rows are their products, so that chunks that never sit in memory at
    once, and rows that come later, lead to the same columns.

    Among many columns that explain nothing some seem to, and the evidence at the best precisions
    would let about a third of them in. So the search also counts how many ways there are to choose
    as many columns: before the data every number of columns is as probable as any other, and so is
    every choice of that many. ``log_evidence_`` is without that.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import SparseLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 200))
    >>> y = X[:, 3] - 2.0 * X[:, 80] + 0.1 * rng.normal(size=50)
    >>> model = SparseLinearRegression().fit(X, y)
    >>> model.relevance_, model.coef_[model.relevance_].round(1)
    (array([ 3, 80]), array([ 1., -2.]))
    """

    card = ModelCard(
        likelihood="normal",
        prior="Student-t (precision per weight)",
        feature_space="explicit, few columns kept",
        inference="closed form, precisions by evidence",
        advice="few of many columns matter, and you want to know which",
        page="sparse",
    )

    relevance_: NDArray[np.intp]

    def __init__(
        self,
        *,
        features: Any = None,
        degrees_of_freedom: float = 0.0,
        noise_variance: float | None = None,
        fit_intercept: bool = True,
        algorithm: str = "sequential",
        max_iter: int = 1000,
    ) -> None:
        self.features = features
        self.degrees_of_freedom = degrees_of_freedom
        self.noise_variance = noise_variance
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.max_iter = max_iter

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, *, first: bool
    ) -> Rows:
        rows = super()._check_rows(X, y, sample_weight, noise_variance, first=first)
        validation.check_powers(rows.X, X)
        return rows

    def _conclude(self, statistics: designs.Statistics) -> None:
        models.check_algorithm(self.algorithm, self.max_iter)
        rows = EqualRows.of(statistics, centred=self.fit_intercept)
        noise = Noise.of(
            models.given_variance(self.noise_variance, "noise_variance"),
            by_row=self._known_noise,
            count=statistics.count,
            total=rows.total,
        )
        prior = priors.Sparse(self.degrees_of_freedom, among=statistics.n_features)
        problem = SparseProblem(prior, self.fit_intercept, sparse_noise.TOL, self.max_iter)
        engine = ColumnEngine(rows.Z, noise.outputs(rows.Y, rows.weights), problem)
        found, _ = choose_columns(engine, alternating=self.algorithm == "alternating")
        chosen = found.reorder(np.argsort(found.places))
        self.relevance_, self.precision_ = chosen.places, chosen.precision
        self._n_columns = statistics.n_features
        kept = statistics.selected(chosen.places)
        posterior, evidence = noise.posterior(kept, chosen, fit_intercept=self.fit_intercept)
        self._adopt(posterior, kept)
        self.log_evidence_ = evidence
        models.report_choice(self, chosen, "column", calls=4)

    def _adopt(self, posterior: WeightPosterior, statistics: designs.Statistics) -> None:
        super()._adopt(posterior, statistics)
        del self.prior_variance_  # each weight has its own

    def _queries(self, X: ArrayLike) -> Array:
        """The columns that are kept, at the rows of X."""
        return super()._queries(X)[:, self.relevance_]

    def _mean_at(self, Z: Array) -> Array:
        return Z @ self.coef_[..., self.relevance_].T + self.intercept_

    def _in_design(self, A: Array, b: Array) -> tuple[Array, Array]:
        """Weights of columns that are out are zero, and for sure."""
        return A[:, self.relevance_], b

    def _split(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """With the weights of the columns that are out, which are zero."""
        *leading, _, K = coef.shape
        every = np.zeros((*leading, self._n_columns, K))
        every[..., self.relevance_, :] = coef
        return every, intercept


@dataclass(frozen=True)
class EqualRows:
    """Few rows of equal weight, with the means and the products of all rows.

    A sparse model sees its rows by these only. Means are zero where there is an offset.
    """

    Z: Array  # (r, M)
    Y: Array  # (r, K)
    total: float  # what their weights add up to

    @classmethod
    def of(cls, statistics: designs.Statistics, *, centred: bool) -> EqualRows:
        """From a factor of the products, turned so that its rows share the offset evenly."""
        B, mean, total = statistics.centred() if centred else statistics.uncentred()
        spread = linalg.column_norms(B) / np.sqrt(total)
        B = np.where(spread > 4.0 * _EPS * np.abs(mean), B, 0.0)
        rows = _about_zero(B) if centred else B
        rows *= np.sqrt(len(rows) / total)
        return cls(rows[:, : statistics.n_features], rows[:, statistics.n_features :], total)

    @property
    def weights(self) -> Array:
        """One a row, (r,)."""
        return np.full(len(self.Z), self.total / len(self.Z))


def _about_zero(B: Array) -> Array:
    """One row more, with the same products, and columns that add up to zero.

    The reflection swaps the first axis, along which there is nothing, and the vector of ones.
    """
    padded = np.concatenate([np.zeros((1, B.shape[1])), B])
    return symmetric.Reflection.to_first_axis(np.ones(len(padded))).apply(padded)
