"""What transformers share that see rows, or points behind them, through a kernel."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from posterity import models
from posterity.latent import lazy_forms


class KernelTransformer(
    models.LazyQueries, ClassNamePrefixFeaturesOutMixin, TransformerMixin, models.KernelModel
):
    """A transformer with a kernel, whose answers of Dask rows are lazy."""

    _lazy_answers: ClassVar[dict[str, models.Answer]] = lazy_forms.TRANSFORMERS
