"""``posterity report``: write the report on a saved model and a table."""

import shlex

from posterity import report, tables
from posterity.cli import evaluate, outputs, scores
from posterity.cli.app import ReportRequest
from posterity.cli.options import TableFile
from posterity.cli.voice import OutputPrinter


def run(request: ReportRequest, voice: OutputPrinter) -> None:
    """Write the report on a saved model and rows with known target values."""
    inputs = (request.data, request.model)
    outputs.check_output_file(request.out, force=request.force, inputs=inputs)
    model, sample, result = evaluate.score_model(request)
    contents = report.ReportContents(
        title=f"Predicting {model.schema_.target}",
        command=shlex.join(["posterity", "report", *request.list_words()]),
        model=model,
        frame=sample.frame,
        held_out=result.held_out,
        two_classes=result.two_classes,
        model_path=request.model,
        source=request.data,
        n_rows_in_file=sample.n_rows,
        row_numbers=sample.positions,
        inferred=tuple(tables.describe_schema(model.schema_, sample.frame)),
        notes=(evaluate.CAUTION,),
        seed=request.seed,
    )
    report.write(request.out, contents)
    voice.say(f"Report written to {request.out}.")
    voice.next("predict", request.model, *request.list_words(TableFile), "--out", "predictions.csv")
    voice.give({"report": request.out, "n_rows": len(result.held_out.y), **scores.as_json(result)})
