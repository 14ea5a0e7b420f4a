"""Estimators of trees, ferns, forests and boosted trees, of numbers and of classes."""
