"""Precisions of chosen columns of two classes, under a prior with tails that can be normalised.

Columns are chosen by the evidence alone, in which a weight may have any size. Where columns tell
two classes apart, that evidence is level in ever larger weights, and says nothing of how sure a
prediction is. Weights of classes have a unit, though: a latent value of ten is near certainty. So
precisions that predict are learned under a prior whose large weights are those of a Cauchy
distribution of unit scale, for columns of unit variance; smaller ones may have any size, as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import climb
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.weights.laplace import LaplaceFit

_CAUCHY = 1.0  # degrees of freedom: the smallest of any Student-t that is commonly used


@dataclass(frozen=True)
class CauchyTails:
    """A sparse prior of at least one degree of freedom where a precision is below one.

    Examples
    --------
    >>> tails = CauchyTails(priors.Sparse())
    >>> [round(tails.total(h), 2) for h in ([0.01], [1.0], [100.0])]
    [-1.81, 0.0, 0.0]
    """

    prior: priors.Sparse

    def total(self, h: ArrayLike) -> float:
        """What the prior of all precisions adds to the evidence."""
        more = self.degrees_at(h) - self.prior.degrees_of_freedom
        x = np.minimum(h, 1.0)
        return self.prior.total(h) + 0.5 * float(np.sum(more * (np.log(x) - x + 1.0)))

    def penalty_slope(self, h: ArrayLike) -> Array:
        """Derivative of the total in the log of each precision."""
        return np.asarray(0.5 * self.degrees_at(h) * (1.0 - np.asarray(h)))

    def degrees_at(self, h: ArrayLike) -> Array:
        """Degrees of freedom of the prior of a precision h."""
        nu = self.prior.degrees_of_freedom
        return np.where(np.asarray(h) < 1.0, max(nu, _CAUCHY), nu)


def learn(chosen: Chosen, fit: LaplaceFit, prior: priors.Sparse) -> tuple[Chosen, LaplaceFit]:
    """The same columns, at the precisions of largest posterior.

    Parameters
    ----------
    chosen : Chosen
    fit : LaplaceFit
        Of one latent value, at the precisions of ``chosen``.
    prior : Sparse
        By which the columns were chosen.
    """
    p, tails = fit.problem, CauchyTails(prior)
    kept = climb.Kept.of(chosen.places, chosen.precision, p.design, p.targets, tails, fit.weights.W)
    held = np.zeros((len(p.targets.likelihood.names), 2))
    with linalg.limited(p.design.n_columns):
        best = climb.levelled(kept, tails, held)
    return replace(chosen, precision=best.precision), best.fit
