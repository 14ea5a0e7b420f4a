from posterity.classification.base import Classifier
from posterity.classification.bayesian import BayesianLogisticRegression
from posterity.classification.boosted_trees import BoostedTreesClassifier
from posterity.classification.discrete import DiscreteClassifier
from posterity.classification.dual import DualLogisticRegression
from posterity.classification.gaussian_process import GaussianProcessClassifier
from posterity.classification.kernel_logistic import KernelLogisticRegression
from posterity.classification.logistic import LogisticRegression, SeparationWarning
from posterity.classification.logistic_tree import LogisticTreeClassifier
from posterity.classification.logit_boost import LogitBoostClassifier
from posterity.classification.mixture_of_experts import MixtureOfExpertsClassifier
from posterity.classification.random_fern import RandomFernClassifier
from posterity.classification.random_forest import RandomForestClassifier
from posterity.classification.random_tree import RandomTreeClassifier
from posterity.classification.relevance_vector import RelevanceVectorClassifier
from posterity.classification.sparse_logistic import SparseLogisticRegression
from posterity.classification.stagewise import StagewiseClassifier

__all__ = [
    "BayesianLogisticRegression",
    "BoostedTreesClassifier",
    "Classifier",
    "DiscreteClassifier",
    "DualLogisticRegression",
    "GaussianProcessClassifier",
    "KernelLogisticRegression",
    "LogisticRegression",
    "LogisticTreeClassifier",
    "LogitBoostClassifier",
    "MixtureOfExpertsClassifier",
    "RandomFernClassifier",
    "RandomForestClassifier",
    "RandomTreeClassifier",
    "RelevanceVectorClassifier",
    "SeparationWarning",
    "SparseLogisticRegression",
    "StagewiseClassifier",
]
