"""Latent points: unknown inputs of a Gaussian process, found with it from its outputs."""
