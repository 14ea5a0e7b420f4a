"""``posterity models``: list the available models, one per row.

The list is written by ``make family``, so that it is shown without importing the models.
"""

import json
from importlib import resources

from posterity.cli.app import ModelsRequest
from posterity.cli.output import OutputPrinter

_HEADS = ("name", "class", "likelihood / prior / features", "use it for")


def run(_: ModelsRequest, printer: OutputPrinter) -> None:
    """Print every model, its parts, and when to use it."""
    family = json.loads((resources.files("posterity.cli") / "models.json").read_text("utf-8"))
    for task in ("regression", "classification"):
        rows = [_list_cells(model) for model in family if model["task"] == task]
        printer.table(task, _HEADS, rows, words=4)
    printer.next("compare", "data.csv", "--target", "price", "--models", "all")
    printer.give({"models": family})


def _list_cells(model: dict[str, str]) -> tuple[str, ...]:
    parts = " / ".join(model[part] for part in ("likelihood", "prior", "feature_space"))
    return model["name"], model["estimator"], parts, model["advice"]
