"""The checks of an estimator as one case: all that fail are named."""

import pytest
from sklearn.linear_model import Ridge
from support.estimator_checks import every_check_once


class Careless(Ridge):
    """A model whose fit returns nothing."""

    def fit(self, X, y):
        super().fit(X, y)


def test_every_check_that_fails_is_named():
    ((estimator, check),) = (case.values for case in every_check_once([Careless()]).args[1])
    with pytest.raises(ExceptionGroup, match="checks fail") as caught:
        check(estimator)
    named = [note for error in caught.value.exceptions for note in error.__notes__]
    assert "in check_estimators_fit_returns_self" in named
    assert 2 < len(named) < len(check.checks)
