"""Every array library gives the numbers of NumPy, in arrays of its own."""

import array_api_compat
import numpy as np
import pytest

from posterity import arrays, kernels


def overlap(X, Z):
    xp = arrays.namespace(X)
    return xp.minimum(X[:, 0, None], Z[None, :, 0])


KERNELS = [
    kernels.RBF(0.7),
    kernels.RBF([0.7, 1.0, 3.0]),
    kernels.Matern(0.7, smoothness=0.5),
    kernels.Matern([0.7, 1.0, 3.0], smoothness=1.5),
    kernels.Matern(),
    kernels.RationalQuadratic(0.7, shape=0.4),
    kernels.Constant(0.3),
    kernels.White(0.3),
    kernels.Linear(ard=True),
    kernels.Linear([0.3, 1.0, 2.0]),
    kernels.Polynomial(3, offset=0.4),
    kernels.Cosine(),
    kernels.Periodic(2.0, length_scale=0.8),
    kernels.ChiSquared(2.0),
    kernels.AdditiveChiSquared(),
    kernels.Categorical([0.8, 1.0, 2.0]),
    kernels.Columns(kernels.RBF([0.7, 1.0]), [-1, 0]),
    kernels.Function(overlap),
    2.0 * kernels.RBF(0.7) + kernels.White(0.1) * kernels.Linear(1.0) + 3.0,
]


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_answer_is_that_of_numpy(kernel, library):
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(0.2, 2.0, size=(8, 3)), rng.uniform(0.2, 2.0, size=(5, 3))
    G, g = rng.normal(size=(8, 5)), rng.normal(size=8)
    there = pytest.importorskip(library)
    on = [there.asarray(a) for a in (X, Z, G, g)]

    def questions(X, Z, G, g):
        square = G @ G.T
        yield kernel(X)
        yield kernel(X, Z)
        yield kernel.diag(X)
        yield kernel.tangent(X, Z).value
        yield kernel.pullback_inputs(X, Z, G)
        yield kernel.pullback_inputs(X, None, square)
        yield kernel.diag_pullback_inputs(X, g)
        yield kernel.pullback(X, Z, G)
        yield kernel.pullback(X, None, square)
        yield kernel.diag_pullback(X, g)
        yield kernel.search_start(X)[1]

    for i, (a, b) in enumerate(zip(questions(*on), questions(X, Z, G, g), strict=True)):
        np.testing.assert_allclose(arrays.to_numpy(a), b, rtol=1e-9, atol=1e-9, err_msg=str(i))
        assert array_api_compat.is_numpy_array(a) == (i >= 7)


def test_single_precision_stays_single():
    torch = pytest.importorskip("torch")
    X = torch.asarray(np.ones((4, 3), dtype=np.float32))
    for kernel in KERNELS[:-2]:
        assert kernel(X).dtype == torch.float32, kernel
        assert kernel.diag(X).dtype == torch.float32, kernel
