"""Latent values of a sparse model: the posterior of the columns it kept, and of nothing else.

Prediction needs no rows: their information about the weights is in the mean and the factor of the
precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.variational import NearestNormal
from posterity.page_forms import Form
from posterity.sparse.class_normals import ClassNormals, find_nearest
from posterity.sparse.problem import Chosen


@dataclass(frozen=True)
class SparsePosterior:
    """Latent values at the m columns in use, in the units they came in."""

    precision: Array  # (m,), or (m, C) where each class has its own; of standardised columns
    center: Array  # (m,)
    scale: Array  # (m,)
    offset: bool
    fit: (
        LaplaceFit | NearestNormal | ClassNormals
    )  # of the standardised columns and, where there is an offset, ones

    @classmethod
    def from_fit(
        cls,
        chosen: Chosen,
        fit: LaplaceFit | ClassNormals,
        order: NDArray[np.intp],
        *,
        offset: bool,
        nearest: bool = False,
    ) -> SparsePosterior:
        """Build the posterior of what an engine found, its columns in another order.

        With ``nearest``, for classes, the posterior is then the nearest normal.
        """
        columns = np.append(order, np.arange(len(order), len(order) + offset))
        if isinstance(fit, ClassNormals):  # whose nearest may be known already
            found: Any = _reorder_classes(fit.nearest if nearest else fit, columns)
        else:
            found = _reorder_columns(fit, columns)
            found = find_nearest(found) if nearest else found
        return cls(
            chosen.precision[order],
            chosen.center[order],
            chosen.scale[order],
            offset,
            found,
        )

    def without_rows(self) -> SparsePosterior:
        """The same, for prediction only: of the size of the columns in use."""
        targets = self.fit.problem.targets.without_rows()
        empty = designs.Dense(np.empty((0, self.fit.problem.design.n_columns)))
        problem = replace(self.fit.problem, design=empty, targets=targets)
        return replace(self, fit=replace(self.fit, problem=problem))

    def rows(self, Z: Array) -> Array:
        """Rows of the fit's design for columns Z (n, m) in the units of the data."""
        ones = np.ones((len(Z), int(self.offset)))
        return np.hstack([(Z - self.center) / self.scale, ones])

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values at columns Z (n, m)."""
        if not (len(self.scale) or self.offset):
            mean = np.tile(self._shift, (len(Z), 1))
            return LatentMarginals(mean, np.zeros_like(mean))
        return self.fit.latent(self.rows(Z))

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each latent value over all rows of columns Z (n, m)."""
        return self.combine(Z, np.ones(len(Z)))

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return the distribution of A (n, m) times the weights plus b (n,) times the offset.

        Weights and offset are in the units of the data.
        """
        X = (A - np.outer(b, self.center)) / self.scale
        rows = np.hstack([X, b[:, None]]) if self.offset else X
        mean = rows @ self._weights + np.outer(b, self._shift)
        if not rows.shape[1]:
            return LatentJoint(mean, np.zeros((mean.shape[1], len(A), len(A))))
        return LatentJoint(mean, self.fit.joint(rows).covariance)

    def before_rows(self) -> SparsePosterior:
        """Return the prior of the weights of these columns and of the offsets."""
        if not (len(self.scale) or self.offset):
            return self
        return replace(self, fit=self.fit.before_rows())

    def sample(self, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the weights (n_samples, m, C) and offsets (n_samples, C), in data units."""
        p, m = self.fit.problem, len(self.scale)
        at, W = p.prior.pack(self.fit.weights.W), np.zeros((n_samples, *p.shape))
        if len(at):
            z = rng.standard_normal((len(at), n_samples))
            steps = linalg.solve_lower_transposed(self.fit.L, z).T
            W = np.stack([p.prior.unpack(at + step, p.shape) for step in steps])
        latent = W @ self.contrasts.T
        coef = latent[:, :m] / self.scale[:, None]
        return coef, self._shift + np.sum(latent[:, m:], axis=1) - self.center @ coef

    def original_units(self) -> tuple[Array, Array]:
        """Mean weights (m, C) and offsets (C,) of the latent values, in the units of the data."""
        W, m = self._weights, len(self.scale)
        coef = W[:m] / self.scale[:, None]
        return coef, self._shift + np.sum(W[m:], axis=0) - self.center @ coef

    @property
    def log_evidence(self) -> float:
        """log p(y) to Laplace's approximation, all constants included."""
        return self.fit.log_evidence

    @property
    def contrasts(self) -> Array:
        """What makes C latent values of J contrasts, (C, J)."""
        return self.fit.problem.targets.Q

    def page_form(self) -> Form:
        """Return the form from which a page computes covariances of latent values."""
        if not (len(self.scale) or self.offset):
            raise page_forms.NoFormError(
                "The model has no columns and no offset, so its prediction is constant."
            )
        return {
            "center": self.center.tolist(),
            "scale": self.scale.tolist(),
            "directions": None,
            "ones": self.offset,
            **page_forms.find_form(self.fit),
            "outside": 0.0,
        }

    def page_regression(self, columns: Form, coef: Array, intercept: Any, noise: Any) -> Form:
        """Return the form of a regression on columns with these weights and normal noise."""
        latent = page_forms.form_weights(coef, intercept, self.page_form())
        return page_forms.form_linear(columns, latent, page_forms.form_normal_noise(noise))

    @property
    def _shift(self) -> Array:
        """Shift of each latent value, (C,)."""
        return self.fit.problem.targets.shift

    @property
    def _weights(self) -> Array:
        """Mean weights of the latent values, (m, C), the offsets last."""
        return self.fit.weights.W @ self.contrasts.T


def _reorder_columns(fit: LaplaceFit, columns: NDArray[np.intp]) -> LaplaceFit:
    """The same with its columns in this order."""
    p, (M, J), mask = fit.problem, fit.problem.shape, fit.problem.prior.mask
    own = columns[: p.prior.n_weights]
    precision = (
        p.prior.precision_per_weight(J)[own] if mask is None else np.asarray(p.prior.precision)[own]
    )
    problem = replace(
        p,
        design=p.design.select_columns(columns),
        prior=replace(p.prior, precision=precision),
    )
    used = np.ones((M, J), dtype=np.bool_) if mask is None else mask
    number = np.cumsum(used).reshape(M, J) - 1
    order = number[columns][used[columns]]
    weights = replace(fit.weights, W=fit.weights.W[columns])
    return LaplaceFit(problem, weights, _reorder_factor(fit.L, order), fit.log_likelihood)


def _reorder_classes(fit: ClassNormals, columns: NDArray[np.intp]) -> ClassNormals:
    """The same of many classes."""
    p = fit.problem
    own = np.asarray(p.prior.precision)[columns[: p.prior.n_weights]]
    problem = replace(
        p, design=p.design.select_columns(columns), prior=replace(p.prior, precision=own)
    )
    weights = replace(fit.weights, W=fit.weights.W[columns])
    factors = np.stack([_reorder_factor(L, columns) for L in fit.factors])
    return replace(fit, problem=problem, weights=weights, factors=factors)


def _reorder_factor(L: Array, order: NDArray[np.intp]) -> Array:
    """The factor of L L^T with rows and columns in this order."""
    if np.array_equal(order, np.arange(len(order))):
        return L
    # A factorisation of the product could fail where this one, of its root, cannot.
    R = linalg.HouseholderQR.factorize(np.asfortranarray(np.tril(L)[order].T)).R
    signs = np.where(np.diagonal(R) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray((signs[:, None] * R).T)
