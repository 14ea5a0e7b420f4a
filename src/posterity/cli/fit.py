"""``posterity fit``: fit one model to a table and save it."""

from posterity import persistence, tables
from posterity.cli import outcome, output, table_input
from posterity.cli.app import FitRequest
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter


def run(request: FitRequest, printer: OutputPrinter) -> None:
    """Read the table, fit the model, save it and print a summary."""
    output.check_output_file(request.save, force=request.force, inputs=(request.data,))
    with table_input.open_table(request, printer) as table, outcome.collect_warnings() as warned:
        name = request.model or table.first_choice()
        chosen = table.candidates((name,), request.seed)[0]
        try:
            model = table.fit_candidate(chosen)
        except tables.TableError:
            raise
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ModelError(
                f"The model {name!r} cannot be fitted to this table: {error}"
            ) from None
    persistence.save(model, request.save)
    told = persistence.describe(request.save)
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    printer.say(f"Fitted {chosen.name!r} to {model.n_rows_:,} rows: {chosen.code}.")
    if told.log_evidence is not None:
        printer.say(f"Log evidence: {told.log_evidence:.2f}.")
    printer.say(f"Model saved to {request.save} ({output.format_size(told.n_bytes)}).")
    table_input.suggest_prediction(request, printer)
    printer.give(
        {
            "model": request.save,
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
