"""``posterity evaluate`` and ``posterity report``: score a saved model on a table."""

import shlex
from dataclasses import dataclass, field

from posterity import comparison, report, tables
from posterity.cli import outputs, scores, two_classes
from posterity.cli.predict import load_model
from posterity.cli.voice import OutputPrinter


@dataclass(frozen=True)
class EvaluateRequest:
    """The model file, the table, and how many of its rows to use."""

    model: str
    path: str
    rows: int | None
    format: str | None
    separator: str | None
    seed: int
    sheet: str | None = None
    flagging: comparison.Flagging = field(default_factory=comparison.Flagging)

    def words(self) -> list[str]:
        """Return the command-line arguments that repeat this request."""
        rows = "all" if self.rows is None else str(self.rows)
        words = [self.model, self.path, "--rows", rows, "--seed", str(self.seed)]
        return [*words, *two_classes.list_words(self.flagging)]


def _read_rows(plan: EvaluateRequest) -> tables.Sample:
    source = tables.open_source(
        plan.path, format=plan.format, separator=plan.separator, sheet=plan.sheet
    )
    return source.read(plan.rows, seed=plan.seed)


def run(plan: EvaluateRequest, voice: OutputPrinter) -> None:
    """Score a saved model on rows with known target values and print the scores."""
    model = load_model(plan.model)
    sample = _read_rows(plan)
    result = comparison.evaluate(model, sample.frame, flagging=plan.flagging)
    n = len(result.held_out.y)
    title = f"Predicting {model.schema_.target} in {n:,} rows"
    kept = [c not in ("fit", "size") for c in scores.column_heads(model.schema_.task)]
    heads = [
        c for c, keep in zip(scores.column_heads(model.schema_.task), kept, strict=True) if keep
    ]
    cells = [c for c, keep in zip(scores.format_cells(result), kept, strict=True) if keep]
    voice.table(title, heads, [cells])
    voice.say(scores.explain_columns(model.schema_.task, ranked=False))
    two_classes.print_scores((result,), voice)
    voice.say("These scores are valid only for rows that the model was not fitted to.")
    voice.next("report", plan.model, plan.path, *two_classes.list_words(plan.flagging))
    voice.give({"n_rows": n, "target": model.schema_.target, **scores.as_json(result)})


def write_report(plan: EvaluateRequest, out: str, voice: OutputPrinter, *, force: bool) -> None:
    """Write the report on a saved model and rows with known target values."""
    outputs.check_output_file(out, force=force, inputs=(plan.path, plan.model))
    model = load_model(plan.model)
    sample = _read_rows(plan)
    result = comparison.evaluate(model, sample.frame, flagging=plan.flagging)
    story = report.Story(
        title=f"Predicting {model.schema_.target}",
        command=shlex.join(["posterity", "report", *plan.words()]),
        model=model,
        frame=sample.frame,
        held_out=result.held_out,
        two_classes=result.two_classes,
        comparison=None,
        model_path=plan.model,
        source=plan.path,
        n_rows_in_file=sample.n_rows,
        row_numbers=sample.positions,
        inferred=tuple(tables.describe_schema(model.schema_, sample.frame)),
        notes=("These scores are valid only for rows that the model was not fitted to.",),
        seed=plan.seed,
    )
    report.write(out, story)
    voice.say(f"Report written to {out}.")
    voice.next("predict", plan.model, plan.path, "--out", "predictions.csv")
    voice.give({"report": out, "n_rows": len(result.held_out.y), **scores.as_json(result)})
