"""What transformers share that see rows, or points behind them, through a kernel."""

from __future__ import annotations

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from posterity import models


class KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, models.KernelModel):
    """A transformer with a kernel, whose answers of Dask rows are lazy."""
