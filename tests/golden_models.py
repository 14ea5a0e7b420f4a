"""The models of the golden files: small, and of many kinds."""

import numpy as np
import polars as pl
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import posterity
from posterity import features, kernels, likelihoods, tables


def rows(n=24):
    """Rows that any machine makes alike."""
    t = np.arange(3.0 * n).reshape(n, 3)
    return np.sin(0.7 * t**1.3) * [1.0, 2.0, 0.5] + [0.0, 1.0, -3.0]


X = rows()
y = X @ [1.0, -0.5, 2.0] + 0.1 * np.cos(9.0 * X[:, 0])
names = np.where(X[:, 0] > 0.3, "far", np.where(X[:, 1] > 1.0, "high", "l\u00f6w"))
far = names == "far"
words = np.column_stack([np.where(X[:, 0] > 0, "a", "b"), np.where(X[:, 1] > 1, "x", "\u00e9")])
sequences = ["".join("abc"[int(9 * abs(v)) % 3] for v in (*row, *row[::-1])) for row in X]
amounts, counts = np.exp(0.2 * y), np.floor(np.exp(0.5 * X[:, 1]))

table = pl.DataFrame(
    {
        "size": [f"{x:.3f}" if x > -0.8 else None for x in X[:, 0]],
        "col\u00f6r": [None if i % 11 == 3 else "rgb"[i % 3] for i in range(len(X))],
        "day": [f"2024-{1 + i % 12:02d}-{1 + i:02d}" for i in range(len(X))],
        "price": [f"{v:.4f}" for v in y],
    },
    schema=dict.fromkeys(["size", "col\u00f6r", "day", "price"], pl.String),
)


def queries(name):
    """Rows for the model of this name."""
    return {"table": table, "discrete": words, "structured": sequences}.get(name, X)


def models():
    """By name, fitted: the models of the first files, and one of every other estimator."""
    return first_models() | further_models()


def first_models():
    """Models with settings that are not the defaults."""
    short = (kernels.Matern(1.0) + kernels.Linear(0.5)) * kernels.RBF([1.0, 2.0, 3.0])
    process = posterity.GaussianProcessRegressor(
        (2.0 * short).fixed(), noise_variance=0.05, normalize_y=True
    )
    vectors = posterity.RelevanceVectorClassifier(kernels.RBF(1.0).fixed())
    forest = posterity.RandomForestClassifier(5, random_state=0)
    latent = posterity.GPLVM(1, kernels.RBF(1.0), max_iter=3)
    scaled = make_pipeline(StandardScaler(), posterity.BayesianLogisticRegression())
    columns = {"number": ["size"], "category": ["col\u00f6r"], "date": ["day"]}
    schema = tables.infer(table, "price", task="regression", **columns)
    tabled = tables.TableModel(posterity.BayesianLinearRegression(), schema)
    return {
        "table": tabled.fit(table),
        "bayesian_linear": posterity.BayesianLinearRegression().fit(X, y),
        "gaussian_process": process.fit(X, np.column_stack([y, y**2])),
        "relevance_vectors": vectors.fit(X, names == "far"),
        "forest": forest.fit(np.where(X > 0.9, np.nan, X), names),
        "forest_of_numbers": posterity.RandomForestRegressor(4, random_state=0).fit(X, y),
        "logit_boost": posterity.LogitBoostClassifier(n_estimators=8).fit(X, names),
        "principal": posterity.PCA(2).fit(X),
        "latent": latent.fit(X),
        "pipeline": scaled.fit(X, names),
    }


def further_models():
    """One of every estimator that the first files do not have, fitted."""
    return {
        name: model.fit(queries(name)) if target is None else model.fit(queries(name), target)
        for name, (model, target) in unfitted_models().items()
    }


def unfitted_models():
    """By name, an estimator and its target."""
    return {
        "bayesian_logistic": (
            posterity.BayesianLogisticRegression(features=features.Arctan(3)),
            far,
        ),
        "boosted_numbers": (posterity.BoostedTreesRegressor(8, cv=3, random_state=0), y),
        "boosted_trees": (
            posterity.BoostedTreesClassifier(8, cv=2, categorical_features=[1], random_state=0),
            names,
        ),
        "discrete": (posterity.DiscreteClassifier(), names),
        "dual_linear": (posterity.DualLinearRegression(), y),
        "dual_logistic": (posterity.DualLogisticRegression(), far),
        "experts": (posterity.MixtureOfExpertsClassifier(2, n_restarts=0, random_state=0), far),
        "fern_classes": (posterity.RandomFernClassifier(4, max_depth=4, random_state=0), names),
        "fern_numbers": (posterity.RandomFernRegressor(4, max_depth=4, random_state=0), y),
        "gamma": (posterity.GammaRegression(), amounts),
        "generalized": (posterity.GeneralizedLinearRegression(likelihoods.Poisson()), counts),
        "hierarchical_latent": (posterity.HierarchicalGPLVM([[0, 1], [2]], max_iter=3), None),
        "kernel_clusters": (posterity.KernelKMeans(2, random_state=0), None),
        "kernel_logistic": (posterity.KernelLogisticRegression(kernels.RBF(1.0)), far),
        "kernel_principal": (posterity.KernelPCA(2), None),
        "kernel_ridge": (posterity.KernelRidgeRegression(), y),
        "linear": (posterity.LinearRegression(features=features.Polynomial(2)), y),
        "logistic": (posterity.LogisticRegression(max_iter=3), names),
        "logistic_tree": (posterity.LogisticTreeClassifier(1, n_restarts=0, random_state=0), far),
        "lq": (posterity.LqRegression(loss_power=1.0), y),
        "process_classes": (posterity.GaussianProcessClassifier(kernels.RBF(1.0).fixed()), names),
        "process_counts": (
            posterity.GaussianProcessRegressor(
                kernels.RBF(1.0).fixed(), likelihood=likelihoods.Poisson()
            ),
            counts,
        ),
        "process_points": (
            posterity.GaussianProcessRegressor(
                kernels.RBF(1.0).fixed(), noise_variance=0.1, inducing_points=6
            ),
            y,
        ),
        "process_two_classes": (posterity.GaussianProcessClassifier(kernels.RBF(1.0).fixed()), far),
        "ridge": (posterity.RidgeRegression(), y),
        "robust": (posterity.RobustRegression(), y),
        "sparse_linear": (posterity.SparseLinearRegression(), y),
        "sparse_logistic": (posterity.SparseLogisticRegression(), names),
        "stagewise_classes": (
            posterity.StagewiseClassifier(2, n_restarts=0, random_state=0),
            far,
        ),
        "stagewise_numbers": (posterity.StagewiseRegressor(2, n_restarts=0, random_state=0), y),
        "structured": (
            posterity.GaussianProcessRegressor(kernels.Spectrum(2).fixed(), noise_variance=0.1),
            y,
        ),
        "tree_classes": (posterity.RandomTreeClassifier(max_depth=3, random_state=0), names),
        "tree_numbers": (posterity.RandomTreeRegressor(max_depth=3, random_state=0), y),
        "vectors_classes": (posterity.RelevanceVectorClassifier(kernels.RBF(1.0).fixed()), names),
        "vectors_numbers": (posterity.RelevanceVectorRegressor(kernels.RBF(1.0).fixed()), y),
        "whitening": (posterity.Whitening(), None),
    }
