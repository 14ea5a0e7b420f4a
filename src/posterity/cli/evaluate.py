"""``posterity evaluate``: score a saved model on a table."""

from posterity import comparison, tables
from posterity.cli import scores, table_input
from posterity.cli.app import EvaluateRequest, ScoreRequest
from posterity.cli.predict import load_model
from posterity.cli.voice import OutputPrinter

CAUTION = "These scores are valid only for rows that the model was not fitted to."


def run(request: EvaluateRequest, voice: OutputPrinter) -> None:
    """Score a saved model on rows with known target values and print the scores."""
    model, _, result = score_model(request)
    n_rows, target = len(result.held_out.y), model.schema_.target
    scores.print_scores(f"Predicting {target} in {n_rows:,} rows", (result,), voice)
    scores.print_two_classes((result,), voice)
    voice.say(CAUTION)
    voice.next("report", *request.list_words())
    voice.give({"n_rows": n_rows, "target": target, **scores.as_json(result)})


def score_model(
    request: ScoreRequest,
) -> tuple[tables.TableModel, tables.Sample, comparison.Result]:
    """Return the model, the rows that were read, and the scores of the model on them."""
    model = load_model(request.model)
    sample = table_input.open_source(request).read(request.rows, seed=request.seed)
    flagging = comparison.Flagging(request.positive, request.cost)
    return model, sample, comparison.evaluate(model, sample.frame, flagging=flagging)
