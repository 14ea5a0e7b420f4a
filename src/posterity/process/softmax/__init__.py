"""Coupled latent functions of several classes."""
