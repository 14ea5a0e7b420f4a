"""Parameters that are declared as fields make the constructor that would be written by hand."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import posterity
from posterity import RidgeRegression
from posterity.constructors import declare_parameters, field


@declare_parameters
class Smoother(BaseEstimator):
    width: float = field(default=1.0, kw_only=False)
    max_iter: int = 100
    fitted_: float = field(init=False)


class Undeclared(Smoother):
    other: int = 3


@declare_parameters
class RobustSmoother(Undeclared):
    degree: int = field(default=2, kw_only=False)
    max_iter: int = field(default=200, kw_only=False)
    scale: float | None = None


def test_parameters_of_bases_come_first_and_keep_their_place():
    signature = inspect.signature(RobustSmoother)
    assert str(signature) == (
        "(width: float = 1.0, max_iter: int = 200, degree: int = 2, *, "
        "scale: float | None = None) -> None"
    )
    model = RobustSmoother(2.0, 7, scale=0.5)
    assert vars(model) == {"width": 2.0, "max_iter": 7, "degree": 2, "scale": 0.5}
    assert clone(model).get_params() == model.get_params() == vars(model)


def test_keywords_are_keywords_and_what_a_fit_sets_is_no_parameter():
    with pytest.raises(TypeError):
        Smoother(1.0, 5)
    with pytest.raises(TypeError):
        Smoother(fitted_=1.0)
    with pytest.raises(TypeError):
        Undeclared(other=1)
    assert not hasattr(Smoother(), "fitted_")
    assert inspect.signature(Undeclared) == inspect.signature(Smoother)


def test_estimators_compare_and_hash_by_identity():
    assert Smoother() != Smoother()
    assert len({Smoother(), Smoother()}) == 2
    assert repr(Smoother(max_iter=3)) == "Smoother(max_iter=3)"


def test_dask_tells_two_fits_apart_and_does_not_rebuild_them():
    dask = pytest.importorskip("dask")
    X = np.arange(6.0)[:, None]
    up, down = (RidgeRegression().fit(X, slope * X[:, 0]) for slope in (1.0, -1.0))
    assert dask.base.tokenize(up) != dask.base.tokenize(down)
    assert dask.base.tokenize(up) == dask.base.tokenize(up)
    (answer,) = dask.compute({"model": up, "sum": dask.delayed(sum)([1, 2])})
    assert answer["model"] is up
    assert answer["sum"] == 3


@declare_parameters
class Documented(BaseEstimator):
    """A base.

    Parameters
    ----------
    width : float, default=1.0
        How wide.
    low, high : float
        The ends.

    Attributes
    ----------
    fitted_ : float
        Of the base.
    """

    width: float = 1.0
    low: float = 0.0
    high: float = 1.0


@declare_parameters
class Extended(Documented):
    """More of it.

    Parameters
    ----------
    degree : int, default=2
        Of its own.
    width : float, default=3.0
        Wider.

    Examples
    --------
    >>> 1 + 1
    2
    """

    degree: int = 2
    width: float = 3.0


def test_documentation_of_bases_is_inherited_once():
    assert inspect.getdoc(Extended) == inspect.cleandoc("""
        More of it.

        Parameters
        ----------
        degree : int, default=2
            Of its own.
        width : float, default=3.0
            Wider.
        low, high : float
            The ends.

        Attributes
        ----------
        fitted_ : float
            Of the base.

        Examples
        --------
        >>> 1 + 1
        2
    """)


def test_every_parameter_of_every_estimator_is_documented_once():
    models = [getattr(posterity, name) for name in posterity.__all__]
    missing = {}
    for model in models:
        if not (inspect.isclass(model) and issubclass(model, BaseEstimator)):
            continue
        section = (inspect.getdoc(model) or "").partition("Parameters\n---")[2].partition("\n\n")[0]
        heads = [line.partition(" : ")[0] for line in section.splitlines() if line[:1].strip("- ")]
        named = [name for head in heads for name in head.split(", ")]
        if sorted(named) != sorted(inspect.signature(model).parameters):
            missing[model.__name__] = set(inspect.signature(model).parameters) ^ set(named)
    assert not missing
