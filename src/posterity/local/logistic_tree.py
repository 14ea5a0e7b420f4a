"""Linear experts on the branches of a tree of gates, which classify together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays, distributions, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference import rows as equal_rows
from posterity.local import (
    HardTree,
    SoftTree,
    TreeFit,
    TreeTrainer,
    score_depths,
)
from posterity.local.gated_classifiers import GatedClassifier
from posterity.models import Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION
from posterity.page_forms import Form

TRAININGS = ("joint", "branchwise")
GATES = ("soft", "hard")


@declare_parameters
class LogisticTreeClassifier(GatedClassifier):
    """Logistic regression with a tree of soft or hard gates.  [P9 9.56]

    The latent value of a class is a sum of linear functions, one for each branch of a complete
    binary tree, weighted by the product of the gates on the path to the branch. A gate is the
    sigmoid of a linear function. Without a gate this is logistic regression, with one it is
    branching logistic regression. Two classes have one latent value, more classes have one each,
    with the same gates.

    This is a plug-in model: gates and experts have their most probable weights, and predictions do
    not average over their uncertainty. There are many local maxima; the best of several searches is
    kept.

    Parameters
    ----------
    depth : int, optional
        Number of gates from the root to a leaf. None: chosen from 0 to ``max_depth`` by the mean
        log score of held-out rows, then fitted to all rows.
    training : {"joint", "branchwise"}, default="joint"
        "branchwise": fit one gate and the two branches below it at a time, from the root down, with
        all else fixed. "joint": then fit everything together, from there and from random weights.
    gates : {"soft", "hard"}, default="soft"
        "soft": a row follows both branches of a gate, with weights. "hard": a row follows one of
        them, which makes predictions faster and discontinuous at a gate. Hard gates are learned as
        soft ones that become steeper while all weights adapt, and cut at one half; the leaves are
        then fitted again to their rows.
    max_depth : int, default=3
        Largest depth to choose from.
    validation_fraction : float, default=0.2
        Fraction of the rows of each class that is held out to choose the depth.
    prior_variance : float, default=2.0
        Prior variance of each weight, for columns scaled to unit standard deviation. It keeps the
        weights finite when gates or experts separate the rows perfectly.

    Attributes
    ----------
    depth_ : int
        Chosen, or as given.
    validation_scores_ : array of shape (1 + max_depth,) or None
        Mean log score of the held-out rows for each depth; None if the depth was given.
    gate_coef_, gate_intercept_ : array of shape (K, M) and (K,)
        Weights of the gates in the units of the data, from the root down, each level from left to
        right: below gate k are nodes 2k + 1 and 2k + 2. A positive value leads to the right.
    expert_coef_, expert_intercept_ : array of shape (E, M) and (E,), or (E, C, M) and (E, C)
        Weights of the branches, in the same order: branch e leads to node e + 1, except for the
        only one of a tree of depth 0.
    leaf_coef_, leaf_intercept_ : array of shape (K + 1, M) and (K + 1,), or with C as above
        Sum of the branches on the path to each leaf. With hard gates these are the weights for all
        rows of the leaf.
    tree_ : SoftTree or HardTree
        Gates and branches in the units of standardized features.
    n_iter_ : int
        Number of iterations of the best search, or of all consecutive ones.
    stop_reason_ : str
        Why the last search ended, or the first that did not converge.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LogisticTreeClassifier
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0.0  # not linearly separable
    >>> model = LogisticTreeClassifier(depth=1, random_state=0).fit(X, y)
    >>> model.predict_proba([[0.5, 0.5], [-0.5, 0.5]]).round(2)
    array([[0.02, 0.98],
           [0.97, 0.03]])
    >>> model.gate_proba([[0.5, 0.5], [-0.5, 0.5]]).round(2)
    array([[0.97, 0.03],
           [0.02, 0.98]])
    """

    depth: int | None = field(default=None, kw_only=False)
    training: str = "joint"
    gates: str = "soft"
    max_depth: int = 3
    validation_fraction: float = 0.2
    prior_variance: float = 2.0

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal",
        feature_space="explicit, with a tree of gates",
        inference="most probable weights",
        advice="regimes within regimes, and fast predictions",
        page="trees",
        candidates=(
            Member("logistic-tree", 150, "N D C an iteration", {"depth": 2, "n_restarts": 0}),
        ),
    )

    tree_: SoftTree | HardTree = field(init=False)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The predictive distribution of the class at each row."""
        Z = self._queries(X)
        return classes.predict_at_latents(self.tree_.latents(Z))

    @models.refuse_partitions
    def gate_proba(self, X: ArrayLike) -> Array:
        """Trust in each leaf at each row, (n, K + 1): the product of its gates."""
        Z = self._queries(X)
        return self.tree_.leaf_probabilities(Z)

    @models.refuse_partitions
    def apply(self, X: ArrayLike) -> NDArray[np.intp]:
        """The leaf that is trusted most at each row, (n,), counted from the left."""
        Z = self._queries(X)
        return self.tree_.apply(Z)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        grown = self.tree_
        tree = grown.tree if isinstance(grown, HardTree) else grown
        return {
            "kind": "logistic_tree",
            **classes.form_experts(self),
            "first": tree.first,
            "steepness": tree.steepness,
            "hard": tree is not grown,
        }

    def _check_parameters(self) -> None:
        for name in ["max_depth"] if self.depth is None else ["depth", "max_depth"]:
            validation.check_count(getattr(self, name), name, least=0)
        super()._check_parameters()
        validation.check_choice(self.training, "training", TRAININGS)
        validation.check_choice(self.gates, "gates", GATES)
        if validation.check_positive(self.validation_fraction, "validation_fraction") >= 1.0:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} must be less than one."
            )

    def _learn(self, Z: Array, y: Array, counts: Array) -> None:
        rng = arrays.generator(self.random_state)
        trainer = self._trainer()
        self.validation_scores_ = None
        if self.depth is None:
            held = equal_rows.draw_held_out_counts(y, counts, self.validation_fraction, rng=rng)
            self.validation_scores_ = score_depths(
                trainer, Z, y, counts, held, max_depth=self.max_depth, rng=rng
            )
            self.depth_ = int(np.argmax(self.validation_scores_))
        else:
            self.depth_ = int(self.depth)
        self._adopt(trainer.fit(Z, y, counts, depth=self.depth_, rng=rng))

    def _trainer(self) -> TreeTrainer:
        return TreeTrainer(
            classes.likelihood_of_classes(len(self.classes_)),
            prior_variance=self.prior_variance,
            jointly=self.training == "joint",
            hard=self.gates == "hard",
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )

    def _adopt(self, found: TreeFit) -> None:
        """Publish a fit, with weights in the units of the data."""
        self.tree_ = found.model
        self._publish_weights(found.tree.gates, found.tree.experts)
        leaves = found.tree.sum_to_leaves()
        self.leaf_coef_, self.leaf_intercept_ = self._unscale_experts(leaves)
        self.log_posterior_ = found.log_posterior
        self.n_iter_, self.stop_reason_ = found.n_iter, found.stop_reason
