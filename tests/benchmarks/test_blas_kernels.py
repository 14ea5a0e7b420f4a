"""The comparison of kernels: sets of every size, and differences by the spread of the answers."""

import numpy as np
from benchmarks import blas_kernels


def test_sets_have_numbers_and_classes():
    for place in range(4):
        data = blas_kernels.make_set(place)
        assert 60 <= len(data.X) == len(data.y) == len(data.labels) <= 100
        assert len(np.unique(data.labels)) == 2 + place % 2


def test_differences_are_measured_by_the_spread():
    one = {"Model/0/means": np.array([0.0, 2.0]), "Model/0/seconds": np.array(1.0)}
    other = {"Model/0/means": np.array([0.0, 2.5])}
    assert blas_kernels.differences([one, other, one], "Model", "means", 1) == [0.5]
    missing = {"Model/0/means": np.array([np.nan, 2.0])}
    assert blas_kernels.differences([one, missing], "Model", "means", 1) == [np.inf]


def test_answers_are_those_of_columns_in_any_order():
    data = blas_kernels.make_set(0)
    plain = blas_kernels.answer("PCA", data)
    moved = blas_kernels.answer("PCA", data, np.arange(data.X.shape[1])[::-1])
    for part, values in plain.items():
        np.testing.assert_allclose(moved[part], values, atol=1e-9)
