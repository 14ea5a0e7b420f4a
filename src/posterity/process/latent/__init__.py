"""Latent Gaussian processes under any likelihood: Laplace and expectation propagation."""
