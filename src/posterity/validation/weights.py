"""Validate sample weights."""

import numpy as np
from numpy.typing import ArrayLike

from posterity import callers
from posterity.arrays import Array
from posterity.validation import checks, ranges, refusals


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Check sample weights: finite, >= 0, one per row, not all zero; None stays None.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_sample_weight([1, 0, 2], 3)
    array([1., 0., 2.])
    >>> validation.check_sample_weight(None, 3) is None
    True
    """
    if sample_weight is None:
        return None
    weights = checks.convert_column(sample_weight, "sample_weight", n_rows)
    refusals.refuse_where(weights < 0.0, weights, "sample_weight", "weights must not be negative")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero in every row; at least one weight must be positive."
        )
    ranges.check_total(weights)
    return weights


def check_repetitions(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Check sample weights that are repetitions of rows.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_repetitions([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    weights = check_sample_weight(sample_weight, n_rows)
    warn_of_few_repetitions(weights)
    return weights


def warn_of_few_repetitions(weights: Array | None) -> None:
    """Warn if the weights of two or more rows add up to less than two.

    One row has no information about noise, so a model of less than two rows is close to its prior.
    The usual cause is weights scaled to a sum of one.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from posterity import validation
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     validation.warn_of_few_repetitions(np.array([0.25, 0.5, 0.25]))
    >>> print(caught[0].message)
    sample_weight says how often each row counts, and these 3 rows count as 1 in all; multiply the
    weights by 3 if each row counts once.
    """
    if weights is None:
        return
    total, n_positive = float(weights.sum()), int(np.count_nonzero(weights))
    if total < 2.0 <= n_positive:
        callers.warn_caller(
            f"sample_weight says how often each row counts, and these {n_positive} rows count as "
            f"{total:.3g} in all; multiply the weights by "
            f"{n_positive / total:.3g} if each row "
            "counts once.",
        )
