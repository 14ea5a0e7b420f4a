"""``posterity models``: list the available models, one per row."""

from posterity import comparison
from posterity.cli.voice import OutputPrinter

_HEADS = ("name", "class", "likelihood / prior / features", "use it for")
_TOLD = (
    *("name", "task", "estimator", "likelihood", "prior", "feature_space", "inference"),
    *("cost", "advice", "on_dask"),
)


def run(voice: OutputPrinter) -> None:
    """Print every model, its parts, and when to use it."""
    family = comparison.family()
    for task in ("regression", "classification"):
        members = [member for member in family if member.task == task]
        rows = [
            (m.name, m.estimator, f"{m.likelihood} / {m.prior} / {m.feature_space}", m.advice)
            for m in members
        ]
        voice.table(task, _HEADS, rows, words=4)
    voice.next("compare", "data.csv", "--target", "price", "--models", "all")
    voice.give({"models": [{name: getattr(m, name) for name in _TOLD} for m in family]})
