"""Latent points known only to a normal distribution each: the Bayesian latent variable model."""
