"""``posterity fit``: one model, fitted to all rows and saved."""

import warnings
from dataclasses import dataclass

from posterity import comparison, persistence, tables
from posterity.cli import amounts, outputs, table_input
from posterity.cli.outcome import ModelError
from posterity.cli.voice import Voice

_MOST_ROWS = 2_000  # for which a Gaussian process is the first choice; a forest beyond


@dataclass(frozen=True)
class Plan:
    """What to fit, and where it goes."""

    request: table_input.Request
    model: str | None
    save: str
    force: bool


def run(plan: Plan, voice: Voice) -> None:
    """Read, fit, save and say what was learned."""
    outputs.check(plan.save, force=plan.force, inputs=(plan.request.path,))
    table = table_input.read(plan.request, voice)
    chosen = _candidate(plan, table)
    model = tables.TableModel(chosen.estimator, table.schema)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(table.frame)
        except tables.TableError:
            raise
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ModelError(f"{chosen.name!r} cannot be fitted to this: {error}") from None
    persistence.save(model, plan.save)
    told = persistence.describe(plan.save)
    voice.say(*dict.fromkeys(f"Note: {warning.message}" for warning in caught))
    voice.say(f"Fitted {chosen.name!r} to {model.n_rows_:,} rows: {chosen.code}.")
    if told.log_evidence is not None:
        voice.say(f"Its log evidence is {told.log_evidence:.2f}.")
    voice.say(f"The model is {plan.save} ({amounts.size(told.n_bytes)}).")
    voice.next("predict", plan.save, plan.request.path, "--out", "predictions.csv")
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
            "notes": [*table.sentences, *(str(warning.message) for warning in caught)],
        }
    )


def _candidate(plan: Plan, table: table_input.Input) -> comparison.Candidate:
    """The model that was named, or the one to begin with."""
    name = plan.model or ("process" if len(table.frame) <= _MOST_ROWS else "forest")
    return table_input.candidates(table, (name,), plan.request.seed)[0]
