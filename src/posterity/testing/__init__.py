"""The promises that kernels and likelihoods keep, to be tried on one of your own."""

from posterity.testing.kernel_checks import check_kernel
from posterity.testing.likelihood_checks import check_likelihood

__all__ = ["check_kernel", "check_likelihood"]
