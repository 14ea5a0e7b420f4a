"""The decision figure of the documentation, checked: does the model it leads to predict best?

On every set the model of the figure's box, the usual models of a comparison of that size and
scikit-learn's predict the same held-out rows. Time is not limited: which models are measured
follows from the size of the set alone. Several sets are measured at once, so no seconds are kept.
"""

import functools
import importlib.util
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks import advice, harness, machine, report
from benchmarks.choosing_sets import PROBLEMS, TARGET, Problem
from benchmarks.options import Options
from posterity import comparison, tables
from posterity.comparison import Candidate, Result, row_scores

FIGURE = Path(__file__).parents[1] / "docs" / "_ext" / "choosing.py"
FOLDS, QUICK_FOLDS, QUICK_ROWS = 5, 2, 120
# The member of a comparison that is the model of a box with its defaults.
MEMBERS = {
    "RobustRegression": "robust",
    "GammaRegression": "gamma",
    "GeneralizedLinearRegression": "poisson",
    "DiscreteClassifier": "counts",
    "SparseLinearRegression": "sparse",
    "SparseLogisticRegression": "sparse",
    "BayesianLinearRegression": "linear",
    "BayesianLogisticRegression": "linear",
    "BoostedTreesRegressor": "boosted-trees",
    "BoostedTreesClassifier": "boosted-trees",
    "RelevanceVectorRegressor": "vectors",
    "RelevanceVectorClassifier": "vectors-learned",
    "GaussianProcessRegressor": "process-ard",
    "GaussianProcessClassifier": "process-ard",
}
MIXTURE = "stack"  # of the models that were measured: no model to which a figure can lead
ADVISED = "advised"  # the name of a model that is no member
NOTE = (
    "How far the log score of the model to which the figure leads, in nats a row, is ahead of the "
    "best other model of the family and of the better of scikit-learn's two, with one standard "
    "error of the difference over rows; in brackets within two. The best is chosen by the same "
    "rows, which favours it. All models of a set have the same folds. Measured are the models that "
    "`posterity compare` measures on a table of that size, and the one to which the figure leads."
)
_HEADING = ["set", "the figure leads to", "ahead of the best other", "", "of scikit-learn's", ""]
_SCORES = ("log_score", "ahead", "ahead_error", "rmse", "accuracy", "coverage", "log_evidence")


def run(options: Options) -> None:
    """Measure every set, the large ones first; write and show what was found."""
    chosen = _choose_problems(PROBLEMS, quick=options.quick)
    folds = QUICK_FOLDS if options.quick else FOLDS
    found: dict[int, dict[str, Any]] = {}
    described = machine.describe()
    with harness.threads_of_children(options.threads or 1), _pool() as pool:
        waiting = {pool.submit(measure_problem, place, folds): place for place in chosen}
        done = track(as_completed(waiting), "sets", len(waiting), console=options.console)
        for one in done:
            found[waiting[one]] = one.result()
    result = {
        "benchmark": "choosing",
        "title": "The models that the decision figure leads to",
        **described,
        "folds": folds,
        "tasks": [found[place] for place in sorted(found)],
    }
    report.publish(result, page(result), options)


def _choose_problems(problems: Sequence[Problem], *, quick: bool) -> list[int]:
    """Places of the sets, the largest first; of a rehearsal the small ones only."""
    rows = {place: len(problem.make()[TARGET]) for place, problem in enumerate(problems)}
    kept = [place for place, n in rows.items() if not quick or n <= QUICK_ROWS]
    return sorted(kept, key=lambda place: -rows[place])


def _pool() -> ProcessPoolExecutor:
    """As many sets at once as there are cores, each in a process of its own."""
    return ProcessPoolExecutor(
        os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1
    )


def measure_problem(place: int, folds: int) -> dict[str, Any]:
    """One set: all models on the same folds, and how far the advised one is ahead of each."""
    problem = PROBLEMS[place]
    columns = problem.make()
    schema = tables.infer(columns, TARGET, task=problem.task)
    n_rows, n_classes = len(columns[TARGET]), len(schema.classes)
    member, models = contenders(problem, n_rows, len(schema.inputs), n_classes)
    found = comparison.compare(columns, schema, models, folds=folds)
    return {
        "name": problem.name,
        "rows": n_rows,
        "columns": len(columns) - 1,
        "classes": n_classes,
        "question": " ".join(question(problem).lines),
        "leads_to": leaf(problem).name,
        "member": member,
        "models": _compare_results(found.results, member),
        "left_out": {one.name: one.why for one in found.skipped},
    }


def contenders(
    problem: Problem, n_rows: int, n_columns: int, n_classes: int
) -> tuple[str, tuple[Candidate, ...]]:
    """The name of the advised model, and everything that is measured: the usual, and it."""
    size: dict[str, Any] = {"n_rows": n_rows, "n_columns": n_columns}
    size |= {"n_classes": n_classes} if n_classes else {}
    usual = [one.name for one in comparison.candidates(problem.task, **size)]
    own = () if problem.model is None else (Candidate(ADVISED, problem.model()),)
    member = ADVISED if own else MEMBERS[leaf(problem).name]
    named = {*usual, *problem.also, *(() if own else (member,))}
    family = comparison.candidates(problem.task, **size, names=tuple(named))
    return member, (*comparison.baselines(problem.task), *family, *own)


def _compare_results(results: Iterable[Result], member: str) -> dict[str, dict[str, Any]]:
    """Scores of every model, the best first, and the differences row by row; of no mixture."""
    by_name = {one.name: one for one in results if one.name != MIXTURE}
    if member not in by_name:
        raise RuntimeError(f"The advised model {member!r} could not be measured.")
    best = next(one for one in by_name.values() if not one.baseline)
    return {name: _scores(one, by_name[member], best) for name, one in by_name.items()}


def _scores(one: Result, advised: Result, best: Result) -> dict[str, Any]:
    """Return a model's scores, and how far the advised and the best one are ahead of it."""
    ahead, ahead_error = row_scores.compute_lead(advised.held_out, one.held_out)
    behind, behind_error = row_scores.compute_lead(best.held_out, one.held_out)
    return {
        "baseline": one.baseline,
        "code": one.code,
        "log_score": one.log_score,
        "ahead": ahead,
        "ahead_error": ahead_error,
        "behind": behind,
        "behind_error": behind_error,
        "rmse": one.rmse,
        "accuracy": one.accuracy,
        "coverage": one.coverage,
        "log_evidence": one.log_evidence,
        "warnings": list(one.warnings),
    }


@functools.cache
def figure() -> Any:
    """The module that draws the figure; the documentation is not a package."""
    spec = importlib.util.spec_from_file_location("choosing_figure", FIGURE)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"The figure's questions are not at {FIGURE}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def question(problem: Problem) -> Any:
    """The question of the figure that a set answers with yes."""
    return _answer(problem)[0]


def leaf(problem: Problem) -> Any:
    """The box to which that leads."""
    return _answer(problem)[1]


def _answer(problem: Problem) -> tuple[Any, Any]:
    for asked in figure().QUESTIONS:
        boxes = asked.numbers if problem.task == "regression" else asked.classes
        for box in boxes:
            if problem.yes == box.note or (problem.yes in asked.lines and len(boxes) == 1):
                return asked, box
    raise LookupError(
        f"The set {problem.name!r} says yes to {problem.yes!r}, which the figure does not ask."
    )


def page(result: dict[str, Any]) -> str:
    """The table of the advice, and below it every model of every set."""
    standing = advice.count_standing(result)
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    if result.get("note"):
        lines += [result["note"], ""]
    lines += [
        f"{result['folds']} folds. Of {standing.sets} sets, no other model of the family is "
        f"clearly ahead on {standing.of_others}, and neither of scikit-learn's on "
        f"{standing.of_peers}. Nothing of the family is clearly ahead of the linear model on "
        f"{standing.of_linear}."
    ]
    for asked, sets in advice.rows(result).items():
        body = [[name, *cells.values()] for name, cells in sets.items()]
        lines += ["", f"## {asked}", "", *report.table(_HEADING, body)]
    for task in result["tasks"]:
        lines += ["", f"### {advice.label(task)}: `{task['leads_to']}` as `{task['member']}`", ""]
        lines += [*report.table(["", *_words(_SCORES)], _models(task)), ""]
        lines += [f"- `{name}` left out: {why}" for name, why in task["left_out"].items()]
    return "\n".join([*lines, ""])


def _words(keys: Iterable[str]) -> list[str]:
    return [key.replace("_", " ").replace("rmse", "RMSE") for key in keys]


def _models(task: dict[str, Any]) -> list[list[str]]:
    """Scores to the digits that the other pages have."""
    return [
        [name, *(report.number(scores[key], 4 if key == "log_score" else 3) for key in _SCORES)]
        for name, scores in task["models"].items()
    ]
