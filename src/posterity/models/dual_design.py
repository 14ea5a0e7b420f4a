"""The design of dual models: one column for each training row."""

import numpy as np

from posterity.arrays import Array


def dual_design(K: Array, row_weights: Array, *, centred: bool) -> Array:
    """The kernel between queries and training rows, (n, N), as the columns of a dual model.

    Parameters
    ----------
    K : array (n, N)
        Kernel between queries and training rows.
    row_weights : array (N,)
        How often each training row counts. One that counts n times has n dual weights on one
        column, which is one weight of n times the prior variance: the column is scaled by the root
        of n.
    centred : bool
        Whether the kernel is taken about the centre of the training rows, as where there is an
        offset.
    """
    about = (K @ row_weights / row_weights.sum())[:, None] if centred else 0.0  # [J 43]
    return (K - about) * np.sqrt(row_weights)
