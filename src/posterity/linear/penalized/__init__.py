"""Point estimates under penalties |w|^q: paths, coordinate descent, proximal Newton."""

from posterity.linear.penalized.minimise import (
    MinkowskiFit,
    minimise_penalized,
    minimise_penalized_squares,
)

__all__ = [
    "MinkowskiFit",
    "minimise_penalized",
    "minimise_penalized_squares",
]
