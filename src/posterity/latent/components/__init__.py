"""Principal components, of rows and of kernels, their evidence, and kernel clusters."""

from posterity.latent.components.clusters import Clusters, find_clusters
from posterity.latent.components.kernel import (
    KernelComponents,
    center_kernel,
    decompose_kernel,
    fill_kernel_matrix,
    iterate_cross_blocks,
)
from posterity.latent.components.preimages import find_preimages
from posterity.latent.components.principal import Principal, Spectrum
from posterity.latent.components.routes import (
    FactoredSource,
    MemorySource,
    RowSource,
    StreamedSource,
    decompose_by_columns,
    decompose_by_projection,
    decompose_by_rows,
    select_counted_rows,
    sum_over_blocks,
)

__all__ = [
    "Clusters",
    "FactoredSource",
    "KernelComponents",
    "MemorySource",
    "Principal",
    "RowSource",
    "Spectrum",
    "StreamedSource",
    "center_kernel",
    "decompose_by_columns",
    "decompose_by_projection",
    "decompose_by_rows",
    "decompose_kernel",
    "fill_kernel_matrix",
    "find_clusters",
    "find_preimages",
    "iterate_cross_blocks",
    "select_counted_rows",
    "sum_over_blocks",
]
