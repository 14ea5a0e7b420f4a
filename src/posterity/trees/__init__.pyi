from posterity.trees.estimators.boosted_classifier import BoostedTreesClassifier
from posterity.trees.estimators.boosted_regressor import BoostedTreesRegressor
from posterity.trees.estimators.logit_boost import LogitBoostClassifier
from posterity.trees.estimators.random_forest import (
    RandomFernClassifier,
    RandomFernRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
    RandomTreeRegressor,
)
from posterity.trees.families.columns import Columns
from posterity.trees.families.family import Family, Function
from posterity.trees.families.projections import Differences, Orientations, Projections
from posterity.trees.structure import Trees

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "Columns",
    "Differences",
    "Family",
    "Function",
    "LogitBoostClassifier",
    "Orientations",
    "Projections",
    "RandomFernClassifier",
    "RandomFernRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreeClassifier",
    "RandomTreeRegressor",
    "Trees",
]
