"""Kernels of tables whose rows depend on each other by time or group."""

from posterity import kernels

_DIFFERENT = 0.03  # length scale at which two groups have nothing in common


def make_time_kernel() -> kernels.Kernel:
    """A walk along the first column, a trend, and a smooth function of all columns."""
    walk = kernels.Columns(kernels.Matern(smoothness=0.5), 0)
    return kernels.Scaled(walk) + kernels.Linear() + kernels.Scaled(kernels.RBF(ard=True))


def make_group_kernel(main: kernels.Kernel, *, slopes: bool = False) -> kernels.Kernel:
    """A function of the other columns, and an offset (and slopes) for each group, the last one.

    Groups are different, however their numbers differ, and so is one that was not seen.
    """
    same = kernels.Columns(kernels.Categorical(_DIFFERENT).fixed(), -1)
    others = kernels.Columns(main, -1, complement=True)
    offsets = others + kernels.Scaled(same)
    if not slopes:
        return offsets
    return offsets + same * kernels.Columns(kernels.Linear(), -1, complement=True)
