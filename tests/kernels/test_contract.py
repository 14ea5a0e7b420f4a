"""Every kernel keeps the same promises: one row of a table each."""

import inspect
import pickle
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels, testing
from posterity.kernels import kernel as kernel_module


def overlap(X, Z):
    """A kernel as a user may write it: min(x, z), added over columns."""
    return sum(np.minimum(X[:, [d]], Z[:, d]) for d in range(X.shape[1]))


def numbers():
    return np.random.default_rng(0).normal(size=(9, 3))


def shares():
    return np.random.default_rng(1).dirichlet(np.full(3, 2.0), size=9)


def codes():
    return np.random.default_rng(2).integers(0, 4, size=(9, 3)).astype(float)


def words():
    return ["abracadabra", "cadabra", "banana", "bandana", "", "ananas", "dab"]


def sentences():
    texts = ["(S (NP dogs) (VP bark))", "(S (NP cats) (VP (V chase) (NP dogs)))", "(S (VP bark))"]
    return [kernels.parse_tree(text) for text in texts]


def molecules():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    return [
        kernels.Graph(["C", "C", "O"], [(0, 1), (1, 2)]),
        kernels.Graph(["C", "C", "C", "N"], ring),
        kernels.Graph(["O"]),
        kernels.Graph(["C", "C", "C", "O"], ring[:3]),
    ]


@dataclass(frozen=True)
class Case:
    """A kernel, rows to try it on, and whether it has derivatives in them."""

    kernel: kernels.Kernel
    rows: Any = numbers
    inputs: bool = True


CASES = [
    Case(kernels.RBF(0.7)),
    Case(kernels.RBF([0.7, 1.0, 3.0])),
    Case(kernels.RBF(ard=True)),
    Case(kernels.Matern(0.7, smoothness=0.5)),
    Case(kernels.Matern([0.7, 1.0, 3.0], smoothness=1.5)),
    Case(kernels.Matern()),
    Case(kernels.RationalQuadratic(0.7, shape=0.4)),
    Case(kernels.RationalQuadratic([0.7, 1.0, 3.0]).fixed("shape")),
    Case(kernels.Constant(0.3)),
    Case(kernels.White(0.3)),
    Case(kernels.Linear(0.3)),
    Case(kernels.Linear([0.3, 1.0, 2.0])),
    Case(kernels.Linear(ard=True)),
    Case(kernels.Polynomial()),
    Case(kernels.Polynomial(3, offset=0.4)),
    Case(kernels.Polynomial(1, offset=0.4).fixed()),
    Case(kernels.Cosine()),
    Case(kernels.Periodic(2.0, length_scale=0.8)),
    Case(kernels.Periodic(2.0).fixed("period")),
    Case(kernels.ChiSquared(2.0), shares),
    Case(kernels.AdditiveChiSquared(), shares),
    Case(kernels.Categorical(0.8), codes, inputs=False),
    Case(kernels.Categorical([0.8, 1.0, 2.0]), codes, inputs=False),
    Case(kernels.Columns(kernels.RBF([0.7, 1.0]), [-1, 0])),
    Case(kernels.Columns(kernels.White(0.1), 1)),
    Case(kernels.Function(overlap), shares),
    Case(kernels.Spectrum(2), words, inputs=False),
    Case(kernels.Subsequence(2, decay=0.6), words, inputs=False),
    Case(kernels.SubsetTree(0.6), sentences, inputs=False),
    Case(kernels.WeisfeilerLehman(2), molecules, inputs=False),
    Case(kernels.ShortestPath(), molecules, inputs=False),
    Case(kernels.Scaled(kernels.RBF(0.7), 2.0)),
    Case(kernels.Sum(kernels.Linear(2.0), kernels.Matern(1.0).bounded(length_scale=(0.1, 10.0)))),
    Case(kernels.Product(kernels.Linear(2.0), kernels.White(0.3))),
]
ids = [f"{i}-{case.kernel}" for i, case in enumerate(CASES)]
every_kernel = pytest.mark.parametrize("case", CASES, ids=ids)


def test_every_public_kernel_is_in_the_table():
    public = {getattr(kernels, name) for name in kernels.__all__}
    classes = {c for c in public if inspect.isclass(c) and issubclass(c, kernels.Kernel)}
    concrete = {c for c in classes if not inspect.isabstract(c)}
    assert concrete == {type(case.kernel) for case in CASES}


FLAGS = {
    (type(case.kernel), f.name)
    for case in CASES
    for f in fields(case.kernel)
    if isinstance(getattr(case.kernel, f.name), bool)
}


@for_each(("kind", "name"), sorted(FLAGS, key=str))
@for_each("value", [2.0, 1, "yes", None, [True]])
def test_a_flag_is_true_or_false(kind, name, value):
    kernel = next(case.kernel for case in CASES if type(case.kernel) is kind)
    with pytest.raises(ValueError, match=rf"{kind.__name__}\.{name}=.* must be True or False"):
        replace(kernel, **{name: value})
    assert getattr(replace(kernel, **{name: np.False_}), name) is False


def test_a_number_in_the_place_of_a_flag_is_refused():
    assert {kind for kind, name in FLAGS if name == "ard"} == {
        kernels.RBF,
        kernels.Matern,
        kernels.RationalQuadratic,
        kernels.Linear,
        kernels.Categorical,
    }
    with pytest.raises(ValueError, match=r"RationalQuadratic\.ard=2\.0 must be True or False"):
        kernels.RationalQuadratic(1.0, 2.0)


@every_kernel
def test_keeps_the_promises_of_a_kernel(case):
    testing.check_kernel(case.kernel, case.rows(), inputs=case.inputs)


UNEQUAL = [  # on the diagonal, through every way of making kernels of kernels
    Case(2.0 * kernels.Linear(0.3)),
    Case(kernels.Linear(0.3) * kernels.Polynomial(2, offset=0.4)),
    Case(kernels.Columns(kernels.Linear([0.3, 1.0]), [-1, 0])),
]


@pytest.mark.parametrize(
    "case", [case for case in CASES + UNEQUAL if case.inputs], ids=lambda case: f"{case.kernel}"
)
def test_slope_of_the_diagonal_in_the_inputs_is_that_of_differences(case, monkeypatch):
    monkeypatch.setattr(kernel_module, "_DIAGONAL_ROWS", 4)
    X, g, h = case.rows(), np.random.default_rng(3).normal(size=9), 1e-5
    found = case.kernel.diag_pullback_inputs(X, g)
    steps = h * np.eye(X.shape[1])
    change = [case.kernel.diag(X + step) - case.kernel.diag(X - step) for step in steps]
    assert found == pytest.approx(g[:, None] * np.transpose(change) / (2.0 * h), abs=1e-6)


@for_each("case", [case for case in CASES if case.inputs], ids=lambda case: f"{case.kernel}")
@for_each("other", [None, slice(2, 7)], ids=["with themselves", "with others"])
def test_both_slopes_at_once_are_those_one_by_one(case, other):
    X = case.rows()
    tangent = case.kernel.tangent(X, None if other is None else X[other].copy())
    G, K = np.random.default_rng(4).normal(size=(2, *tangent.value.shape))
    theta, inputs = tangent.both(G)
    np.testing.assert_allclose(theta, tangent.parameters(G), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(inputs, tangent.inputs(G), rtol=1e-10, atol=1e-12)
    tangent.write(K)
    np.testing.assert_allclose(K, tangent.value, rtol=1e-14)


@every_kernel
def test_pickles_as_the_value_it_is(case):
    assert pickle.loads(pickle.dumps(case.kernel)) == case.kernel


@every_kernel
def test_scaled_to_the_data_it_still_keeps_them(case):
    testing.check_kernel(case.kernel.start(case.rows(), variance=4.0), case.rows(), inputs=False)


@every_kernel
def test_is_hashable_and_equal_to_itself_only(case):
    assert case.kernel in {case.kernel}
    assert case.kernel != 2.0 * case.kernel


@every_kernel
def test_held_parameters_leave_theta_and_the_values_as_they_are(case):
    held = case.kernel.fixed()
    assert held.names == []
    assert held.search_start(case.rows())[1].shape == (0, 2)
    np.testing.assert_array_equal(held(case.rows()), case.kernel(case.rows()))
    assert held.pullback(case.rows(), None, case.kernel(case.rows())).shape == (0,)


@every_kernel
def test_a_single_row_and_no_row_at_all_have_matrices_too(case):
    X = case.rows()
    for n in (0, 1):
        assert case.kernel(X[:n]).shape == (n, n)
        assert case.kernel(X[:n], X).shape == (n, len(X))
        assert case.kernel.diag(X[:n]).shape == (n,)


@every_kernel
def test_the_same_rows_in_other_memory_make_the_same_matrix(case):
    X = case.rows()
    whole = case.kernel(X, list(X) if isinstance(X, list) else X.copy())
    without_white = case.kernel(X, X)
    np.testing.assert_allclose(whole, without_white, rtol=1e-10, atol=1e-12)


@every_kernel
def test_matrices_are_symmetric_to_the_last_bit(case):
    K = case.kernel(case.rows())
    np.testing.assert_array_equal(K, K.T)


@dataclass(frozen=True, repr=False)
class Triangle(kernels.Kernel):
    """A user's kernel that knows nothing but its values."""

    width: float | None = kernels.positive()

    def _block(self, X, Z):
        return np.maximum(0.0, 1.0 - abs(X - Z.T) / self.width)


@for_each("n", [5, 150])
def test_the_general_answers_serve_a_kernel_that_only_has_values(n):
    times = np.linspace(0.0, 9.0, n)[:, None]  # no two of them a width apart
    testing.check_kernel(Triangle(2.0), times)
    testing.check_kernel(Triangle() + kernels.White(0.1) * Triangle(1.0), times)
    assert str(Triangle(2.0)) == "Triangle(2)"
