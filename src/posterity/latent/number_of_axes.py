"""The number of principal axes: given, by a share of the variance, or by the evidence."""

from __future__ import annotations

import numbers
from typing import Literal, TypeAlias, TypeGuard

import numpy as np

from posterity.latent.components import Spectrum

Number: TypeAlias = int | float | Literal["evidence"] | None


def is_count(n_components: Number) -> TypeGuard[int]:
    """Whether it is a whole number."""
    return isinstance(n_components, numbers.Integral) and not isinstance(n_components, bool)


def check_n_components(n_components: Number) -> None:
    """Refuse what no rows could make sense of."""
    if n_components is None or (is_count(n_components) and n_components >= 0):
        return
    if isinstance(n_components, str) and n_components == "evidence":
        return
    fraction = isinstance(n_components, numbers.Real) and not is_count(n_components)
    if not fraction or isinstance(n_components, bool) or not 0.0 < n_components < 1.0:
        raise ValueError(
            f"n_components={n_components!r} must be a whole number of at least 0, a share of the "
            "variance between 0 and 1, 'evidence', or None for all."
        )


def choose_number(n_components: Number, spectrum: Spectrum) -> int:
    """The number of axes, given their variances."""
    most = min(int(spectrum.count), spectrum.n_features)
    if n_components is None:
        return most
    if isinstance(n_components, str):
        distinct = min(most, spectrum.n_features - 1)  # with all D the model is that of D - 1
        return int(np.argmax(spectrum.log_evidences[: distinct + 1]))
    if not is_count(n_components):
        return min(spectrum.enough_for(float(n_components)), most)
    if n_components > most:
        raise ValueError(
            f"n_components={n_components} is more than {most}, the least of {spectrum.count:g} "
            f"rows and {spectrum.n_features} columns: there are no more axes than that."
        )
    return int(n_components)


def pays_to_project(n_components: Number, shape: tuple[int, int]) -> bool:
    """Whether random projection saves three quarters of the work of an exact route.

    An exact one takes N D m operations for squares and the like of 25 m^3 for eigenvectors, m the
    shorter side; a projection of l columns some ten passes of 4 N D l.
    """
    if n_components is None or not is_count(n_components):
        return False
    (N, D), k = shape, int(n_components)
    m, l = min(N, D), k + max(10, k // 2)
    return 4.0 * 40.0 * N * D * l < N * D * m + 25.0 * m**3
