"""``posterity compare``: rank models of a table by cross-validation."""

import dataclasses
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import comparison, persistence, report, tables
from posterity.cli import output, scores, table_input
from posterity.cli.app import CompareRequest
from posterity.cli.output import OutputPrinter
from posterity.cli.table_input import Table
from posterity.comparison import durations
from posterity.tables.answers import format_level

_THROUGH = "Row numbers run through all files, sorted by file name."


def run(request: CompareRequest, printer: OutputPrinter) -> None:
    """Read the table, compare models, print the verdict, save the winner and write the report."""
    for path in filter(None, (request.report, request.save, request.predictions)):
        output.check_output_file(path, force=request.force, inputs=(request.data,))
    with table_input.open_table(request, printer, folds=request.folds) as table:
        found = _compare(request, table, printer)
    _print_ranking(found, printer)
    persistence.save(found.winner, request.save)
    contents = _build_contents(request, table, found)
    report.write(request.report, contents)
    printer.say("", f"Report written to {request.report}, model saved to {request.save}.")
    if request.predictions:
        predictions = _build_predictions(found, table.sample.positions)
        tables.write_batches(request.predictions, iter([predictions]))
        printer.say(
            f"Held-out predictions of {found.best.name!r} written to {request.predictions}."
        )
    table_input.suggest_prediction(request, printer)
    printer.give(_build_json(request, table, found) | {"command": contents.command})


def _compare(
    request: CompareRequest, table: Table, printer: OutputPrinter
) -> comparison.Comparison:
    names = [name.strip() for name in request.models.split(",")] if request.models else None
    chosen = (*table.baselines(request.seed), *table.candidates(names, request.seed))
    if request.dask is None:
        size, folds = len(table.frame), request.folds
        expected = durations.estimate_duration(table.schema, chosen, size, folds=folds)
        printer.say(*filter(None, [expected.describe(request.budget, "--budget")]))
    show = durations.show_fits if request.dask is None else durations.print_lines
    how: dict[str, Any] = {"budget": request.budget, "prefer": request.prefer}
    how["flagging"] = comparison.Flagging(request.positive, request.cost)
    with show() as tell:  # workers have bars of their own
        return table.compare_candidates(chosen, request, report=tell, **how)


def _print_ranking(found: comparison.Comparison, printer: OutputPrinter) -> None:
    schema = found.schema
    n_inputs, measured = len(schema.inputs), len(found.best.held_out.y)
    part = f", scored on {measured:,} of them" if measured < found.n_rows else ""
    title = (
        f"Predicting {schema.target} from {n_inputs} column{'s' * (n_inputs > 1)}: "
        f"{found.folds}-fold cross-validation on {found.n_rows:,} rows{part}"
    )
    stopped = _group_by_reason((one.stopped, one.name) for one in found.results if one.stopped)
    skipped = _group_by_reason((left.why, left.name) for left in found.skipped)
    scores.print_scores(title, found.results, printer, found.best)
    printer.say(
        *_describe_stack(found),
        *(f"* compared on fewer rows: {names} ({why})." for why, names in stopped),
        *(f"Not scored: {names} ({why})." for why, names in skipped),
    )
    scores.print_two_classes(found.results, printer, found.best)
    printer.say("", found.verdict, *comparison.describe_gain(found.results, found.best))
    printer.say(*(f"Caution: {sentence}" for sentence in found.cautions))
    printer.say(*comparison.describe_importance(found.importance))


def _describe_stack(found: comparison.Comparison) -> Iterator[str]:
    """Return a sentence that names the models of the mixture, with their weights."""
    return (
        f"{one.name}: the mixture {' + '.join(f'{w:.2f} {name}' for name, w in one.weights)}."
        for one in found.results
        if one.weights
    )


def _group_by_reason(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each reason, without its full stop, and the names of the models that it concerns."""
    names: dict[str, list[str]] = {}
    for why, name in pairs:
        names.setdefault(why.rstrip("."), []).append(name)
    return [(why, ", ".join(those)) for why, those in names.items()]


def _build_contents(
    request: CompareRequest, table: Table, found: comparison.Comparison
) -> report.ReportContents:
    return report.ReportContents(
        title=f"Predicting {found.schema.target}",
        command=shlex.join(["posterity", "compare", *request.list_words()]),
        model=found.winner,
        frame=table.frame,
        held_out=found.best.held_out,
        comparison=found,
        model_path=request.save,
        source=request.data,
        dask=request.dask,
        n_rows_in_file=table.sample.n_rows,
        row_numbers=table.sample.positions,
        inferred=table.sentences,
        notes=() if request.dask is None else (_THROUGH,),
        seed=request.seed,
    )


def _build_json(
    request: CompareRequest, table: Table, found: comparison.Comparison
) -> dict[str, Any]:
    schema = found.schema
    same = ("n_rows", "folds", "seed", "seconds", "prefer", "verdict", "scope", "cautions")
    return {
        "target": schema.target,
        "task": schema.task,
        "inputs": {column.name: column.kind for column in schema.inputs},
        "dropped": {column.name: column.why for column in schema.dropped},
        "notes": table.sentences,
        **{name: getattr(found, name) for name in same},
        "winner": found.best.name,
        "holdout": found.holdout.kind,
        "models": [scores.as_json(result) for result in found.results],
        "importance": [dataclasses.asdict(one) for one in found.importance],
        "skipped": {left.name: left.why for left in found.skipped},
        "report": request.report,
        "model": request.save,
        "predictions": request.predictions,
    }


def _build_predictions(
    found: comparison.Comparison, positions: NDArray[Any] | None
) -> pl.DataFrame:
    """Return what the winner predicts for held-out rows; rows and folds are counted from 1."""
    said, target = found.best.held_out, found.schema.target
    rows = said.rows if positions is None else np.asarray(positions)[said.rows]
    folds = np.zeros(len(rows), dtype=int) if said.folds is None else said.folds
    columns: dict[str, Any] = {"row": rows + 1, "fold": folds + 1}
    if said.probabilities is None:
        columns |= {target: said.y, f"{target}_mean": said.mean}
        quantiles: Any = said.quantiles
        for level, values in zip(comparison.LEVELS, quantiles.T, strict=True):
            columns[f"{target}_q{format_level(level)}"] = values
    else:
        labels = np.asarray(said.classes, dtype=object)
        columns[target] = labels[said.y.astype(np.intp)]
        for label, values in zip(said.classes, said.probabilities.T, strict=True):
            columns[f"{target}_p_{label}"] = values
    columns[f"{target}_log_prob"] = said.log_prob
    return pl.DataFrame(columns)
