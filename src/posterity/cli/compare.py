"""``posterity compare``: rank models of a table by cross-validation."""

import dataclasses
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from posterity import comparison, persistence, progress, report
from posterity.cli import held_out, outputs, scores, table_input, two_classes
from posterity.cli.voice import OutputPrinter

if TYPE_CHECKING:
    from posterity.cli import spread_input


_QUIET = 2.0  # seconds between lines of progress at least
_THROUGH = "Row numbers run through all files, sorted by file name."

Table: TypeAlias = "table_input.TableInMemory | spread_input.DaskTable"


@dataclass(frozen=True)
class CompareRequest:
    """The models to compare, the time budget, and the output files."""

    request: table_input.TableRequest
    models: str | None
    budget: float | None
    folds: int
    report: str
    save: str
    force: bool
    prefer: comparison.Preference = "simple"
    predictions: str | None = None
    flagging: comparison.Flagging = field(default_factory=comparison.Flagging)

    def command(self) -> str:
        """Return the exact command that repeats this comparison."""
        words = ["posterity", "compare", *self.request.words(), "--folds", str(self.folds)]
        words += ["--models", self.models] if self.models else []
        words += ["--budget", f"{self.budget:g}s"] if self.budget else []
        words += ["--prefer", self.prefer] if self.prefer != "simple" else []
        words += two_classes.list_words(self.flagging)
        return shlex.join(words)


def run(plan: CompareRequest, voice: OutputPrinter) -> None:
    """Read the table, compare models, print the verdict, save the winner and write the report."""
    written = [path for path in (plan.report, plan.save, plan.predictions) if path]
    for path in written:
        outputs.check_output_file(path, force=plan.force, inputs=(plan.request.path,))
    with table_input.open_table(plan.request, voice, folds=plan.folds) as table:
        found = _compare(plan, table)
    _print_ranking(found, voice)
    persistence.save(found.winner, plan.save)
    report.write(plan.report, _build_story(plan, table, found))
    voice.say("", f"Report written to {plan.report}, model saved to {plan.save}.")
    if plan.predictions:
        held_out.write_predictions(plan.predictions, found, table.sample.positions)
        voice.say(f"Held-out predictions of {found.best.name!r} written to {plan.predictions}.")
    voice.next("predict", plan.save, plan.request.path, *plan.request.answers())
    voice.give(_build_json(plan, table, found))


def _compare(plan: CompareRequest, table: Table) -> comparison.Comparison:
    names = tuple(name.strip() for name in plan.models.split(",")) if plan.models else None
    seed = plan.request.seed
    chosen = (*table.baselines(seed), *table.candidates(names, seed))
    bar = progress.is_watched() and plan.request.dask is None
    shown = _show_progress_bar if bar else _print_lines  # workers have bars of their own
    with shown() as tell:
        return table.compare_candidates(
            chosen,
            folds=plan.folds,
            seed=seed,
            budget=plan.budget,
            report=tell,
            prefer=plan.prefer,
            flagging=plan.flagging,
        )


@contextmanager
def _print_lines() -> Iterator[Any]:
    """Print a line on stderr for a fit that is done, if the last line is some seconds old."""
    fits: list[str] = []
    started = printed = time.monotonic()

    def tell(done: int, total: int, name: str) -> None:
        nonlocal started, printed
        now = time.monotonic()
        if fits and now - printed >= _QUIET:
            line = f"{fits[-1]}, {now - started:.0f} s ({done} of {total} fits done)"
            print(line, file=sys.stderr, flush=True)
            printed = now
        number = sum(fit.startswith(f"{name}: fold") for fit in fits) + 1
        fits.append(f"{name}: all rows" if done == total - 1 else f"{name}: fold {number}")
        started = now

    yield tell


@contextmanager
def _show_progress_bar() -> Iterator[Any]:
    """Show a progress bar with the current model."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    look = (TextColumn("{task.description:<24}"), BarColumn(), TimeElapsedColumn())
    with Progress(*look, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def tell(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        yield tell


def _print_ranking(found: comparison.Comparison, voice: OutputPrinter) -> None:
    schema = found.schema
    n_inputs = len(schema.inputs)
    measured = len(found.best.held_out.y)
    part = f", scored on {measured:,} of them" if measured < found.n_rows else ""
    title = (
        f"Predicting {schema.target} from {n_inputs} column{'s' * (n_inputs > 1)}: "
        f"{found.folds}-fold cross-validation on {found.n_rows:,} rows{part}"
    )
    heads = scores.column_heads(schema.task)
    rows = (list(scores.format_cells(one, chosen=one is found.best)) for one in found.results)
    voice.table(title, heads, rows)
    voice.say(
        scores.explain_columns(schema.task),
        *_describe_stack(found),
        *_list_stopped_models(found),
        *_list_skipped_models(found),
    )
    two_classes.print_scores(found.results, voice, chosen=found.best)
    voice.say("", found.verdict)
    voice.say(*comparison.describe_gain(found.results, found.best))
    voice.say(*(f"Caution: {sentence}" for sentence in found.cautions))
    voice.say(*comparison.describe_importance(found.importance))


def _describe_stack(found: comparison.Comparison) -> Iterator[str]:
    """Return a sentence that names the models of the mixture, with their weights."""
    return (
        f"{one.name}: the mixture {' + '.join(f'{w:.2f} {name}' for name, w in one.weights)}."
        for one in found.results
        if one.weights
    )


def _list_stopped_models(found: comparison.Comparison) -> Iterator[str]:
    """Return sentences that name the models scored in fewer folds, grouped by reason."""
    names: dict[str, list[str]] = {}
    for one in found.results:
        if one.stopped:
            names.setdefault(one.stopped, []).append(one.name)
    return (
        f"* compared on fewer rows: {', '.join(those)} ({why.rstrip('.')})."
        for why, those in names.items()
    )


def _list_skipped_models(found: comparison.Comparison) -> Iterator[str]:
    """Return sentences that name the models without scores, grouped by reason."""
    names: dict[str, list[str]] = {}
    for left in found.skipped:
        names.setdefault(left.why, []).append(left.name)
    return (f"Not scored: {', '.join(those)} ({why.rstrip('.')})." for why, those in names.items())


def _build_story(plan: CompareRequest, table: Table, found: comparison.Comparison) -> report.Story:
    return report.Story(
        title=f"Predicting {found.schema.target}",
        command=plan.command(),
        model=found.winner,
        frame=table.frame,
        held_out=found.best.held_out,
        comparison=found,
        model_path=plan.save,
        source=plan.request.path,
        dask=plan.request.dask,
        n_rows_in_file=table.sample.n_rows,
        row_numbers=table.sample.positions,
        inferred=table.sentences,
        notes=() if plan.request.dask is None else (_THROUGH,),
        seed=plan.request.seed,
    )


def _build_json(plan: CompareRequest, table: Table, found: comparison.Comparison) -> dict[str, Any]:
    schema = found.schema
    return {
        "target": schema.target,
        "task": schema.task,
        "inputs": {column.name: column.kind for column in schema.inputs},
        "dropped": {column.name: column.why for column in schema.dropped},
        "notes": table.sentences,
        "n_rows": found.n_rows,
        "folds": found.folds,
        "seed": found.seed,
        "seconds": found.seconds,
        "winner": found.best.name,
        "prefer": found.prefer,
        "verdict": found.verdict,
        "holdout": found.holdout.kind,
        "scope": found.scope,
        "cautions": list(found.cautions),
        "models": [scores.as_json(result) for result in found.results],
        "importance": [dataclasses.asdict(one) for one in found.importance],
        "skipped": {left.name: left.why for left in found.skipped},
        "report": plan.report,
        "model": plan.save,
        "predictions": plan.predictions,
        "command": plan.command(),
    }
