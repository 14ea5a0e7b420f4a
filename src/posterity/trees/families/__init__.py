"""Families of test functions: what rows are asked."""
