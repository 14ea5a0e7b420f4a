"""Results of a comparison: scores on held-out rows."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.comparison.holdout import Holdout

Preference: TypeAlias = Literal["simple", "best"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles that are stored for predictions of numbers."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for held-out rows, and the observed values.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions of the rows in the table, ascending.
    y : ndarray of shape (n,)
        Observed values: numbers, or positions in ``classes``.
    log_prob : ndarray of shape (n,)
        Predicted log density, or log probability, of the observed value.
    mean, pit : ndarray of shape (n,), or None for classes
        Predicted mean, and predicted probability of a value below the observed one.
    quantiles : ndarray of shape (n, 5), or None
        Predicted quantiles at ``LEVELS``. None for classes, and in a comparison for all models
        but the winner, because they can take longer than a fit.
    probabilities : ndarray of shape (n, C), or None for numbers
        Predicted probability of every class.
    classes : tuple of str
        Names of the classes; empty for numbers.
    clusters : ndarray of shape (n,), or None
        Equal numbers mark rows that depend on each other: a group, a time window or a block. None:
        rows are independent.
    folds : ndarray of shape (n,), or None
        Number of the fold in which each row was held out, from 0; None outside a comparison.

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
    clusters: NDArray[Any] | None = None
    folds: NDArray[Any] | None = None


@dataclass(frozen=True)
class TwoClassScores:
    """Scores of a model of two classes, of which the rows of one should be flagged.

    Attributes
    ----------
    positive : str
        The class whose rows should be flagged.
    threshold : float
        Least probability of this class in a row that is flagged: 0.5, or that of the costs.
    brier : float
        Mean squared error of the probability.
    precision, recall : float
        Share of flagged rows that are of this class, and share of the rows of this class that are
        flagged; NaN where there are no such rows.
    roc_area : float
        Area under the ROC curve: probability that a row of this class has a higher probability of
        it than another row; NaN if all rows are of one class.
    flagged : float
        Share of all rows that are flagged.
    expected_cost, cost_error : float or None
        Mean cost per row, and its standard error; None without costs. For a model with fewer
        folds than others, the cost that it would have on their rows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLogisticRegression, comparison, tables
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> table = {"x": x, "y": np.where(x > 0.5, "yes", "no")}
    >>> model = tables.TableModel(BayesianLogisticRegression(), tables.infer(table, "y")).fit(table)
    >>> found = comparison.evaluate(model, table, flagging=comparison.Flagging(cost=(1.0, 9.0)))
    >>> found.two_classes.positive, found.two_classes.roc_area, found.two_classes.recall
    ('yes', 1.0, 1.0)
    """

    positive: str
    threshold: float
    brier: float
    precision: float
    recall: float
    roc_area: float
    flagged: float
    expected_cost: float | None = None
    cost_error: float | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """Scores of one model on held-out rows.

    Attributes
    ----------
    name, code : str
        Short name for display, and the expression that constructs the estimator.
    baseline : bool
        Whether it is a baseline: the mean, the class frequencies, or a model of scikit-learn.
    log_score, standard_error : float
        Mean of ``held_out.log_prob``, and its standard error over rows. For a model with fewer
        folds than others, the log score that it would have on their rows: that of the best of
        them less the mean difference over the rows that both predicted.
    behind, behind_error : float
        Mean difference between the best log score and this one over the rows that both predicted,
        and its standard error.
    rmse : float or None
        Root mean squared error of the predicted mean; None for classes.
    accuracy : float or None
        Share of rows whose most probable class is the observed one; None for numbers.
    coverage : float or None
        Share of rows inside their central 90 % interval; None for classes. The ends of an interval
        of counts are randomised, so that 90 % is the correct value for counts too.
    calibration : float
        Calibration error, 0 at best: for numbers the largest distance between the distribution of
        ``pit`` and the uniform one, for classes the mean difference between predicted probability
        and observed frequency.
    log_evidence : float or None
        Log evidence of all rows, if it is comparable with that of other models.
    fit_seconds : float or None
        Time to fit one fold, the median; None if the model was fitted before.
    predict_seconds : float
        Time to predict and score 1,000 rows, the median over folds.
    n_bytes : int or None
        Size of the saved model, fitted to all rows if there is such a fit, else to one fold; None
        if it cannot be saved.
    held_out : HeldOut
        Predictions row by row.
    warnings : tuple of str
        Distinct warnings of the fits.
    folds : int or None
        Number of folds in which it was scored; None outside a comparison.
    stopped : str
        Why it was scored in fewer folds than there are; empty if it was scored in all.
    probability_best : float or None
        Probability that its log score on more rows of the same kind would be the highest of all
        models, by a Bayesian bootstrap; None for baselines and for models that were stopped.
    weights : tuple of (str, float)
        Models and their weights, if this is their mixture; else empty.
    two_classes : TwoClassScores or None
        Scores of two classes; None for numbers and for more classes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression, comparison, tables
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> table = {"x": x, "y": 3.0 * x + np.random.default_rng(0).normal(0.0, 0.1, 30)}
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> result = comparison.evaluate(model, table)
    >>> result.name, round(result.rmse, 3), round(result.coverage, 2)
    ('BayesianLinearRegression', 0.081, 0.93)
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
    folds: int | None = None
    stopped: str = ""
    probability_best: float | None = None
    weights: tuple[tuple[str, float], ...] = ()
    two_classes: TwoClassScores | None = None


@dataclass(frozen=True)
class Skipped:
    """A model without scores, and the reason: out of time, or an error message.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Skipped("vectors", "out of time, not started.").name
    'vectors'
    """

    name: str
    why: str


@dataclass(frozen=True)
class Importance:
    """Decrease of the log score when one input is shuffled.

    Attributes
    ----------
    name : str
        The column of the table.
    drop : float
        Decrease of the mean log score when every row gets the value of another row; near zero or
        negative if the column does not help to predict.
    error : float
        Standard error of the decrease, over rows or over clusters of dependent rows.
    low, high : float
        Ends of the 95 % interval of the decrease.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Importance("age", drop=0.3, error=0.05, low=0.2, high=0.4).helps
    True
    """

    name: str
    drop: float
    error: float
    low: float
    high: float

    @property
    def helps(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of comparing models on one table.

    Attributes
    ----------
    schema : tables.Schema
        Inferred schema of the table.
    results : tuple of Result
        Scores of models and baselines, the best log score first.
    skipped : tuple of Skipped
        Models without scores.
    folds, seed : int
        Number of folds, and random seed of their assignment.
    n_rows : int
        Number of rows with a target.
    seconds : float
        Time of the whole comparison.
    winner : tables.TableModel
        The chosen model, fitted to all rows.
    verdict : str
        Which model to use and why, for which new rows its uncertainty holds, and cautions.
    importance : tuple of Importance
        Importance of the inputs of the winner on held-out rows, the most important first.
    holdout : Holdout
        Which rows were held out.
    scope : str
        For which new rows the scores hold, such as "for the next 30 days".
    cautions : tuple of str
        Sentences about rows that seem to depend on each other, with the option to use.
    chosen : str
        Name of the winner; empty: the best model that is not a baseline.
    prefer : "simple" or "best"
        The rule that chose it among models that do not differ significantly.

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
    holdout: Holdout = field(default_factory=Holdout)
    scope: str = ""
    cautions: tuple[str, ...] = ()
    chosen: str = ""
    prefer: Preference = "simple"

    @property
    def best(self) -> Result:
        """Result of the winner."""
        return next(
            result
            for result in self.results
            if not result.baseline and self.chosen in ("", result.name)
        )
