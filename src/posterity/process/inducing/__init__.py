"""Gaussian process regression through inducing points."""
