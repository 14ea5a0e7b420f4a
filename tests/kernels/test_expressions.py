"""Any expression of kernels is a kernel: values, derivatives and printing, for random ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import draws

from posterity import kernels, testing

N, D = 6, 3
numbers = st.floats(0.3, 3.0).map(lambda v: round(v, 3))
each = st.lists(numbers, min_size=D, max_size=D)
value = numbers | each


def overlap(X, Z):
    return sum(np.minimum(X[:, [d]], Z[:, d]) for d in range(X.shape[1]))


leaves = st.one_of(
    st.builds(kernels.RBF, value),
    st.builds(kernels.Matern, value, smoothness=st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(kernels.RationalQuadratic, value, shape=numbers),
    st.builds(kernels.Constant, numbers),
    st.builds(kernels.White, numbers),
    st.builds(kernels.Linear, value),
    st.builds(kernels.Polynomial, st.integers(1, 3), offset=numbers),
    st.just(kernels.Cosine()),
    st.builds(kernels.Periodic, numbers, length_scale=numbers),
    st.builds(kernels.ChiSquared, numbers),
    st.just(kernels.AdditiveChiSquared()),
    st.just(kernels.Function(overlap)),
    st.builds(kernels.Columns, st.builds(kernels.RBF, numbers), st.sampled_from([0, -1, (2, 0)])),
)
categories = st.builds(kernels.Categorical, value)


def larger(inner):
    """Sums, products and multiples, and parts of which some are held."""
    held = st.builds(
        lambda k, n: k.fixed(n) if n in _names(k) else k.fixed(), inner, st.just("variance")
    )
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | numbers),
        st.builds(lambda a, b: a * b, inner, inner | numbers),
        st.builds(lambda a, b: b * a, inner, numbers),
        st.builds(kernels.Columns, inner, st.just((0, 1, 2)) | st.just((2, -3, 1))),
        held,
    )


def _names(kernel):
    return {name.rpartition("__")[2] for name in kernel.names}


expressions = st.recursive(leaves, larger, max_leaves=5)
with_categories = st.recursive(leaves | categories, larger, max_leaves=5)


def histograms(seed):
    """Rows that every kernel takes: above zero, and nowhere close to a kink of any."""
    rng = np.random.default_rng(seed)
    grid = np.tile(np.linspace(0.2, 1.9, N)[:, None], D)
    return rng.permuted(grid, axis=0) + rng.uniform(0.0, 0.1, size=(N, D))


@settings(max_examples=draws(100, least=10), deadline=None)
@given(expressions, st.integers(0, 2**16))
def test_every_expression_keeps_the_promises_of_a_kernel(kernel, seed):
    testing.check_kernel(kernel, histograms(seed), random_state=seed)


@settings(max_examples=draws(40, least=10), deadline=None)
@given(with_categories, st.integers(0, 2**16))
def test_categories_may_be_part_of_any_expression(kernel, seed):
    codes = np.random.default_rng(seed).integers(1, 4, size=(N, D)).astype(float)
    testing.check_kernel(kernel, codes, inputs=False, random_state=seed)


@settings(max_examples=draws(60, least=10), deadline=None)
@given(expressions, expressions)
def test_values_add_and_multiply_as_kernels_do(a, b):
    X = histograms(0)
    for Z in (None, X[:4]):
        np.testing.assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z), rtol=1e-14)
        np.testing.assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z), rtol=1e-14)
        np.testing.assert_allclose((2.0 * a)(X, Z), 2.0 * a(X, Z), rtol=1e-14)


@settings(max_examples=draws(60, least=10), deadline=None)
@given(expressions, st.integers(0, 2**16))
def test_holding_parameters_leaves_the_other_derivatives_as_they_were(kernel, seed):
    X = histograms(seed)
    G = np.random.default_rng(seed).normal(size=(N, N))
    full = dict(zip(kernel.names, kernel.pullback(X, None, G), strict=True))
    held = kernel.fixed(*[name for name in kernel.names[::2] if "[" not in name] or ())
    for name, slope in zip(held.names, held.pullback(X, None, G), strict=True):
        np.testing.assert_allclose(slope, full[name], rtol=1e-12, atol=1e-12)
