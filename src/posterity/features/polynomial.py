"""Polynomial features with their rounding errors."""

import itertools
from collections.abc import Iterator

import numpy as np

from posterity import validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.features.base import Features
from posterity.linalg import double_double
from posterity.page_forms import Form


@declare_parameters
class Polynomial(Features):
    """Products of powers of the inputs up to a total degree.  [P8 8.18]

    Parameters
    ----------
    degree : int, default=2
        The highest total degree.
    interactions : bool, default=True
        True: all monomials, in the order of scikit-learn's ``PolynomialFeatures``. False: powers
        of each column only.

    Attributes
    ----------
    powers_ : ndarray of shape (M, D)
        The power of each input in each feature.

    Examples
    --------
    >>> from posterity import features
    >>> cubic = features.Polynomial(3).fit([[2.0], [3.0]])
    >>> cubic.transform([[2.0], [3.0]])
    array([[ 2.,  4.,  8.],
           [ 3.,  9., 27.]])
    >>> cubic.get_feature_names_out(["age"])
    array(['age', 'age^2', 'age^3'], dtype=object)
    """

    degree: int = field(default=2, kw_only=False)
    interactions: bool = True

    def _learn(self, X: Array, weights: Array | None) -> None:
        D = X.shape[1]
        factors = list(
            _monomials(D, validation.check_count(self.degree, "degree"), self.interactions)
        )
        self.powers_ = np.array([np.bincount(c, minlength=D) for c in factors])

    def _columns(self, X: Array) -> Array:
        Z = np.empty((len(X), len(self.powers_)), order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            for m, parent, d in self._recursion():
                Z[:, m] = X[:, d] if parent is None else Z[:, parent] * X[:, d]
        self._refuse_overflow(Z)
        return Z

    def _columns_with_error(self, X: Array) -> tuple[Array, Array | None]:
        Z = self._columns(X)
        E = np.zeros_like(Z)
        with np.errstate(over="ignore", invalid="ignore"):
            for m, parent, d in self._recursion():
                if parent is not None:
                    _, e = double_double.two_product(Z[:, parent], X[:, d])
                    E[:, m] = e + E[:, parent] * X[:, d]
        # Beyond 2^996 the splitting overflows, though the product does not.
        E[~np.isfinite(E)] = 0.0
        return Z, E

    def _recursion(self) -> Iterator[tuple[int, int | None, int]]:
        """Return each feature as an earlier one (None: the constant) times one input."""
        place = {tuple(row): m for m, row in enumerate(self.powers_.tolist())}
        for m, row in enumerate(self.powers_.tolist()):
            d = max(i for i, power in enumerate(row) if power)
            row[d] -= 1
            yield m, place.get(tuple(row)), d

    def _names(self, inputs: list[str]) -> list[str]:
        def power(name: str, p: int) -> str:
            return name if p == 1 else f"{name}^{p}"

        rows = (zip(inputs, row, strict=True) for row in self.powers_.tolist())
        return [" ".join(power(name, p) for name, p in row if p) for row in rows]

    def _refuse_overflow(self, Z: Array) -> None:
        """Raise an error if a power overflows."""
        finite = np.isfinite(Z)
        if not finite.all():
            i, m = np.argwhere(~finite)[0]
            name = self.get_feature_names_out()[m]
            raise ValueError(
                f"The feature {name!r} overflows in row {i}; rescale the columns first, "
                "e.g. with sklearn.preprocessing.StandardScaler."
            )

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        place = {tuple(row): m for m, row in enumerate(self.powers_.tolist())}
        parents, factors = [], []
        for row in self.powers_.tolist():
            d = max(i for i, power in enumerate(row) if power)
            row[d] -= 1
            parents.append(place.get(tuple(row), -1))
            factors.append(d)
        return {"kind": "polynomial", "parents": parents, "factors": factors}


def _monomials(D: int, degree: int, interactions: bool) -> Iterator[tuple[int, ...]]:
    """Yield each monomial as the ascending tuple of its factors."""
    for k in range(1, degree + 1):
        if interactions:
            yield from itertools.combinations_with_replacement(range(D), k)
        else:
            yield from ((d,) * k for d in range(D))
