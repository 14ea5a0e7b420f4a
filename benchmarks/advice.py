"""What a comparison says of a model that was advised: how far it is ahead, and how sure that is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SURE = 2.0  # standard errors
HARDLY = 1e-3  # nats a row: less is no difference
PEERS, LINEAR = "sklearn-", "linear"


@dataclass(frozen=True)
class Lead:
    """How far the advised model is ahead of another, in nats a row."""

    name: str
    ahead: float
    error: float

    @property
    def is_told(self) -> bool:
        """Whether the two can be told apart."""
        return abs(self.ahead) > max(SURE * self.error, HARDLY)

    @property
    def is_behind(self) -> bool:
        """Whether the advised model is clearly the worse."""
        return self.is_told and self.ahead < 0.0

    def __str__(self) -> str:
        """In brackets where it may be chance.

        Examples
        --------
        >>> str(Lead("process", 0.357, 0.053)), str(Lead("linear", -0.0004, 0.001))
        ('0.36 +- 0.05', '(0.00 +- 0.00)')
        """
        said = f"{self.ahead + 0.0:.2f} +- {self.error:.2f}".replace("-0.00 ", "0.00 ")
        return said if self.is_told else f"({said})"


def others(task: Mapping[str, Any]) -> Lead:
    """Ahead of the best other model of the family."""
    return _best(
        task, (n for n, m in task["models"].items() if not m["baseline"] and n != task["member"])
    )


def peers(task: Mapping[str, Any]) -> Lead:
    """Ahead of the best of scikit-learn's."""
    return _best(task, (name for name in task["models"] if name.startswith(PEERS)))


def _best(task: Mapping[str, Any], names: Iterable[str]) -> Lead:
    models = task["models"]
    name = max(names, key=lambda one: models[one]["log_score"])
    return Lead(name, models[name]["ahead"], models[name]["ahead_error"])


@dataclass(frozen=True)
class Standing:
    """How many sets there are, and on how many of them advice was not clearly beaten."""

    sets: int
    of_others: int  # by the rest of the family
    of_peers: int  # by scikit-learn's
    of_linear: int  # the linear model, by any of the family


def count_standing(record: Mapping[str, Any]) -> Standing:
    """Count how the advice did on all sets together."""
    tasks = record["tasks"]
    return Standing(
        len(tasks),
        sum(not others(task).is_behind for task in tasks),
        sum(not peers(task).is_behind for task in tasks),
        sum(not _behind_best(task, LINEAR).is_behind for task in tasks),
    )


def _behind_best(task: Mapping[str, Any], name: str) -> Lead:
    """How far a model is ahead of the best of the family; never above zero."""
    model = task["models"][name]
    return Lead(name, -model["behind"], model["behind_error"])


def rows(record: Mapping[str, Any]) -> dict[str, dict[str, dict[str, str]]]:
    """By question, by set: what the figure leads to, and how far it is ahead of whom."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for task in record["tasks"]:
        own, theirs = others(task), peers(task)
        found.setdefault(task["question"], {})[label(task)] = {
            "leads_to": task["leads_to"],
            "ahead_of_others": str(own),
            "best_other": own.name,
            "ahead_of_peers": str(theirs),
            "best_peer": theirs.name.removeprefix(PEERS),
        }
    return found


def label(task: Mapping[str, Any]) -> str:
    """The set with its size, and the number of its classes where there are some.

    Examples
    --------
    >>> label({"name": "iris", "rows": 150, "columns": 4, "classes": 3})
    'iris, 150 x 4, 3 classes'
    """
    size = f"{task['name']}, {task['rows']:,} x {task['columns']:,}"
    return f"{size}, {task['classes']} classes" if task["classes"] else size
