"""The models of the golden files: small, and of many kinds."""

import numpy as np
import polars as pl
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import posterity
from posterity import kernels, tables


def rows(n=24):
    """Rows that any machine makes alike."""
    t = np.arange(3.0 * n).reshape(n, 3)
    return np.sin(0.7 * t**1.3) * [1.0, 2.0, 0.5] + [0.0, 1.0, -3.0]


X = rows()
y = X @ [1.0, -0.5, 2.0] + 0.1 * np.cos(9.0 * X[:, 0])
names = np.where(X[:, 0] > 0.3, "far", np.where(X[:, 1] > 1.0, "high", "l\u00f6w"))


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
    return table if name == "table" else X


def models():
    """By name, fitted."""
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
        "logit_boost": posterity.LogitBoostClassifier(n_rounds=8).fit(X, names),
        "principal": posterity.PCA(2).fit(X),
        "latent": latent.fit(X),
        "pipeline": scaled.fit(X, names),
    }
