"""One result as one small table: a contender a row, medians only, either speed or accuracy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import report
from benchmarks.readings import Result, Table

TIMES = (
    *("evaluation_wall_s", "fit_wall_s", "predict_wall_s", "whole_wall_s", "row_1_ms"),
    *("rows_1_s", "rows_2_s", "save_wall_s", "load_wall_s", "seconds"),
)
# The first of these that a result has is shown.
MEMORY = ("peak_mib", "fit_peak_mib", "absolute_peak_mib")
SPEED = (
    *TIMES,
    *("times_floor", "matrices", "wall_s", "complete_wall_s", "matrix_s", "rows_per_s"),
    *("mb_per_s", *MEMORY, "gigabytes", "teraflops", "tflops", "extra_memory_of_matrix"),
    *("file_bytes", "pickle_mb", "rows_inside"),
    *("passes", "worker_peak_mib", "received_kib", "sent_kib", "made_share"),
    *("one_worker_s", "two_workers_s", "efficiency"),
)
# CPU seconds and parts of other columns stay in the files.
HIDDEN = (
    *("fit_cpu_s", "predict_cpu_s", "evaluation_cpu_s", "save_cpu_s", "load_cpu_s", "cpu_s"),
    *("floor_wall_s", "save_peak_mib", "load_peak_mib", "row_2_ms", "added_mib", "repeat", "rows"),
    *("variance", "length_scale", "tolerance", "evaluations", "iterations", "steps"),
    *(
        "best_other",
        "best_peer",
        "nodes",
        "n_images",
        "confidence_percent",
        "joint_confidence_percent",
    ),
)
_FURTHER = {
    "peak_mib": "memory, MiB",
    "fit_peak_mib": "memory, MiB",
    "wall_s": "whole process, s",
    "complete_wall_s": "complete, s",
    "matrix_s": "matrix, s",
    "rows_per_s": "rows/s",
    "mb_per_s": "MB/s",
    "seconds": "s",
    "gigabytes": "GB",
    "teraflops": "TFLOP/s",
    "tflops": "TFLOP/s",
    "extra_memory_of_matrix": "extra memory, x the matrix",
    "top_class_error": "calibration error",
    "error_by_chance": "by chance",
    "stated_last": "surest tenth: stated",
    "happened_last": "was right",
    "variance_error": "error of variances",
    "plane_sine": "sine between planes",
    "joint_distance": "joint distance",
    "first_mode": "first mode",
    "nearest_mode": "nearest mode",
    "coverage_percent": "90 % coverage, %",
    "predict_ms": "a frame, ms",
    "max_turn": "views, +- degrees",
    "pixel_percent": "pixels, %",
    "pixel_error": "pixels, +- %",
    "log_score_error": "log score, +-",
    "image_ms": "image, ms",
    "class_percent": "mean over parts, %",
    "precision": "within 20 px",
    "precision_error": "within 20 px, +-",
    "success": "success",
    "success_error": "success, +-",
    "miss_px": "mean error, px",
    "radius_px": "median radius, px",
    "frames_per_s": "frames per CPU s",
    "joint_precision": "precision of joints",
    "joint_percent": "joints within 10 cm, %",
    "joint_calibration_error": "calibration error of joints",
    "parts_ms": "parts, ms",
    "joints_ms": "joints, ms",
    "kept": "frames kept",
    "mean_error": "mean error",
    "largest_error": "largest error",
    "log_evidence_off": "log evidence, less the exact",
    "largest_weight_error": "largest error of a weight",
    "noise_variance": "noise variance (0.25 is true)",
    "offset_error": "error of the offset",
    "noise_ratio": "noise / true",
    "coverage_error": "coverage, +-",
    "least_log_density": "least log density",
    "support vector machine": "support vectors, %",
    "kernel ridge": "kernel ridge, %",
    "published": "published, %",
    "coverage_50": "50 % coverage",
    "leads_to": "the figure leads to",
    "ahead_of_others": "best other",
    "ahead_of_peers": "scikit-learn",
    "worker_peak_mib": "largest worker, MiB",
    "made_share": "share of making rows",
    "one_worker_s": "one worker, s",
    "two_workers_s": "two, s",
    "efficiency": "one / two",
    "deviations_rms": "errors in deviations, rms",
    "deviations_max": "largest",
    "log_loss_rank": "mean rank by log loss",
    "log_loss_wins": "sets won",
    "error_percent_near_best": "errors near the least",
    "top_class_error_rank": "mean rank by calibration",
    "rmse_rank": "mean rank by RMSE",
    "rmse_to_best_peer": "RMSE / best peer's",
    "log_score_rank": "by log score",
    "crps_rank": "by CRPS",
    "coverage_least": "least coverage",
    "coverage_largest": "largest",
}
_STYLES = {key: style for key, _, style in report.COLUMNS if style != report.RATIO}
_HEADINGS = {key: heading for key, heading, style in report.COLUMNS if style != report.RATIO}
_SMALL = ("gradient_norm", "variance_error", "plane_sine", "largest_weight_error", "offset_error")
_COUNTS = (
    *("errors", "dimensions", "kept", "vectors", "file_bytes", "rows_inside", "passes"),
    *("log_loss_wins", "error_percent_near_best"),
)


@dataclass(frozen=True)
class Column:
    """A measurement, or how many times posterity's it is."""

    key: str
    ratio: bool = False

    @property
    def heading(self) -> str:
        """What stands above it."""
        if self.ratio:
            return "x posterity"
        known = _FURTHER.get(self.key, _HEADINGS.get(self.key))
        if known is None and self.key.endswith(("_first", "_second")):
            part, _, motion = self.key.rpartition("_")
            return f"{(_HEADINGS | _FURTHER)[part]}, {motion}"
        return known or self.key


def columns(result: Result, show: str) -> list[Column]:
    """The columns of a page, ``"speed"`` or ``"accuracy"``, that the result has anything for."""
    measured = dict.fromkeys(key for t in result.tables for row in t.rows.values() for key in row)
    if show == "accuracy":
        ordered = dict.fromkeys(
            (*(key for key in ("error", *_HEADINGS) if key in measured), *measured)
        )
        return [Column(key) for key in ordered if key not in (*SPEED, *HIDDEN)]
    beside = any(peers(table) for table in result.tables)
    kept = [key for key in SPEED if key in measured]
    spare = [key for key in MEMORY if key in measured][1:]
    return [column for key in kept if key not in spare for column in _time_columns(key, beside)]


def _time_columns(key: str, beside: bool) -> Iterable[Column]:
    yield Column(key)
    if beside and key in TIMES:
        yield Column(key, ratio=True)


def peers(table: Table) -> list[str]:
    """The contenders that are not posterity, where the first one is."""
    first, *others = table.rows
    return [name for name in others if not is_ours(name)] if is_ours(first) else []


def is_ours(contender: str) -> bool:
    """Whether a contender is this library."""
    return contender.startswith("posterity")


def cell(table: Table, contender: str, column: Column) -> str:
    """What the table shows; a dash where nothing was measured."""
    value = table.rows[contender].get(column.key)
    if column.ratio:
        value = ratio(table, contender, column.key)
    if value is None or isinstance(value, str):
        return value or "-"
    if column.key in _SMALL:
        return f"{value:.1e}"
    if column.key in _COUNTS and not column.ratio and value == round(value):
        return f"{value:,.0f}"
    return report.number(value, report.DIGITS.get(_STYLES.get(column.key, ""), 3))


def ratio(table: Table, contender: str, key: str) -> float | None:
    """How many times posterity's measurement, which stands first; None without it."""
    own = table.rows[contender].get(key)
    name, measured = next(iter(table.rows.items()))
    first = measured.get(key) if is_ours(name) else None
    return own / first if isinstance(own, float) and isinstance(first, float) and first else None


def origin(record: Mapping[str, Any]) -> str:
    """Date, machine, processes and threads of a result, as far as its file says."""
    if "machine" not in record:
        return f"{record['device']}, PyTorch {record['torch']}" if "device" in record else ""
    m = record["machine"]
    said = [record["date"], f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB"]
    if "repeats" in record:
        count = record["repeats"]
        said.append(f"medians of {count} processes" if count > 1 else "one process each")
    said += [f"BLAS threads {' or '.join(threads(record))}"] if threads(record) else []
    return "; ".join([*said, f"load average before the run {m['load_average_before']}"])


def threads(record: Mapping[str, Any]) -> list[str]:
    """The numbers of BLAS threads that the runs of a result had."""
    runs = (run for task in record.get("tasks", ()) for run in task.get("runs", ()))
    return sorted({str(run["blas_threads"]) for run in runs if "blas_threads" in run})


def versions(records: Iterable[Mapping[str, Any]], packages: Iterable[str]) -> str:
    """The versions of these packages with which the results were made."""
    found: dict[str, dict[str, None]] = {name: {} for name in packages}
    for record in records:
        for name in found.keys() & record.get("versions", {}).keys():
            found[name][record["versions"][name]] = None
    return ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in found.items() if v)
