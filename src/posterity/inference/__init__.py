"""Inference from prior and likelihood to posterior; packages are imported by their names."""
