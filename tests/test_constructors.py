"""Parameters that are declared as fields make the constructor that would be written by hand."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from posterity import RandomTreeClassifier, RidgeRegression
from posterity.constructors import complete_docstring, declare_parameters, field


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


class Described:
    """A base.

    Parameters
    ----------
    width, degree : float
        Of the base.
    scale : float
        Not taken.

    Attributes
    ----------
    fitted_ : float
        Of the base.
    """


def test_docstrings_are_completed_in_place_and_by_each_base_once():
    class Middle(Described):
        width: float = 1.0
        degree: float = 1.0

    class Own(Middle):
        """Its own.

        Parameters
        ----------
        degree : int
            Its own.
        number : int
            Its own.

        Examples
        --------
        >>> 1
        """

    for cls in (Middle, Own):
        cls._parameter_fields = {"width": None, "degree": None, "number": None}
        complete_docstring(cls)
    lines = [line for line in inspect.getdoc(Own).splitlines() if line and set(line) != {"-"}]
    assert lines[1:6] == [
        "Parameters",
        "degree : int",
        "    Its own.",
        "number : int",
        "    Its own.",
    ]
    assert lines[6:9] == ["Attributes", "fitted_ : float", "    Of the base."]
    assert lines[9:] == ["Examples", ">>> 1"]


def test_the_trees_describe_all_their_parameters():
    described = inspect.getdoc(RandomTreeClassifier)
    for name in inspect.signature(RandomTreeClassifier).parameters:
        assert f"\n{name} : " in described
    assert "n_estimators : " not in described
