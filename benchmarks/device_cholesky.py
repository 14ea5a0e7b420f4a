"""The in-place Cholesky factorisation on a GPU, beside PyTorch's and CuPy's own.

A script of its own, ``python benchmarks/device_cholesky.py [folder]``: it needs a GPU, and PyTorch
or CuPy. Right first: the residual ratio of the factor in the manner of LAPACK, and how much memory
beyond the matrix was taken. Then the time, on fresh random matrices, medians of device events.
"""

import functools
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posterity import linalg

SIZES = (2048, 8192, 16384, 32768)
REPEATS = 3


def torch_case() -> dict[str, Any]:
    """What is done with PyTorch."""
    import torch

    def make(n: int, seed: int) -> Any:
        torch.manual_seed(seed)
        A = torch.randn(n, n, dtype=torch.float64, device="cuda") / n**0.5
        K = A @ A.T
        K.diagonal().add_(1.0)
        return K

    def peak(work: Callable[[], Any]) -> tuple[Any, int]:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        out = work()
        torch.cuda.synchronize()
        return out, torch.cuda.max_memory_allocated() - before

    return {
        "name": f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}",
        "make": make,
        "copy": lambda K: K.clone(),
        "theirs": torch.linalg.cholesky,
        "lower": torch.tril,
        "norm": lambda A: float(torch.linalg.norm(A)),
        "synchronize": torch.cuda.synchronize,
        "peak": peak,
    }


def cupy_case() -> dict[str, Any]:
    """What is done with CuPy."""
    import cupy

    pool = cupy.get_default_memory_pool()

    def make(n: int, seed: int) -> Any:
        rng = cupy.random.default_rng(seed)
        A = rng.standard_normal((n, n)) / n**0.5
        K = A @ A.T
        K[cupy.arange(n), cupy.arange(n)] += 1.0
        return K

    def peak(work: Callable[[], Any]) -> tuple[Any, int]:
        cupy.cuda.Device().synchronize()
        pool.free_all_blocks()
        before = pool.total_bytes()
        out = work()
        cupy.cuda.Device().synchronize()
        return out, pool.total_bytes() - before

    return {
        "name": f"CuPy {cupy.__version__}",
        "make": make,
        "copy": lambda K: K.copy(),
        "theirs": cupy.linalg.cholesky,
        "lower": cupy.tril,
        "norm": lambda A: float(cupy.linalg.norm(A)),
        "synchronize": cupy.cuda.Device().synchronize,
        "peak": peak,
    }


def time_factorisation(case: dict[str, Any], work: Callable[[Any], Any], n: int) -> float:
    """Median seconds on matrices not seen before; the first, which warms up, does not count."""
    seconds = []
    for seed in range(REPEATS + 1):
        K = case["make"](n, 100 + seed)
        case["synchronize"]()
        start = time.perf_counter()
        work(K)
        case["synchronize"]()
        seconds.append(time.perf_counter() - start)
        del K
    return statistics.median(seconds[1:])


def measure(case: dict[str, Any], n: int) -> dict[str, Any]:
    """Residual ratio, memory and time of both at one size."""
    K = case["make"](n, n)
    kept = case["copy"](K)
    extra = case["peak"](functools.partial(linalg.cholesky_in_place, K))[1]
    L = case["lower"](K)
    ratio = case["norm"](L @ L.T - kept) / (case["norm"](kept) * n * 2.0**-52)
    K = L = None
    theirs_extra = case["peak"](functools.partial(case["theirs"], kept))[1]
    kept = None
    flops = n**3 / 3
    ours, theirs = (
        time_factorisation(case, f, n) for f in (linalg.cholesky_in_place, case["theirs"])
    )
    return {
        "library": case["name"],
        "n": n,
        "residual_ratio": ratio,
        "extra_memory_of_matrix": extra / (8 * n * n),
        "theirs_extra_memory_of_matrix": theirs_extra / (8 * n * n),
        "seconds": ours,
        "theirs_seconds": theirs,
        "tflops": flops / ours / 1e12,
        "theirs_tflops": flops / theirs / 1e12,
    }


def main(folder: Path) -> None:
    """Every library there is, every size."""
    cases = {"torch": torch_case, "cupy": cupy_case}
    present = [make() for name, make in cases.items() if importlib.util.find_spec(name)]
    results = [measure(case, n) for case in present for n in SIZES]
    for row in results:
        print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "device_cholesky.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    default = Path(__file__).parent / "results"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
