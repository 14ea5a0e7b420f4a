"""The latent models that are held to one contract, and rows for them."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from posterity import GPLVM, PCA, HierarchicalGPLVM, KernelKMeans, KernelPCA, Whitening, kernels

CASES = [
    PCA(),
    PCA(0.9),
    PCA("evidence"),
    PCA(1, method="rows"),
    PCA(1, method="randomized"),
    Whitening(),
    Whitening("zca"),
    Whitening(n_components=1, tol=1e-6),
    KernelPCA(),
    KernelPCA(None),
    KernelPCA(0.9, kernels.Matern()),
    KernelPCA(3, kernels.Linear(1.0)),
    KernelKMeans(),
    KernelKMeans(3, kernels.Linear(1.0)),
    KernelKMeans(2, kernels.Matern(), n_restarts=1),
    GPLVM(max_iter=5),
    GPLVM(1, kernels.Linear(), standardize=True, n_restarts=1, max_iter=5),
    GPLVM(inducing_points=5, max_iter=5),
    GPLVM(inference="variational", inducing_points=5, max_iter=5),
    GPLVM(back_constraints=True, max_iter=5),
    GPLVM(dynamics=kernels.RBF(), max_iter=5),
    HierarchicalGPLVM(max_iter=5),
    HierarchicalGPLVM(
        n_components=1, root_components=1, dynamics=kernels.RBF(), standardize=True, max_iter=5
    ),
]


def named(cases):
    return pytest.mark.parametrize("model", cases, ids=lambda case: repr(case).replace("\n", ""))


every_model = named(CASES)
every_transformer = named([case for case in CASES if not isinstance(case, KernelKMeans)])
every_gplvm = named([case for case in CASES if get_tags(case).input_tags.allow_nan])


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    axes = np.random.default_rng(7).normal(size=(2, 4))
    return rng.normal(size=(n, 2)) @ axes + 0.1 * rng.normal(size=(n, 4)) + 2.0


def answers(fitted, X):
    """What a model says of rows."""
    method = fitted.predict if isinstance(fitted, KernelKMeans) else fitted.transform
    return method(X)
