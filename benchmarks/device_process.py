"""Gaussian process regression on a GPU: the evidence with its gradient, and whole fits.

A script of its own, ``python benchmarks/device_process.py [folder]``: it needs a GPU and PyTorch;
GPyTorch, where it is installed, takes the same step on the same rows. Right first: the gradient
against the processor's at a small size. Then seconds, memory and operations a second for larger and
larger sets, beside what a matrix product reaches on the same device.
"""

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from posterity import kernels
from posterity.inference.observations import Observations
from posterity.process import Evidence
from posterity.process.regressor import GaussianProcessRegressor

SIZES = (2_000, 5_000, 10_000, 20_000, 40_000, 65_000, 100_000, 110_000, 120_000)
PEER_SIZES = (2_000, 5_000, 10_000, 20_000, 30_000)
FIT_SIZES = (20_000, 100_000)
COLUMNS = 8
KERNEL = 1.0 * kernels.RBF([1.5] * COLUMNS)
NOISE = 0.05


def friedman(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Eight uniform inputs of which five matter, standardised targets, on the device."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, COLUMNS))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = f + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    return torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda")


def measure_work(work: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Median seconds and peak memory of all that lies on the device, after a first run."""
    work()
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(seconds),
        "gigabytes": torch.cuda.max_memory_allocated() / 1e9,
    }


def product_rate(n: int = 16_384) -> float:
    """Operations a second of a square matrix product in doubles, in 1e12."""
    A = torch.randn(n, n, dtype=torch.float64, device="cuda")
    return 2.0 * n**3 / measure_work(lambda: A @ A, 5)["seconds"] / 1e12


def evaluation(n: int) -> dict[str, float]:
    """One evidence and gradient; N^3 operations are factorisation and inverse."""
    X, y = friedman(n)
    evidence = Evidence(X, Observations.from_targets(y[:, None]))
    found = measure_work(lambda: evidence(KERNEL, NOISE), 5 if n <= 20_000 else 1)
    return found | {"teraflops": n**3 / found["seconds"] / 1e12}


def peer_evaluation(n: int) -> dict[str, float]:
    """The same by GPyTorch's Cholesky."""
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, X: Any, y: Any, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            rbf = gpytorch.kernels.RBFKernel(ard_num_dims=COLUMNS)
            rbf.lengthscale = 1.5
            self.covar_module = gpytorch.kernels.ScaleKernel(rbf)
            self.covar_module.outputscale = 1.0

        def forward(self, X: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(X), self.covar_module(X)
            )

    X, y = friedman(n)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = NOISE
    model = Model(X, y, likelihood).double().cuda().train()
    likelihood.double().cuda().train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step() -> float:
        model.zero_grad()
        with gpytorch.settings.fast_computations(False, False, False):
            loss = -mll(model(X), y)
            loss.backward()
        return float(loss)

    found = measure_work(step, 3)
    return found | {"log_evidence": -step() * n, "teraflops": n**3 / found["seconds"] / 1e12}


def agreement(n: int = 1_000) -> float:
    """The largest difference between the device's answer and the processor's, of its scale."""
    X, y = friedman(n)
    device = Evidence(X, Observations.from_targets(y[:, None]))(KERNEL, NOISE)
    host = Evidence(X.cpu().numpy(), Observations.from_targets(y.cpu().numpy()[:, None]))
    value, gradient = host(KERNEL, NOISE)
    differences = np.append(device[1] - gradient, device[0] - value)
    return float(np.max(np.abs(differences)) / max(abs(value), np.max(np.abs(gradient))))


def whole_fit(n: int) -> dict[str, Any]:
    """Parameters learned from the default start, then ten thousand predictions with deviations."""
    X, y = friedman(n)
    X_new, _ = friedman(10_000, seed=1)
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    model = GaussianProcessRegressor(random_state=0).fit(X, y)
    torch.cuda.synchronize()
    fitted = time.perf_counter()
    model.predict(X_new, return_std=True)
    torch.cuda.synchronize()
    return {
        "fit_seconds": fitted - start,
        "predict_seconds": time.perf_counter() - fitted,
        "gigabytes": torch.cuda.max_memory_allocated() / 1e9,
        "log_evidence": model.log_evidence_,
        "iterations": model.n_iter_,
        "kernel": str(model.kernel_),
        "noise_variance": model.noise_variance_,
    }


def attempt_work(work: Callable[[int], dict[str, Any]], n: int) -> dict[str, Any]:
    """Return the measurement, or why it failed."""
    torch.cuda.empty_cache()
    try:
        return {"rows": n} | work(n)
    except (MemoryError, torch.cuda.OutOfMemoryError) as error:
        return {"rows": n, "failed": str(error)[:200]}


def main(folder: Path, sections: tuple[str, ...]) -> None:
    """Measure, print and write."""
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "product_teraflops": product_rate(),
        "agreement": agreement(),
    }
    plan = {"evaluation": (evaluation, SIZES), "fit": (whole_fit, FIT_SIZES)}
    if importlib.util.find_spec("gpytorch"):
        plan["gpytorch"] = (peer_evaluation, PEER_SIZES)
    for section in sections:
        work, sizes = plan[section]
        results[section] = []
        for n in sizes:
            results[section].append(attempt_work(work, n))
            print(section, results[section][-1], flush=True)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "device_process.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps({k: v for k, v in results.items() if not isinstance(v, list)}))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    where = Path(arguments[0]) if arguments else Path("benchmarks/results")
    main(where, tuple(arguments[1:]) or ("evaluation", "gpytorch", "fit"))
