"""How long the command takes to answer, and how fast predictions stream through it.

Every step is a process as a person starts it, its start and imports included. Steps alternate, so
that a machine that slows down does so for all.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks import harness, machine, mixed_tables, report, stopwatch
from benchmarks.options import Options

TITLE = "The command: seconds until it has answered"
MEGABYTES = {"linear": 200.0, "forest": 20.0}  # 10^6 bytes of CSV for each model
COLUMNS, TRAINING_ROWS, BLOCK_ROWS, SEED = 12, 5_000, 50_000, 0
FIRST_ROWS = 1_000  # from which the size of a row is known
FLOOR, IMPORT = "import sklearn.base", "import posterity"
MODEL = "from posterity import BayesianLinearRegression"
USAGE = 2  # exit code of a command that was not understood
MEASURES = {
    "wall_s": ("wall, s", "range"),
    "cpu_s": ("CPU, s", "median"),
    "peak_mib": ("whole process, MiB", "median"),
    "rows_per_s": ("rows/s", "median"),
    "mb_per_s": ("MB/s", "median"),
}


@dataclass(frozen=True)
class Step:
    """A command; ``reads`` is the file whose size makes seconds a speed."""

    name: str
    words: tuple[str, ...]
    exit_code: int = 0
    reads: str | None = None
    is_short: bool = True  # so that a turn before the clock costs little


def run(options: Options, megabytes: dict[str, float] | None = None) -> dict[str, Any]:
    """Write the tables, fit the models, then take turns; write and show what it took."""
    share = 0.1 if options.quick else 1.0
    sizes = megabytes or {name: share * size for name, size in MEGABYTES.items()}
    result: dict[str, Any] = {"benchmark": "command", "title": TITLE, **machine.describe()}
    with tempfile.TemporaryDirectory() as name, harness.threads_of_children(options.threads):
        folder = Path(name)
        result["tables"] = harness.in_new_process(prepare, folder, sizes)
        result["runs"] = _turns(steps(sizes), folder, result["tables"], options)
    result |= {"tasks": [], "summary": report.summarise(result["runs"])}
    report.publish(result, page(result), options)
    return result


def steps(models: dict[str, float]) -> list[Step]:
    """From what costs least to what costs most."""
    return [
        _python("pass"),
        _python(FLOOR),
        _python(IMPORT),
        _python(MODEL),
        _posterity("--help"),
        _posterity("compare", "train.csv", "--colour", "red", exit_code=USAGE),
        *(_posterity("inspect", f"{model}.posterity") for model in models),
        *(_prediction(model) for model in models),
        _posterity("demo", is_short=False),
    ]


def _python(code: str) -> Step:
    return Step(code, (sys.executable, "-c", code))


def _posterity(*words: str, exit_code: int = 0, is_short: bool = True) -> Step:
    script = str(Path(sysconfig.get_path("scripts")) / "posterity")
    return Step(" ".join(("posterity", *words)), (script, *words), exit_code, None, is_short)


def _prediction(model: str) -> Step:
    rows = f"{model}.csv"
    words = ("predict", f"{model}.posterity", rows, "--out", "answers.csv", "--force")
    plain = _posterity(*words, is_short=False)
    return Step(f"posterity predict {model}.posterity {rows}", plain.words, 0, rows, False)


def prepare(folder: Path, sizes: dict[str, float]) -> dict[str, dict[str, float]]:
    """Models, each with a table of so many megabytes to predict; rows and bytes of the tables."""
    train = mixed_tables.table(np.random.default_rng(SEED), TRAINING_ROWS, COLUMNS)
    train.write_csv(folder / "train.csv")
    told = {}
    for model, megabytes in sizes.items():
        words = ("fit", "train.csv", "--target", mixed_tables.TARGET, "--model", model)
        time_step(_posterity(*words, "--save", f"{model}.posterity"), folder)
        told[f"{model}.csv"] = write(folder / f"{model}.csv", megabytes)
    return told


def write(path: Path, megabytes: float) -> dict[str, float]:
    """A table block by block, from a seed for each, until the file is as large as that."""
    n_rows, rows, block = 0, FIRST_ROWS, 0
    with path.open("wb") as file:
        while file.tell() < 1e6 * megabytes:
            rng = np.random.default_rng([SEED, 1 + block])
            frame = mixed_tables.table(rng, rows, COLUMNS)
            start = file.tell()
            frame.write_csv(file, include_header=block == 0)
            n_rows, block = n_rows + rows, block + 1
            left = 1e6 * megabytes - file.tell()
            rows = min(BLOCK_ROWS, max(1, round(left / (file.tell() - start) * rows)))
        return {"rows": float(n_rows), "bytes": float(file.tell())}


def time_step(step: Step, folder: Path) -> dict[str, Any]:
    """What a step took; a step that ends otherwise than it should ends the benchmark."""
    watch = [sys.executable, "-S", stopwatch.__file__, *step.words]
    done = subprocess.run(watch, cwd=folder, capture_output=True, text=True, check=True)
    numbers = json.loads(done.stdout)
    code, errors = numbers.pop("exit_code"), numbers.pop("errors")
    if code != step.exit_code:
        raise RuntimeError(f"{step.name!r} ended with {code}, not {step.exit_code}:\n{errors}")
    return numbers


def _turns(
    todo: list[Step], folder: Path, tables: dict[str, dict[str, float]], options: Options
) -> list[dict[str, Any]]:
    """Every step once before any runs again; short ones first once more, not on the clock."""
    for step in todo:
        if step.is_short:
            time_step(step, folder)
    turns = [(repeat, step) for repeat in range(options.repeats) for step in todo]
    return [
        {"contender": step.name, "repeat": repeat}
        | _with_speed(time_step(step, folder), step, tables)
        for repeat, step in track(turns, "The command", console=options.console)
    ]


def _with_speed(
    numbers: dict[str, Any], step: Step, tables: dict[str, dict[str, float]]
) -> dict[str, Any]:
    if step.reads is None:
        return numbers
    size, wall = tables[step.reads], numbers["wall_s"]
    return numbers | {
        "mb_per_s": size["bytes"] / 1e6 / wall,
        "rows_per_s": size["rows"] / wall,
    }


def page(result: dict[str, Any]) -> str:
    """A row a step, and what the package's import costs beside what it stands on."""
    summary = result["summary"]
    sizes = (
        f"{name} has {size['rows']:,.0f} rows ({size['bytes'] / 1e6:,.0f} MB)"
        for name, size in result["tables"].items()
    )
    body = [
        [f"`{name}`", *(report.cell(row.get(key), how) for key, (_, how) in MEASURES.items())]
        for name, row in summary.items()
    ]
    return "\n".join(
        [
            f"# {result['title']}",
            "",
            *report.provenance(result),
            "",
            f"Seconds are those of a process from its start to its end. Beside `{FLOOR}`, "
            f"`{IMPORT}` takes {_format_ratio(summary, IMPORT)}, and the first model "
            f"{_format_ratio(summary, MODEL)}. "
            f"Of tables of {COLUMNS} columns, numbers, categories and "
            f"dates, {'; '.join(sizes)}; the models were fitted to {TRAINING_ROWS:,} rows. "
            "Predictions are means, deviations and five quantiles, beside the rows, as CSV.",
            "",
            *report.table(["", *(heading for heading, _ in MEASURES.values())], body),
            "",
        ]
    )


def _format_ratio(summary: dict[str, Any], name: str) -> str:
    """How many seconds more or less than the floor."""
    more = summary[name]["wall_s"]["median"] - summary[FLOOR]["wall_s"]["median"]
    return f"{abs(more):.2f} s {'more' if more > 0.0 else 'less'}"
