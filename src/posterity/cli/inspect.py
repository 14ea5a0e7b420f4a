"""``posterity inspect``: show the contents of a model file without building the model."""

from collections.abc import Iterator
from dataclasses import asdict

from posterity import persistence
from posterity.cli import amounts
from posterity.cli.app import InspectRequest
from posterity.cli.voice import OutputPrinter


def run(request: InspectRequest, voice: OutputPrinter) -> None:
    """Print the manifest of a model file: parameters, evidence, versions and training rows."""
    told = persistence.describe(request.model)
    voice.say(f"{request.model}: {told.class_name}, {amounts.format_size(told.n_bytes)}")
    voice.facts(_list_facts(told))
    voice.say(*told.notes)
    voice.give(asdict(told))


def _list_facts(told: persistence.Description) -> Iterator[tuple[str, str]]:
    if told.target is not None:
        yield "predicts", f"{told.target} ({told.task})"
        yield "from", ", ".join(told.inputs)
    yield "estimator", told.estimator
    yield from ((f"  {name}", text) for name, text in told.parameters.items())
    if told.log_evidence is not None:
        yield "log evidence", f"{told.log_evidence:.4f}"
    yield "training rows stored", f"{told.training_rows:,}"
    yield "written by", ", ".join(f"{name} {text}" for name, text in told.versions.items())
