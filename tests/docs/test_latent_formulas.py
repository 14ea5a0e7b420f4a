"""Equations on the page of latent spaces are what its models compute, letter by letter."""

import numpy as np
from docs import formulas
from numpy.testing import assert_allclose
from scipy import stats

from posterity import (
    GPLVM,
    PCA,
    KernelPCA,
    kernels,
)


def test_density_of_principal_components():
    X = np.random.default_rng(0).normal(size=(20, 4)) * [3.0, 2.0, 0.5, 0.4]
    model = PCA(2).fit(X)
    W = model.components_.T * np.sqrt(model.explained_variance_ - model.noise_variance_)
    C = W @ W.T + model.noise_variance_ * np.eye(4)
    assert_allclose(model.score_samples(X), formulas.log_normal(X, X.mean(axis=0), C))
    formulas.assert_printed("latent", r"N(0, \mathbf{W}\mathbf{W}^T + \sigma^2\mathbf{I})")


def test_density_of_a_latent_variable_model():
    t = np.linspace(0.0, 3.0, 20)
    X = np.column_stack([np.sin(t), np.cos(t), t])
    X += 0.05 * np.random.default_rng(0).normal(size=X.shape)
    model = GPLVM(n_components=1, noise_variance=0.003, n_restarts=0).fit(X)
    Z = model.embedding_
    C = model.kernel_(Z) + model.noise_variance_ * np.eye(20)
    density = sum(formulas.log_normal(x, np.zeros(20), C) for x in (X - X.mean(axis=0)).T)
    density += stats.norm.logpdf(Z).sum() + 0.5 * (20 - 1 - 2) * np.log(Z.var())
    assert_allclose(model.log_posterior_, density, rtol=1e-6)
    formulas.assert_printed("latent", r"\frac{N-Q-2}{2}\log\lvert\mathrm{cov}(\mathbf{Z})\rvert")


def test_a_pre_image_is_at_a_minimum_of_the_distance_in_feature_space():
    X = np.random.default_rng(0).normal(size=(20, 2))
    kernel = kernels.RBF(1.0)
    model = KernelPCA(3, kernel).fit(X)
    T = model.transform(X[:1])
    A = model.dual_components_.T
    gamma = (A @ T[0]) - (A @ T[0]).mean() + 1.0 / 20.0  # about the mean of the features
    back = model.inverse_transform(T)

    def distance(x):
        return 1.0 - 2.0 * (kernel(x, X) @ gamma)[0]

    nearby = [distance(back + 1e-3 * np.array([[np.cos(u), np.sin(u)]])) for u in range(6)]
    assert distance(back) < min(nearby)
    formulas.assert_printed("latent", r"k(\mathbf{x}, \mathbf{x}) - 2\sum_n \gamma_n")
