"""Scores of two classes: precision, recall, area under the ROC curve, and costs of mistakes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import distributions, validation
from posterity.arrays import Array
from posterity.scoring import scores


def precision(
    prediction: distributions.Discrete | ArrayLike,
    y: ArrayLike,
    threshold: float = 0.5,
    sample_weight: ArrayLike | None = None,
    *,
    positive: int = 1,
) -> float:
    """Return the share of flagged rows that are of the positive class; NaN if none is flagged.

    A row is flagged if its probability of the positive class is at least the threshold.

    Parameters
    ----------
    prediction : Discrete, or array of shape (n,) or (n, 2)
        Predictions of two classes, probabilities of class 1, or probabilities of both.
    y : array-like of shape (n,)
        Class codes, 0 or 1.
    threshold : float, default=0.5
        Least probability of the positive class in a row that is flagged.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    positive : 0 or 1, default=1
        Code of the class whose rows should be flagged.

    Examples
    --------
    >>> from posterity import scoring
    >>> round(scoring.precision([0.9, 0.6, 0.5, 0.2], [1, 0, 1, 1]), 4)
    0.6667
    """
    rows = _ScoredRows.from_prediction(prediction, y, sample_weight, positive)
    flagged = rows.p >= threshold
    return _ratio(rows.weights @ (flagged & rows.is_positive), rows.weights @ flagged)


def recall(
    prediction: distributions.Discrete | ArrayLike,
    y: ArrayLike,
    threshold: float = 0.5,
    sample_weight: ArrayLike | None = None,
    *,
    positive: int = 1,
) -> float:
    """Return the share of rows of the positive class that are flagged; NaN without such rows.

    Parameters are those of :func:`precision`.

    Examples
    --------
    >>> from posterity import scoring
    >>> scoring.recall([0.9, 0.6, 0.5, 0.2, 0.1], [1, 0, 1, 1, 1])
    0.5
    """
    rows = _ScoredRows.from_prediction(prediction, y, sample_weight, positive)
    found = rows.weights @ ((rows.p >= threshold) & rows.is_positive)
    return _ratio(found, rows.weights @ rows.is_positive)


def roc_area(
    prediction: distributions.Discrete | ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the area under the ROC curve; NaN if all rows are of one class.

    It is the probability that a row of class 1 has a higher predicted probability of this class
    than a row of class 0, where equal ones count half; the same for the other class.

    Parameters
    ----------
    prediction : Discrete, or array of shape (n,) or (n, 2)
        Predictions of two classes, probabilities of class 1, or probabilities of both.
    y : array-like of shape (n,)
        Class codes, 0 or 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from posterity import scoring
    >>> scoring.roc_area([0.9, 0.6, 0.6, 0.2], [1, 0, 1, 0])
    0.875
    """
    rows = _ScoredRows.from_prediction(prediction, y, sample_weight, positive=1)
    place = np.unique(rows.p, return_inverse=True)[1]
    ones, zeros = (
        np.bincount(place, weights=rows.weights * chosen)
        for chosen in (rows.is_positive, ~rows.is_positive)
    )
    below = np.cumsum(zeros) - 0.5 * zeros
    return _ratio(ones @ below, ones.sum() * zeros.sum())


def cost_threshold(cost: tuple[float, float]) -> float:
    """Return the probability from which flagging a row costs less on average than not doing so.

    Parameters
    ----------
    cost : (float, float)
        Costs of a false alarm, which is a flagged row of the other class, and of a miss, which is
        a row of the positive class that is not flagged.

    Examples
    --------
    >>> from posterity import scoring
    >>> scoring.cost_threshold((1.0, 19.0))
    0.05
    """
    false_alarm, miss = check_cost(cost)
    return 1.0 / (1.0 + miss / false_alarm)


def expected_cost(
    prediction: distributions.Discrete | ArrayLike,
    y: ArrayLike,
    cost: tuple[float, float],
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    positive: int = 1,
) -> float:
    """Return the mean cost per row of flagging rows from a threshold on.

    Parameters
    ----------
    prediction : Discrete, or array of shape (n,) or (n, 2)
        Predictions of two classes, probabilities of class 1, or probabilities of both.
    y : array-like of shape (n,)
        Class codes, 0 or 1.
    cost : (float, float)
        Costs of a false alarm and of a miss.
    threshold : float, optional
        Least probability of the positive class in a row that is flagged. None: that of
        :func:`cost_threshold`, the best one for calibrated probabilities.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    positive : 0 or 1, default=1
        Code of the class whose rows should be flagged.

    Examples
    --------
    >>> from posterity import scoring
    >>> scoring.expected_cost([0.9, 0.3, 0.2, 0.05], [1, 0, 0, 1], (1.0, 9.0))
    2.75
    """
    rows = _ScoredRows.from_prediction(prediction, y, sample_weight, positive)
    level = cost_threshold(cost) if threshold is None else threshold
    costs = compute_row_costs(rows.p >= level, rows.is_positive, cost)
    return float(np.average(costs, weights=rows.weights))


def compute_row_costs(
    flagged: NDArray[np.bool_], is_positive: NDArray[np.bool_], cost: tuple[float, float]
) -> Array:
    """Return the cost of each row: of a false alarm, of a miss, or zero."""
    false_alarm, miss = check_cost(cost)
    return false_alarm * (flagged & ~is_positive) + miss * (~flagged & is_positive)


def check_cost(cost: Any) -> tuple[float, float]:
    """Return the costs of a false alarm and of a miss; raise unless both are positive."""
    values = np.asarray(cost)
    numeric = values.dtype.kind in "iuf" and values.shape == (2,)
    if not numeric or not np.all(np.isfinite(values) & (values > 0.0)):
        raise ValueError(
            "The costs of a false alarm and of a miss must be two positive numbers such as "
            f"(1, 20), not {cost!r}."
        )
    return float(values[0]), float(values[1])


@dataclass(frozen=True, eq=False)
class _ScoredRows:
    """Probabilities of the positive class, whether it was observed, and weights."""

    p: Array
    is_positive: NDArray[np.bool_]
    weights: Array

    @classmethod
    def from_prediction(
        cls,
        prediction: distributions.Discrete | ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        positive: int,
    ) -> "_ScoredRows":
        """Check predictions of two classes, and their scores."""
        p = scores.class_probabilities(prediction)
        if p.ndim != 2 or p.shape[1] != 2:
            raise ValueError(
                "Precision, recall, areas and costs need predictions of two classes; these have "
                f"{p.shape[-1]}."
            )
        if positive not in (0, 1):
            raise ValueError(f"positive must be the code of a class, 0 or 1, not {positive!r}.")
        k = scores.check_codes(p, y)
        weights = validation.check_sample_weight(sample_weight, len(k))
        return cls(p[:, positive], k == positive, np.ones(len(k)) if weights is None else weights)


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole > 0.0 else float("nan")
