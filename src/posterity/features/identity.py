"""The inputs themselves as features."""

from posterity.arrays import Array
from posterity.features.base import Features
from posterity.page_forms import Form


class Identity(Features):
    """z = x: one feature a column, unchanged.

    Examples
    --------
    >>> from posterity import features
    >>> features.Identity().fit_transform([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """

    def _learn(self, X: Array, weights: Array | None) -> None:
        """Do nothing: there is nothing to learn."""

    def _columns(self, X: Array) -> Array:
        return X

    def _names(self, inputs: list[str]) -> list[str]:
        return inputs

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        return {"kind": "identity"}
