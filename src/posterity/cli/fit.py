"""``posterity fit``: fit one model to a table and save it."""

from dataclasses import dataclass
from typing import Any

from posterity import comparison, persistence, tables
from posterity.cli import amounts, outcome, outputs, table_input
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter


@dataclass(frozen=True)
class FitRequest:
    """The table, the model to fit, and the file to save it to."""

    request: table_input.TableRequest
    model: str | None
    save: str
    force: bool


def run(plan: FitRequest, voice: OutputPrinter) -> None:
    """Read the table, fit the model, save it and print a summary."""
    request = plan.request
    outputs.check_output_file(plan.save, force=plan.force, inputs=(request.path,))
    with table_input.open_table(request, voice) as table:
        name = plan.model or table.first_choice()
        chosen = table.candidates((name,), request.seed)[0]
        model, warned = _fit_and_collect_warnings(table, chosen)
    persistence.save(model, plan.save)
    told = persistence.describe(plan.save)
    voice.say(*(f"Note: {sentence}" for sentence in warned))
    voice.say(f"Fitted {chosen.name!r} to {model.n_rows_:,} rows: {chosen.code}.")
    if told.log_evidence is not None:
        voice.say(f"Log evidence: {told.log_evidence:.2f}.")
    voice.say(f"Model saved to {plan.save} ({amounts.format_size(told.n_bytes)}).")
    voice.next("predict", plan.save, request.path, *request.answers())
    voice.give(
        {
            "model": plan.save,
            "name": chosen.name,
            "code": chosen.code,
            "target": table.schema.target,
            "task": table.schema.task,
            "n_rows": model.n_rows_,
            "log_evidence": told.log_evidence,
            "n_bytes": told.n_bytes,
            "training_rows_inside": told.training_rows,
            "notes": [*table.sentences, *warned],
        }
    )


def _fit_and_collect_warnings(
    table: Any, chosen: comparison.Candidate
) -> tuple[tables.TableModel, tuple[str, ...]]:
    """Return the fitted model and the distinct warnings of the fit."""
    with outcome.collect_warnings() as warned:
        try:
            model = table.fit_candidate(chosen)
        except tables.TableError:
            raise
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ModelError(
                f"The model {chosen.name!r} cannot be fitted to this table: {error}"
            ) from None
    return model, tuple(warned)
