"""What a comparison found: scores on rows that the models had not seen."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles that are kept of every prediction of a number."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What was said of rows that the model had not seen, and what came.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions of the rows in the table, rising.
    y : ndarray of shape (n,)
        What came: numbers, or positions in ``classes``.
    log_prob : ndarray of shape (n,)
        Log density, or log probability, that was given to it.
    mean, pit : ndarray of shape (n,), or None for classes
        The predicted mean, and the predicted chance of a value below the one that came.
    quantiles : ndarray of shape (n, 5), or None
        At ``LEVELS``. None for classes, and in a comparison for all models but the winner: they
        can cost more than a fit.
    probabilities : ndarray of shape (n, C), or None for numbers
        Of every class.
    classes : tuple of str
        Their names; empty for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison
    >>> said = comparison.HeldOut(np.arange(2), np.array([0, 1]), log_prob=np.log([0.9, 0.6]))
    >>> float(np.exp(said.log_prob.mean()).round(3))
    0.735
    """

    rows: NDArray[Any]
    y: NDArray[Any]
    log_prob: Array
    mean: Array | None = None
    pit: Array | None = None
    quantiles: Array | None = None
    probabilities: Array | None = None
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Result:
    """One model, measured on rows it was not fitted to.

    Attributes
    ----------
    name, code : str
        The short name it is shown by, and the expression that makes it.
    baseline : bool
        Whether it is there for comparison only: the mean, the commonest class, scikit-learn's.
    log_score, standard_error : float
        Mean of ``held_out.log_prob``, and its standard error over rows.
    behind, behind_error : float
        How far the log score is below the best one, row by row, and the standard error of that.
    rmse : float or None
        Root of the mean squared error of the mean; None for classes.
    accuracy : float or None
        Share of rows whose most probable class came; None for numbers.
    coverage : float or None
        Share of rows within their central 90 % interval; None for classes. The ends of an interval
        of counts are drawn at random, so that 90 % is right for them too.
    calibration : float
        How far stated chances are from observed shares, 0 at best: for numbers the largest distance
        between the distribution of ``pit`` and the uniform one, for classes the mean difference of
        stated probability and frequency.
    log_evidence : float or None
        Of all rows, where the model has one that others' can be held against.
    fit_seconds : float or None
        To fit one fold, the median; None of a model that was fitted before.
    predict_seconds : float
        To predict and score 1,000 rows, the median over folds.
    n_bytes : int or None
        Size of the saved model: of the fit to all rows where there was one, else of one fold's
        estimator; None where it cannot be saved.
    held_out : HeldOut
        Row by row.
    warnings : tuple of str
        What the fits warned of, each once.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression, comparison, tables
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> table = {"x": x, "y": 3.0 * x + np.random.default_rng(0).normal(0.0, 0.1, 30)}
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> result = comparison.evaluate(model, table)
    >>> result.name, result.accuracy, bool(0.05 < result.rmse < 0.2)
    ('BayesianLinearRegression', None, True)
    """

    name: str
    code: str
    baseline: bool
    log_score: float
    standard_error: float
    behind: float
    behind_error: float
    rmse: float | None
    accuracy: float | None
    coverage: float | None
    calibration: float
    log_evidence: float | None
    fit_seconds: float | None
    predict_seconds: float
    n_bytes: int | None
    held_out: HeldOut
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """A model that was not measured, and why: no time left, or an error in a sentence.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Skipped("vectors", "no time left: it was not begun.").name
    'vectors'
    """

    name: str
    why: str


@dataclass(frozen=True)
class Importance:
    """How much the log score falls without one input.

    Attributes
    ----------
    name : str
        The column of the table.
    drop : float
        Decrease of the mean log score when each row takes the value of another row; near zero, or
        below, where the column does not help to predict.
    error : float
        Standard error of the decrease, over rows.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Importance("age", drop=0.3, error=0.05).name
    'age'
    """

    name: str
    drop: float
    error: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The family on one table.

    Attributes
    ----------
    schema : tables.Schema
        What the table was taken to be.
    results : tuple of Result
        The best log score first, baselines among them.
    skipped : tuple of Skipped
        Models without a result.
    folds, seed : int
        How the rows were split.
    n_rows : int
        Rows with a target.
    seconds : float
        The whole comparison.
    winner : tables.TableModel
        The best model that is no baseline, fitted to all rows.
    verdict : str
        Which to take and why, in two sentences.
    importance : tuple of Importance
        The inputs, the most important to the winner first, measured on held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison, tables
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> table = {"x": x, "y": 3.0 * x + np.random.default_rng(0).normal(0.0, 0.1, 30)}
    >>> models = comparison.candidates("regression", 30, 1, names=["linear", "tree"])
    >>> found = comparison.compare(table, tables.infer(table, "y"), models, folds=3)
    >>> [result.name for result in found.results], found.n_rows
    (['linear', 'tree'], 30)
    """

    schema: tables.Schema
    results: tuple[Result, ...]
    skipped: tuple[Skipped, ...]
    folds: int
    seed: int
    n_rows: int
    seconds: float
    winner: tables.TableModel
    verdict: str
    importance: tuple[Importance, ...]

    @property
    def best(self) -> Result:
        """The result of the winner."""
        return next(result for result in self.results if not result.baseline)
