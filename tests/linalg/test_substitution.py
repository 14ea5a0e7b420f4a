"""Triangular solves by blocks agree with LAPACK's."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.linalg import solves


@for_each("transposed", [False, True])
@for_each("size", [1, 3, 7, 8, 50])
def test_blocks_solve_what_the_whole_solves(size: int, transposed: bool) -> None:
    rng = np.random.default_rng(size)
    L = rng.standard_normal((21, 21)) + 6.0 * np.eye(21)  # above the diagonal: to be ignored
    B = rng.standard_normal((21, 4))
    X = solves.solve_lower_by_blocks(L, B, transposed=transposed, size=size)
    T = np.tril(L).T if transposed else np.tril(L)
    np.testing.assert_allclose(T @ X, B, atol=1e-12)


def test_large_factors_on_a_device_are_solved_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(solves, "_SIZE", 4)
    rng = np.random.default_rng(0)
    L = np.tril(rng.standard_normal((11, 11))) + 5.0 * np.eye(11)
    b = rng.standard_normal(11)
    assert solves.are_blocks_worthwhile(torch.asarray(L))
    assert not solves.are_blocks_worthwhile(L)
    for solve, T in ((linalg.solve_lower, L), (linalg.solve_lower_transposed, L.T)):
        x = solve(torch.asarray(L), torch.asarray(b))
        np.testing.assert_allclose(T @ x.numpy(), b, atol=1e-12)
