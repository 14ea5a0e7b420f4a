"""Checks for user-defined kernels and likelihoods."""

from posterity.testing.kernel_checks import check_kernel
from posterity.testing.likelihood_checks import check_likelihood

__all__ = ["check_kernel", "check_likelihood"]
