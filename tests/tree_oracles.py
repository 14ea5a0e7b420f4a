"""Slow and plain versions of what trees do, for tests to compare with."""

from __future__ import annotations

import numpy as np

from posterity.trees.families.columns import Columns


def class_log_likelihood(target, weights, n_classes):
    """Of rows whose class probabilities are those of maximum likelihood."""
    counts = np.bincount(target, weights=weights, minlength=n_classes)
    present = counts[counts > 0]
    return float(np.sum(present * np.log(present / present.sum())))


def best_split(codes, min_samples_leaf, weights, value):
    """The first (test, code) of the largest value(left) + value(right); value takes a mask."""
    best, chosen = -np.inf, (-1, 0)
    for k in range(len(codes)):
        for c in np.unique(codes[k])[:-1]:
            left = codes[k] <= c
            if min(weights[left].sum(), weights[~left].sum()) < min_samples_leaf:
                continue
            v = value(left) + value(~left)
            if v > best + 1e-9:
                best, chosen = v, (k, int(c))
    return chosen, best


def leaf_of(family, tree, X):
    """One row after the other, from the root down."""
    nodes = np.zeros(1, dtype=np.int32)
    leaves = []
    for place in range(len(X)):
        at = tree.roots[0]
        while at >= 0:
            answer = family.respond(X, nodes + place, tree.tests[at][None, None], nodes)[0, 0]
            at = tree.children[at, 0 if answer <= tree.thresholds[at] else 1]
        leaves.append(~at)
    return np.array(leaves)


def grown(way, X, target, criterion, rules, *, weights=None, seed=0, family=None, codes=True):
    """A tree or fern of all rows, and its family."""
    n = len(target)
    ones = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    of = (family or Columns()).adapt_to(X, ones)
    rows = of.prepare_rows(X) if codes else X
    places = np.arange(n, dtype=np.int32)
    return of, way(of, rows, places, target, ones, criterion, rules, np.random.default_rng(seed))
