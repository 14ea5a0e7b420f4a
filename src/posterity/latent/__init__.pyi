from posterity.latent.gplvm_model import GPLVM
from posterity.latent.hierarchical_gplvm import HierarchicalGPLVM
from posterity.latent.kernel_k_means import KernelKMeans
from posterity.latent.kernel_pca import KernelPCA
from posterity.latent.pca import PCA
from posterity.latent.whitening import Whitening

__all__ = ["GPLVM", "PCA", "HierarchicalGPLVM", "KernelKMeans", "KernelPCA", "Whitening"]
