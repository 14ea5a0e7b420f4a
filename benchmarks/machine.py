"""On what the numbers were measured: the machine and the versions, never its name."""

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    *("posterity", "numpy", "scipy", "scikit-learn", "statsmodels", "polars", "pyarrow", "numba"),
    *("gpy", "gpytorch", "torch", "tinygp", "jax", "fastrvm", "sklearn-rvm", "lightgbm"),
    *("catboost", "ngboost", "opencv-python-headless", "opencv-contrib-python-headless"),
    *("joblib", "skops", "typer", "dask", "distributed", "dask-ml"),
)


def describe() -> dict[str, Any]:
    """Date, machine and versions. A high load average before a run says that it was not alone."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_gib": _memory_gib(),
            "os": f"{platform.system()} {platform.release()}",
            "load_average_before": round(os.getloadavg()[0], 2),
        },
        "versions": {"python": platform.python_version()} | _list_versions(),
    }


def _memory_gib() -> float:
    pages, page_size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return round(pages * page_size / 2**30, 1)


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _list_versions() -> dict[str, str]:
    present = {distribution.metadata["Name"] for distribution in metadata.distributions()}
    return {name: metadata.version(name) for name in PACKAGES if name in present}
