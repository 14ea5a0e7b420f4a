"""Every estimator of the package, fitted, what it says of rows, and whether two are the same."""

import dataclasses
import functools

import classification_cases
import latent_cases
import numpy as np
import pandas as pd
import regression_cases
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

import posterity
from posterity import features, kernels
from posterity.latent.fitted import RowsSeen
from posterity.persistence import encoding

_SHOWN = 12  # rows that are predicted


@dataclasses.dataclass(frozen=True)
class Case:
    """A model that was not fitted, and the data for it."""

    name: str
    model: BaseEstimator
    rows: object
    target: object

    @functools.cached_property
    def fitted(self):
        return self.refitted(clone(self.model))

    @functools.cached_property
    def said(self):
        """What the fitted model says, before anything was done with it."""
        return answers(self.fitted, self.queries)

    def refitted(self, model):
        """A model fitted to the data of this case."""
        return model.fit(self.rows) if self.target is None else model.fit(self.rows, self.target)

    @property
    def queries(self):
        """Some rows of the same kind."""
        return self.rows[:_SHOWN]


def named(X):
    """The rows as a table whose columns have names."""
    return pd.DataFrame(dict(zip("abcd", X.T, strict=False)))


def short(model):
    return " ".join(repr(model).split())


def regressors():
    for model in regression_cases.CASES:
        X, y = regression_cases.data_for(model)
        yield Case(short(model), model, X, y)
        if get_tags(model).target_tags.multi_output:
            Y = np.column_stack([y, -3.0 * y + X[:, 0] ** 2])
            yield Case(f"{short(model)}, two outputs, names", model, named(X), Y)


def classifiers():
    for model in classification_cases.CASES:
        X, y = classification_cases.data(n_classes=2)
        yield Case(f"{short(model)}, two classes", model, X, (y == y[0]).astype(int))
        X, y = classification_cases.data(n_classes=3)
        yield Case(f"{short(model)}, three names", model, named(X), y)


def latents():
    for model in latent_cases.CASES:
        X = latent_cases.data()
        yield Case(short(model), model, X, None)
        yield Case(f"{short(model)}, names", model, named(X), None)


def discrete():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.choice(["a", "b", "c"], 40), rng.choice(["x", "\u00e9"], 40)])
    for model in (
        posterity.DiscreteClassifier(),
        posterity.DiscreteClassifier(1.0, independent=True),
    ):
        yield Case(short(model), model, rows, rng.choice(["no", "yes"], 40))
        table = pd.DataFrame(rows, columns=["u", "v"])
        yield Case(f"{short(model)}, names", model, table, rng.integers(3, size=40))


def feature_spaces():
    """Models on every feature space, and on kernels of every kind, composed."""
    X, y = regression_cases.data()
    for space in (
        features.Identity(),
        features.Polynomial(2),
        features.Radial(3, centers="kmeans", random_state=0),
        features.Arctan(3),
        features.Heaviside(3),
        features.KernelColumns(),
        features.KernelColumns(kernels.RBF()),
    ):
        model = posterity.BayesianLinearRegression(features=space)
        yield Case(short(model), model, X, y)
    for kernel in (
        2.0 * kernels.RBF([1.0, 2.0, 3.0]).fixed() + kernels.White(0.1),
        kernels.Matern(1.0) * kernels.Periodic(1.0, 2.0) + kernels.Linear(1.0),
        kernels.Columns(kernels.RationalQuadratic(1.0, shape=2.0), [0, 2]) + 3.0,
    ):
        model = posterity.GaussianProcessRegressor(kernel, n_restarts=0, max_iter=3)
        yield Case(short(model), model, X, y)


def structured():
    """Rows that are strings, trees and graphs."""
    words = [
        "banana",
        "ananas",
        "bandana",
        "savanna",
        "fig",
        "figs",
        "wig",
        "twig",
        "big",
        "\u00e9",
    ]
    y = np.array([len(word) for word in words], dtype=float)
    trees = [("S", ("N", word), ("V", word[:2])) for word in words]
    graphs = [kernels.Graph(word, [(i, i + 1) for i in range(len(word) - 1)]) for word in words]
    for kernel, rows in (
        (kernels.Spectrum(2), words),
        (kernels.Subsequence(2), words),
        (kernels.SubsetTree(), trees),
        (kernels.WeisfeilerLehman(2), graphs),
        (kernels.ShortestPath(), graphs),
    ):
        model = posterity.GaussianProcessRegressor(kernel, n_restarts=0, max_iter=3)
        yield Case(short(model), model, rows, y)


CASES = [
    *regressors(),
    *classifiers(),
    *latents(),
    *discrete(),
    *feature_spaces(),
    *structured(),
]


def answers(model, rows):
    """Everything that a fitted model says of rows, by name."""
    said = {}
    for name in ("predict", "predict_proba", "transform", "score_samples", "apply", "activation"):
        method = getattr(model, name, None)
        tells_classes = name != "predict_proba" or len(getattr(model, "classes_", ()))
        if method is not None and tells_classes:
            said[name] = np.asarray(method(rows))
    if hasattr(model, "predict_quantiles"):
        dist = model.predict_dist(rows)
        said["mean"], said["std"] = dist.mean(), dist.standard_deviation()
        said["quantiles"] = model.predict_quantiles(rows, quantiles=[0.05, 0.5, 0.95])
    if "transform" in said and hasattr(model, "inverse_transform"):
        said["inverse_transform"] = model.inverse_transform(said["transform"])
        if hasattr(model, "complete"):
            back = model.inverse_transform_dist(said["transform"])
            said["inverse_std"] = back.standard_deviation()
    return said


def assert_same_answers(one, two):
    """To the last bit."""
    assert one.keys() == two.keys()
    assert one
    assert all(value.dtype != object for value in one.values())
    for name, value in one.items():
        assert value.dtype == two[name].dtype, name
        np.testing.assert_array_equal(value, two[name], err_msg=name)


def assert_same(one, two, where="model"):
    """Whether two objects hold the same all the way down.

    Caches are no matter, nor are rows that no prediction asks for, nor fields marked as transient:
    these stay out of files.
    """
    assert type(one) is type(two), where
    if isinstance(one, np.ndarray):
        assert_same_arrays(one, two, where)
    elif (parts := parts_of(encoding.drop_rows(one))) is None:
        assert one == two or (one != one and two != two), where
    else:
        others = parts_of(encoding.drop_rows(two))
        assert list(parts) == list(others), where
        for name in parts:
            assert_same(parts[name], others[name], f"{where}.{name}")


def assert_same_arrays(one, two, where):
    assert one.dtype == two.dtype, where
    if one.flags.forc:  # else there is no order to keep
        assert one.flags.f_contiguous == two.flags.f_contiguous, where
    np.testing.assert_array_equal(one, two, err_msg=where)


def parts_of(value):
    """What a value is made of, by name or place; None where it is one thing."""
    if isinstance(value, dict):
        return value
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if isinstance(value, BaseEstimator | RowsSeen):
        return value.__getstate__()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = (f.name for f in dataclasses.fields(value) if not f.metadata.get("transient"))
        return {name: getattr(value, name) for name in kept}
    return None
