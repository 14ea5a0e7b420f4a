"""Array libraries are told apart, and a random state of any kind becomes one Generator."""

import numpy as np
import pytest

from posterity import arrays


def test_numpy_arrays_are_recognised_and_come_back_untouched():
    x = np.arange(3.0)
    assert arrays.to_numpy(x) is x
    assert arrays.namespace(x, x).sqrt(np.float64(4.0)) == 2.0


def test_torch_arrays_keep_their_library_and_their_numbers():
    torch = pytest.importorskip("torch")
    x = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    np.testing.assert_array_equal(arrays.to_numpy(x), [0.0, 1.0, 2.0])
    assert "torch" in arrays.namespace(x).__name__


def test_arrays_of_two_libraries_do_not_mix():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError):
        arrays.namespace(np.ones(2), torch.ones(2))


@pytest.mark.parametrize("make", [lambda: 7, lambda: np.int64(7), lambda: np.random.RandomState(7)])
def test_the_same_random_state_gives_the_same_numbers(make):
    a, b = arrays.generator(make()), arrays.generator(make())
    assert isinstance(a, np.random.Generator)
    np.testing.assert_array_equal(a.random(5), b.random(5))


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(0)
    assert arrays.generator(rng) is rng
    assert arrays.generator(None) is not arrays.generator(None)
